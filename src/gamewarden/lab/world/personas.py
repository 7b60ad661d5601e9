"""Who plays: every kind of human and of bot as data. Sources and reasons are in docs/world.md, by the same names."""

from dataclasses import dataclass, replace
from typing import Literal

FOREVER = 1e6  # hours: a phase that lasts as long as the session

Activity = Literal["hunt", "gather", "quest", "town", "deal", "craft", "talk", "sit", "roam", "fish"]


@dataclass(frozen=True)
class Around:
    """A value that differs from one account to the next: `center`, give or take a `factor` (log-normal, cut at ±3σ)."""

    center: float
    factor: float = 1.0


@dataclass(frozen=True)
class Hand:
    """How something is done: what a script does evenly and a person does not."""

    pace: Around  # time a step takes, against the game's own
    jitter: Around  # σ of the logarithm of a step's time
    drift: Around  # σ of the logarithm of what changes from one bout to the next: pace and thoroughness
    variety: Around  # chance to use any skill, quest or panel rather than a favourite one
    favourites: Around  # how many kinds of a family are favourites
    pause: Around  # chance of a pause after a round
    pause_minutes: Around
    aside: Around  # chance of doing something else for a moment after a round
    roam: Around  # how far from the spot, in paces
    loop: Around  # way-points walked in a fixed order; below 1: wherever it takes them
    death: Around = Around(0.001, 1.5)  # chance a round
    burst: Around = Around(0.0)  # chance that a round is done at a speed the rules forbid
    leap: Around = Around(0.0)  # chance that a round begins with a leap across the map
    spots: Around = Around(0.0)  # favourite spots visited in turn by hand; below 1: none


@dataclass(frozen=True)
class Bout:
    """A stretch of one activity: how often it is chosen, how long it lasts, and in which hand."""

    activity: Activity
    weight: float
    minutes: Around
    hand: Hand


@dataclass(frozen=True)
class Phase:
    """A part of a session: someone who plays by hand and then switches a bot on has two."""

    bouts: tuple[Bout, ...]
    hours: Around = Around(FOREVER)


@dataclass(frozen=True)
class Schedule:
    """When an account is online."""

    hours: Around  # a day, when it plays at all
    plays: Around = Around(0.85, 1.1)  # chance to play on a day
    sessions: Around = Around(1.5, 1.3)  # a day
    start: Around = Around(20.0)  # o'clock in Seoul
    start_spread: Around = Around(2.0)  # hours between accounts (σ)
    day_spread: Around = Around(0.35, 1.3)  # σ of the logarithm of hours from day to day
    rest_minutes: Around = Around(60.0, 2.0)  # between two sessions of a day
    most: Around = Around(23.8)  # hours a day that are never exceeded


@dataclass(frozen=True)
class Habits:
    """What an account is and does beside its bouts."""

    level: Around  # at the start, as a share of the game's highest
    bag: Around = Around(60, 1.6)  # things picked up before an errand
    trades: Around = Around(0.25, 2.5)  # hand-to-hand trades an hour that two friends are online together
    giving: Around = Around(1.0, 1.5)  # who of the two gives, as odds
    party: Around = Around(0.2, 1.8)  # chance that a bout is played in a party
    wander: Around = Around(0.3, 1.5)  # chance to go to another field than last time
    second: Around = Around(0.1, 2.0)  # chance that a session is played with a second character


@dataclass(frozen=True)
class Persona:
    """One kind of player."""

    name: str
    bot: bool
    schedule: Schedule
    habits: Habits
    phases: tuple[Phase, ...]


