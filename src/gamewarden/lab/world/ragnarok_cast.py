"""Who plays the synthetic Ragnarok: how people click, and how bot programs walk, fight, loot and rest, as data.

What the numbers rest on: the bot that walks cell by cell is set after recorded OpenKore programs (a walk about every
0.2 s on the way, one cell at a step, a turn right before a pick-up, 0.7 to 2.7 s from blow to pick-up). The
thesis says which players and bots were hard: those who gather crowds of monsters, one who sat all the time, bots that
rested. No recording of people was at hand: how they click is set by hand (docs/decisions/037-synthetic-ragnarok.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class About:
    """A number around a centre: times e to the power of a normal with this deviation."""

    center: float
    spread: float = 0.0


@dataclass(frozen=True)
class Style:
    """How one kind of player or program plays. Times are seconds, lengths cells."""

    bot: bool
    step_gap: About  # between two walk orders on the way
    stride: About  # length of one order
    wobble: float  # degrees a course changes from order to order
    grid: bool = False  # steps in eight directions only, as a path over cells is stored
    leg: About = field(default=About(40, 0.5))  # cells from one decision where to go to the next
    cell: float = 0.0  # added to the gap for every cell of the order: it waits until it has arrived
    reaction: About = field(default=About(1.2, 0.4))  # from seeing a monster to the first order
    approach: About = field(default=About(6.0, 0.4))  # the last order before a fight
    kill: About = field(default=About(2.0, 0.4))  # a fight
    strength: float = 0.45  # how far the fights of one character differ from those of another
    blows: float = 1.0  # attack orders a fight
    lasting: float = 0.9  # share of them that last until the monster is dead
    loot: float = 0.9  # share of killed monsters that are looted
    items: float = 1.2  # items more than the first, on average
    loot_delay: About = field(default=About(1.6, 0.5))  # from the last blow to the first pick-up
    item_gap: About = field(default=About(1.3, 0.4))  # from item to item
    turn: float = 0.03  # share of pick-ups that a turn precedes …
    turn_lead: About = field(default=About(1.5, 0.8))  # … by so much
    crowd: int = 1  # monsters gathered before they are fought
    rest_every: float = 12.0  # minutes of play between two rests
    rest: About = field(default=About(25, 0.6))  # a rest
    chat: float = 0.3  # whispers a minute
    idle: float = 0.6  # pauses of several seconds a minute
    own: float = 0.35  # how far one player of the kind is from another, on every time and length


CELL = 0.15  # seconds a cell at the usual walking pace of the game

_PERSON = Style(bot=False, step_gap=About(1.05, 0.45), stride=About(7.0, 0.35), wobble=28)
_PROGRAM = Style(
    bot=True,
    step_gap=About(0.2, 0.28),
    stride=About(1.0),
    wobble=50,
    grid=True,
    leg=About(18, 0.8),
    reaction=About(0.35, 0.3),
    blows=1.3,
    lasting=1.0,
    loot=1.0,
    loot_delay=About(0.8, 0.4),
    item_gap=About(1.2, 0.5),
    turn=0.6,
    turn_lead=About(0.05, 0.5),
    rest_every=20,
    chat=0.0,
    idle=0.05,
    own=0.08,
)

STYLES: Mapping[str, Style] = {
    "hunter": _PERSON,
    "veteran": replace(
        _PERSON, step_gap=About(0.75, 0.4), reaction=About(0.7, 0.4), loot_delay=About(1.1, 0.4), chat=0.15, idle=0.3
    ),
    "newcomer": replace(
        _PERSON, step_gap=About(1.5, 0.5), stride=About(5.5, 0.4), wobble=40, lasting=0.3, blows=3.0, idle=1.2
    ),
    "explorer": replace(_PERSON, stride=About(10.0, 0.3), leg=About(120, 0.5), loot=0.6, wobble=18),
    "talker": replace(_PERSON, chat=2.5, idle=2.0, rest_every=5, rest=About(60, 0.6)),
    # Runs in circles with the button held, a crowd behind, then strikes: "mobbing" in the thesis.
    "mobber": replace(
        _PERSON,
        step_gap=About(0.4, 0.25),
        stride=About(3.5, 0.3),
        wobble=45,
        leg=About(35, 0.4),
        reaction=About(0.3, 0.4),
        crowd=8,
        kill=About(5.0, 0.4),
        blows=4.0,
        lasting=0.8,
        items=7.0,
        item_gap=About(0.7, 0.3),
        chat=0.05,
        idle=0.2,
    ),
    "sitter": replace(_PERSON, rest_every=0.4, rest=About(600, 0.3), chat=1.0),
    "router": _PROGRAM,
    "stepper": replace(_PROGRAM, step_gap=About(0.25, 0.2), stride=About(7.0, 0.15), cell=CELL, grid=False, own=0.15),
    "jittered": replace(
        _PROGRAM,
        step_gap=About(0.9, 0.5),
        stride=About(6.0, 0.4),
        grid=False,
        reaction=About(1.0, 0.5),
        loot_delay=About(1.3, 0.5),
        item_gap=About(1.2, 0.5),
        turn=0.05,
        idle=0.4,
        own=0.2,
    ),
    "vacuum": replace(_PROGRAM, items=3.0, item_gap=About(0.6, 0.25), lasting=0.8, blows=2.0),
    "rester": replace(_PROGRAM, rest_every=0.8, rest=About(480, 0.5)),
}
# Twenty-five of each, as many as in the thesis; a shorter list is this one from its beginning.
PLAYERS = (
    *("hunter", "mobber", "veteran", "sitter", "newcomer", "hunter", "explorer", "talker", "hunter", "veteran"),
    *("hunter", "mobber", "newcomer", "explorer", "hunter", "veteran", "hunter", "talker", "hunter", "newcomer"),
    *("hunter", "veteran", "explorer", "hunter", "hunter"),
)
BOTS = (
    *("router", "rester", "stepper", "jittered", "vacuum", "router", "stepper", "router", "jittered", "stepper"),
    *("router", "rester", "stepper", "router", "vacuum", "router", "jittered", "stepper", "router", "stepper"),
    *("router", "jittered", "stepper", "router", "router"),
)
