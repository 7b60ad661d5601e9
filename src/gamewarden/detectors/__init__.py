"""Numbers to scores: one published method a file, named in DETECTORS."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gamewarden.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from gamewarden.contracts import Detector, Model

# name, the feature it sees, recipe, model: those that see most first; nothing is imported before it is asked for.
DETECTORS: tuple[tuple[str, str, str, str], ...] = (
    ("account-day", "self-similarity", "logistic:AccountDay", "logistic_model:LogisticModel"),
    ("self-similarity", "self-similarity", "logistic:SelfSimilarityAlone", "logistic_model:LogisticModel"),
    ("actions-interval", "actions", "actions:Interval", "action_model:ActionModel"),
    ("actions-frequency", "actions", "actions:Frequency", "action_model:ActionModel"),
    ("actions-two-stage", "actions", "actions:TwoStage", "action_model:ActionModel"),
    ("traffic", "traffic", "traffic:TrafficDetector", "traffic_model:TrafficModel"),
    ("session-network", "session", "sessions:SessionNetwork", "session_model:SessionModel"),
    ("session-angle", "session", "sessions:SessionAngle", "session_model:SessionModel"),
    ("account-table", "account-table", "account_table:AccountTableDetector", "account_table_model:AccountTableModel"),
)
NAMES = tuple(name for name, *_ in DETECTORS)
FEATURE_OF = {name: feature for name, feature, *_ in DETECTORS}


def load(name: str) -> "type[Detector]":
    """The recipe class of a detector by its name; it takes the feature recipe as `feature`.

    Raises:
        ConfigError: there is no such detector.
    """
    for known, _, recipe, _ in DETECTORS:
        if known == name:
            found: type[Detector] = _imported(recipe)
            return found
    raise ConfigError(f"detector {name!r} is unknown; choose one of {', '.join(NAMES)}")


def revive(values: Mapping[str, Any]) -> "Model":
    """The model back from the JSON values that the model store read.

    Raises:
        ModelError: the detector is unknown here, or a value is not what such a model holds.
    """
    for known, _, _, model in DETECTORS:
        if known == values.get("detector"):
            found: type[Model] = _imported(model)
            return found.from_dict(values)
    raise ModelError(
        f"model {values.get('id')!r} is of the detector {values.get('detector')!r}, which is unknown here; "
        f"known are {', '.join(NAMES)}"
    )


def _imported(place: str) -> Any:  # noqa: ANN401 - the callers say which class it is
    module, _, name = place.partition(":")
    return getattr(import_module(f"{__name__}.{module}"), name)
