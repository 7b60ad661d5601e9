"""Amounts of memory as people write them ("512MiB", "1GiB") and as we count them (bytes)."""

import re

from gamewarden.errors import ConfigError, short

KIB, MIB, GIB, TIB = (1 << power for power in (10, 20, 30, 40))
_UNITS = {"KiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": TIB}
_SIZE = re.compile(r"([0-9]{1,9})(KiB|MiB|GiB|TiB)")


def parse_size(text: str) -> int:
    """Bytes of an amount such as "512MiB".

    Raises:
        ConfigError: the text is not a whole number above 0 and a unit.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None or int(match[1]) == 0:
        raise ConfigError(
            f"size {short(text)} is not a whole number above 0 and a unit; write for example 512MiB or 1GiB"
        )
    return int(match[1]) * _UNITS[match[2]]


def size_text(size: int) -> str:
    """The shortest way to write whole units: 1073741824 -> "1GiB"; what is left over below a KiB is not said."""
    for unit in ("TiB", "GiB", "MiB"):
        if size >= _UNITS[unit] and size % _UNITS[unit] == 0:
            return f"{size // _UNITS[unit]}{unit}"
    return f"{size // KIB}KiB"
