"""Which steps of the ladder nobody can reach with the models and adapters at hand, and what would change that."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gamewarden.errors import GamewardenError
from gamewarden.pipeline.judging import fusion_of
from gamewarden.policy import CHALLENGE, INTERNAL, REVIEW, WATCH
from gamewarden.response.adapters import Ways, ways_of
from gamewarden.response.grounds import Needs
from gamewarden.response.ladder import Ladder
from gamewarden.verdicts.points import OperatingPoints
from gamewarden.verdicts.reach import Reach, Voice, reach_of_models
from gamewarden.workspace.place import Workspace

_MANY = 9_999  # people: enough for the share that one more of them would be to say what a rate takes


def unreachable_steps(workspace: Workspace, ladder: Ladder | None = None) -> tuple[str, ...]:
    """A sentence per step that nobody can reach; nothing where there is no model or none can be read."""
    try:
        models = workspace.models_in_force()
        fusion = fusion_of(workspace.models, models, None)[0] if models else None
    except GamewardenError:
        return ()
    if not models:
        return ()
    verdict = workspace.config.verdict
    points = OperatingPoints(verdict.watch, min(verdict.act, verdict.watch), verdict.agree)
    reach = reach_of_models(models, fusion, points)
    ways = ways_of(workspace.config.adapters, workspace.root)
    return tuple(Reachability(ladder or Ladder.of(workspace.config), reach, ways).sentences())


@dataclass(frozen=True)
class Reachability:
    """A ladder beside what verdicts can say and what adapters can do."""

    ladder: Ladder
    reach: Reach
    ways: Ways

    def sentences(self) -> Iterator[str]:
        """One per step that nobody can reach, or only after a failed challenge, with the reasons."""
        for step in self.ladder.first_rung:
            families, others = self._families(step), list(self._others(step))
            if families is not None and not others and self._challenge_helps(step):
                yield f"{step} can be reached only after a failed challenge: {families}"
            elif families is not None or others:
                yield f"{step} cannot be reached: {'; '.join([*others, *([] if families is None else [families])])}"

    def _challenge_helps(self, step: str) -> bool:
        """Whether a failed challenge, which counts as one family, is all that the families lack."""
        needs = self._needs(step)
        if needs is None or CHALLENGE not in self.ladder.first_rung or not self.reach.families:
            return False
        tested = self._families(CHALLENGE) is None and not list(self._others(CHALLENGE))
        return tested and needs.agree == len(self.reach.families) + 1

    def _families(self, step: str) -> str | None:
        """Why too few families can agree; None where enough can."""
        needs, names = self._needs(step), [family.name for family in self.reach.families]
        if needs is None or len(names) >= needs.agree:
            return None
        return f"it needs {needs.agree} families of evidence; the models in force have {len(names)}: {', '.join(names)}"

    def _others(self, step: str) -> Iterator[str]:
        """What else keeps everybody from a step."""
        ladder, rung, needs = self.ladder, self.ladder.rungs[self.ladder.first_rung[step] - 1], self._needs(step)
        if needs is not None and self.reach.least > needs.fpr:
            yield _rate(needs.fpr, self.reach)
        if rung.enter > ladder.scale.most:
            yield f"its rung begins at {rung.enter:g}, and [response] most is {ladder.scale.most:g}"
        if step == REVIEW and ladder.review_by_rank is not None and not ladder.response.cases_per_day:
            yield "[response] cases_per_day is 0"
        if step not in INTERNAL and not any(step in adapter.steps for adapter in self.ways.adapters.values()):
            yield f"no adapter can {step}; name one in [[response.adapter]]"

    def _needs(self, step: str) -> Needs | None:
        """What a step needs, with all rungs below it: evidence must carry these too."""
        rung = self.ladder.first_rung[step]
        if step == WATCH or self.ladder.needs[rung - 1] is None:
            return None
        below = [needs for needs in self.ladder.needs[:rung] if needs is not None]
        return Needs(min(one.fpr for one in below), max(one.agree for one in below), self.ladder.covered)


def _rate(fpr: float, reach: Reach) -> str:
    known = reach.limiting
    if not fpr:
        return "it needs a false-positive rate of 0, which no verdict has"
    more = max(_people_for(fpr, reach) - known.humans, 1)
    return (
        f"it needs a false-positive rate of {_percent(fpr)}, and {known.humans:,} known people can state no less than "
        f"{_percent(reach.least)}; review {more:,} more"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _people_for(fpr: float, reach: Reach) -> int:
    """How many known people each family, or the fusion, takes to state a rate."""
    families = [Voice(family.name, _MANY) for family in reach.families]
    fusion = None if reach.fusion is None else Voice(reach.fusion.name, _MANY)
    times = replace(reach, families=families, fusion=fusion).least * (_MANY + 1)
    return math.ceil(times / fpr - 1e-9) - 1
