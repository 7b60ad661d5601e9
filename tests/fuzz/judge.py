"""What a command may do with any input: end with 0, 1 or 2, say why in one line of ours, and send nothing raw."""

import json
import math
import re
import tomllib
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

# Everything a terminal obeys or nobody can see: C0 but tab and line end, C1, directions, zero widths, halves of pairs.
_RAW = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
_LONGEST = 4000  # letters of a line: more is no clear line
_USAGE = 2


@dataclass(frozen=True)
class Outcome:
    """How a command ended: what it printed, what it said through us, what a library wrote past us, what it raised."""

    words: Sequence[str]
    code: int | None
    printed: bytes = b""
    said: bytes = b""
    past_us: bytes = b""
    raised: BaseException | None = None


class Fault(NamedTuple):
    """What was wrong, and what faults of one cause have in common."""

    kind: str
    cause: str


def fault_of(outcome: Outcome) -> Fault | None:
    """The first thing that must not be, or None."""
    for look in (_raised, _exit, _past_us, _raw, _remarks, _lines, _usage, _json, _settings):
        if (found := look(outcome)) is not None:
            return Fault(look.__name__.strip("_").replace("_", " "), found)
    return None


def _raised(outcome: Outcome) -> str | None:
    return None if outcome.raised is None else frames_of(outcome.raised)


def frames_of(error: BaseException) -> str:
    """Where an error came from: our last frame, and the last one of all."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "gamewarden" in Path(frame.filename).parts]
    places = [f"{Path(frame.filename).name}:{frame.name}" for frame in (*ours[-1:], *frames[-1:])]
    return " < ".join([type(error).__name__, *dict.fromkeys(places)])


def _exit(outcome: Outcome) -> str | None:
    return None if outcome.code in {0, 1, _USAGE} else f"exit {outcome.code}"


def _past_us(outcome: Outcome) -> str | None:
    lines = outcome.past_us.decode("utf-8", "replace").strip().splitlines()
    return _alike(lines[0]) if lines else None


def _raw(outcome: Outcome) -> str | None:
    for name, data in (("stdout", outcome.printed), ("stderr", outcome.said)):
        try:
            found = _RAW.search(data.decode("utf-8"))
        except UnicodeDecodeError:
            return f"{name} is not UTF-8"
        if found:
            return f"{name} has {found[0]!a} ({_what(outcome)})"
    return None


def _remarks(outcome: Outcome) -> str | None:
    for line in _said(outcome):
        if line.startswith("Remark by ") or "Traceback (most" in line or "panicked at" in line:
            return _alike(line)
        if "memory ran out" in line:
            return f"memory ran out ({_what(outcome)})"
        if len(line) > _LONGEST:
            return f"a line of more than {_LONGEST} letters ({_alike(line[:60])})"
    return None


def _lines(outcome: Outcome) -> str | None:
    ours = sum(line.startswith("gamewarden: ") for line in _said(outcome))
    if outcome.code == 1 and not ours and _does_not_hold(outcome):
        return None
    if outcome.code == 1:
        last = _said(outcome)[-1:]
        if (
            not _as_many(ours, outcome)
            or not last
            or not last[0].startswith("gamewarden: ")
            or last[0].strip() == "gamewarden:"
        ):
            return f"exit 1 with {ours} lines of ours ({_what(outcome)})"
    elif ours:
        return f"exit {outcome.code} with a line of failure ({_what(outcome)})"
    return None


def _as_many(ours: int, outcome: Outcome) -> bool:
    """Whether there is the one line; of `run` one for each step that failed."""
    return ours == 1 or (ours > 1 and outcome.words[:1] == ["run"])


def _does_not_hold(outcome: Outcome) -> bool:
    """Whether `verify` says in its table that a verdict does not hold, for which it ends with 1 as well."""
    return outcome.words[:1] == ["verify"] and (bool(outcome.printed) or "--out" in outcome.words)


def _usage(outcome: Outcome) -> str | None:
    if outcome.code == _USAGE and not any(line.startswith("Error: ") for line in _said(outcome)):
        return f"exit 2 without a word ({_what(outcome)})"
    return None


def _json(outcome: Outcome) -> str | None:
    watched = outcome.words[:1] == ["watch"] and "--out" not in outcome.words
    if outcome.code != 0 or not (watched or "--json" in outcome.words):
        return None
    text = outcome.printed.decode("utf-8")
    try:
        for part in text.splitlines() if watched else [text]:
            json.loads(part, parse_constant=_refuse)
    except ValueError as error:
        return f"stdout is not JSON: {_alike(str(error))} ({_what(outcome)})"
    return None


def _settings(outcome: Outcome) -> str | None:
    """`config` prints a warden.toml that can be read, and no number in it is none."""
    if outcome.code != 0 or outcome.words[:1] != ["config"]:
        return None
    try:
        sections = tomllib.loads(outcome.printed.decode("utf-8"))
    except tomllib.TOMLDecodeError as error:
        return f"config prints no TOML: {_alike(str(error))}"
    numbers = {f"[{section}] {name}": value for section, part in sections.items() for name, value in part.items()}
    odd = [name for name, value in numbers.items() if isinstance(value, float) and not math.isfinite(value)]
    return f"config takes {odd[0]} that is no number" if odd else None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _said(outcome: Outcome) -> list[str]:
    return outcome.said.decode("utf-8", "replace").splitlines()


def _what(outcome: Outcome) -> str:
    """The command without its arguments."""
    words = [word for word in outcome.words[:2] if re.fullmatch(r"[a-z-]+", word)]
    return " ".join(words[: 2 if words[:1] in (["measure"], ["model"], ["fit"]) else 1])


def _alike(line: str) -> str:
    """A line without what differs from case to case."""
    return re.sub(r"\d+", "0", re.sub(r"'[^']*'|\"[^\"]*\"|/\S+", "…", line))[:160]
