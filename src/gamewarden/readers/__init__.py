"""The world in: every source becomes EVENTS, with each bad row counted by reason."""
