"""How databases are read in this run."""

from dataclasses import dataclass
from pathlib import Path

from gamewarden.core.durations import MINUTE, SECOND


@dataclass(frozen=True)
class DatabaseOptions:
    """Gentle by default: the game that writes these tables must not notice us."""

    password_from: str = ""  # the environment variable with the password; empty: GAMEWARDEN_DB_PASSWORD
    password_file: Path | None = None
    encoding: str = ""  # in which letters a server wrote its texts, where that is not what its tables say
    offline: bool = False  # nobody plays on it: full scans are allowed, and its last rows are whole
    batch: int = 5_000  # rows of one question
    pause: float = 0.05  # seconds between two questions
    piece: int = 100_000  # rows of a table that come into a lake at once
    wait: int = 65 * SECOND  # how old a row must be: rows that belong together have come by then
    overlap: int = (
        75 * MINUTE
    )  # of tables without a key: how late a row may come; more than an hour, by which clocks go back
    late: int = 10 * MINUTE  # of tables with a key: how long a number that was left out may still come
