"""The settings of [maintain] as the flow, its chart, retraining, validation and doubts take them."""

from gamewarden.config import Maintain
from gamewarden.drift import ewma, retraining, validation
from gamewarden.drift.correlation import How
from gamewarden.drift.doubts import TrustRules
from gamewarden.drift.flow import Policy


def policy_of(settings: Maintain) -> Policy:
    """The settings as the flow and its chart take them."""
    rules = ewma.ChartRules(
        settings.weight,
        settings.width,
        settings.sigma_floor,
        settings.baseline,
        settings.provisional,
        "fisher" if settings.transform == "fisher" else "none",
        settings.sides == "lower",
        settings.consecutive,
    )
    return Policy(rules, settings.consecutive, settings.missing, settings.window_least)


def learning_rules(policy: Maintain) -> retraining.RetrainingRules:
    """What a new model is learned from, by the settings."""
    return retraining.RetrainingRules(policy.window_least, policy.window_most, policy.labelled, policy.held_out)


def validity_rules(policy: Maintain) -> validation.ValidationRules:
    """When a new model is good enough, by the settings."""
    return validation.ValidationRules(policy.auc_floor, policy.auc_slack, policy.share_least, policy.share_most)


def trust_rules(policy: Maintain) -> TrustRules:
    """When scores are not to be trusted, by the settings."""
    return TrustRules(
        policy.unknown_most,
        policy.fpr,
        policy.fprs_most,
        policy.bots_most,
        policy.unjudged_most,
        policy.collapsed,
        policy.common_actors,
    )


def correlation_of(policy: Maintain) -> How:
    """How scores of two periods are compared, by the settings."""
    return "spearman" if policy.correlation == "spearman" else "pearson"
