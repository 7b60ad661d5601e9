"""What a number means, in a sentence for a game master: never a verdict, always beside the typical human."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gamewarden.errors import ConfigError
from gamewarden.spans import parse_span, span_text

RARE = 0.10  # what at most one human in ten reaches is more than nearly all humans have
UNCOMMON = 1 / 3  # what at most one in three reaches is more than most have; all else is usual
_NEARLY_ALL, _MOST = "nearly all humans", "most humans"
_SMALL = 10
_WINDOWS = {"1s": "second", "1m": "minute", "1h": "hour", "1d": "day"}


@dataclass(frozen=True)
class Phrase:
    """The words for one feature; `{window}` is the time unit, `{value}` the number, `{period}` the period's minutes."""

    more: str  # more than {humans}
    usual: str
    less: str  # less than {humans}
    shows: str  # the number behind it, where the lead does not give it
    unseen: str  # why there is no number
    decimals: int = 0
    has: str = "a typical human has"
    striking: str = ""  # stronger words for more than nearly all humans


PHRASES: Mapping[str, Phrase] = {
    "self_sim": Phrase(
        "The {window}s resemble one another more than those of {humans}",
        "The {window}s vary as usual",
        "The {window}s vary more than those of {humans}",
        "self-similarity {value}",
        "Too little play to judge: self-similarity was not measured.",
        4,
        striking="Every {window} looks almost like every other",
    ),
    "cosim_count": Phrase(
        "Active in more {window}s than {humans}",
        "A usual number of active {window}s",
        "Active in fewer {window}s than {humans}",
        "{value}",
        "Active {window}s were not counted.",
    ),
    "cosim_uniq_count": Phrase(
        "More different {window}s than {humans}",
        "A usual number of different {window}s",
        "Fewer different {window}s than {humans}",
        "{value}",
        "Different {window}s were not counted.",
    ),
    "cosim_zero_count": Phrase(
        "More idle {window}s online than {humans}",
        "A usual number of idle {window}s online",
        "Fewer idle {window}s online than {humans}",
        "{value}",
        "Idle {window}s were not counted.",
    ),
    "cosim_mode": Phrase(
        "One and the same {window} comes back more often than with {humans}",
        "{Window}s repeat exactly about as often as usual",
        "{Window}s repeat exactly less often than with {humans}",
        "the most frequent one counts {value}",
        "Repeated {window}s were not counted.",
    ),
    "total_log_count": Phrase(
        "More actions than {humans}",
        "A usual number of actions",
        "Fewer actions than {humans}",
        "{value} log entries",
        "Log entries were not counted.",
    ),
    "main_char_level": Phrase(
        "A higher main character than {humans}",
        "A main character of a usual level",
        "A lower main character than {humans}",
        "level {value}",
        "This log does not show levels.",
    ),
    "total_use_time_min": Phrase(
        "Online longer than {humans}",
        "Online for a usual time",
        "Online for a shorter time than {humans}",
        "{value} of {period} minutes",
        "Play time was not measured.",
        has="a typical human plays",
    ),
    "npc_kill_count": Phrase(
        "Kills more monsters than {humans}",
        "Kills a usual number of monsters",
        "Kills fewer monsters than {humans}",
        "{value}",
        "This log does not show monster kills.",
    ),
    "trade_get_count": Phrase(
        "Receives in more trades than {humans}",
        "Receives in a usual number of trades",
        "Receives in fewer trades than {humans}",
        "{value}",
        "This log does not show what is received in trades.",
    ),
    "trade_give_count": Phrase(
        "Gives in more trades than {humans}",
        "Gives in a usual number of trades",
        "Gives in fewer trades than {humans}",
        "{value}",
        "This log does not show what is given in trades.",
    ),
    "retrieve_count": Phrase(
        "Takes out of storage more often than {humans}",
        "Takes out of storage as often as usual",
        "Takes out of storage less often than {humans}",
        "{value}",
        "This log does not show visits to storage to take something out.",
    ),
    "deposit_count": Phrase(
        "Puts into storage more often than {humans}",
        "Puts into storage as often as usual",
        "Puts into storage less often than {humans}",
        "{value}",
        "This log does not show visits to storage to put something in.",
    ),
    "log_count_per_min": Phrase(
        "Acts faster than {humans}",
        "Acts at a usual pace",
        "Acts more slowly than {humans}",
        "{value} log entries a minute",
        "No play time was measured, so there is no pace.",
        1,
    ),
}


