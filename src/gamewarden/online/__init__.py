"""The packet-by-packet run: decisions the moment they can be made."""
