"""Chunks of play by what is done, how often and at what intervals (Thawonmas & Kashifuji)."""
