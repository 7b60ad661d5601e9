"""Line patterns: a regular expression whose named groups are the columns of a text log.

The expression is Rust's, which never goes back over what it has read: its time grows with the length of a line and no
faster, whatever the pattern. That costs look-around and back-references, and no log needs them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from gamewarden.errors import ConfigError
from gamewarden.readers.logs.toml_sections import known

WHOLE = "__line__"  # the group that is there whenever a line fits
LONGEST_PATTERN = 4_000
_OTHERS = ("bad", "skip")


@dataclass(frozen=True)
class LinePattern:
    """What `[line]` says: how each line reads, and whether lines that read otherwise are bad or just not meant."""

    pattern: str
    other: str = "bad"

    @property
    def whole(self) -> str:
        r"""The pattern for a line from end to end: else a player's chat could hold a line that looks like the log's."""
        return rf"\A(?P<{WHOLE}>{self.pattern})\z"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The named groups."""
        fields = pl.Series([""]).str.extract_groups(self.whole).struct.fields
        return tuple(name for name in fields if name != WHOLE and not name.isdigit())

    @property
    def skips(self) -> bool:
        """Whether lines that do not fit are passed over."""
        return self.other == "skip"


def line_pattern(values: Mapping[str, Any], name: str) -> LinePattern:
    """`[line]` of a mapping.

    Raises:
        ConfigError: the pattern is none, names nothing, or is too long.
    """
    where = f"{name}: [line]"
    known(values, ("pattern", "other"), where, "key")
    pattern, other = values.get("pattern"), values.get("other", "bad")
    if not isinstance(pattern, str) or len(pattern) > LONGEST_PATTERN:
        said = repr(pattern)[:60]
        raise ConfigError(f"{where} pattern is {said}; it must be a text of at most {LONGEST_PATTERN:,} characters")
    if other not in _OTHERS:
        raise ConfigError(f'{where} other is {other!r}; it must be "bad" or "skip"')
    found = LinePattern(pattern.strip("\r\n"), other)
    _compile(found.pattern, where)
    if not found.names:
        raise ConfigError(f"{where} pattern names no group; write (?P<time>…) for the column time")
    return found


def _compile(pattern: str, where: str) -> None:
    """Refuse what is no pattern, by itself and as a part of a longer one."""
    try:
        for whole in (pattern, LinePattern(pattern).whole):
            pl.Series([""]).str.extract_groups(whole)
    except pl.exceptions.PolarsError as error:
        why = [line.strip().removeprefix("error: ") for line in str(error).splitlines() if line.strip()][-1]
        raise ConfigError(f"{where} pattern cannot be followed: {why.removeprefix('regex ')[:200]}") from error
