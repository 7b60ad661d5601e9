"""Whether anybody can reach the point to act with the models at hand, and what would make it possible."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gamewarden.verdicts.combining import WHATEVER_DEPENDENCE
from gamewarden.verdicts.points import OperatingPoints


@dataclass(frozen=True)
class Voice:
    """What a family of features, or a fusion of several, can say at the strongest."""

    name: str
    humans: int  # held out, of the style of play that has most of them

    @property
    def least(self) -> float:
        """The lowest FPR it can give: nobody of them looks as bot-like, and the actor counts as one more."""
        return 1 / (self.humans + 1)


@dataclass(frozen=True)
class Reach:
    """The lowest FPR that a verdict of these families can have, beside what the point to act asks for."""

    points: OperatingPoints
    families: Sequence[Voice]  # each by the detector that speaks for it
    fusion: Voice | None = None

    @property
    def least(self) -> float:
        """Of several families twice the mean, unless a fusion with humans of its own speaks for them."""
        if self.fusion is not None:
            return self.fusion.least
        mean = sum(voice.least for voice in self.families) / len(self.families)
        return mean * WHATEVER_DEPENDENCE if len(self.families) > 1 else mean

    def humans_needed(self) -> int:
        """Held-out humans of one style with which a fusion, or a family that may speak alone, is sure enough."""
        return math.ceil(1 / self.points.act) - 1

    def sentence(self, others: Sequence[str] = ()) -> str | None:
        """Why nobody can reach the point, and what it takes; None where somebody can.

        `others` are detectors of further families that the same source could feed.
        """
        if not self.points.act:
            return "The point to act is closed ([verdict] act = 0.0): a verdict is a reason to look."
        missing = [*self._missing()]
        if not missing:
            return None
        return (
            f"Nobody can reach the point to act with these models: {'; '.join(missing)}. It takes "
            f"{_listed([*self._takes(others)])}; until then a verdict is a reason to look, no more."
        )

    def _missing(self) -> Iterator[str]:
        if self._few_families:
            names = ", ".join(voice.name for voice in self.families)
            yield f"{self.points.agree} families of features must agree and only {names} can speak"
        if self._coarse:
            known = self.fusion or min(self.families, key=lambda voice: voice.humans)
            yield (
                f"the FPR must be {self.points.act:g} and is never below {self.least:.2g} "
                f"({known.humans:,} held-out humans of one style)"
            )

    def _takes(self, others: Sequence[str]) -> Iterator[str]:
        if self._few_families:
            yield f"`gamewarden fit {others[0]}`" if others else "a source that feeds another family"
        if self._coarse:
            yield f"{self.humans_needed():,} reviewed humans of one style"
        if self._coarse and self.fusion is None and self.points.agree > 1:
            yield "`gamewarden fit fusion`"

    @property
    def _few_families(self) -> bool:
        return len(self.families) < self.points.agree

    @property
    def _coarse(self) -> bool:
        return self.least > self.points.act


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