BY_HAND = Hand(
    pace=Around(1.15, 1.25),
    jitter=Around(0.55, 1.3),
    drift=Around(0.3, 1.3),
    variety=Around(0.2, 1.6),
    favourites=Around(4, 1.4),
    pause=Around(0.012, 1.8),
    pause_minutes=Around(1.6, 1.5),
    aside=Around(0.12, 1.7),
    roam=Around(40, 1.5),
    loop=Around(0),
)
ROUTINED = Hand(
    pace=Around(1.05, 1.15),
    jitter=Around(0.35, 1.3),
    drift=Around(0.12, 1.5),
    variety=Around(0.05, 2.0),
    favourites=Around(2.5, 1.3),
    pause=Around(0.003, 2.0),
    pause_minutes=Around(1.8, 1.5),
    aside=Around(0.025, 2.0),
    roam=Around(12, 1.5),
    loop=Around(0),
)
UNSURE = Hand(
    pace=Around(1.5, 1.3),
    jitter=Around(0.75, 1.2),
    drift=Around(0.4, 1.2),
    variety=Around(0.5, 1.3),
    favourites=Around(5, 1.3),
    pause=Around(0.03, 1.6),
    pause_minutes=Around(1.6, 1.5),
    aside=Around(0.25, 1.4),
    roam=Around(60, 1.4),
    loop=Around(0),
    death=Around(0.006, 1.6),
)
SCRIPT = Hand(
    pace=Around(1.0, 1.15),
    jitter=Around(0.08, 1.8),
    drift=Around(0.02, 1.8),
    variety=Around(0.004, 2.5),
    favourites=Around(1.6, 1.3),
    pause=Around(0.0006, 2.5),
    pause_minutes=Around(2.0, 1.8),
    aside=Around(0.001, 3.0),
    roam=Around(25, 1.5),
    loop=Around(12, 1.5),
)
RANDOMISED = Hand(
    pace=Around(1.15, 1.2),
    jitter=Around(0.6, 1.3),
    drift=Around(0.12, 1.6),
    variety=Around(0.02, 2.5),
    favourites=Around(2.0, 1.3),
    pause=Around(0.003, 2.2),
    pause_minutes=Around(1.2, 1.6),
    aside=Around(0.004, 3.0),
    roam=Around(30, 1.5),
    loop=Around(16, 1.5),
)
DISGUISED = Hand(
    pace=Around(1.2, 1.2),
    jitter=Around(0.45, 1.3),
    drift=Around(0.2, 1.5),
    variety=Around(0.15, 1.8),
    favourites=Around(4, 1.3),
    pause=Around(0.008, 2.0),
    pause_minutes=Around(1.0, 1.6),
    aside=Around(0.12, 1.8),
    roam=Around(40, 1.5),
    loop=Around(20, 1.5),
)
FORBIDDEN = Hand(
    pace=Around(0.9, 1.15),
    jitter=Around(0.15, 1.6),
    drift=Around(0.06, 1.8),
    variety=Around(0.01, 2.5),
    favourites=Around(1.6, 1.3),
    pause=Around(0.0015, 2.5),
    pause_minutes=Around(2.0, 1.8),
    aside=Around(0.004, 3.0),
    roam=Around(25, 1.5),
    loop=Around(12, 1.5),
    burst=Around(0.08, 1.8),
    leap=Around(0.03, 1.6),
)
# One even thing for hours: monotone as a script, with a hand's times.
MONOTONE = replace(ROUTINED, variety=Around(0.01, 2.0), favourites=Around(1.5, 1.3), aside=Around(0.02, 2.0))
ON_A_STOOL = replace(MONOTONE, roam=Around(3, 1.5))
ON_ROUNDS = replace(ROUTINED, roam=Around(90, 1.4), spots=Around(7, 1.4))
# A script's times with a disguise's range: what it does is varied, when it does it is not.
WIDENED = replace(SCRIPT, variety=DISGUISED.variety, favourites=DISGUISED.favourites, aside=DISGUISED.aside)


