"""Small drawings in rows of a list: paths for inline SVG, made by the server, so that no script is needed for them."""

from collections.abc import Sequence

WIDTH, HEIGHT = 60, 16  # of a drawing, in its own units


def days_path(shares: Sequence[float | None]) -> str:
    """Bars from 0 to 1, one a day; where nothing is known there is a gap."""
    if not shares:
        return ""
    step = WIDTH / max(len(shares), 10)
    bars = []
    for place, share in enumerate(shares):
        if share is not None:
            high = max(share * HEIGHT, 1)
            bars.append(f"M{place * step:.1f} {HEIGHT}v-{high:.1f}h{step * 0.8:.1f}v{high:.1f}z")
    return "".join(bars)


def bars_path(counts: Sequence[int]) -> str:
    """Bars as high as counts, the highest as high as the drawing; what is there at all is seen."""
    most = max(counts, default=0)
    shares = [None if not n else (n / most) ** 0.5 for n in counts]
    return days_path(shares) if most else ""
