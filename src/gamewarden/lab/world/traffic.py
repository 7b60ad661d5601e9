"""How clients send: the timing and the sizes of packets of people, of bot programs and of bots that hide, as data.

Three layers that know nothing of each other make a sender: in what order lengths follow, when it pauses, and how often
it has something long to say. The numbers are calibrated (docs/world-packets.md) so that on traces shaped like those of
Hilaire et al. the test is about as good as published; nobody measured them on a real game.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import log


@dataclass(frozen=True)
class Order:
    """How a length follows the one before: together in usual stretches, alternating in a rotation of few actions."""

    usual: float  # lag-1 correlation
    rotating: float
    rotation: float  # share of the time spent rotating
    minutes: float = 2.0  # a stretch lasts about so long


@dataclass(frozen=True)
class Pauses:
    """Silences: short ones of a few seconds, and long ones, of walking, waiting and being away."""

    often: float  # per 100 packets
    long: float  # share of them that are long
    spread: float = 0.0  # σ of the logarithm of `often` from one stretch to the next
    minutes: float = 3.0


@dataclass(frozen=True)
class Words:
    """Packets longer than the usual ones: of actions with arguments (51 to 59 bytes), and of text or trade (60 up)."""

    longer: float  # per 100 packets
    long: float
    spread: float = 0.0  # σ of the logarithm of both from one stretch to the next
    minutes: float = 3.0


@dataclass(frozen=True)
class Sender:
    """One client: a person, or a program."""

    name: str
    bot: bool
    order: Order
    pauses: Pauses
    words: Words
    gap: float  # seconds between packets within a stretch, in the middle
    jitter: float  # σ of the logarithm of a gap
    pace: float = 0.35  # σ of the logarithm of the stretches' pace
    hours: float | None = None  # a person's experience
    disguise: tuple[Order, Words] | None = None  # packets are padded to at least such lengths


def person(name: str, hours: float, experience: float = 1.0) -> Sender:
    """A person who has played for so many hours.

    Experts rotate through fixed sequences longer and pause less: an assumption, which `experience=0` takes away.
    """
    skill = experience * log(hours / 100) / log(10)  # a beginner of 10 hours is -1, an expert of 1,000 is +1
    return Sender(
        name,
        bot=False,
        order=Order(usual=0.50, rotating=-0.45, rotation=0.15 + 0.03 * skill),
        pauses=Pauses(often=4.3 - 0.4 * skill, long=0.01, spread=0.35),
        words=Words(longer=5.0, long=2.15 - 0.2 * skill, spread=0.5),
        gap=0.2,
        jitter=0.55,
        hours=hours,
    )


def program(name: str, *, alone: bool, favourable: bool) -> Sender:
    """A bot program: `alone` fights by itself (Mimic), otherwise it gathers under a person's eye (Gatherbuddy)."""
    hurdle = 0.0 if favourable else 1.0  # unfavourable ground: it gets stuck, turns and tries again
    return Sender(
        name,
        bot=True,
        order=Order(usual=0.05, rotating=-0.5, rotation=(0.74 if alone else 0.70) - 0.06 * hurdle),
        pauses=Pauses(often=(1.0 if alone else 1.8) + 0.4 * hurdle, long=0.28 if alone else 0.48, spread=0.4),
        words=Words(longer=2.4, long=0.30 + 0.1 * hurdle, spread=0.6),
        gap=0.26 if alone else 0.24,
        jitter=0.25,
    )


# The published traces: M and G are the two programs, 1 unfavourable and 2 favourable; SS1 and S1 are beginners.
TRACES: Mapping[str, Sender] = {
    sender.name: sender
    for sender in (
        program("M1", alone=True, favourable=False),
        program("M2", alone=True, favourable=True),
        program("G1", alone=False, favourable=False),
        program("G2", alone=False, favourable=True),
        person("SS1", 10),
        person("S1", 30),
        person("SC1", 800),
        person("X1", 2000),
    )
}


_HOURS = {
    "newbie": 10,
    "casual": 150,
    "sharer": 150,
    "trader": 200,
    "sitter": 300,
    "grinder": 600,
    "hard-core": 2000,
    "guild-bank": 300,
    "veteran": 2000,
    "crafter": 300,
    "fisher": 300,
    "rounder": 600,
}


def sender_like(persona: str, name: str) -> Sender:
    """How the client of an account of the world sends, by its persona."""
    if persona in _HOURS:
        return person(name, _HOURS[persona])
    bot = program(name, alone=persona not in {"gatherer", "semi-autonomous", "occasional"}, favourable=True)
    hidden = {"randomised-farmer": jittering, "cheat": padding, "mimic": hiding}.get(persona)
    return replace(hidden(bot), name=name) if hidden else bot


def jittering(bot: Sender) -> Sender:
    """The same program, pausing as a person does: it gets fewer packets through."""
    return replace(bot, name=f"{bot.name} jitters", pauses=person("", 100).pauses, jitter=0.55)


def padding(bot: Sender) -> Sender:
    """The same program, each packet drawn out to at least the length a person's would have: every byte of it costs."""
    model = person("", 100)
    return replace(bot, name=f"{bot.name} pads", disguise=(model.order, model.words))


def hiding(bot: Sender) -> Sender:
    """Both at once."""
    return replace(padding(jittering(bot)), name=f"{bot.name} does both")
