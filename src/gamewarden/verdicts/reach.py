"""Whether anybody can reach the point to act with the models at hand, and what would make it possible."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from gamewarden.contracts import Card, Model
from gamewarden.learning.model_info import family_of
from gamewarden.learning.reference import smallest_fpr
from gamewarden.verdicts.combining import combined
from gamewarden.verdicts.points import ACT, NEITHER, WATCH, OperatingPoints

_ORDER = {ACT: 0, WATCH: 1, NEITHER: 2}
_ROUNDING = 1e-9  # an FPR is a quotient of counts


@dataclass(frozen=True)
class Voice:
    """What a family of features, or a fusion of several, can say at the strongest."""

    name: str
    humans: int  # held out, that its lowest FPR rests on

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
        """That of all families combined, unless a fusion with humans of its own speaks for them."""
        return combined([voice.least for voice in self.families]) if self.fusion is None else self.fusion.least

    def humans_needed(self) -> int:
        """Held-out humans with which a fusion, or a family that may speak alone, is sure enough."""
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
            known = self.limiting
            yield (
                f"the FPR must be {self.points.act:g} and is never below {self.least:.2g} "
                f"({known.humans:,} held-out humans)"
            )

    def _takes(self, others: Sequence[str]) -> Iterator[str]:
        if self._few_families:
            yield f"`gamewarden fit {others[0]}`" if others else "a source that feeds another family"
        if self._coarse:
            yield f"{self.humans_needed():,} reviewed humans"
        if self._coarse and self.fusion is None and self.points.agree > 1:
            yield "`gamewarden fit fusion`"

    @property
    def limiting(self) -> Voice:
        """The fusion, or the family whose own lowest FPR decides how low the combined one can be."""
        if self.fusion is not None:
            return self.fusion
        by_humans = sorted(self.families, key=lambda voice: voice.humans, reverse=True)
        return by_humans[0 if len(by_humans) <= 2 else 1]  # noqa: PLR2004  as families are combined

    @property
    def _few_families(self) -> bool:
        return len(self.families) < self.points.agree

    @property
    def _coarse(self) -> bool:
        return self.least > self.points.act


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def reach_of_models(models: Sequence[Model], fusion: Model | None, points: OperatingPoints) -> Reach:
    """What verdicts of these models can say at the strongest."""
    families = [Voice(family_of(model.feature.name), _held_out_humans(model.card)) for model in _speaking(models)]
    return Reach(points, families, None if fusion is None else Voice(fusion.id, _held_out_humans(fusion.card)))


def out_of_reach(
    models: Sequence[Model], fusion: Model | None, points: OperatingPoints, others: Sequence[str]
) -> tuple[str, ...]:
    """Why nobody can reach the point to act with these models, where that is so.

    `others` are detectors of further families that the same source could feed.
    """
    told = reach_of_models(models, fusion, points).sentence(others)
    heard = [*(model.card for model in _speaking(models)), *([] if fusion is None else [fusion.card])]
    return (*rare_styles(heard, points), *([] if told is None else [told]))


def rare_styles(cards: Sequence[Card], points: OperatingPoints) -> Iterator[str]:
    """Of which styles of play too few people are known for even the point to watch, where there are some."""
    lowest: dict[str, tuple[float, int]] = {}
    for card in cards:
        for style, humans in card.parameters.get("humans_by_style", {}).items():
            rate = smallest_fpr(humans, card.parameters["humans"])
            lowest[style] = min((rate, humans), lowest.get(style, (1.0, humans)))
    rare = [f"{style} ({humans})" for style, (rate, humans) in sorted(lowest.items()) if rate > points.watch]
    if rare and points.watch:
        yield (
            f"Of some styles of play too few people are known for anybody to reach a point: {', '.join(rare)}; an "
            f"FPR of {points.watch:g} takes {math.ceil(1 / points.watch) - 1} of one style, or more people of other "
            "styles. Models that do not tell styles apart may reach it still."
        )


def best_points(verdicts: pl.DataFrame, points: OperatingPoints) -> pl.DataFrame:
    """One row an actor: the highest operating point that one of its periods reaches; null where none was judged."""
    told = verdicts.with_columns(points.reached(verdicts))
    order = pl.col("point").replace_strict(_ORDER, default=len(_ORDER), return_dtype=pl.Int64)
    return told.sort(order, "actor").unique("actor", keep="first", maintain_order=True).select("actor", "point")


def otherwise_judged(detector: str, others: Sequence[str], *, alike: bool) -> Iterator[str]:
    """What `judge` hears beside one detector, and whether it could see an account otherwise for that."""
    if alike:
        same = ", ".join((detector, *others))
        yield from [f"`judge` gives the same points; its probability is the mean of {same}."] if others else []
    else:
        heard = ", ".join(others)
        yield f"FPR and point are {detector}'s alone; `judge` hears {heard} too and may see it otherwise."


def beside_the_list(verdicts: pl.DataFrame, points: OperatingPoints, listed_from: float) -> Iterator[str]:
    """How many periods a list of probabilities would show though their FPR reaches no point, where there are some."""
    probable = points.reached(verdicts.filter(pl.col("probability") >= listed_from)) == NEITHER
    if count := int(probable.sum()):
        yield (
            f"{count:,} periods reach no point with a probability of {listed_from:g} or more, from which `rank` lists: "
            f"points go by the FPR, here above {points.watch:g}; too many people of their style look alike, "
            "too few people of it are known, or only one of several families says bot."
        )


def _speaking(models: Sequence[Model]) -> list[Model]:
    """The detector that speaks for each family: the first."""
    first: dict[str, Model] = {}
    for model in models:
        first.setdefault(family_of(model.feature.name), model)
    return list(first.values())


def _held_out_humans(card: Card) -> int:
    """The held-out humans that the lowest FPR rests on: of a length of a day, or all of them.

    All of them count where styles are told apart: somebody in a style that nobody has is compared with all.
    """
    humans = int(card.parameters.get("humans", 0))
    lengths = card.parameters.get("humans_by_rows_of_a_day")
    if not lengths:
        return humans
    return math.floor(1 / min(smallest_fpr(people, humans) for people in lengths.values()) + _ROUNDING) - 1


def pointless(shown: pl.DataFrame, card: Card, points: OperatingPoints) -> Iterator[str]:
    """Why accounts stand on the list without a point, where the model knows too few people of their style."""
    if (shown["point"] == NEITHER).any():
        yield from rare_styles([card], points)
