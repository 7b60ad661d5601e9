"""What a verdict depends on beside models and numbers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from gamewarden.core.durations import DAY, parse_zone
from gamewarden.errors import ConfigError
from gamewarden.verdicts.combining import COMBINATION
from gamewarden.verdicts.meeting import Limits
from gamewarden.verdicts.periods import Clock
from gamewarden.verdicts.points import OperatingPoints
from gamewarden.verdicts.prevalence import SUPPOSED, Prevalence

RATES = "style-share"  # how a model's false-positive rates follow from all people and from those of a style
_EARLIER = {"combination": "twice-the-mean", "rates": "style"}  # of verdicts whose rules name neither


@dataclass(frozen=True)
class VerdictRules:
    """What a verdict depends on beside models and numbers."""

    cut: Clock = field(default=Clock(DAY))
    points: OperatingPoints = field(default=OperatingPoints())
    repeated: float = 0.0  # how much a further score of the same detector counts
    together: float = 0.0  # how much a further family counts where no fusion was learned
    bots: float = SUPPOSED.bots  # the share of bots that probabilities suppose
    covered: float = Limits.covered  # the share of a period that its source must cover
    combination: str = COMBINATION  # of families where no fusion was learned
    rates: str = RATES

    @property
    def earlier(self) -> bool:
        """Whether they are those of an earlier version, by which nothing is judged any more."""
        return (self.combination, self.rates) != (COMBINATION, RATES)

    def values(self) -> dict[str, Any]:
        """As JSON values."""
        names = ("repeated", "together", "bots", "covered", "combination", "rates")
        others = {name: getattr(self, name) for name in names}
        return {"every": self.cut.every, "time_zone": self.cut.time_zone} | asdict(self.points) | others

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Back from JSON values; without the names of a combination and of rates they are the earlier ones.

        Raises:
            ConfigError: a share or a time zone is none, or a name is unknown.
        """
        names = {name: values.get(name, earlier) for name, earlier in _EARLIER.items()}
        if names not in ({"combination": COMBINATION, "rates": RATES}, _EARLIER):
            raise ConfigError(f"rules: {names} are unknown here; use the version of gamewarden that judged by them")
        supposed = Prevalence(values["bots"]).bots
        points = OperatingPoints(values["watch"], values["act"], values["agree"], supposed)
        cut = Clock(values["every"], parse_zone(values["time_zone"]).key)
        repeated, together, covered = (float(values[name]) for name in ("repeated", "together", "covered"))
        return cls(cut, points, repeated, together, supposed, covered, **names)
