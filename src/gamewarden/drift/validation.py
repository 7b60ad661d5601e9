"""Whether a retrained model may take over: good enough, not worse than the old one, and flagging about as many."""

from dataclasses import dataclass

AUC_FLOOR = 0.85
SLACK = 0.02  # how much worse than the old model it may be on the same held-out actors
LEAST_SHARE, MOST_SHARE = 0.5, 2.0  # of the share of actors that the old model flags


@dataclass(frozen=True)
class ValidationRules:
    """When a new model is valid (algorithms of the published system with its gaps filled; all of it policy)."""

    auc_floor: float = AUC_FLOOR
    slack: float = SLACK
    least_share: float = LEAST_SHARE
    most_share: float = MOST_SHARE


@dataclass(frozen=True)
class Comparison:
    """Old and new model side by side: the AUC on the same held-out rows, and the share of all actors each flags."""

    new_auc: float | None
    old_auc: float | None
    new_share: float
    old_share: float | None  # none where its scores are not to be trusted
    old_share_in_control: float | None  # of the latest period in control: a drifted model may flag next to nobody
    bots: int  # held out
    humans: int


@dataclass(frozen=True)
class Verdict:
    """Whether the new model may score people, and every reason why not."""

    comparison: Comparison
    failures: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """No reason was found against it."""
        return not self.failures


def judge(comparison: Comparison, rules: ValidationRules | None = None) -> Verdict:
    """All rules tried, none of them skipped."""
    rules = rules or ValidationRules()
    return Verdict(comparison, (*_auc_failures(comparison, rules), *_share_failures(comparison, rules)))


def _auc_failures(found: Comparison, rules: ValidationRules) -> tuple[str, ...]:
    if found.new_auc is None:
        return (f"its AUC is unknown: {found.bots:,} bots and {found.humans:,} humans are held out",)
    failures = []
    if found.new_auc < rules.auc_floor:
        failures.append(f"its AUC of {found.new_auc:.3f} is below the floor of {rules.auc_floor}")
    if found.old_auc is not None and found.new_auc < found.old_auc - rules.slack:
        failures.append(
            f"its AUC of {found.new_auc:.3f} is more than {rules.slack} below the {found.old_auc:.3f} of the old model "
            "on the same held-out actors"
        )
    return tuple(failures)


def _share_failures(found: Comparison, rules: ValidationRules) -> tuple[str, ...]:
    """Out of proportion to what the old model flags now, and to what it flagged while it was in control."""
    known = [share for share in (found.old_share, found.old_share_in_control) if share is not None]
    bands = [(rules.least_share * share, rules.most_share * share) for share in known]
    if not bands or any(least <= found.new_share <= most for least, most in bands):
        return ()
    told = " or ".join(f"{least:.1%} to {most:.1%}" for least, most in bands)
    return (f"it flags {found.new_share:.1%} of actors, and {told} would be in proportion to the old model",)
