"""Tables of running databases, and dumps and exports of them, as sources: known by how far they were read."""
