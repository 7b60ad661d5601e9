"""What has to be known of a model before its scores are added to others'."""

from dataclasses import dataclass

from gamewarden.contracts import WholeDays


@dataclass(frozen=True)
class ModelInfo:
    """A model as those see it who hear its scores."""

    detector: str
    family: str  # the feature it is fed by: detectors of one family see the same evidence
    prior: float  # the share of bots its probabilities suppose
    days: WholeDays | None = (
        None  # human days its own may be ranked among; None where a row is a period, or was never part
    )
