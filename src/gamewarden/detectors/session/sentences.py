"""What a number of a session means, in a sentence for a game master."""

from collections.abc import Sequence

from gamewarden.learning.phrases import SeenNumber, says
from gamewarden.phrases.sessions import PHRASES

# As published, the vector holds tenths of a second between moves and seconds between the rest (Appendix E).
PUBLISHED_SCALE = {"move_gap_ms": 100.0, "take_gap_ms": 1000.0, "turn_to_take_ms": 1000.0, "attack_to_take_ms": 1000.0}


def sentence(name: str, value: float | None, percentiles: Sequence[float], *, as_published: bool) -> str:
    """One sentence on one number of a session, in milliseconds however the vector is scaled."""
    scale = PUBLISHED_SCALE.get(name, 1.0) if as_published else 1.0
    shown = None if value is None else value * scale
    return says(SeenNumber(name, shown, [scale * one for one in percentiles]), PHRASES.get(name))
