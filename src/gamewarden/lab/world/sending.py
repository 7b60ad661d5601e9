"""A sender's packets: from the numbers of world/traffic.py to times and sizes."""

import numpy as np
import numpy.typing as npt
import polars as pl

from gamewarden.lab.world.traffic import Order, Pauses, Sender, Words
from gamewarden.tables import PACKETS, check

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Dice = np.random.Generator

MIDDLE, SPREAD, SHORTEST, USUAL_LONGEST = 34.0, 6.5, 6, 50  # bytes
_MEMORY = 12  # steps after which an earlier length no longer shows
# Seconds, at least and on average beyond that: around the limits of Table II (2 s, 6 s), not cut off at them.
_SHORT_PAUSE, _LONG_PAUSE = (1.2, 1.2), (5.2, 3.0)
_PACES = (-0.3, 1.0)  # the fastest and the slowest stretch, as logarithms
_SECOND = 1_000_000
SENDING, REPLIES, NETWORK = 1, 2, 3  # streams of dice of one seed


def dice_for(seed: int, number: int, stream: int = SENDING) -> Dice:
    """The dice of one sender: its place in the crowd alone decides, not who else is there."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, number, stream])))


def packets_of(sender: Sender, start: int, seconds: float, dice: Dice) -> pl.DataFrame:
    """PACKETS of one client from `start` (µs) on, in order."""
    count = int(seconds / sender.gap) + 200  # enough, since pauses only make it last longer
    gaps = _gaps(sender, count, dice)
    sizes = _sizes(sender, count, dice)
    clock = np.cumsum(gaps)
    upto = int(np.searchsorted(clock, seconds))
    at = start + np.round(clock[:upto] * _SECOND).astype(np.int64)
    return _frame(sender.name, at, np.ones(upto, np.bool_), sizes[:upto])


def with_replies(packets: pl.DataFrame, dice: Dice, often: float = 0.6) -> pl.DataFrame:
    """The packets with the server's answers among them, a round trip later."""
    asked = packets.filter(pl.Series(dice.random(packets.height) < often))
    later = np.round((0.06 + dice.exponential(0.02, asked.height)) * _SECOND).astype(np.int64)
    sizes = np.clip(np.round(np.exp(dice.normal(4.4, 0.7, asked.height))), 10, 1400).astype(np.int32)
    replies = asked.with_columns(
        at=(asked["at"].to_physical() + pl.Series(later)).cast(packets.schema["at"]),
        up=pl.lit(False),
        size=pl.Series(sizes),
    )
    return pl.concat([packets, replies]).sort("at", maintain_order=True)


def over_the_network(packets: pl.DataFrame, dice: Dice, *, delay: float = 0.06, jitter: float = 0.02) -> pl.DataFrame:
    """The same packets as the server sees them: later, unevenly so, a few sent twice, never out of order."""
    count = packets.height
    late = delay + dice.exponential(jitter, count) + np.where(dice.random(count) < 0.005, 0.3, 0.0)  # noqa: PLR2004 - lost
    sent = packets["at"].to_physical().to_numpy()
    seen = pl.Series("at", sent + np.round(late * _SECOND).astype(np.int64))
    in_order = pl.DataFrame({"actor": packets["actor"], "at": seen}).select(pl.col("at").cum_max().over("actor"))
    return packets.with_columns(at=in_order["at"].cast(packets.schema["at"]))


def _frame(actor: str, at: Ints, up: npt.NDArray[np.bool_], sizes: Ints) -> pl.DataFrame:
    columns = {"actor": pl.repeat(actor, len(at), dtype=pl.String, eager=True), "at": at, "up": up, "size": sizes}
    frame = pl.DataFrame(columns).with_columns(
        pl.col("at").cast(PACKETS.columns["at"]), pl.col("size").cast(PACKETS.columns["size"])
    )
    return check(frame, PACKETS, "world")


def _stretches(count: int, gap: float, minutes: float, dice: Dice) -> Ints:
    """The number of the stretch each packet is in; stretches last `minutes` on average."""
    ends = dice.random(count) < gap / (60 * minutes)
    numbers: Ints = np.cumsum(ends)
    return numbers


def _gaps(sender: Sender, count: int, dice: Dice) -> Floats:
    stretch = _stretches(count, sender.gap, 2.0, dice)
    pace = np.exp(np.clip(dice.normal(0.0, sender.pace, stretch[-1] + 1), *_PACES))[stretch]
    gaps: Floats = sender.gap * pace * np.exp(dice.normal(0.0, sender.jitter, count))
    return gaps + _silences(sender.pauses, sender.gap, count, dice)


def _silences(pauses: Pauses, gap: float, count: int, dice: Dice) -> Floats:
    often = pauses.often / 100 * _moods(pauses.spread, pauses.minutes, gap, count, dice)
    is_long = dice.random(count) < pauses.long
    short = _SHORT_PAUSE[0] + dice.exponential(_SHORT_PAUSE[1], count)
    long = _LONG_PAUSE[0] + dice.exponential(_LONG_PAUSE[1], count)
    return np.where(dice.random(count) < often, np.where(is_long, long, short), 0.0)


def _moods(spread: float, minutes: float, gap: float, count: int, dice: Dice) -> Floats:
    """A factor around 1 that changes from stretch to stretch."""
    stretch = _stretches(count, gap, minutes, dice)
    moods: Floats = np.exp(dice.normal(-spread * spread / 2, spread, stretch[-1] + 1))[stretch]
    return moods


def _sizes(sender: Sender, count: int, dice: Dice) -> Ints:
    sizes = _lengths(sender.order, sender.words, sender.gap, count, dice)
    return np.maximum(sizes, _lengths(*sender.disguise, sender.gap, count, dice)) if sender.disguise else sizes


def _lengths(order: Order, words: Words, gap: float, count: int, dice: Dice) -> Ints:
    usual = np.round(MIDDLE + SPREAD * _ordered(order, gap, count, dice))
    sizes = np.clip(usual, SHORTEST, USUAL_LONGEST).astype(np.int64)
    return _with_words(sizes, words, gap, dice)


def _ordered(order: Order, gap: float, count: int, dice: Dice) -> Floats:
    """Numbers around 0 in which each follows the one before as the stretch it is in says."""
    stretch = _stretches(count, gap, order.minutes, dice)
    rotating = dice.random(stretch[-1] + 1) < order.rotation
    along = np.where(rotating, order.rotating, order.usual)[stretch]
    fresh = dice.normal(0.0, 1.0, count + _MEMORY)
    values = np.zeros(count)
    for back in range(_MEMORY, -1, -1):
        values = fresh[_MEMORY - back : _MEMORY - back + count] + along * values
    return values * np.sqrt(1 - along * along)


def _with_words(sizes: Ints, words: Words, gap: float, dice: Dice) -> Ints:
    mood = _moods(words.spread, words.minutes, gap, len(sizes), dice)
    roll = dice.random(len(sizes))
    longer, long = words.longer / 100 * mood, words.long / 100 * mood
    sizes = np.where(roll < longer, dice.integers(51, 60, len(sizes)), sizes)
    texts = np.minimum(60 + dice.exponential(12.0, len(sizes)), 255).astype(np.int64)
    return np.where((roll >= longer) & (roll < longer + long), texts, sizes)
