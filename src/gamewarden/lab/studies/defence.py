"""Bans after a list or a graded ladder: what bots earn meanwhile, whom it disturbs, and what its timing tells.

Hilaire et al. plan reactions that begin at once and grow with suspicion, with tests that catch a bot or bind a person.
They print no figures; ours come from four weeks of a SYNTHETIC world (docs/world.md), judged by models that learned
from other players, and replayed under each policy on the same verdicts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import mean, median

import polars as pl

from gamewarden.contracts import Progress, no_progress
from gamewarden.lab.studies import Number
from gamewarden.lab.studies.defence_policies import (
    LIMITED,
    USUAL_MASTER,
    Fate,
    GameMaster,
    Replay,
    ban_by_list,
    graded,
    settings,
)
from gamewarden.lab.studies.defence_timing import Leak, Timing, in_waves, leak, table
from gamewarden.lab.studies.defence_world import ACT, BOTS, Population, population
from gamewarden.lab.world.answers import HELPERS
from gamewarden.policy import FREEZE, LIMIT
from gamewarden.presentation.defence_plots import plot_disturbed, plot_gold, plot_timing

ACCOUNTS, SEEDS, DAYS = 300, 4, 28
NUMBERS = (
    Number("accounts", 100, ACCOUNTS, "Accounts a world, one in four of them a bot."),
    Number("seeds", 1, SEEDS, "Worlds."),
)
LATE, AT_ONCE, FAST, SLOW = "ban late", "ban at once", "ladder, fast decay", "ladder, slow decay"
FAST_TAU, SLOW_TAU = "24h", "168h"  # of play until suspicion has decayed to about a third; the first as published
FIRST_SEED = 21  # worlds 11 to 14 were looked at while the study was made
STRICTNESS = ((0.005, 2), (ACT, 2), (0.02, 1), (0.05, 1))  # the FPR to act from, and families that must agree
TIME = (1, 2, USUAL_MASTER.a_day)  # cases a game master can look at in a day
MAD_FROM = 14
NOBODY = "nobody stopped"
COMPARED = (LATE, AT_ONCE, SLOW)  # under other settings
_STEPS = 3  # of a world: played and judged, replayed, replayed under other settings
_DAY, _WEEK = timedelta(days=1), 7
_HELPS = "helper"
_NIGHT = 0.01  # of a day

Policy = Callable[[Population, float, int, GameMaster], Replay]
POLICIES: Mapping[str, Policy] = {
    LATE: lambda world, act, agree, master: ban_by_list(world, LATE, _WEEK, master, config=settings(act, agree)),
    AT_ONCE: lambda world, act, agree, master: ban_by_list(world, AT_ONCE, 1, master, config=settings(act, agree)),
    FAST: lambda world, act, agree, master: graded(world, FAST, master, config=settings(act, agree, tau=FAST_TAU)),
    SLOW: lambda world, act, agree, master: graded(world, SLOW, master, config=settings(act, agree, tau=SLOW_TAU)),
}


@dataclass(frozen=True)
class Run:
    """One world under every policy, and under other settings."""

    population: Population
    replays: Mapping[str, Replay]
    by_strictness: Mapping[tuple[str, float, int], Replay]
    by_time: Mapping[tuple[str, int], Replay]
    mad: Mapping[str, Replay]


@dataclass(frozen=True)
class Study:
    """The table of policies, what is drawn, and what has to be said beside it."""

    title: str
    frame: pl.DataFrame
    runs: tuple[Run, ...]
    gold: pl.DataFrame  # policy, day, share: what bots had handed on by then, of all they would have by the end
    strictness: pl.DataFrame
    by_time: pl.DataFrame
    pairs: Mapping[str, tuple[list[float], list[float]]]  # by signal: days of the evidence and of what followed
    leaks: pl.DataFrame
    notes: tuple[str, ...]
    more: tuple[tuple[str, pl.DataFrame], ...] = ()


def steps(accounts: int, seeds: int) -> int:
    """How many parts of worlds are done."""
    del accounts
    return _STEPS * seeds


def run(accounts: int = ACCOUNTS, seeds: int = SEEDS, progress: Progress = no_progress) -> Study:
    """Play worlds 21, 22, 23 …, judge them by models that others taught, and replay every policy on the verdicts."""
    return study_of(
        [run_of(_played(accounts, seed, progress), progress) for seed in range(FIRST_SEED, FIRST_SEED + seeds)]
    )


def draw(study: Study, directory: Path) -> list[Path]:
    """Gold over time, people disturbed beside gold kept back, and what the timing tells."""
    gold, disturbed, timing = (directory / f"defence-{name}.png" for name in ("gold", "people", "timing"))
    plot_gold(study.gold, gold, "What bots had handed on, of all they could have earned (synthetic)")
    title = "Gold kept from bots, and what it takes (synthetic)"
    plot_disturbed(study.strictness, study.by_time, disturbed, title, tuple(POLICIES))
    plot_timing(
        study.pairs, study.leaks, timing, "What the day of a reaction tells of the day of the evidence (synthetic)"
    )
    return [gold, disturbed, timing]


def _played(accounts: int, seed: int, progress: Progress) -> Population:
    made = population(accounts, DAYS, seed)
    progress(1)
    return made


def run_of(world: Population, progress: Progress = no_progress) -> Run:
    """Every policy on one population: as set, stricter and laxer, with less of a person's time, and gone mad."""
    replays = {name: policy(world, ACT, 2, USUAL_MASTER) for name, policy in POLICIES.items()}
    progress(1)
    as_set = (ACT, 2)
    by_strictness = {
        (name, *how): replays[name] if how == as_set else POLICIES[name](world.at(*how), *how, USUAL_MASTER)
        for name in COMPARED
        for how in STRICTNESS
    }
    by_time = {
        (name, a_day): replays[name]
        if a_day == USUAL_MASTER.a_day
        else POLICIES[name](world, ACT, 2, GameMaster(a_day=a_day))
        for name in COMPARED
        for a_day in TIME
    }
    mad = {name: POLICIES[name](world.gone_mad(MAD_FROM), ACT, 2, USUAL_MASTER) for name in COMPARED}
    progress(1)
    return Run(world, replays, by_strictness, by_time, mad)


