"""What a game can log: reserved kinds, and families of named kinds such as skills and quest steps."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from gamewarden.tables import RESERVED_KINDS

# Nobody is challenged or reported in this world.
RESERVED = tuple(kind for kind in RESERVED_KINDS if not kind.startswith(("challenge.", "report.")))

_QUALITIES = (
    "ember",
    "frost",
    "iron",
    "silver",
    "shadow",
    "storm",
    "moss",
    "salt",
    "amber",
    "ashen",
    "river",
    "hollow",
    "crimson",
    "pale",
    "thorn",
    "dusk",
    "gale",
    "stone",
    "bitter",
    "golden",
)
_THINGS: Mapping[str, tuple[str, ...]] = {
    "skill.use": ("strike", "guard", "lance", "ward", "step", "volley", "mend", "chain"),
    "quest.step": ("letter", "hunt", "escort", "relic", "oath", "harvest", "riddle", "trial"),
    "npc.talk": ("smith", "guide", "elder", "trader", "guard", "healer", "scribe", "pilot"),
    "ui": ("map", "bag", "skills", "guild", "search", "rank", "photo", "options"),
    "item.use": ("potion", "scroll", "charm", "meal", "oil", "stone", "ticket", "flute"),
    "emote": ("wave", "bow", "laugh", "dance", "point", "cheer", "sit", "sigh"),
    "gather": ("herb", "ore", "log", "fish", "clay", "shell", "berry", "crystal"),
    "craft": ("blade", "robe", "ring", "brew", "arrow", "plate", "lamp", "boot"),
    "feat": ("climb", "duel", "voyage", "siege", "feast", "race", "collection", "rescue"),
}
_REWORKED = "-ii"


@dataclass(frozen=True)
class Vocabulary:
    """The kinds of one game: every reserved kind once, and `families` of named kinds with their sizes.

    A family is written with a star, `skill.use.*`; its first member is its most common one.
    """

    families: Mapping[str, int]
    reworked: tuple[str, ...] = ()  # families whose kinds a patch has given new names

    def patched(self, reworked: tuple[str, ...], growth: float) -> "Vocabulary":
        """The vocabulary after a patch: some families under new names, and all of those larger."""
        grown = {family: round(size * growth) if family in reworked else size for family, size in self.families.items()}
        return Vocabulary(grown, reworked)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """All names; a kind's code is its place."""
        named = [
            f"{_named(family, i)}{_REWORKED if family in self.reworked else ''}"
            for family, size in self.families.items()
            for i in range(size)
        ]
        return (*RESERVED, *named)

    @property
    def first(self) -> Mapping[str, int]:
        """Where a reserved kind or a family begins in `kinds`."""
        places = {kind: i for i, kind in enumerate(RESERVED)}
        at = len(RESERVED)
        for family, size in self.families.items():
            places[family] = at
            at += size
        return places

    def size(self, name: str) -> int:
        """How many kinds a reserved kind (one) or a family holds."""
        return self.families.get(name, 1)


def _named(family: str, i: int) -> str:
    stem = family.removesuffix(".*")
    things = _THINGS[stem]
    quality, thing = divmod(i, len(things))
    lap, quality = divmod(quality, len(_QUALITIES))
    return f"{stem}.{_QUALITIES[quality]}-{things[thing]}{f'-{lap + 1}' if lap else ''}"
