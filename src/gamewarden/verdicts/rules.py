"""What a verdict depends on beside models and numbers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from gamewarden.core.durations import DAY, parse_zone
from gamewarden.verdicts.meeting import Limits
from gamewarden.verdicts.periods import Clock
from gamewarden.verdicts.points import OperatingPoints
from gamewarden.verdicts.prevalence import SUPPOSED, Prevalence


@dataclass(frozen=True)
class VerdictRules:
    """What a verdict depends on beside models and numbers."""

    cut: Clock = field(default=Clock(DAY))
    points: OperatingPoints = field(default=OperatingPoints())
    repeated: float = 0.0  # how much a further score of the same detector counts
    together: float = 0.0  # how much a further family counts where no fusion was learned
    bots: float = SUPPOSED.bots  # the share of bots that probabilities suppose
    covered: float = Limits.covered  # the share of a period that its source must cover

    def values(self) -> dict[str, Any]:
        """As JSON values."""
        others = {name: getattr(self, name) for name in ("repeated", "together", "bots", "covered")}
        return {"every": self.cut.every, "time_zone": self.cut.time_zone} | asdict(self.points) | others

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Back from JSON values.

        Raises:
            ConfigError: a share or a time zone is none.
        """
        points = OperatingPoints(values["watch"], values["act"], values["agree"])
        cut = Clock(values["every"], parse_zone(values["time_zone"]).key)
        supposed = Prevalence(values["bots"]).bots
        repeated, together, covered = (float(values[name]) for name in ("repeated", "together", "covered"))
        return cls(cut, points, repeated, together, supposed, covered)
