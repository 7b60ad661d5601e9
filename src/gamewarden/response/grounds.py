"""What evidence carries: whether more than watching may follow from it, and if not, why, in a sentence."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from gamewarden.cases import CHALLENGE, VERDICT, Observation
from gamewarden.core.durations import span_text

# Why a step was not taken, in a few words, and what of the sentence tells it: for those who count sentences.
_REASONS = (
    ("too high a false-positive rate", "its false-positive rate"),
    ("too few families agree", " must"),
    ("part of a period only", "of its period and"),
    ("a source beyond the models", "lies far beyond"),
    ("no verdict in reach", "no verdict of the last"),
    ("nothing newer than what was decided on", "was decided on already"),
    ("a protected account", "the account is protected"),
    ("no person has looked", "without a person's look"),
)


@dataclass(frozen=True)
class Needs:
    """What a verdict must have before a rung may follow from it."""

    fpr: float
    agree: int
    covered: float

    def lacking(self, verdict: Observation, *, failed: bool) -> Iterator[str]:
        """What a verdict lacks, each as the end of a sentence about it.

        A failed challenge counts as one family more beside a family of features, never alone.
        """
        if verdict.fpr is None:
            yield "its false-positive rate was not measured"
        elif verdict.fpr > self.fpr:
            yield f"its false-positive rate {verdict.fpr:.3g} is above {self.fpr:g}"
        families = verdict.agree + (1 if failed and verdict.agree else 0)
        if families < self.agree:
            yield f"{_families(families)} bot and {self.agree} must"
        if verdict.covered is not None and verdict.covered < self.covered:
            yield f"the source covers {verdict.covered:.0%} of its period and {self.covered:.0%} are needed"
        if verdict.far is not None:
            yield f"what it judged lies far beyond what {verdict.far} learned from"


@dataclass(frozen=True)
class Reach:
    """The evidence that is new enough to carry something."""

    supporting: tuple[Observation, ...]  # what speaks for a bot, in the order of time
    within: timedelta  # how old it may be

    @classmethod
    def of(cls, counting: Iterable[Observation], now: datetime, within: timedelta) -> "Reach":
        """Of the observations that count, those that speak for a bot and are not older."""
        since = now - within
        return cls(tuple(one for one in counting if one.llr > 0 and one.at >= since), within)

    @property
    def span(self) -> str:
        """How old it may be, as people write it."""
        return span_text(self.within // timedelta(microseconds=1))

    @cached_property
    def failed(self) -> int:
        """How many challenges were not passed."""
        return sum(one.kind == CHALLENGE for one in self.supporting)

    @cached_property
    def verdicts(self) -> tuple[Observation, ...]:
        """The verdicts among it."""
        return tuple(one for one in self.supporting if one.kind == VERDICT)

    def carrier(self, needs: Needs, after: datetime | None = None) -> Observation | None:
        """The newest verdict that carries as much, of those after a moment."""
        failed = self.failed > 0
        for one in reversed(self._after(after)):
            if next(needs.lacking(one, failed=failed), None) is None:
                return one
        return None

    def lacking(self, needs: Needs, after: datetime | None = None) -> str:
        """Why nothing carries as much: what the verdict lacks that lacks least."""
        if not self.verdicts:
            return f"no verdict of the last {self.span} says bot"
        newer = self._after(after)
        if not newer and after is not None:
            return f"no verdict after {day(after)} says bot, and what came before was decided on already"
        lacks = {one.id: tuple(needs.lacking(one, failed=self.failed > 0)) for one in newer}
        best = min(newer, key=lambda one: (len(lacks[one.id]), 1.0 if one.fpr is None else one.fpr, one.id))
        return f"of the best verdict, that of {day(best.since or best.at)}: {'; '.join(lacks[best.id])}"

    def _after(self, moment: datetime | None) -> Sequence[Observation]:
        return self.verdicts if moment is None else [one for one in self.verdicts if one.at > moment]


def reasons_in(because: str) -> tuple[str, ...]:
    """Why a step was not taken, in a few words each."""
    return tuple(reason for reason, told in _REASONS if told in because) or (because,)


def day(moment: datetime) -> str:
    """A moment as people are told it: the day, and the time where it is not midnight."""
    return f"{moment:%Y-%m-%d}" if moment.time().isoformat() == "00:00:00" else f"{moment:%Y-%m-%d %H:%M}"


def _families(count: int) -> str:
    return "1 family of evidence says" if count == 1 else f"{count} families of evidence say"
