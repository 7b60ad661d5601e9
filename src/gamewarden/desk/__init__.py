"""What people at the desk look at and do: tables and acts of a workspace, read from what rests, without any page."""
