"""Who belongs together in a society: farms with their hubs and scripts, guilds, households, cafés, mentors, raids."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gamewarden.lab.world.agenda import CALL
from gamewarden.lab.world.games import Game
from gamewarden.lab.world.personas import PERSONAS
from gamewarden.lab.world.roster import FRIENDS, Roster, dealt, partners_of

Ints = npt.NDArray[np.int64]
Dice = np.random.Generator

# Shares beside a game's own mix, which fills what is left.
PEOPLE: Mapping[str, float] = {"guild-bank": 0.02, "veteran": 0.02, "crafter": 0.03, "fisher": 0.03, "rounder": 0.03}
PROGRAMS: Mapping[str, float] = {"chain-link": 0.04, "mule": 0.012}
MORE_STARS = 2.0  # times as many star farmers as in the game's mix, so that there are hubs to be measured

LEAVES = (8, 40)
TWO_HUBS = 0.35  # share of stars with at least so many leaves that have two
_MANY = 14
CHAIN = (4, 8)
SCRIPTED = ("farmer", "randomised-farmer", "gatherer", "mimic")  # half of each in farms that share a script
SCRIPT_FARM = (4, 12)
PROGRAM_USERS = 0.6  # share of occasional users whose bot is a public program
_USERS = 12  # of one public program
GUILD = (10, 40)
IN_A_GUILD = 0.5  # of those who may be
HOUSEHOLD = (2, 4)
CAFE = (6, 20)
AT_HOME = 0.4  # of those who share an address; the others sit in cafés
PUPILS = (3, 9)
RAIDERS = (8, 25)
RAIDING = 0.6  # share of the guilds that raid

_CODE = {persona.name: code for code, persona in enumerate(PERSONAS)}
BESIDE_A_BOT = ("semi-autonomous", "occasional", "cheat")  # bots beside whom somebody plays, with friends and a guild
GUILDED = (
    *("casual", "hard-core", "grinder", "trader", "sharer", "crafter", "fisher", "rounder", "veteran"),
    *BESIDE_A_BOT,
)
RAID_FOLK = ("casual", "hard-core", "grinder", "sharer", "rounder", "veteran")
BUYERS = ("casual", "hard-core", "grinder", "sharer", "rounder", "trader")
FARMS = ("star", "chain", "script")  # the kinds of circle that are farms
UNSOCIAL = ("star-farmer", "star-hub", "mule", "chain-link", "guild-bank")


@dataclass(frozen=True)
class Circle:
    """Some accounts that belong together, each with its role."""

    kind: str
    members: tuple[int, ...]
    roles: tuple[str, ...]

    def of(self, role: str) -> list[int]:
        """Those who play that role."""
        return [member for member, played in zip(self.members, self.roles, strict=True) if played == role]


@dataclass(frozen=True)
class Society:
    """The roster of a society, its circles, whose script an account runs, and the raids that call it."""

    roster: Roster
    circles: tuple[Circle, ...]
    way: Ints
    rotation: Ints
    call: npt.NDArray[np.void]


def society_of(game: Game, accounts: int, bots: float, seed: int) -> Society:
    """Deal a game's mix to the accounts, and gather them in circles."""
    dice = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, accounts, 4])))
    n_bots = round(accounts * bots)
    stars, programs = _programs(game, n_bots, dice)
    codes = np.concatenate([dealt(_people(game), accounts - n_bots), programs])
    place = dice.permutation(accounts)
    persona = np.empty(accounts, np.int64)
    persona[place] = codes
    draft = _Draft(game, persona, dice)
    draft.farms(stars)
    draft.people()
    sociable = np.flatnonzero(~np.isin(persona, [_CODE[name] for name in UNSOCIAL]))
    first, partner = partners_of(accounts, [pairs_among(sociable, dice)])
    roster = Roster(persona, first, partner, draft.address)
    return Society(roster, tuple(draft.circles), draft.way, draft.rotation, draft.call)


def farm_of(society: Society) -> Ints:
    """The farm of each account, named by its first member, -1 for none."""
    farm = np.full(len(society.way), -1)
    for circle in society.circles:
        if circle.kind in FARMS:
            mine = [account for account in circle.members if PERSONAS[society.roster.persona[account]].bot]
            farm[mine] = min(mine)
    return farm


