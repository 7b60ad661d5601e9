"""What every detector's recipe has in common: options that are checked, written as JSON and read back."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar, Self, get_type_hints

import polars as pl

from gamewarden.contracts import Decides, Feature, Model
from gamewarden.errors import ConfigError
from gamewarden.learning.model_json import build, dump
from gamewarden.learning.reference import Floats, plain_json
from gamewarden.learning.styles import Styles
from gamewarden.learning.validation import Rule, is_time_zone

POSITIVE = Rule(lambda v: v > 0, "give a number above 0")
AT_LEAST_1 = Rule(lambda v: v >= 1, "give 1 or more")
AT_LEAST_2 = Rule(lambda v: v >= 2, "give 2 or more")  # noqa: PLR2004  of one nothing can be held out
_STYLES = Styles()
A_TIME_ZONE = Rule(lambda v: v is None or is_time_zone(v), "name a time zone such as Asia/Seoul")


def one_of(*choices: str) -> Rule:
    """An option that is one of several words."""
    words = " or ".join(choices) if len(choices) == len("ab") else f"one of {', '.join(choices)}"
    return Rule(lambda v: v in choices, f"choose {words}")


def option(default: Any, also: tuple[Any, ...], needs: Rule | None = None, says: str = "", **more: str) -> Any:  # noqa: ANN401  as `field`
    """An option of a recipe: what else the contract tests shall try, and what a value must be.

    One that says what it is for is an option of the command line too.
    """
    told = {"says": says} if says else {}
    return field(default=default, metadata={"also": also, "needs": needs, **told, **more})


def refuse_bad_options(recipe: Any, name: str) -> None:  # noqa: ANN401  any dataclass of options
    """Look at every option of a recipe.

    Raises:
        ConfigError: one has a value that nothing can be learned with.
    """
    for one in fields(recipe):
        needs, value = one.metadata.get("needs"), getattr(recipe, one.name)
        if needs is not None and not needs.holds(value):
            raise ConfigError(f"{name}: {one.name} {value!r} cannot be used; {needs.words}")


@dataclass(frozen=True)
class DetectorRecipe(ABC):
    """A frozen recipe of one method around the recipe of the feature it sees."""

    name: ClassVar[str]
    says: ClassVar[str]
    sees: ClassVar[str]
    model: ClassVar[type[Any]]
    # Grows when the same recipe and data would give other numbers, so that a name never means two models.
    version: ClassVar[int] = 2
    version_key: ClassVar[str] = "method"  # what the version is called in JSON

    feature: Feature  # frozen: what the table given to `fit` was measured with

    def __post_init__(self) -> None:
        """Check every option.

        Raises:
            ConfigError: an option has a value that nothing can be learned with.
        """
        refuse_bad_options(self, self.name)
        object.__setattr__(self, "feature", _with_options(self.feature, self.asks()))

    @abstractmethod
    def fit(self, features: pl.DataFrame, labels: pl.DataFrame) -> Model:
        """The model of these rows and labels, the same whatever their order."""

    @property
    def cut(self) -> float | None:
        """The probability from which accusing costs less than waiting; None of a method that does not weigh it."""
        return None

    def learn(self, features: pl.DataFrame, labels: pl.DataFrame) -> Decides:
        """What decides, for evaluations that hold rows out themselves: the probability, unless there is a margin."""
        return ByProbability(self.fit(features, labels))

    def asks(self) -> Mapping[str, Any]:
        """Options of the feature without which the method would be blind."""
        return {}

    def on_clock(self, time_zone: str | None) -> Self:
        """The recipe with whole days on the clock of a zone, where it ranks days and was told no zone."""
        del time_zone
        return self

    def around(self, feature: Feature) -> Self:
        """The same recipe around another feature."""
        return replace(self, feature=feature)

    def with_styles(self, styles: Styles) -> Self:
        """The recipe with these borders between styles, where it compares people by style."""
        del styles
        return self

    def to_dict(self) -> dict[str, Any]:
        """The options as JSON values, without the feature's."""
        options = {one.name: dump(getattr(self, one.name)) for one in fields(self) if one.name != "feature"}
        return plain_json({self.version_key: self.version, **options})

    @classmethod
    def of(cls, feature: Feature, options: Mapping[str, Any]) -> Self:
        """The recipe with these options, around a feature."""
        return cls(feature=feature, **options)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], feature: Feature) -> Self:
        """The recipe back from the options that a model's card names, around a feature."""
        kinds = get_type_hints(cls, include_extras=True)
        names = [one.name for one in fields(cls) if one.name in values and one.name != "feature"]
        return cls(feature=feature, **{name: build(kinds[name], values[name]) for name in names})


@dataclass(frozen=True)
class ByProbability:
    """A model's probability above or below one half."""

    model: Model

    def decide(self, features: pl.DataFrame) -> Floats:
        """The probability less one half, NaN where there is too little evidence."""
        probability: Floats = self.model.score(features)["probability"].cast(pl.Float64).to_numpy() - 0.5
        return probability


@dataclass(frozen=True)
class ByDay:
    """A recipe that ranks whole days, each made of several rows."""

    time_zone: str | None = option(None, ("Asia/Seoul",), A_TIME_ZONE)  # on whose clock

    def on_clock(self, time_zone: str | None) -> Self:
        """The recipe with whole days on the clock of a zone, where it was told none."""
        return self if time_zone is None or self.time_zone is not None else replace(self, time_zone=time_zone)


@dataclass(frozen=True)
class ByStyle:
    """A recipe that compares people by style of play."""

    styles: Styles = option(_STYLES, (Styles(learned=True), Styles(hardcore_hours=6.0)))

    @property
    def style_rule(self) -> Styles | None:
        """What tells styles of play apart."""
        return self.styles

    def with_styles(self, styles: Styles) -> Self:
        """The recipe with these borders between styles."""
        return replace(self, styles=styles)


def _with_options(feature: Feature, asks: Mapping[str, Any]) -> Feature:
    known: Any = feature
    names = {one.name for one in fields(known)} if is_dataclass(known) else set()
    missing = {name: value for name, value in asks.items() if name in names and getattr(known, name) != value}
    found: Feature = replace(known, **missing) if missing else feature
    return found
