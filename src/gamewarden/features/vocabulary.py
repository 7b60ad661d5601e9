"""What a vocabulary knows beside its kinds: how common each was where it was learned."""

from collections.abc import Mapping, Sequence

from gamewarden.errors import MeasureError


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