def study_of(runs: Sequence[Run]) -> Study:
    """What the runs say together."""
    long = _long(runs)
    pairs = _pairs(runs)
    leaks = table(list(_leaks(pairs)))
    strictness, by_time = _strictness(runs), _by_time(runs)
    accounts = len(runs[0].population.players)
    return Study(
        f"Bans after a list beside a graded ladder on SYNTHETIC players ({accounts:,} accounts, "
        f"{runs[0].population.days} days, {len(runs)} worlds)",
        _wide(long),
        tuple(runs),
        _gold(runs),
        strictness,
        by_time,
        pairs,
        leaks,
        tuple(_notes(runs)),
        (
            ("Every figure, lowest and highest of the worlds (SYNTHETIC)", long),
            ("By family of bots, all worlds together (SYNTHETIC)", _groups(runs, "family")),
            ("By who answers challenges for a bot, all worlds together (SYNTHETIC)", _groups(runs, _HELPS)),
            ("What the moment of a reaction tells, all worlds together (SYNTHETIC)", leaks),
            ("Stricter and laxer evidence, means of the worlds (SYNTHETIC)", strictness),
            ("With less of a game master's time, means of the worlds (SYNTHETIC)", by_time),
            ("Models gone mad after two weeks, means of the worlds (SYNTHETIC)", _mad(runs)),
        ),
    )


# Figures of one replay.


def bots_of(replay: Replay) -> list[Fate]:
    """The fates of the bots."""
    return [one for one in replay.fates if one.player.bot]


