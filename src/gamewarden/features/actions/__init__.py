"""How often and at what intervals each action is done, in chunks of play (Thawonmas & Kashifuji)."""
