"""What a Ragnarok client tells its server: packetstreams and captures, as streams of decoded messages."""
