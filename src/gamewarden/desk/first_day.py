"""Whom raters look at before anything was judged: everybody who was measured, those who look odd among all early."""

from dataclasses import dataclass

import polars as pl

from gamewarden.desk.desk import Desk
from gamewarden.desk.judged import Judged
from gamewarden.desk.reasons import DetectorReasons, Reasons, hidden_topics
from gamewarden.detectors.signs.population import DETECTOR
from gamewarden.errors import FitError
from gamewarden.features.signs import Signs
from gamewarden.pipeline.first_look import FirstLook, looked_at, population_in, signs_of_lake
from gamewarden.pipeline.measuring import feature_of
from gamewarden.presentation.story import weighed_topics
from gamewarden.store.lake import Lake
from gamewarden.tables import TIME
from gamewarden.verdicts.review_order import Candidate


@dataclass(frozen=True)
class FirstDay:
    """Everybody as a queue needs them, without a word of a model."""

    judged: Judged  # with no days, and nothing said of anybody
    candidates: tuple[Candidate, ...]
    look: FirstLook | None = None


def first_day(desk: Desk) -> FirstDay:
    """Everybody whose signs rest; nobody before `gamewarden run` measured them, since no page waits for that.

    Raises:
        ReadError: a part of the lake or of the results is damaged.
        ModelError: the population that was kept is damaged.
    """
    if not Lake.is_at(desk.workspace.lake):
        return _told(None, "")
    days = desk.workspace.days()
    key = days.lake_fingerprint().digest
    return desk.memory.of("first day", key, lambda: _told(_look(desk), key), most=1)


def _look(desk: Desk) -> FirstLook | None:
    days, kept = desk.workspace.days(), population_in(desk.workspace.models)
    signs = Signs(time_zone=desk.workspace.time_zone)
    feature = feature_of(kept.feature) if kept else signs_of_lake(signs, days.events)
    if days.missing(feature):
        return None
    try:
        return looked_at(feature, days.table(feature), kept)
    except FitError:  # too few accounts to say who is odd among them
        return None


def _told(look: FirstLook | None, key: str) -> FirstDay:
    nobody = pl.DataFrame(schema={"actor": pl.String, "as_odd": pl.Float64})
    odd = nobody if look is None else look.oddness.drop_nulls("as_odd").select("actor", "as_odd").sort("actor")
    groups = {} if look is None else look.groups()
    unsaid = {"probability": pl.Float64, "fpr": pl.Float64, "point": pl.String}
    frame = odd.select(
        "actor",
        pl.lit(None, TIME).alias("until"),
        *(pl.lit(None, dtype).alias(name) for name, dtype in unsaid.items()),
        pl.lit(0, pl.Int64).alias("points"),
        pl.lit(None, TIME).alias("last_point"),
    )
    candidates = tuple(Candidate(actor, share, None, groups.get(actor)) for actor, share in odd.iter_rows())
    return FirstDay(Judged(frame, (), ("first day", key)), candidates, look)


def signs_of(desk: Desk, actor: str) -> Reasons | None:
    """The signs of an account beside those of all players, without how odd they are; None of somebody unmeasured.

    Raises:
        ReadError: a part of the lake or of the results is damaged.
    """
    look = first_day(desk).look
    mine = None if look is None else look.of([actor])
    if look is None or mine is None or not mine.height:
        return None
    topics = weighed_topics(look.model.explain(mine), look.model.phrases)
    told = DetectorReasons(DETECTOR, "", tuple(hidden_topics(topics)))
    return Reasons(actor, f"{mine['since'][0]:%Y-%m-%d}", kept=False, detectors=(told,), silent=(), blind=True)
