"""One account's signs in sentences, and pictures of its days, for whoever looks at it before anybody has judged it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import polars as pl

from gamewarden.core.outside import visible
from gamewarden.detectors.signs.population import NO_PROMISE, OddnessModel
from gamewarden.learning.phrases import is_usual, median
from gamewarden.presentation.story import Topic, sparkline, weighed_topics

_STRIKING = 2.3  # the surprise of what one player in ten has
_FEW = 8  # signs, as a table has: all of them are shown
NOTABLE = 1.1  # and of what one in three has
_SHADES = " ░▒▓█"
_HOURS = 24
_FOUR_DIGITS = 0.001  # a share that they still tell


@dataclass(frozen=True)
class OddStory:
    """What is known of one account among all players."""

    actor: str
    model: OddnessModel
    oddness: pl.DataFrame  # ODDNESS of its newest row
    evidence: pl.DataFrame  # EVIDENCE of it
    windows: pl.DataFrame = field(default_factory=pl.DataFrame)  # of its newest day
    moments: pl.Series = field(default_factory=lambda: pl.Series("at", [], dtype=pl.Datetime("us", "UTC")))
    time_zone: str = "UTC"

    @property
    def as_odd(self) -> float | None:
        """The share of all players who look at least as odd."""
        share: float | None = self.oddness["as_odd"].item()
        return share


def odd_story_text(story: OddStory, width: int | None = None) -> str:
    """The whole case: how odd it is, its signs by topic, and what its days look like."""
    return "\n\n".join(part for part in (how_odd(story), signs_text(story, width)) if part)


def how_odd(story: OddStory) -> str:
    """Who it is about, and how many look as odd."""
    since, until = story.oddness["since"].item(), story.oddness["until"].item()
    day = f", the days up to {_last_day(until, story.time_zone)}" if isinstance(since, datetime) else ""
    head = f"{visible(story.actor)}{day}"
    if story.as_odd is None:
        return f"{head}\nNothing was measured that could look odd: nothing follows from this."
    return (
        f"{head}\n{rarity(story.as_odd, story.model.players)} (as_odd {_digits(story.as_odd)}).\n{NO_PROMISE} "
        f"Compared by {story.model.id}."
    )


def _digits(share: float) -> str:
    return f"{share:.4f}" if share >= _FOUR_DIGITS else f"{share:.6f}"


def rarity(as_odd: float, players: int) -> str:
    """What a share of all players means."""
    if round(as_odd * players) <= 1:
        return f"None of the other {players - 1:,} players looks as odd"
    return f"{round(as_odd * players):,} of {players:,} players look at least as odd"


def population_text(model: OddnessModel) -> str:
    """What a population is, for whoever keeps it."""
    card = model.card()
    styles = ", ".join(f"{count:,} {style}" for style, count in card["population"]["styles"].items())
    lines = [
        f"# {model.id}",
        f"{model.players:,} players, each by its newest days: {styles}.",
        f"No share is below 1 in {model.players:,}.",
        "",
        "Signs, and where the middle one of all players stands:",
        *(f"  {sign.name}: odd when {sign.side}, typical {median(sign.percentiles):,.4g}" for sign in model.signs),
        *(f"  {name}: no sign here, {why}" for name, why in model.left_out.items()),
        "",
        *(f"- {line}" for line in card["weaknesses"]),
    ]
    return "\n".join(lines)


def signs_text(story: OddStory, width: int | None = None) -> str:
    """Its signs by topic, the oddest first, and pictures: all but how odd it is together."""
    topics = weighed_topics(story.evidence, story.model.phrases)
    few = len(story.model.signs) <= _FEW
    told = [topic for topic in topics if few or _oddest(topic.rows) >= NOTABLE]
    quiet = [topic.name for topic in topics if topic not in told]
    usual = f"As of most players: {'; '.join(quiet)}." if quiet else ""
    parts = [*(_topic(one.name, one.rows).text() for one in told), usual, _windows(story, width), _hours(story)]
    return "\n\n".join(part for part in parts if part)


def _topic(name: str, rows: Sequence[dict[str, object]]) -> Topic:
    ranked = sorted(rows, key=lambda row: -_alone(row))
    dots = "●" * min(5, round(_oddest(rows) / _STRIKING))
    facts = tuple(("+" if _alone(row) >= _STRIKING else "·", str(row["says"])) for row in ranked)
    word = f"unusual {dots}" if dots else "a little unusual" if _oddest(rows) >= NOTABLE else "as usual"
    return Topic(f"{name}: {word}", facts)


def _oddest(rows: Sequence[dict[str, object]]) -> float:
    return max(map(_alone, rows), default=0.0)


def _alone(row: dict[str, object]) -> float:
    """How surprising a number is; not at all where it is called usual among all players."""
    found = row["alone"]
    return found if isinstance(found, float) and not is_usual(str(row["says"])) else 0.0


def _windows(story: OddStory, width: int | None) -> str:
    if not story.windows.height:
        return ""
    return (
        "The minutes of its newest day from first to last (a flat line is a routine, ups and downs are not):\n"
        f"  {sparkline(story.windows, min(96, (width or 98) - 2))}"
    )


def _hours(story: OddStory) -> str:
    """A line a day with a sign for each hour: the darker, the more it did."""
    if not story.moments.len():
        return ""
    local = story.moments.dt.convert_time_zone(story.time_zone)
    counts = (
        pl.DataFrame({"day": local.dt.date(), "hour": local.dt.hour()})
        .group_by("day", "hour")
        .agg(n=pl.len())
        .sort("day", "hour")
    )
    most = counts["n"].max()
    shades = {(day, hour): _SHADES[max(1, round(n / most * (len(_SHADES) - 1)))] for day, hour, n in counts.iter_rows()}
    first, last = counts["day"][0], counts["day"][-1]
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    lines = [f"  {day:%a %m-%d} |{''.join(shades.get((day, hour), ' ') for hour in range(_HOURS))}|" for day in days]
    return "\n".join([f"Its hours, 0 to 24 o'clock in {story.time_zone} (the darker, the more it did):", *lines])


def _last_day(until: datetime, time_zone: str) -> str:
    return f"{(until - timedelta(microseconds=1)).astimezone(ZoneInfo(time_zone)):%Y-%m-%d}"
