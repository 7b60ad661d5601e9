"""What a server's settings and tables keep from us, what would change that, and what it costs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Advice:
    """One thing that is missing: what its lack means, and the lines that would change it."""

    missing: str  # what is not there, as a sentence
    so: str  # what stays unknown without it
    file: str = ""  # of the server; "SQL" for statements to its database
    lines: tuple[str, ...] = ()
    cost: str = ""  # to the server, in a few words
    now: tuple[str, ...] = ()  # what the server's settings say, where somebody named them