def people_of(replay: Replay) -> list[Fate]:
    """The fates of the people."""
    return [one for one in replay.fates if not one.player.bot]


def handed_on(fates: Sequence[Fate]) -> float:
    """The share of the gold that got out of all that would have."""
    possible = sum(sum(one.player.gold.values()) for one in fates)
    return sum(sum(one.gold.values()) for one in fates) / possible if possible else 0.0


def figures_of(replay: Replay) -> dict[str, float | None]:
    """What is reported of a policy in one world."""
    bots, people = bots_of(replay), people_of(replay)
    hours = sum(one.hours for one in people) or 1.0
    a_thousand = 1000 / max(len(people), 1)
    return {
        "gold that bots handed on": handed_on(bots),
        "bots with any reaction": _share(one.reacted is not None for one in bots),
        "bots stopped": _share(one.stopped is not None for one in bots),
        "days to the first reaction (median)": _days(replay, bots, "reacted"),
        "days to being stopped (median)": _days(replay, bots, "stopped"),
        "challenges to people, per 1,000 of their hours": 1000 * sum(one.challenges for one in people) / hours,
        "people challenged, of 1,000": a_thousand * sum(one.challenges > 0 for one in people),
        "people limited, of 1,000": a_thousand * sum(LIMIT in one.hours_under for one in people),
        "people limited, per 1,000 of their hours": 1000 * sum(one.hours_under.get(LIMIT, 0) for one in people) / hours,
        "gold that people lost to limits": sum(one.lost for one in people)
        / (sum(sum(one.player.gold.values()) for one in people) or 1.0),
        "people frozen, of 1,000": a_thousand * sum(FREEZE in one.hours_under for one in people),
        "people banned, of 1,000": a_thousand * sum(one.mistaken for one in people),
        "cases a game master looked at": float(replay.reviews),
        "people among these": float(sum(one.looks for one in people)),
        "most decisions that reach the game in one night": float(max(replay.nights, default=0)),
    }


def _share(flags: Iterator[bool]) -> float:
    found = list(flags)
    return sum(found) / len(found) if found else 0.0


def _days(replay: Replay, fates: Sequence[Fate], moment: str) -> float | None:
    """From the day an account begins; of those only to whom it happened."""
    world = replay.population
    found = [(at - world.day(one.player.arrives)) / _DAY for one in fates if (at := getattr(one, moment)) is not None]
    return median(found) if found else None


def _of_1000(flags: Iterator[bool]) -> float:
    return 1000 * _share(flags)


def _noticing(people: Sequence[Fate]) -> float:
    """People of a thousand who noticed anything, or whom a person had to look at."""
    return _of_1000(one.reacted is not None or one.looks > 0 for one in people)


# Tables.


def _long(runs: Sequence[Run]) -> pl.DataFrame:
    rows = [
        {"figure": figure, "policy": name, "value": value}
        for one in runs
        for name, replay in one.replays.items()
        for figure, value in figures_of(replay).items()
    ]
    value = pl.col("value")
    spread = (value.mean().alias("mean"), value.min().alias("lowest"), value.max().alias("highest"))
    found = pl.DataFrame(rows, schema={"figure": pl.String, "policy": pl.String, "value": pl.Float64})
    return found.group_by("figure", "policy", maintain_order=True).agg(*spread)


def _wide(long: pl.DataFrame) -> pl.DataFrame:
    """One row a figure: the mean of each policy, and beside it the lowest and highest of the worlds."""
    means = long.pivot(on="policy", index="figure", values="mean", maintain_order=True)
    said = pl.format("{} – {}", pl.col("lowest").round(4), pl.col("highest").round(4)).alias("range")
    ranges = long.with_columns(said).pivot(on="policy", index="figure", values="range", maintain_order=True)
    named = ranges.rename({name: f"{name} (range)" for name in POLICIES})
    columns = [column for name in POLICIES for column in (name, f"{name} (range)")]
    return means.join(named, on="figure", maintain_order="left").select("figure", *columns)


