"""The traffic test of Hilaire et al., with thresholds and tree learned from labelled traces."""