CASUAL = Persona(
    "casual",
    bot=False,
    schedule=Schedule(hours=Around(2.2, 1.6)),
    habits=Habits(level=Around(0.6, 1.35)),
    phases=(
        Phase(
            (
                Bout("hunt", 4, Around(25, 1.7), BY_HAND),
                Bout("quest", 2.5, Around(20, 1.7), BY_HAND),
                Bout("town", 1.6, Around(6, 1.7), BY_HAND),
                Bout("talk", 0.5, Around(8, 1.8), BY_HAND),
                Bout("gather", 0.5, Around(12, 1.6), BY_HAND),
                Bout("craft", 0.3, Around(8, 1.6), BY_HAND),
                Bout("roam", 0.5, Around(8, 1.6), BY_HAND),
                Bout("sit", 0.12, Around(12, 1.8), BY_HAND),
            )
        ),
    ),
)
SHARER = Persona("sharer", bot=False, schedule=CASUAL.schedule, habits=CASUAL.habits, phases=CASUAL.phases)
HARD_CORE = Persona(
    "hard-core",
    bot=False,
    schedule=Schedule(
        hours=Around(18.5, 1.12),
        plays=Around(0.97),
        sessions=Around(1.6, 1.3),
        start=Around(13.0),
        start_spread=Around(4.0),
        day_spread=Around(0.1, 1.3),
        rest_minutes=Around(40.0, 1.8),
        most=Around(22.0),
    ),
    habits=Habits(level=Around(0.85, 1.1), trades=Around(0.3, 2.0)),
    phases=(
        Phase(
            (
                Bout("hunt", 7, Around(60, 1.8), ROUTINED),
                Bout("quest", 1.2, Around(25, 1.7), BY_HAND),
                Bout("town", 1.2, Around(6, 1.7), BY_HAND),
                Bout("talk", 0.4, Around(8, 1.8), BY_HAND),
                Bout("gather", 0.4, Around(15, 1.6), ROUTINED),
                Bout("sit", 0.2, Around(25, 1.8), BY_HAND),
            )
        ),
    ),
)
GRINDER = Persona(
    "grinder",
    bot=False,
    schedule=Schedule(hours=Around(6.0, 1.5), sessions=Around(1.4, 1.3), start_spread=Around(3.5)),
    habits=Habits(level=Around(0.75, 1.2), bag=Around(80, 1.6), trades=Around(0.12, 2.5), party=Around(0.05, 2.0)),
    phases=(
        Phase(
            (
                Bout("hunt", 10, Around(120, 1.6), ROUTINED),
                Bout("town", 0.5, Around(5, 1.6), ROUTINED),
                Bout("talk", 0.1, Around(5, 1.6), BY_HAND),
            )
        ),
    ),
)
TRADER = Persona(
    "trader",
    bot=False,
    schedule=Schedule(hours=Around(4.0, 1.6), sessions=Around(2.0, 1.3), start_spread=Around(4.0)),
    habits=Habits(level=Around(0.55, 1.4), trades=Around(2.0, 1.6)),
    phases=(
        Phase(
            (
                Bout("deal", 6, Around(35, 1.7), BY_HAND),
                Bout("craft", 1.0, Around(15, 1.6), BY_HAND),
                Bout("talk", 1.0, Around(10, 1.6), BY_HAND),
                Bout("hunt", 0.8, Around(20, 1.6), BY_HAND),
                Bout("sit", 0.4, Around(15, 1.6), BY_HAND),
            )
        ),
    ),
)
NEWBIE = Persona(
    "newbie",
    bot=False,
    schedule=Schedule(hours=Around(1.8, 1.6)),
    habits=Habits(level=Around(0.06, 1.8), trades=Around(0.05, 2.5), bag=Around(30, 1.5)),
    phases=(
        Phase(
            (
                Bout("quest", 6, Around(25, 1.6), UNSURE),
                Bout("hunt", 2, Around(15, 1.6), UNSURE),
                Bout("town", 1.5, Around(7, 1.6), UNSURE),
                Bout("roam", 1.0, Around(8, 1.6), UNSURE),
                Bout("talk", 0.4, Around(6, 1.6), UNSURE),
            )
        ),
    ),
)
SITTER = Persona(
    "sitter",
    bot=False,
    schedule=Schedule(hours=Around(7.0, 1.6), sessions=Around(1.2, 1.2), start_spread=Around(4.0)),
    habits=Habits(level=Around(0.65, 1.3), trades=Around(0.05, 2.5)),
    phases=(
        Phase(
            (
                Bout("sit", 10, Around(120, 1.6), BY_HAND),
                Bout("talk", 0.8, Around(6, 1.6), BY_HAND),
                Bout("town", 0.5, Around(5, 1.6), BY_HAND),
                Bout("hunt", 0.4, Around(12, 1.6), BY_HAND),
            )
        ),
    ),
)

