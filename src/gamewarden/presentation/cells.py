"""One value of a table as people write it."""

from datetime import datetime

_DECIMALS = {"self_sim": 5} | dict.fromkeys(
    ("alarm", "fpr", "probability", "published", "synthetic", "lowest", "highest"), 4
)
_LARGE = 1e6  # from here on decimals say nothing


def cell_text(name: str, value: object, decimals: int = 3) -> str:
    """The value of a column; what is not known is a dash."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case float():
            return _number(value, _DECIMALS.get(name, decimals))
        case int():
            return f"{value:,}"
        case datetime():
            midnight = (value.hour, value.minute, value.second) == (0, 0, 0)
            return value.strftime("%Y-%m-%d" if midnight else "%Y-%m-%d %H:%M:%S")
        case _:
            return str(value)


def _number(value: float, decimals: int) -> str:
    return f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:,.{decimals}f}"
