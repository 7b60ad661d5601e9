"""What a number means, in a sentence for a game master: never a verdict, always beside the typical human."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gamewarden.core.durations import parse_span, span_text
from gamewarden.errors import ConfigError
from gamewarden.phrases import EVENTS, OTHER_TOPIC, Phrase
from gamewarden.phrases.chunks import TOPICS
from gamewarden.phrases.days import PHRASES
from gamewarden.phrases.sessions import PHRASES as SESSION_PHRASES

RARE = 0.10  # what at most one human in ten reaches is more than nearly all humans have
UNCOMMON = 1 / 3  # what at most one in three reaches is more than most have; all else is usual
_NEARLY_ALL, _MOST = "nearly all", "most"
HUMANS, PLAYERS = "human", "player"  # with whom a number is compared: those known to be people, or everybody
_SMALL = 10
USUAL = "usual"  # in the lead of every sentence on a number as people have it, and of no other
UNREACHED = f"(no {HUMANS} in training was that far "
_PLACE = re.compile(r"\{(\w+)\}")
_WINDOWS = {"1s": "second", "1m": "minute", "1h": "hour", "1d": "day"}


# Features of one topic measure nearly the same, and a regression shares a weight out among such features almost at
# will, some above and some below zero: only their sum says which way the topic points.
_TOPICS = {name: phrase.topic for name, phrase in {**PHRASES, **SESSION_PHRASES, "events": EVENTS}.items()}


@dataclass(frozen=True)
class SeenNumber:
    """One number of one period, beside what humans showed in training."""

    feature: str
    value: float | None
    percentiles: Sequence[float]  # of the training humans, 0 % to 100 %; empty where the model does not use it
    window: str = "window"
    period: float = 0.0  # minutes
    windows: int | None = None  # how many windows were measured, where the table says so
    unused: str = "unknown"  # why the model does not use it
    whom: str = HUMANS  # the percentiles are of


def topic_of(feature: str, phrases: Mapping[str, Phrase] | None = None) -> str:
    """The topic a feature belongs to, by the words that came with it or by ours."""
    if phrases is not None and feature in phrases:
        return phrases[feature].topic
    begins = next((topic for start, topic in TOPICS.items() if feature.startswith(start)), OTHER_TOPIC)
    return _TOPICS.get(feature, begins)


def says(seen: SeenNumber, phrase: Phrase | None = None) -> str:
    """One sentence: what it means, then the number, then the typical human; in these words or in plain ones."""
    phrase = phrase or (EVENTS if seen.feature == "events" else Phrase.plain(seen.feature))
    words = {"window": seen.window, "Window": seen.window.capitalize(), "period": _number(seen.period, 0)}
    if seen.value is None:
        return _filled(_unseen(seen, phrase), words)
    words["value"] = _number(seen.value, phrase.decimals)
    if not seen.percentiles:
        return f"{_name(seen.feature)} {words['value']}: the model does not use it ({seen.unused})."
    lead, most, aside = _rarity(seen, phrase)
    words["humans"] = f"{most} {seen.whom}s"
    shows = _filled(phrase.shows, words) + ", " if phrase.shows else ""
    typical = _number(median(seen.percentiles), phrase.decimals) + (f" {phrase.unit}" if phrase.unit else "")
    return f"{_filled(lead, words)}: {shows}{_about(phrase.has, seen)} {typical}{_about(aside, seen)}."


def _about(words: str, seen: SeenNumber) -> str:
    """Words that were written about humans, about those whom a number is compared with."""
    return (
        words.replace(f"{HUMANS} in training", seen.whom).replace(HUMANS, seen.whom) if seen.whom != HUMANS else words
    )


def is_usual(says: str) -> bool:
    """Whether a sentence says that a number is as people have it."""
    return USUAL in says.partition(":")[0]


def may_point(says: str, side: str) -> bool:
    """Whether a number may be shown as pointing to a side.

    A usual number points to neither, and a number that no known person reaches never points to a person.
    """
    return not is_usual(says) and not (side == HUMANS and UNREACHED in says)


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


def _unseen(seen: SeenNumber, phrase: Phrase) -> str:
    if seen.feature == "self_sim" and seen.windows is not None:
        return f"Too little play to judge: only {_number(seen.windows, 0)} {{window}}s were measured."
    return phrase.unseen


def _rarity(seen: SeenNumber, phrase: Phrase) -> tuple[str, str, str]:
    """The phrase that fits, how many it exceeds, and how many go as far."""
    value, humans = seen.value or 0.0, _in_order(tuple(seen.percentiles))
    reach, stay = (len(humans) - bisect_left(humans, value)) / len(humans), bisect_right(humans, value) / len(humans)
    if reach <= RARE:
        return phrase.striking or phrase.more, _NEARLY_ALL, _aside(reach, "up")
    if stay <= RARE:
        return phrase.less, _NEARLY_ALL, _aside(stay, "down")
    if reach <= UNCOMMON:
        return phrase.more, _MOST, _aside(reach, "up")
    if stay <= UNCOMMON:
        return phrase.less, _MOST, _aside(stay, "down")
    return phrase.usual, "", ""


@lru_cache(maxsize=256)
def _in_order(percentiles: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(sorted(percentiles))


def _aside(share: float, way: str) -> str:
    if not share:
        return f" {UNREACHED}{way})"
    only = "only " if share <= RARE else ""
    return f" ({only}{max(1, round(100 * share))} % of humans are that far {way})"


def _number(value: float, decimals: int) -> str:
    """1436 -> "1,436"; a small broken number keeps one decimal; there is one zero."""
    if decimals == 0 and value != round(value) and abs(value) < _SMALL:
        decimals = 1
    return f"{value + 0.0:,.{decimals}f}"


def _filled(text: str, words: Mapping[str, str]) -> str:
    """The text with our words in it; whatever else stands in braces was written by somebody else and stays."""
    return _PLACE.sub(lambda place: words.get(place[1], place[0]), text)


def _name(feature: str) -> str:
    return feature.replace("_", " ").capitalize()