def pairs_among(accounts: Ints, dice: Dice) -> Ints:
    """Random pairs of friends: each account in at most so many."""
    even = len(accounts) // 2 * 2
    halves = [np.sort(dice.permutation(accounts)[:even].reshape(-1, 2), axis=1) for _ in range(FRIENDS)]
    return np.unique(np.concatenate(halves), axis=0).T


def _people(game: Game) -> dict[str, float]:
    left = 1.0 - sum(PEOPLE.values())
    return {name: share * left for name, share in game.humans.items()} | dict(PEOPLE)


def _programs(game: Game, n: int, dice: Dice) -> tuple[list[tuple[int, int]], Ints]:
    """The stars (hubs and leaves of each) and the personas of all bots, hubs among them."""
    mix = {name: share * (MORE_STARS if name == "star-farmer" else 1.0) for name, share in game.bots.items()}
    left = (1.0 - sum(PROGRAMS.values())) / sum(mix.values())
    codes = dealt({name: share * left for name, share in mix.items()} | dict(PROGRAMS), n)
    leaves = np.flatnonzero(codes == _CODE["star-farmer"])
    stars = _stars(len(leaves), dice)
    codes[leaves[: sum(hubs for hubs, _ in stars)]] = _CODE["star-hub"]
    return stars, codes


def _stars(places: int, dice: Dice) -> list[tuple[int, int]]:
    """Hubs and leaves of stars that fill so many places."""
    stars: list[tuple[int, int]] = []
    while places >= LEAVES[0] + 1 or (places > 1 and not stars):
        size = min(places - 1, _between(LEAVES, dice))
        hubs = 2 if size >= _MANY and dice.random() < TWO_HUBS else 1
        if places - hubs - size < LEAVES[0] + 1:
            size = places - hubs
        stars.append((hubs, size))
        places -= hubs + size
    return stars


def _between(limits: tuple[int, int], dice: Dice) -> int:
    """A size from the least to the most; small ones are more likely."""
    low, high = limits
    return int(low * ((high + 1) / low) ** dice.random() ** 1.7)


def _cut(accounts: Sequence[int], limits: tuple[int, int], dice: Dice, *, whole: bool) -> Iterator[list[int]]:
    """Groups of sizes within limits; with `whole` the last takes the rest, or else what is too few stays alone."""
    rest = list(accounts)
    while len(rest) >= limits[0]:
        size = min(len(rest), _between(limits, dice))
        if whole and len(rest) - size < limits[0]:
            size = len(rest)
        yield rest[:size]
        rest = rest[size:]