_ROUND_THE_CLOCK = Schedule(
    hours=Around(22.5, 1.1),
    plays=Around(0.97),
    sessions=Around(1.8, 1.4),
    start=Around(9.0),
    start_spread=Around(6.0),
    day_spread=Around(0.06, 1.5),
    rest_minutes=Around(8.0, 2.0),
)
FARMER = Persona(
    "farmer",
    bot=True,
    schedule=_ROUND_THE_CLOCK,
    habits=Habits(
        level=Around(0.72, 1.25),
        bag=Around(120, 1.5),
        trades=Around(0.04, 2.5),
        giving=Around(6, 2.0),
        party=Around(0.15, 2.0),
        wander=Around(0.01, 2.0),
        second=Around(0.01, 2.0),
    ),
    phases=(Phase((Bout("hunt", 1, Around(320, 1.4), SCRIPT),)),),
)
RANDOMISED_FARMER = Persona(
    "randomised-farmer",
    bot=True,
    schedule=Schedule(
        hours=Around(14.0, 1.4),
        plays=Around(0.95),
        sessions=Around(1.8, 1.4),
        start=Around(12.0),
        start_spread=Around(6.0),
        day_spread=Around(0.2, 1.5),
        rest_minutes=Around(30.0, 2.0),
    ),
    habits=FARMER.habits,
    phases=(Phase((Bout("hunt", 1, Around(280, 1.5), RANDOMISED),)),),
)
GATHERER = Persona(
    "gatherer",
    bot=True,
    schedule=Schedule(
        hours=Around(16.0, 1.35),
        plays=Around(0.95),
        sessions=Around(1.6, 1.4),
        start=Around(9.0),
        start_spread=Around(6.0),
        day_spread=Around(0.15, 1.5),
        rest_minutes=Around(15.0, 2.0),
    ),
    habits=Habits(
        level=Around(0.5, 1.5),
        bag=Around(150, 1.5),
        trades=Around(0.05, 2.5),
        giving=Around(6, 2.0),
        party=Around(0.01, 2.0),
        wander=Around(0.01, 2.0),
        second=Around(0.01, 2.0),
    ),
    phases=(Phase((Bout("gather", 1, Around(300, 1.4), SCRIPT),)),),
)
SEMI_AUTONOMOUS = Persona(
    "semi-autonomous",
    bot=True,
    schedule=Schedule(
        hours=Around(7.0, 1.5),
        plays=Around(0.9),
        sessions=Around(1.5, 1.3),
        start=Around(18.0),
        start_spread=Around(4.0),
        rest_minutes=Around(45.0, 2.0),
    ),
    habits=Habits(level=Around(0.68, 1.3), wander=Around(0.1, 1.8), trades=Around(0.15, 2.5)),
    phases=(
        Phase(
            (
                Bout("hunt", 5, Around(90, 1.6), SCRIPT),
                Bout("town", 1.2, Around(5, 1.6), BY_HAND),
                Bout("quest", 0.6, Around(12, 1.6), BY_HAND),
                Bout("talk", 0.3, Around(5, 1.6), BY_HAND),
            )
        ),
    ),
)
CHEAT = Persona(
    "cheat",
    bot=True,
    schedule=Schedule(
        hours=Around(6.0, 1.6),
        plays=Around(0.92),
        sessions=Around(1.5, 1.4),
        start=Around(17.0),
        start_spread=Around(5.0),
        rest_minutes=Around(30.0, 2.0),
    ),
    habits=Habits(level=Around(0.7, 1.3), bag=Around(150, 1.5), giving=Around(3, 2.0), trades=Around(0.1, 2.5)),
    phases=(
        Phase(
            (
                Bout("hunt", 8, Around(150, 1.5), FORBIDDEN),
                Bout("town", 0.6, Around(4, 1.6), BY_HAND),
            )
        ),
    ),
)
MIMIC = Persona(
    "mimic",
    bot=True,
    schedule=Schedule(
        hours=Around(11.0, 1.5),
        plays=Around(0.95),
        sessions=Around(1.7, 1.4),
        start=Around(14.0),
        start_spread=Around(6.0),
        day_spread=Around(0.25, 1.5),
        rest_minutes=Around(40.0, 2.0),
    ),
    habits=Habits(level=Around(0.65, 1.3), bag=Around(90, 1.6), trades=Around(0.1, 2.5), giving=Around(3, 2.0)),
    phases=(
        Phase(
            (
                Bout("hunt", 6, Around(60, 1.5), DISGUISED),
                Bout("gather", 1.5, Around(30, 1.5), DISGUISED),
                Bout("quest", 0.8, Around(15, 1.5), DISGUISED),
                Bout("town", 1.0, Around(5, 1.5), DISGUISED),
                Bout("craft", 0.6, Around(10, 1.5), DISGUISED),
                Bout("roam", 0.4, Around(6, 1.5), DISGUISED),
            )
        ),
    ),
)
STAR_FARMER = Persona(
    "star-farmer",
    bot=True,
    schedule=Schedule(
        hours=Around(1.0, 1.15),
        plays=Around(0.95),
        sessions=Around(1.0),
        start=Around(15.0),
        start_spread=Around(2.5),
        day_spread=Around(0.1),
        most=Around(1.35),  # seven days stay below ten hours
    ),
    habits=Habits(
        level=Around(0.4, 1.6),
        bag=Around(90, 1.4),
        trades=Around(1.5, 1.2),
        giving=Around(40, 1.2),
        party=Around(0.02, 2.0),
        wander=Around(0.01, 2.0),
        second=Around(0.0),
    ),
    phases=(Phase((Bout("hunt", 1.0, Around(150, 1.2), SCRIPT), Bout("gather", 0.5, Around(150, 1.2), SCRIPT))),),
)
STAR_HUB = Persona(
    "star-hub",
    bot=True,
    schedule=Schedule(
        hours=Around(9.0, 1.15),
        plays=Around(1.0),
        sessions=Around(1.0),
        start=Around(11.0),
        start_spread=Around(0.7),
        day_spread=Around(0.08),
    ),
    habits=Habits(
        level=Around(0.3, 1.8),
        trades=Around(1.5, 1.2),
        giving=Around(0.15, 1.5),
        party=Around(0.0),
        second=Around(0.0),
    ),
    phases=(Phase((Bout("deal", 1, Around(200, 1.4), BY_HAND), Bout("sit", 0.2, Around(15, 1.4), BY_HAND))),),
)
OCCASIONAL = Persona(
    "occasional",
    bot=True,
    schedule=Schedule(
        hours=Around(8.5, 1.35),
        plays=Around(0.92),
        sessions=Around(1.1, 1.1),
        start=Around(19.0),
        start_spread=Around(2.5),
        day_spread=Around(0.2, 1.3),
    ),
    habits=Habits(level=Around(0.65, 1.3), trades=Around(0.15, 2.5)),
    phases=(
        Phase(CASUAL.phases[0].bouts, Around(1.8, 1.5)),
        Phase((Bout("hunt", 1, Around(300, 1.3), SCRIPT),)),
    ),
)
# The farmer whose author answers to detectors of few actions, and to nothing else. It does not gather, so that its loot
# compares with a farmer's.
WIDE_MIMIC = Persona(
    "wide-mimic",
    bot=True,
    schedule=FARMER.schedule,
    habits=FARMER.habits,
    phases=(
        Phase(
            (
                Bout("hunt", 6, Around(60, 1.5), WIDENED),
                Bout("quest", 1.5, Around(15, 1.5), WIDENED),
                Bout("town", 1.5, Around(5, 1.5), WIDENED),
                Bout("craft", 1.0, Around(10, 1.5), WIDENED),
                Bout("roam", 0.4, Around(6, 1.5), WIDENED),
            )
        ),
    ),
)

