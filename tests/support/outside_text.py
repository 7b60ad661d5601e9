"""Text that players choose, and what of it would steer a terminal."""

import unicodedata

# Clears the screen, in 7 and in 8 bits; turns the reading round; is not seen; rings; is markup, an emoji, mathtext.
NASTY = "\x1b[2J\x9b2J\u202e\u200b\x07\t[/x]:cat:$\\foo$"

STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")


def steering_in(text):
    return {letter for letter in text if unicodedata.category(letter) in STEERING} - {"\n"}
