"""The papers' experiments on the synthetic world: one file a paper; `gamewarden reproduce` runs it."""
