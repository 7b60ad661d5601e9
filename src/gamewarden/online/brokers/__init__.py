"""Where a live stream comes from when there are many machines: a broker, its partitions, and who reads which."""
