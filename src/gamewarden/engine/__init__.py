"""Where work is done: here, in processes of this machine, or on a cluster. It defines no feature and no number."""