# Those whom only a society knows.
GUILD_BANK = Persona(
    "guild-bank",
    bot=False,
    schedule=Schedule(hours=Around(3.5, 1.5), plays=Around(0.95), sessions=Around(1.6, 1.3), start_spread=Around(2.0)),
    habits=Habits(level=Around(0.25, 2.0), trades=Around(0.1), party=Around(0.0), second=Around(0.0)),
    phases=(
        Phase(
            (
                Bout("deal", 4, Around(30, 1.7), BY_HAND),
                Bout("sit", 1.0, Around(25, 1.8), BY_HAND),
                Bout("talk", 0.6, Around(8, 1.8), BY_HAND),
                Bout("town", 1.0, Around(6, 1.7), BY_HAND),
            )
        ),
    ),
)
VETERAN = Persona(
    "veteran",
    bot=False,
    schedule=Schedule(hours=Around(4.5, 1.5), plays=Around(0.92), start_spread=Around(2.5)),
    habits=Habits(level=Around(0.97, 1.02), giving=Around(3, 1.5)),
    phases=(
        Phase(
            (
                Bout("hunt", 4, Around(30, 1.7), BY_HAND),
                Bout("talk", 1.5, Around(10, 1.8), BY_HAND),
                Bout("town", 1.6, Around(6, 1.7), BY_HAND),
                Bout("quest", 1.0, Around(20, 1.7), BY_HAND),
                Bout("roam", 0.5, Around(8, 1.6), BY_HAND),
            )
        ),
    ),
)
CRAFTER = Persona(
    "crafter",
    bot=False,
    schedule=Schedule(hours=Around(3.5, 1.5), start_spread=Around(3.0)),
    habits=Habits(level=Around(0.6, 1.35)),
    phases=(
        Phase(
            (
                Bout("craft", 5, Around(80, 1.4), MONOTONE),
                Bout("town", 1.5, Around(7, 1.7), BY_HAND),
                Bout("gather", 1.0, Around(25, 1.6), ROUTINED),
                Bout("talk", 0.5, Around(8, 1.8), BY_HAND),
                Bout("hunt", 0.6, Around(20, 1.7), BY_HAND),
            )
        ),
    ),
)
FISHER = Persona(
    "fisher",
    bot=False,
    schedule=Schedule(hours=Around(3.5, 1.5), start_spread=Around(3.0)),
    habits=Habits(level=Around(0.6, 1.35), bag=Around(120, 1.5), wander=Around(0.1, 1.5)),
    phases=(
        Phase(
            (
                Bout("fish", 5, Around(80, 1.4), ON_A_STOOL),
                Bout("town", 1.2, Around(7, 1.7), BY_HAND),
                Bout("talk", 0.8, Around(8, 1.8), BY_HAND),
                Bout("quest", 0.5, Around(15, 1.7), BY_HAND),
                Bout("hunt", 0.6, Around(20, 1.7), BY_HAND),
            )
        ),
    ),
)
ROUNDER = Persona(
    "rounder",
    bot=False,
    schedule=GRINDER.schedule,
    habits=GRINDER.habits,
    phases=(
        Phase(
            (
                Bout("hunt", 10, Around(100, 1.6), ON_ROUNDS),
                Bout("town", 0.6, Around(6, 1.6), BY_HAND),
                Bout("talk", 0.2, Around(6, 1.6), BY_HAND),
            )
        ),
    ),
)
CHAIN_LINK = Persona(
    "chain-link",
    bot=True,
    schedule=Schedule(
        hours=Around(3.0, 1.3),
        plays=Around(0.95),
        sessions=Around(1.2, 1.2),
        start=Around(16.0),
        start_spread=Around(1.5),
        day_spread=Around(0.15, 1.3),
    ),
    habits=Habits(level=Around(0.5, 1.4), party=Around(0.02, 2.0), wander=Around(0.02, 2.0), second=Around(0.0)),
    phases=(Phase((Bout("deal", 1.5, Around(40, 1.5), BY_HAND), Bout("hunt", 1.0, Around(60, 1.4), SCRIPT))),),
)
MULE = Persona(
    "mule",
    bot=True,
    schedule=Schedule(
        hours=Around(3.0, 1.4),
        plays=Around(0.97),
        sessions=Around(1.5, 1.3),
        start=Around(17.0),
        start_spread=Around(1.5),
        day_spread=Around(0.2, 1.3),
    ),
    habits=Habits(level=Around(0.15, 1.8), party=Around(0.0), second=Around(0.0)),
    phases=(Phase((Bout("deal", 1, Around(60, 1.5), BY_HAND), Bout("sit", 0.6, Around(30, 1.5), BY_HAND))),),
)

HUMANS = (CASUAL, HARD_CORE, GRINDER, TRADER, NEWBIE, SITTER, SHARER)
BOTS = (
    FARMER,
    RANDOMISED_FARMER,
    GATHERER,
    SEMI_AUTONOMOUS,
    CHEAT,
    MIMIC,
    STAR_FARMER,
    STAR_HUB,
    OCCASIONAL,
)
CAST_BY_NAME = (WIDE_MIMIC,)  # in no game's mix: World.recast puts them on the stage
NEIGHBOURS = (GUILD_BANK, VETERAN, CRAFTER, FISHER, ROUNDER, CHAIN_LINK, MULE)  # in a society only
PERSONAS = (*HUMANS, *BOTS, *CAST_BY_NAME, *NEIGHBOURS)  # new ones come last: a code is a place
