"""Numbers to scores: one published method per package, named in REGISTRY."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gamewarden.core.outside import visible
from gamewarden.core.registry import Registry
from gamewarden.errors import ConfigError, ModelError, short

if TYPE_CHECKING:
    from gamewarden.contracts import Detector, Model

# Name, feature, package, recipe, model: those that see most first; nothing is imported before it is asked for.
_OWN: tuple[tuple[str, str, str, str, str], ...] = (
    ("account-day", "self-similarity", "logistic", "AccountDay", "LogisticModel"),
    ("self-similarity", "self-similarity", "logistic", "SelfSimilarityAlone", "LogisticModel"),
    ("signs", "signs", "signs", "SignsDetector", "SignsModel"),
    ("groups", "flows", "groups", "Groups", "GroupsModel"),
    ("actions-interval", "actions", "actions", "Interval", "ActionModel"),
    ("actions-frequency", "actions", "actions", "Frequency", "ActionModel"),
    ("actions-two-stage", "actions", "actions", "TwoStage", "ActionModel"),
    ("pulses", "pulses", "pulses", "PulseDetector", "PulseModel"),
    ("traffic", "traffic", "traffic", "TrafficDetector", "TrafficModel"),
    ("session-network", "session", "session", "SessionNetwork", "SessionModel"),
    ("session-angle", "session", "session", "SessionAngle", "SessionModel"),
    ("copies", "copies", "copies", "CopyDetector", "CopyModel"),
    ("paths", "paths", "paths", "PathDetector", "PathModel"),
    ("account-table", "account-table", "account_table", "AccountTableDetector", "AccountTableModel"),
    ("table-signs", "account-table", "signs", "TableSigns", "SignsModel"),
    ("fusion", "scores", "fusion", "Fusion", "FusionModel"),
)
_FEATURES = {name: feature for name, feature, *_ in _OWN}
_RECIPES = {name: f"{__name__}.{package}.recipe:{recipe}" for name, _, package, recipe, _ in _OWN}
_MODELS = {name: (f"{__name__}.{package}.model", model) for name, _, package, _, model in _OWN}
REGISTRY = Registry("gamewarden.detectors", "detector", _RECIPES, ConfigError)


def names() -> tuple[str, ...]:
    """Every detector, those that see most first, those of installed packages last."""
    return REGISTRY.names


def usable() -> tuple[str, ...]:
    """The same without those of installed packages that cannot be loaded."""
    return REGISTRY.usable


def of_sources() -> tuple[str, ...]:
    """The detectors that judge what a source shows, and not what others say of it."""
    return tuple(name for name in usable() if not fuses(name))


def fuses(name: str) -> bool:
    """Whether a detector is fed by the scores of the others; one that is unknown here is not."""
    return name in names() and feature_of(name) == "scores"


def feature_of(name: str) -> str:
    """The feature that a detector sees.

    Raises:
        ConfigError: there is no such detector.
    """
    return _FEATURES[name] if name in _FEATURES else load(name).sees


def of_feature(feature: str) -> tuple[str, ...]:
    """The detectors that see a feature."""
    return tuple(name for name in usable() if feature_of(name) == feature)


def load(name: str) -> "type[Detector]":
    """The recipe class of a detector by its name; it takes the feature recipe as `feature`.

    Raises:
        ConfigError: there is no such detector.
    """
    recipe: type[Detector] = REGISTRY.load(name)
    return recipe


def load_model(values: Mapping[str, Any]) -> "Model":
    """The model back from the JSON values that the model store read.

    Raises:
        ModelError: the detector is unknown here, or a value is not what such a model holds.
    """
    name = values.get("detector")
    if name not in names():
        raise ModelError(f"model {short(values.get('id'))} is of the detector {short(name)}, {_unknown(values)}")
    return model_of(str(name)).from_dict(values)


def _unknown(values: Mapping[str, Any]) -> str:
    """Why a model's detector is unknown, and what would help: its package as the model names it, if it does."""
    package, dispute = values.get("offered_by"), REGISTRY.dispute(str(values.get("detector")))
    if dispute is not None:
        return f"which cannot be used: {dispute}"
    if isinstance(package, str):
        offered = visible(package)
        return f"which no installed package offers; install {offered}, which offered it when the model was fitted"
    return f"which no installed package offers; known are {', '.join(names())}"


def model_of(name: str) -> "type[Model]":
    """What a detector's recipe is fitted to.

    Raises:
        ConfigError: there is no such detector.
    """
    if name not in _MODELS:
        return load(name).model
    module, attribute = _MODELS[name]
    model: type[Model] = getattr(import_module(module), attribute)
    return model