# Features of one topic measure nearly the same, and a regression shares a weight out among such features almost at
# will, some above and some below zero: only their sum says which way the topic points.
TOPICS: Mapping[str, tuple[str, ...]] = {
    "How it repeats itself": ("self_sim", "cosim_mode"),
    "How much it plays": (
        "total_use_time_min",
        "cosim_count",
        "cosim_uniq_count",
        "cosim_zero_count",
        "total_log_count",
        "log_count_per_min",
    ),
    "What it hunts": ("npc_kill_count", "main_char_level"),
    "What it trades and stores": ("trade_get_count", "trade_give_count", "retrieve_count", "deposit_count"),
    "How it moves": (
        "move_dx",
        "move_dy",
        "move_distance",
        "move_gap_ms",
        "turn_mean_deg",
        "turn_circular_variance",
        "turn_back_share",
    ),
    "How it fights and loots": (
        "take_gap_ms",
        "turn_to_take_ms",
        "attack_to_take_ms",
        "continuous_attacks_per_s",
        "once_attacks_per_s",
    ),
    "How much it sends": ("packets_per_s",),
}
OTHER_TOPIC = "What else it does"
# Numbers of a chunk of play, by how their names begin.
_TOPIC_OF_CHUNKS = {
    "a_": "What it does",
    "done_": "What it does",
    "i_": "How long it waits",
    "m_": "How regularly it acts",
    "d_": "How regularly it acts",
}


@dataclass(frozen=True)
class Seen:
    """One number of one period, beside what humans showed in training."""

    feature: str
    value: float | None
    percentiles: Sequence[float]  # of the training humans, 0 % to 100 %; empty where the model does not use it
    window: str = "window"
    period: float = 0.0  # minutes
    windows: int | None = None  # how many windows were measured, where the table says so
    unused: str = "unknown"  # why the model does not use it


def topic_of(feature: str) -> str:
    """The topic a feature belongs to."""
    named = next((topic for topic, features in TOPICS.items() if feature in features), None)
    begins = next((topic for start, topic in _TOPIC_OF_CHUNKS.items() if feature.startswith(start)), OTHER_TOPIC)
    return named or begins


def says(seen: Seen, phrase: Phrase | None = None) -> str:
    """One sentence: what it means, then the number, then the typical human; in the feature's own words or others."""
    phrase = phrase or PHRASES.get(seen.feature) or _plain(seen.feature)
    words = {"window": seen.window, "Window": seen.window.capitalize(), "period": _number(seen.period, 0)}
    if seen.value is None:
        return _unseen(seen, phrase).format(**words)
    words["value"] = _number(seen.value, phrase.decimals)
    if not seen.percentiles:
        return f"{_name(seen.feature)} {words['value']}: the model does not use it ({seen.unused})."
    lead, words["humans"], aside = _rarity(seen.value, seen.percentiles, phrase)
    shows = phrase.shows.format(**words) + ", " if phrase.shows else ""
    typical = _number(median(seen.percentiles), phrase.decimals)
    return f"{lead.format(**words)}: {shows}{phrase.has} {typical}{aside}."


def window_word(unit: object) -> str:
    """How to call a time unit, as text or microseconds: "60s" is a minute, 5000000 a 5s window."""
    try:
        text = span_text(parse_span(unit) if isinstance(unit, str) else unit if isinstance(unit, int) else 0)
    except ConfigError:
        text = ""
    return _WINDOWS.get(text, f"{text} window" if unit and text else "window")


def median(percentiles: Sequence[float]) -> float:
    """The middle of a row of percentiles."""
    return percentiles[len(percentiles) // 2]


def _unseen(seen: Seen, phrase: Phrase) -> str:
    if seen.feature == "self_sim" and seen.windows is not None:
        return f"Too little play to judge: only {_number(seen.windows, 0)} {{window}}s were measured."
    return phrase.unseen


def _rarity(value: float, percentiles: Sequence[float], phrase: Phrase) -> tuple[str, str, str]:
    """The phrase that fits, whom it exceeds, and how many humans go as far."""
    humans = np.asarray(percentiles)
    reach, stay = float(np.mean(humans >= value)), float(np.mean(humans <= value))
    if reach <= RARE:
        return phrase.striking or phrase.more, _NEARLY_ALL, _aside(reach, "up")
    if stay <= RARE:
        return phrase.less, _NEARLY_ALL, _aside(stay, "down")
    if reach <= UNCOMMON:
        return phrase.more, _MOST, _aside(reach, "up")
    if stay <= UNCOMMON:
        return phrase.less, _MOST, _aside(stay, "down")
    return phrase.usual, "", ""


def _aside(share: float, way: str) -> str:
    if not share:
        return f" (no human in training was that far {way})"
    only = "only " if share <= RARE else ""
    return f" ({only}{max(1, round(100 * share))} % of humans are that far {way})"


def _number(value: float, decimals: int) -> str:
    """1436 -> "1,436"; a small broken number keeps one decimal."""
    if decimals == 0 and value != round(value) and abs(value) < _SMALL:
        decimals = 1
    return f"{value:,.{decimals}f}"


def _plain(feature: str) -> Phrase:
    name = _name(feature)
    return Phrase(
        f"{name} is higher than with {{humans}}",
        f"{name} is as usual",
        f"{name} is lower than with {{humans}}",
        "{value}",
        f"{name} was not measured.",
        2,
    )


def _name(feature: str) -> str:
    return feature.replace("_", " ").capitalize()
