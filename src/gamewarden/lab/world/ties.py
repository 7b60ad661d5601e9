"""What binds the members of a circle: who gives whom how often, and what share of what it owns. All is our choice."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gamewarden.lab.world.circles import BESIDE_A_BOT, BUYERS, SCRIPTED, Circle, Society
from gamewarden.lab.world.dealing import LONG_PARTY, MAIL, MARKET, PARTY, TIE, TRADE
from gamewarden.lab.world.personas import PERSONAS

Dice = np.random.Generator
Row = tuple[int, int, int, float, float, float, float]


@dataclass(frozen=True)
class Tie:
    """How one gives another: dates a day, shares of what it owns, and the share of the other's money that pays for it.

    `by_mail` and `by_market` are the shares of such ties that are kept by letter or at the market. With `party` nothing
    changes hands: one joins the other's party.
    """

    a_day: float
    money: float = 0.0
    goods: float = 0.0
    price: float = 0.0
    by_mail: float = 0.0
    by_market: float = 0.0
    party: int | None = None

    def between(self, giver: int, taker: int, dice: Dice) -> Row:
        """The tie of two accounts, with dates and shares of its own."""
        luck = dice.random()
        how = MAIL if luck < self.by_mail else MARKET if luck < self.by_mail + self.by_market else TRADE
        how = how if self.party is None else self.party
        often, much = np.exp(0.4 * dice.standard_normal(2).clip(-2, 2))
        return giver, taker, how, self.a_day * often, self.money * much, self.goods * much, self.price * much


HANDS_OVER = Tie(0.9, money=0.93, goods=0.9, by_mail=0.15)  # a leaf to its hub
AT_TIMES = Tie(0.15, money=0.5, goods=0.5)  # a leaf to the star's other hub
ARMS = Tie(0.03, goods=0.005)  # a hub its leaf: a blade to hunt with
CARRIES = Tie(0.9, money=0.35)  # a hub to its mule
SELLS = Tie(0.35, money=0.22, by_mail=0.2)  # money for money outside the game: one way
LAUNDERS = Tie(0.3, goods=0.01, price=0.2, by_market=1.0)  # a buyer's junk, at the price of what was paid outside
OFFERS = Tie(0.4, goods=0.03, price=0.05, by_market=1.0)  # goods at the market
SELLS_LOOT = Tie(0.1, goods=0.05, price=0.05, by_market=1.0)  # a bot of no star
PASSES_ON = Tie(0.9, money=0.7, goods=0.6, by_mail=0.1)  # a link to the next
PEDDLES = Tie(0.25, money=0.45, goods=0.3, by_mail=0.2)  # a bot of no star, to a buyer of its own
DEPOSITS = Tie(0.25, money=0.12, goods=0.1, by_mail=0.4)
WITHDRAWS = Tie(0.2, money=0.015, goods=0.02, by_mail=0.3)
SHARES = Tie(0.2, money=0.15, goods=0.1, by_mail=0.2)  # within a household
EQUIPS = Tie(0.3, money=0.01, goods=0.02, by_mail=0.3)
TREATS = Tie(0.04, money=0.04, goods=0.05, by_mail=0.3)  # a friend
BARTERS = Tie(0.05, goods=0.03, price=0.05, by_market=0.3)  # goods for money, hand to hand
TRADES = Tie(0.35, goods=0.02, price=0.05, by_market=0.8)  # a trader and its partners, both ways

HUNTS_WITH = Tie(0.12, party=PARTY)  # friends
HUNTS_SELDOM = Tie(0.04, party=PARTY)  # a bot, with somebody it knows
HUNTS_BESIDE = Tie(0.3, party=LONG_PARTY)  # bots of one farm

_PARTNERS = 14  # of a trader
_BUYER_SHARE = 0.35  # of bots of no star that have buyers of their own


def ties_of(society: Society, seed: int) -> npt.NDArray[np.void]:
    """Every tie of a society."""
    dice = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, len(society.way), 5])))
    rows = [row for circle in society.circles for row in _BY_KIND.get(circle.kind, _none)(circle, dice)]
    rows += [*_friends(society, dice), *_market(society, dice), *_peddlers(society, dice)]
    return np.array(rows, TIE)


def _none(_circle: Circle, _dice: Dice) -> Iterator[Row]:
    return iter(())


def _star(circle: Circle, dice: Dice) -> Iterator[Row]:
    hubs, mules, buyers = circle.of("hub"), circle.of("mule"), circle.of("buyer")
    for number, leaf in enumerate(circle.of("leaf")):
        for place, hub in enumerate(hubs):
            yield (HANDS_OVER if place == number % len(hubs) else AT_TIMES).between(leaf, hub, dice)
        yield ARMS.between(hubs[number % len(hubs)], leaf, dice)
    for number, mule in enumerate(mules):
        yield CARRIES.between(hubs[number % len(hubs)], mule, dice)
    sellers = mules or hubs
    for number, buyer in enumerate(buyers):
        seller = sellers[number % len(sellers)]
        if dice.random() < 0.2:  # noqa: PLR2004 -- one in five buyers
            yield LAUNDERS.between(buyer, seller, dice)
        else:
            yield SELLS.between(seller, buyer, dice)


def _chain(circle: Circle, dice: Dice) -> Iterator[Row]:
    links = circle.of("link")
    for one, two in pairwise(links):
        yield PASSES_ON.between(one, two, dice)
    if dice.random() < 0.5:  # noqa: PLR2004 -- every second chain is a ring
        yield PASSES_ON.between(links[-1], links[0], dice)
    for buyer in circle.of("buyer"):
        yield SELLS.between(links[-1], buyer, dice)


def _guild(circle: Circle, dice: Dice) -> Iterator[Row]:
    (bank,) = circle.of("bank")
    for member in circle.of("leader") + circle.of("member"):
        yield DEPOSITS.between(member, bank, dice)
        yield WITHDRAWS.between(bank, member, dice)


def _household(circle: Circle, dice: Dice) -> Iterator[Row]:
    for one in circle.members:
        for two in circle.members:
            if one != two and dice.random() < 0.7:  # noqa: PLR2004 -- not everybody gives everybody
                yield SHARES.between(one, two, dice)


def _mentor(circle: Circle, dice: Dice) -> Iterator[Row]:
    (veteran,) = circle.of("mentor")
    for pupil in circle.of("pupil"):
        yield EQUIPS.between(veteran, pupil, dice)


def _script(circle: Circle, dice: Dice) -> Iterator[Row]:
    for member in circle.members[1:]:
        yield HUNTS_BESIDE.between(member, circle.members[0], dice)


_BY_KIND = {
    "star": _star,
    "chain": _chain,
    "script": _script,
    "guild": _guild,
    "household": _household,
    "mentor": _mentor,
}


def _friends(society: Society, dice: Dice) -> Iterator[Row]:
    """Friends treat each other, barter and hunt together, where somebody plays; bots alone join at most a party."""
    roster = society.roster
    played = np.array([not persona.bot or persona.name in BESIDE_A_BOT for persona in PERSONAS])[roster.persona]
    owner = np.repeat(np.arange(len(played)), np.diff(roster.first_partner))
    for one, two in zip(owner.tolist(), roster.partner.tolist(), strict=True):
        if played[one] and played[two]:
            yield TREATS.between(one, two, dice)
            yield BARTERS.between(one, two, dice)
        if played[two]:
            yield (HUNTS_WITH if played[one] else HUNTS_SELDOM).between(one, two, dice)


def _market(society: Society, dice: Dice) -> Iterator[Row]:
    """Traders buy and sell all the time; hubs offer what their leaves brought."""
    customers = _accounts(society, BUYERS)
    for trader in _accounts(society, ("trader",)):
        for partner in _some(customers, _PARTNERS, dice):
            if partner != trader:
                yield TRADES.between(trader, partner, dice)
                yield TRADES.between(partner, trader, dice)
    for hub in _accounts(society, ("star-hub",)):
        for partner in _some(customers, _PARTNERS, dice):
            yield OFFERS.between(hub, partner, dice)
    for bot in _accounts(society, SCRIPTED):
        for partner in _some(customers, 2, dice):
            yield SELLS_LOOT.between(bot, partner, dice)


def _peddlers(society: Society, dice: Dice) -> Iterator[Row]:
    customers = _accounts(society, BUYERS)
    for bot in _accounts(society, SCRIPTED):
        if dice.random() < _BUYER_SHARE:
            for buyer in _some(customers, 2, dice):
                yield PEDDLES.between(bot, buyer, dice)


def _accounts(society: Society, names: Sequence[str]) -> list[int]:
    codes = [code for code, persona in enumerate(PERSONAS) if persona.name in names]
    found: list[int] = np.flatnonzero(np.isin(society.roster.persona, codes)).tolist()
    return found


def _some(accounts: Sequence[int], n: int, dice: Dice) -> list[int]:
    """Up to so many of them, each once."""
    if not accounts:
        return []
    return sorted({accounts[place] for place in dice.integers(len(accounts), size=n).tolist()})
