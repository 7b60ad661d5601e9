"""Features over the kinds of a game: how they learn a vocabulary, and how common each kind was where it was learned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

from gamewarden.contracts import Progress, Stream, no_progress
from gamewarden.errors import MeasureError
from gamewarden.features.plain import PlainFeature

Recipe = TypeVar("Recipe", bound="CountsKinds")


@dataclass(frozen=True)
class CountsKinds(PlainFeature):
    """A feature whose recipe has the options `vocabulary` and `shares`, in whatever place among its others."""

    @property
    def vocabulary(self) -> tuple[str, ...] | None:
        """The game's kinds; None: not learned yet."""
        return None

    @property
    def shares(self) -> tuple[float, ...] | None:
        """How common each kind was where the vocabulary was learned."""
        return None

    def learn(self, stream: Stream, progress: Progress = no_progress) -> Self:
        """The recipe with a vocabulary: its own, or the kinds of the stream that count.

        Raises:
            MeasureError: there is no event to learn from.
        """
        from gamewarden.features.slots import kinds_of

        if self.vocabulary is not None:
            return self
        return self.counting(kinds_of(stream, self.name, progress))

    def counting(self, counts: Mapping[str, int]) -> Self:
        """The recipe with the kinds that somebody has counted already, as if it had learned from those events.

        Raises:
            MeasureError: there are none.
        """
        spoken = self.speaking(tuple(kind for kind, count in sorted(counts.items()) if count))
        return _with(spoken, shares=shares_of(counts, spoken.vocabulary or ()))

    def speaking(self, kinds: tuple[str, ...]) -> Self:
        """The recipe with these kinds as its vocabulary.

        Raises:
            MeasureError: there are none.
        """
        if not kinds:
            raise MeasureError(f"{self.name}: the source has no events, so there is no vocabulary to learn")
        return _with(self, vocabulary=kinds)

    def unlearned(self) -> Self:
        """The recipe without a vocabulary."""
        return _with(self, vocabulary=None)

    def _check_vocabulary(self) -> None:
        """Keep the kinds sorted, and shares only where they are those of a vocabulary."""
        if self.vocabulary is None:
            object.__setattr__(self, "shares", None)
            return
        if not self.vocabulary:
            raise MeasureError(f"{self.name}: the vocabulary is empty; it needs at least one kind")
        object.__setattr__(self, "vocabulary", tuple(sorted(set(self.vocabulary))))
        refuse_other_shares(self.name, self.vocabulary, self.shares)


def _with(recipe: Recipe, **options: tuple[str, ...] | tuple[float, ...] | None) -> Recipe:
    changed: dict[str, Any] = {**options}  # fields of every recipe, though not of the class above
    return replace(recipe, **changed)


def any_kind(_kind: str) -> bool:
    """Events of every kind count."""
    return True


def shares_of(counts: Mapping[str, int], vocabulary: Sequence[str]) -> tuple[float, ...]:
    """How common each kind of a vocabulary is among all events of its kinds, to six digits."""
    total = sum(counts.get(kind, 0) for kind in vocabulary)
    return tuple(float(f"{counts.get(kind, 0) / max(total, 1):.6g}") for kind in vocabulary)


def refuse_other_shares(door: str, vocabulary: tuple[str, ...], shares: tuple[float, ...] | None) -> None:
    """Stop over shares that are not those of a vocabulary.

    Raises:
        MeasureError: they are not as many, or one is no share.
    """
    if shares is not None and (len(shares) != len(vocabulary) or not all(0 <= share <= 1 for share in shares)):
        raise MeasureError(f"{door}: {len(shares)} shares do not fit {len(vocabulary)} kinds; give a share for each")
