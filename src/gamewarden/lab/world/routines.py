"""What one round of an activity leaves in the log, as data: a routine is a list of steps."""

from dataclasses import dataclass
from typing import Literal

Target = Literal["nothing", "monster", "npc"]
Place = Literal["anywhere", "town", "field"]


@dataclass(frozen=True)
class Step:
    """One thing a round may log: `times` events of a kind, `seconds` before each.

    `chance` is the chance that a round has this step; where a round does `one_of` a routine's steps, its weight.
    A kind with a star is one of that family's kinds: the player's favourites, or any.
    """

    kind: str
    chance: float = 1.0
    times: tuple[int, int] = (1, 1)
    seconds: float = 2.0
    target: Target = "nothing"
    item: bool = False
    amount: tuple[int, int] | None = None  # positive = the actor gains


@dataclass(frozen=True)
class Routine:
    """A round's steps in order, or a choice among them, where it is done, and the rest after a round in seconds."""

    steps: tuple[Step, ...]
    place: Place
    one_of: bool = False
    rest: float = 0.0


# Errands are what a full bag asks for: sell, store, buy potions. Bots and humans do the same things there.
ERRAND = Routine(
    (
        Step("npc.sell", 1.0, (1, 4), 2.0, "npc", item=True, amount=(20, 400)),
        Step("storage.deposit", 0.75, (1, 3), 2.0, "npc", item=True, amount=(-40, -1)),
        Step("storage.withdraw", 0.3, (1, 2), 2.0, "npc", item=True, amount=(1, 20)),
        Step("npc.buy", 0.7, (1, 2), 2.0, "npc", item=True, amount=(-300, -10)),
        Step("currency.loss", 0.25, (1, 1), 2.0, "npc", amount=(-300, -10)),
    ),
    place="town",
)
GATHER = Routine(
    (
        Step("move", 0.5, (1, 1), 4.0),
        Step("gather.*", 1.0, (1, 2), 5.0, item=True, amount=(1, 3)),
        Step("loot.pickup", 0.9, (1, 1), 1.5, item=True, amount=(1, 3)),
        Step("exp.gain", 0.8, (1, 1), 0.5, amount=(5, 40)),
    ),
    place="field",
)
FISHING = Routine(
    (
        Step("gather.*", 1.0, (1, 1), 14.0, item=True, amount=(1, 1)),
        Step("loot.pickup", 0.8, (1, 1), 1.5, item=True, amount=(1, 1)),
        Step("exp.gain", 0.8, (1, 1), 0.5, amount=(5, 30)),
        Step("item.use", 0.3, (1, 1), 3.0, item=True, amount=(-1, -1)),
    ),
    place="field",
    rest=4.0,
)
QUEST = Routine(
    (
        Step("quest.step.*", 2.0, (1, 2), 7.0, "npc"),
        Step("npc.talk.*", 3.0, (1, 2), 5.0, "npc"),
        Step("combat.kill", 2.0, (1, 2), 6.0, "monster"),
        Step("skill.use.*", 1.7, (1, 3), 2.5, "monster"),
        Step("skill.use", 0.3, (1, 2), 2.5, "monster"),
        Step("exp.gain", 1.2, (1, 1), 1.0, amount=(50, 900)),
        Step("loot.pickup", 1.0, (1, 2), 2.0, item=True, amount=(1, 2)),
        Step("move", 1.5, (1, 2), 6.0),
        Step("item.use.*", 0.6, (1, 1), 3.0, item=True, amount=(-1, -1)),
        Step("mail.receive", 0.1, (1, 1), 3.0, item=True, amount=(1, 5)),
        Step("feat.*", 0.25, (1, 1), 3.0),
        Step("currency.gain", 0.7, (1, 1), 1.0, amount=(20, 500)),
    ),
    place="field",
    one_of=True,
    rest=3.0,
)
TOWN = Routine(
    (
        Step("npc.talk.*", 1.6, (1, 2), 4.0, "npc"),
        Step("npc.buy", 1.0, (1, 2), 4.0, "npc", item=True, amount=(-300, -10)),
        Step("npc.sell", 1.0, (1, 4), 3.0, "npc", item=True, amount=(20, 400)),
        Step("storage.deposit", 0.8, (1, 3), 3.0, "npc", item=True, amount=(-40, -1)),
        Step("storage.withdraw", 0.9, (1, 3), 3.0, "npc", item=True, amount=(1, 20)),
        Step("ui.*", 2.0, (1, 2), 4.0),
        Step("item.use.*", 0.5, (1, 1), 3.0, item=True, amount=(-1, -1)),
        Step("currency.loss", 0.5, (1, 1), 3.0, "npc", amount=(-300, -10)),
        Step("mail.receive", 0.2, (1, 2), 3.0, item=True, amount=(1, 5)),
        Step("mail.send", 0.12, (1, 1), 12.0, item=True, amount=(-5, -1)),
        Step("market.buy", 0.2, (1, 1), 8.0, item=True, amount=(-900, -20)),
        Step("market.sell", 0.25, (1, 2), 8.0, item=True, amount=(20, 900)),
        Step("chat", 0.8, (1, 2), 8.0),
    ),
    place="town",
    one_of=True,
    rest=5.0,
)
DEALING = Routine(
    (
        Step("ui.*", 1.5, (1, 3), 5.0),
        Step("market.buy", 1.5, (1, 3), 8.0, item=True, amount=(-900, -20)),
        Step("market.sell", 2.0, (1, 3), 8.0, item=True, amount=(20, 900)),
        Step("storage.withdraw", 1.2, (1, 3), 3.0, "npc", item=True, amount=(1, 20)),
        Step("storage.deposit", 1.2, (1, 3), 3.0, "npc", item=True, amount=(-40, -1)),
        Step("chat", 1.5, (1, 2), 8.0),
        Step("mail.send", 0.3, (1, 1), 10.0, item=True, amount=(-5, -1)),
        Step("mail.receive", 0.3, (1, 2), 4.0, item=True, amount=(1, 5)),
    ),
    place="town",
    one_of=True,
    rest=6.0,
)
CRAFTING = Routine(
    (
        Step("item.craft", 1.0, (1, 2), 6.0, item=True, amount=(1, 3)),
        Step("craft.*", 1.0, (1, 1), 5.0, item=True, amount=(1, 3)),
        Step("exp.gain", 0.5, (1, 1), 0.5, amount=(10, 80)),
        Step("storage.withdraw", 0.15, (1, 2), 3.0, "npc", item=True, amount=(1, 20)),
    ),
    place="town",
    rest=3.0,
)
TALKING = Routine(
    (
        Step("chat", 5.0, (1, 3), 9.0),
        Step("emote.*", 1.5, (1, 2), 4.0),
        Step("ui.*", 1.5, (1, 1), 5.0),
        Step("feat.*", 0.1),
    ),
    place="town",
    one_of=True,
    rest=8.0,
)
SITTING = Routine(
    (
        Step("chat", 2.0, (1, 2), 8.0),
        Step("emote.*", 1.0, (1, 1), 4.0),
        Step("ui.*", 1.0, (1, 1), 5.0),
        Step("mail.receive", 0.3, (1, 1), 5.0, item=True, amount=(1, 5)),
    ),
    place="town",
    one_of=True,
    rest=1200.0,
)
ROAMING = Routine(
    (
        Step("move", 3.0, (1, 3), 6.0),
        Step("zone.enter", 0.5, (1, 1), 8.0),
        Step("ui.*", 0.8, (1, 1), 4.0),
        Step("combat.attack", 0.6, (1, 2), 3.0, "monster"),
        Step("feat.*", 0.2, (1, 1), 3.0),
        Step("chat", 0.3, (1, 1), 8.0),
    ),
    place="field",
    one_of=True,
    rest=4.0,
)
# An aside is what attention does between two rounds: look at the map, answer a friend, drop something.
ASIDE = Routine(
    (
        Step("ui.*", 3.0, (1, 2), 3.0),
        Step("chat", 2.5, (1, 2), 6.0),
        Step("emote.*", 0.6, (1, 1), 3.0),
        Step("item.use.*", 1.0, (1, 1), 2.0, item=True, amount=(-1, -1)),
        Step("npc.talk.*", 0.6, (1, 1), 4.0, "npc"),
        Step("loot.drop", 0.4, (1, 1), 2.0, item=True, amount=(-3, -1)),
        Step("feat.*", 0.2, (1, 1), 2.0),
        Step("move", 1.0, (1, 1), 4.0),
        Step("skill.use.*", 1.0, (1, 2), 2.0),
        Step("quest.step.*", 0.4, (1, 1), 4.0, "npc"),
    ),
    place="anywhere",
    one_of=True,
)


def hunting(
    *, seconds: float, skills: tuple[int, int], skill: float, money: float, loot: float, other: float
) -> Routine:
    """One kill and what it leaves: its time, its skills, and the chances of money, loot and other things."""
    return Routine(
        (
            Step("move", other, (1, 1), 2.0),
            Step("skill.use.*", skill, skills, 2.0, "monster"),
            Step("combat.kill", 1.0, (1, 1), seconds, "monster"),
            Step("exp.gain", 1.0, (1, 1), 0.1, "monster", amount=(20, 120)),
            Step("currency.gain", money, (1, 1), 0.2, "monster", amount=(5, 60)),
            Step("loot.pickup", loot, (1, 1), 1.0, item=True, amount=(1, 2)),
            Step("item.use", other, (1, 1), 0.5, item=True, amount=(-1, -1)),
        ),
        place="field",
    )
