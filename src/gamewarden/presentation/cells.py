"""One value of a table as people write it."""

from datetime import datetime

_DECIMALS = {"self_sim": 5, "play_minutes": 0, "level": 0} | dict.fromkeys(
    ("fpr", "probability", "rolling", "published", "synthetic", "lowest", "highest"), 4
)
UNKNOWN = "–"
_LARGE = 1e6  # from here on decimals say nothing


def cell_text(name: str, value: object, decimals: int = 3, *, grouped: bool = True) -> str:
    """The value of a column; what is not known is a dash, and large numbers have commas where they are `grouped`."""
    comma = "," if grouped else ""
    match value:
        case None:
            return UNKNOWN
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:{comma}.{0 if abs(value) >= _LARGE else _DECIMALS.get(name, decimals)}f}"
        case int():
            return f"{value:{comma}}"
        case datetime():
            midnight = (value.hour, value.minute, value.second) == (0, 0, 0)
            return value.strftime("%Y-%m-%d" if midnight else "%Y-%m-%d %H:%M:%S")
        case _:
            return str(value)