@dataclass
class _Draft:
    """A society as it is gathered."""

    game: Game
    persona: Ints
    dice: Dice
    circles: list[Circle] = field(default_factory=list)

    def __post_init__(self) -> None:
        accounts = len(self.persona)
        self.address, self.way, self.rotation = np.arange(accounts), np.arange(accounts), np.arange(accounts)
        self.call = np.zeros(accounts, CALL)
        self.call["hour"] = -1.0
        self.scripts = accounts  # the number of the next script: none of the accounts'

    def farms(self, stars: Sequence[tuple[int, int]]) -> None:
        """Stars with their mules and buyers, chains, farms of one script, and public programs."""
        buyers = self._all(*BUYERS)
        self._stars(stars, buyers)
        for links in _cut(self._all("chain-link"), CHAIN, self.dice, whole=True):
            self._add("chain", link=links, buyer=self._some(buyers, 3))
        for name in SCRIPTED:
            self._script_farms(self._all(name))
        users = self._all("occasional")
        users = users[: round(PROGRAM_USERS * len(users))]
        for start in range(0, len(users), _USERS):
            self.rotation[users[start : start + _USERS]] = self._number()

    def _stars(self, stars: Sequence[tuple[int, int]], buyers: list[int]) -> None:
        """Every third star has mules; half of them share a script, and half of the leaves an address with others."""
        hubs, leaves, mules = self._all("star-hub"), self._all("star-farmer"), self._all("mule")
        with_mules = -(-len(stars) // 3)
        for number, (n_hubs, n_leaves) in enumerate(stars):
            mine, hubs = hubs[:n_hubs], hubs[n_hubs:]
            farmers, leaves = leaves[:n_leaves], leaves[n_leaves:]
            carriers = mules[number::with_mules] if number < with_mules else []
            self._add("star", hub=mine, leaf=farmers, mule=carriers, buyer=self._some(buyers, 6 + n_leaves // 2))
            if self.dice.random() < 0.5:  # noqa: PLR2004 -- half of the stars
                self._script(farmers)
            for behind in _cut(farmers[: len(farmers) // 2], (3, 6), self.dice, whole=False):
                self.address[behind] = behind[0]

    def _script_farms(self, bots: list[int]) -> None:
        """Half of a family: every second farm behind one address, the others scattered."""
        for number, farm in enumerate(_cut(bots[: len(bots) // 2], SCRIPT_FARM, self.dice, whole=True)):
            self._add("script", member=farm)
            self._script(farm)
            if number % 2 == 0:
                self.address[farm] = farm[0]

    def people(self) -> None:
        """Cafés and households, guilds with their banks and raids, and those who help newcomers."""
        sharers = self._all("sharer")
        at_home = round(AT_HOME * len(sharers))
        for kind, members, limits in (("household", sharers[:at_home], HOUSEHOLD), ("café", sharers[at_home:], CAFE)):
            for circle in _cut(members, (min(limits[0], max(2, len(members))), limits[1]), self.dice, whole=True):
                self._add(kind, member=circle)
                self.address[circle] = circle[0]
        self._guilds()
        self._mentors()

    def _guilds(self) -> None:
        banks, folk = self._all("guild-bank"), self._all(*GUILDED)
        folk = folk[: round(IN_A_GUILD * len(folk))]
        for members in _cut(folk, GUILD, self.dice, whole=False):
            if not banks:
                return
            bank, banks = banks[0], banks[1:]
            self._add("guild", bank=[bank], leader=members[:1], member=members[1:])
            self.address[bank] = self.address[members[0]]  # the bank is a second account of the leader's
            if self.dice.random() < RAIDING:
                self._raid(members)

    def _raid(self, guild: Sequence[int]) -> None:
        fit = [account for account in guild if PERSONAS[self.persona[account]].name in RAID_FOLK]
        raiders = fit[: _between(RAIDERS, self.dice)]
        if len(raiders) < RAIDERS[0]:
            return
        self._add("raid", leader=raiders[:1], member=raiders[1:])
        zone = self.game.towns + int(self.dice.integers(self.game.fields))
        hour = 20.0 + 0.5 * self.dice.integers(5)
        self.call[raiders] = np.array((hour, self.dice.integers(7), zone, raiders[0]), CALL)

    def _mentors(self) -> None:
        newcomers = self._all("newbie")
        for veteran in self._all("veteran"):
            pupils = self._some(newcomers, _between(PUPILS, self.dice))
            if pupils:
                self._add("mentor", mentor=[veteran], pupil=pupils)

    def _all(self, *names: str) -> list[int]:
        """Everybody of some personas, shuffled."""
        found: list[int] = self.dice.permutation(
            np.flatnonzero(np.isin(self.persona, [_CODE[n] for n in names]))
        ).tolist()
        return found

    def _some(self, accounts: Sequence[int], n: int) -> list[int]:
        """About so many of them, each once."""
        places = np.unique(self.dice.integers(len(accounts), size=n)).tolist() if accounts else []
        return [accounts[place] for place in places]

    def _add(self, kind: str, **roles: list[int]) -> None:
        members = [(account, role) for role, accounts in roles.items() for account in accounts]
        self.circles.append(Circle(kind, tuple(a for a, _ in members), tuple(role for _, role in members)))

    def _script(self, members: Sequence[int]) -> None:
        """One script for all of them: its way-points, its skills, its manner."""
        self.way[members] = self.rotation[members] = self._number()

    def _number(self) -> int:
        self.scripts += 1
        return self.scripts
