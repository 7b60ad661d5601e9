"""What has to be known of a model before its scores are added to others'."""

from dataclasses import dataclass

from gamewarden.contracts import WholeDays

# A feature that is made of another's numbers sees the same evidence: both together are one family that says bot.
_MADE_OF = {"signs": "self-similarity"}


def family_of(feature: str) -> str:
    """The family of evidence that a feature belongs to, by the feature's name."""
    return _MADE_OF.get(feature, feature)


@dataclass(frozen=True)
class ModelInfo:
    """A model as those see it who hear its scores."""

    detector: str
    family: str  # the feature it is fed by: detectors of one family see the same evidence
    prior: float  # the share of bots its probabilities suppose
    days: WholeDays | None = (
        None  # human days its own may be ranked among; None where a row is a period, or was never part
    )