def _groups(runs: Sequence[Run], by: str) -> pl.DataFrame:
    """What becomes of each kind of bots: the share of gold handed on and of bots stopped, by policy."""
    first = runs[0].replays[LATE]
    kinds = HELPERS if by == _HELPS else sorted({getattr(one.player, by) for one in bots_of(first)})
    return pl.DataFrame([_group(runs, by, kind) for kind in kinds])


def _group(runs: Sequence[Run], by: str, kind: str) -> dict[str, object]:
    row: dict[str, object] = {by: kind}
    for name in POLICIES:
        mine = [fate for one in runs for fate in bots_of(one.replays[name]) if getattr(fate.player, by) == kind]
        row["bots"] = len(mine)
        row[f"{name}: gold"] = handed_on(mine)
        row[f"{name}: stopped"] = _share(one.stopped is not None for one in mine)
    asked = [fate for one in runs for fate in bots_of(one.replays[SLOW]) if getattr(fate.player, by) == kind]
    row["challenges"] = sum(one.challenges for one in asked)
    row["passed"] = sum(one.passed for one in asked)
    row["seen to be on call"] = sum(one.on_call for one in asked)
    return row


def _gold(runs: Sequence[Run]) -> pl.DataFrame:
    """Day by day, what bots had handed on, as a share of all that they would have by the end; means of the worlds."""
    rows = []
    for name in (NOBODY, *POLICIES):
        for day in range(runs[0].population.days):
            shares = [_by_then(one, name, day) for one in runs]
            rows.append(
                {"policy": name, "day": day + 1, "share": mean(shares), "lowest": min(shares), "highest": max(shares)}
            )
    return pl.DataFrame(rows)


def _by_then(one: Run, name: str, day: int) -> float:
    bots = bots_of(one.replays[LATE if name == NOBODY else name])
    possible = sum(sum(fate.player.gold.values()) for fate in bots)
    had = [fate.player.gold if name == NOBODY else fate.gold for fate in bots]
    return sum(gold for days in had for at, gold in days.items() if at <= day) / possible


def _strictness(runs: Sequence[Run]) -> pl.DataFrame:
    return pl.DataFrame([_strict(key, [one.by_strictness[key] for one in runs]) for key in runs[0].by_strictness])


def _strict(key: tuple[str, float, int], replays: Sequence[Replay]) -> dict[str, object]:
    name, act, agree = key
    return {
        "policy": name,
        "fpr": act,
        "families": agree,
        "gold_kept_back": mean(1 - handed_on(bots_of(one)) for one in replays),
        "people_noticing": mean(_noticing(people_of(one)) for one in replays),
        "people_banned": mean(_of_1000(fate.mistaken for fate in people_of(one)) for one in replays),
        "challenges": mean(sum(fate.challenges for fate in people_of(one)) for one in replays),
        "cases": mean(one.reviews for one in replays),
    }


def _by_time(runs: Sequence[Run]) -> pl.DataFrame:
    rows = []
    for name, a_day in runs[0].by_time:
        bots = [bots_of(one.by_time[name, a_day]) for one in runs]
        stopped = mean(_share(fate.stopped is not None for fate in found) for found in bots)
        handed = mean(map(handed_on, bots))
        rows.append({"policy": name, "cases_a_day": a_day, "gold_handed_on": handed, "bots_stopped": stopped})
    return pl.DataFrame(rows)


def _mad(runs: Sequence[Run]) -> pl.DataFrame:
    """What happens to people when from one night on everybody is taken for a bot; of 1,000 each."""
    rows = []
    for name in runs[0].mad:
        people = [people_of(one.mad[name]) for one in runs]
        rows.append(
            {
                "policy": name,
                "people_noticing": mean(_of_1000(fate.reacted is not None for fate in found) for found in people),
                "people_frozen": mean(_of_1000(FREEZE in fate.hours_under for fate in found) for found in people),
                "people_banned": mean(_of_1000(fate.mistaken for fate in found) for found in people),
                "decisions_of_the_first_nights": mean(
                    sum(one.mad[name].nights[MAD_FROM : MAD_FROM + 3]) for one in runs
                ),
            }
        )
    return pl.DataFrame(rows)


