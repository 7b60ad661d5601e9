"""Network captures and logs of packets, as streams of packets."""