# Timing.

BAN_AT_ONCE, BAN_LATE, FIRST_STEP, LADDERS_BAN = (
    "ban, a list a day",
    "ban, a list a week",
    "first step of the ladder",
    "ban by way of the ladder",
)


def _pairs(runs: Sequence[Run]) -> dict[str, tuple[list[float], list[float]]]:
    """Days of the first evidence to act on, and days of what followed, of all bots to whom it happened."""
    wanted = {
        BAN_AT_ONCE: (AT_ONCE, "stopped"),
        BAN_LATE: (LATE, "stopped"),
        FIRST_STEP: (SLOW, "reacted"),
        LADDERS_BAN: (SLOW, "stopped"),
    }
    return {signal: _days_of([one.replays[name] for one in runs], moment) for signal, (name, moment) in wanted.items()}


def _days_of(replays: Sequence[Replay], moment: str) -> tuple[list[float], list[float]]:
    found = [
        ((fate.evident - start) / _DAY, (at - start) / _DAY)
        for replay in replays
        for start in (replay.population.start,)
        for fate in bots_of(replay)
        if fate.evident is not None and (at := getattr(fate, moment)) is not None and at >= fate.evident
    ]
    return [first for first, _ in found], [last for _, last in found]


def _leaks(pairs: Mapping[str, tuple[list[float], list[float]]]) -> Iterator[Leak]:
    for signal, (evident, reacted) in pairs.items():
        # The evidence of a day is there for the list of the same night.
        yield leak(signal, evident, reacted, Timing([-_NIGHT], "7d") if signal == BAN_LATE else None)
    evident, reacted = pairs[LADDERS_BAN]
    delays = [last - first for first, last in zip(evident, reacted, strict=True)]
    for said, wave, jitter in (
        ("a week", "7d", 0.0),
        ("a week, 30 % jitter", "7d", 0.3),
        ("two weeks, 30 % jitter", "14d", 0.3),
    ):
        moved = in_waves(reacted, wave, jitter)
        yield leak(f"the same in waves of {said}", evident, moved, Timing(delays, wave, jitter))


def _notes(runs: Sequence[Run]) -> Iterator[str]:
    first = runs[0].population
    humans = [sum(not one.bot for one in run.population.players) for run in runs]
    master = USUAL_MASTER
    yield "Synthetic: players, bots and how they answer challenges are our own construction (docs/world.md)."
    yield (
        f"{BOTS:.0%} of the accounts are bots that set up within the first two weeks; {humans[0]} of a world are "
        f"people. The models learned from {len(first.taught):,} players of another world."
    )
    yield (
        f"A game master looks at up to {master.a_day} cases a day, takes {master.catches:.0%} of the bots and "
        f"{master.mistakes:.0%} of the people for bots, the same under every policy. One person's look is enough."
    )
    yield (
        f"Steps follow from an FPR of {ACT:g} on, not 0.001: with these players no verdict is below "
        f"{min(one.population.least_fpr for one in runs):.2g}, and with the default nobody would be more than watched."
    )
    yield (
        f"Limits cost {LIMITED:.0%} of what is earned; what is frozen is handed on when the freeze ends, and lost with "
        "a ban. No bot changes its program and no author sets up a new account."
    )
    yield "What is still frozen on the last day counts as kept back. Whoever waits for a game master is asked no more."
    yield (
        "Ban late: a list a week. Ban at once: a list a day. The ladder forgets within 24 hours of play, or within "
        "168 (slow decay). Lowest and highest are of the worlds."
    )
