"""What a model may say of a source: every event detector on logs that lack a kind, a morning, or all that it knows."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from gamewarden import pipeline, readers
from gamewarden.core.durations import MINUTE
from gamewarden.errors import FitError, ModelError
from gamewarden.features.actions.recipe import Actions
from gamewarden.features.self_similarity.recipe import ROLES, SelfSimilarity
from gamewarden.pipeline import RankOptions, VerifyOptions, measuring, scoring
from gamewarden.readers.options import LogOptions, SourceOptions
from gamewarden.store import verdicts
from gamewarden.verdicts.meeting import CROWD, Far

pytestmark = pytest.mark.integration

START = datetime(2026, 3, 1, tzinfo=UTC)
HUNTS = ("combat.kill", "loot.pickup", "skill.use", "item.use", "chat", "npc.sell")
RARE = ("trade.give", "trade.receive", "storage.deposit", "storage.withdraw")
KINDS = ("session.login", "session.logout", *HUNTS, *RARE)
DETECTORS = {
    "account-day": SelfSimilarity(),
    "self-similarity": SelfSimilarity(),
    "actions-frequency": Actions(chunk=60 * MINUTE),
    "actions-interval": Actions(chunk=60 * MINUTE),
    "actions-two-stage": Actions(chunk=60 * MINUTE),
}


def test_the_same_rows_name_the_same_crowd_in_every_process():
    """What a partition says of itself is then the same to the last byte, whoever computes it."""
    actors = [f"a{number * 7919 % 1000}" for number in range(1000)]
    scores = pl.DataFrame({"actor": actors, "probability": 0.5, "far": pl.Series([None] * 1000, dtype=pl.String)})

    assert Far.of(scores).some == frozenset(actors[:CROWD])


def played(actors: int = 24, days: int = 2, seed: int = 5) -> pl.DataFrame:
    """A synthetic log of whole days: people and bots who log in, hunt, trade a little, and log out."""
    draw = np.random.default_rng(seed)
    return pl.concat(
        [_day(f"{'bot' if at % 2 else 'human'}{at:02}", day, draw) for at in range(actors) for day in range(days)]
    ).sort("at", maintain_order=True)


def _day(actor: str, day: int, draw: np.random.Generator) -> pl.DataFrame:
    bot = actor.startswith("bot")
    begin, hours = (draw.uniform(0, 2), draw.uniform(16, 20)) if bot else (draw.uniform(0, 8), draw.uniform(9, 14))
    count = int(hours * 60 * (3 if bot else 2))
    gaps = draw.gamma(*((9, 1) if bot else (0.7, 1)), count)
    at = np.cumsum(gaps) / gaps.sum() * hours * 3600 + begin * 3600 + 1
    weights = np.array([40, 30, 15, 5, 1, 1] if bot else [20, 15, 15, 10, 15, 10]) * draw.uniform(0.5, 1, 6)
    kinds = np.where(
        draw.random(count) < 0.02, draw.choice(RARE, count), draw.choice(HUNTS, count, p=weights / weights.sum())
    )
    seconds = [at[0] - 1, *at, at[-1] + 1]
    return pl.DataFrame(
        {
            "actor": actor,
            "at": [START + timedelta(days=day, seconds=float(second)) for second in seconds],
            "kind": ["session.login", *kinds, "session.logout"],
            "level": 30 if bot else 20 + len(actor) + int(actor[-1]),
        }
    )


@dataclass(frozen=True)
class Place:
    directory: Path

    def log(self, name: str, frame: pl.DataFrame) -> Path:
        path = self.directory / f"{name}.csv"
        if not path.exists():
            frame.write_csv(path, datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ")
        return path

    def models(self, detector: str) -> Path:
        return self.directory / "models" / detector


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Place:
    place = Place(tmp_path_factory.mktemp("met"))
    log = place.log("whole", played())
    labels = played().select("actor").unique().with_columns(bot=pl.col("actor").str.starts_with("bot"))
    labels.write_csv(place.directory / "labels.csv")
    for name, feature in DETECTORS.items():
        recipe = pipeline.detector_recipe(name, feature, {})
        pipeline.fit(recipe, readers.open(log), place.directory / "labels.csv", place.models(name))
    return place


def without(kind: str) -> pl.DataFrame:
    return played(days=1, seed=11).filter(pl.col("kind") != kind)


def all_that_is_said(place: Place, detector: str, source: Path) -> list[str] | ModelError:
    """Every sentence of `rank`, `explain`, `judge` and its sealed documents, which all hold; or the refusal."""
    models = place.models(detector)
    try:
        ranked = pipeline.rank(readers.open(source), models, RankOptions(0.0, 0, detector))
    except ModelError as refused:
        return refused
    said = [*ranked.frame["reasons"].drop_nulls()]
    story = pipeline.explain(ranked.frame["actor"][0], readers.open(source), models, detector)
    said += story.evidence.filter(pl.col("weight") != 0)["says"].to_list()
    judged = pipeline.judge(readers.open(source), models)
    kept = place.directory / "verdicts" / f"{detector}-{source.stem}"
    pipeline.record(judged, readers.open(source), kept, every_one=True)
    documents = verdicts.stored(kept)[:6]
    table = pipeline.verify(documents, VerifyOptions(models, readers.open(source)))
    assert table["holds"].all(), table["says"].to_list()
    for path in documents:
        evidence = verdicts.table_of(verdicts.load(path)["evidence"], str(path))
        said += evidence.filter(pl.col("weight") != 0)["says"].to_list()
    return said


@pytest.mark.parametrize(
    ("detector", "kind"),
    [
        pytest.param(
            detector, kind, marks=[pytest.mark.nightly] if detector != "account-day" and kind != KINDS[0] else []
        )
        for detector in DETECTORS
        for kind in KINDS
    ],
)
def test_nothing_is_said_of_a_kind_that_the_source_cannot_show(place, detector, kind):
    source = place.log(f"without-{kind}", without(kind))
    words = {kind, *(word for column, words in WORDS.items() if ROLES[column] == kind for word in words)}

    said = all_that_is_said(place, detector, source)

    if isinstance(said, ModelError):
        assert f"cannot judge this log: it cannot show {kind}" in str(said) or f"does not show {kind}" in str(said)
        return
    assert said
    assert not [line for line in said if any(word in line for word in words)]


WORDS = {
    "npc_kill_count": ("monsters",),
    "trade_get_count": ("Receives in",),
    "trade_give_count": ("Gives in",),
    "retrieve_count": ("Takes out of storage",),
    "deposit_count": ("Puts into storage",),
}


@pytest.mark.parametrize("detector", DETECTORS)
def test_a_log_of_another_game_is_refused_by_every_command(place, detector):
    renamed = played(seed=11).with_columns(pl.concat_str(pl.lit("other."), pl.col("kind")).alias("kind"))
    source, models = place.log("another-game", renamed), place.models(detector)

    for command in (
        lambda: pipeline.score(readers.open(source), models),
        lambda: pipeline.rank(readers.open(source), models, RankOptions(0.5, 10)),
        lambda: pipeline.explain("bot01", readers.open(source), models, None),
        lambda: pipeline.judge(readers.open(source), models),
    ):
        with pytest.raises(ModelError, match=r"cannot judge this log: .* of kinds that the model has never seen"):
            command()


@pytest.mark.parametrize("detector", ["account-day", "self-similarity"])
def test_a_day_that_was_cut_at_eight_is_not_scored(place, detector):
    cut = played(seed=11).filter(pl.col("at") >= START + timedelta(hours=8))
    source = place.log("cut", cut)

    scores = pipeline.score(readers.open(source), place.models(detector))

    first, second = (scores.frame.filter(since=START + timedelta(days=day)) for day in (0, 1))
    assert first["covered"].unique().to_list() == [pytest.approx(2 / 3, abs=0.01)]
    assert first["probability"].null_count() == first.height > 0
    assert second["probability"].null_count() == 0
    assert any("covers only part of 2026-03-01 (67%): 24 rows are not scored" in line for line in scores.notes)


def days_and_recordings(place: Place) -> tuple[Path, Path]:
    """Whole days of people, and an hour that was recorded of bots in the middle of their play three days later."""
    people = played(days=1, seed=3).filter(pl.col("actor").str.starts_with("human"))
    bots = played(days=1, seed=3).filter(pl.col("actor").str.starts_with("bot"))
    noon = START + timedelta(hours=12)
    recorded = bots.filter(pl.col("at").is_between(noon, noon + timedelta(hours=1)))
    log = pl.concat([people, recorded.with_columns(pl.col("at") + timedelta(days=3))])
    return place.log("recordings", log), place.directory / "labels.csv"


def test_a_chunk_is_learned_from_whatever_is_missing_of_its_day(place, tmp_path):
    log, labels = days_and_recordings(place)
    recipe = pipeline.detector_recipe("actions-frequency", Actions(chunk=30 * MINUTE), {})

    fitted = pipeline.fit(recipe, readers.open(log), labels, tmp_path)

    assert fitted.model.card.training["actors"]["bot"] == 12
    assert fitted.model.card.training["covered"] > 0.5  # as its best day: it judges no day that is covered less


def test_a_fit_that_fails_because_days_are_not_covered_says_so_and_names_the_setting(place, tmp_path):
    log, labels = days_and_recordings(place)
    recipe = pipeline.detector_recipe("account-day", SelfSimilarity(), {})

    with pytest.raises(FitError, match=r"covers only part of 2026-03-04 .* lower \[coverage\] least"):
        pipeline.fit(recipe, readers.open(log), labels, tmp_path)


def test_whole_days_are_covered_whole_although_people_sleep(place):
    scores = pipeline.score(readers.open(place.directory / "whole.csv"), place.models("account-day"))

    assert scores.frame["covered"].min() > 0.99
    assert scores.frame["probability"].null_count() == 0


def kept(place: Place, detector: str, path: Path, mapping: Path | None = None) -> tuple[pl.DataFrame, list[str]]:
    """The verdicts on a source, and every sentence of their sealed documents that weighs something; all hold."""
    logs = LogOptions(mapping=None if mapping is None else str(mapping))
    models, source = place.models(detector), readers.open(path, SourceOptions(logs))
    judged = pipeline.judge(source, models)
    directory = place.directory / "kept" / f"{detector}-{path.stem}-{mapping is not None}"
    pipeline.record(judged, source, directory, every_one=True)
    documents = verdicts.stored(directory)
    assert pipeline.verify(documents[:8], VerifyOptions(models, source))["holds"].all()
    tables = [verdicts.table_of(verdicts.load(path)["evidence"], str(path)) for path in documents]
    return judged.verdicts, [line for table in tables for line in table.filter(pl.col("weight") != 0)["says"]]


@pytest.mark.parametrize("detector", DETECTORS)
def test_a_day_on_which_a_common_kind_went_silent_is_not_judged(place, detector):
    second = START + timedelta(days=1)
    silent = played(seed=11).filter(~((pl.col("kind") == "combat.kill") & (pl.col("at") >= second)))
    source = place.log("silent-day", silent)

    found, _ = kept(place, detector, source)
    told = pipeline.score(readers.open(source), place.models(detector))

    assert found.filter(since=START)["fpr"].null_count() == 0
    assert found.filter(since=second)["fpr"].count() == 0
    assert any(
        "2026-03-02: 100% of the events are of known kinds, and combat.kill never occur" in r for r in told.notes
    )


def test_a_rare_kind_that_went_silent_for_a_day_is_not_told_of_that_day(place):
    second = START + timedelta(days=1)
    silent = played(seed=11).filter(~((pl.col("kind") == "trade.give") & (pl.col("at") >= second)))
    source = place.log("silent-trades", silent)

    rows = pipeline.explain("bot01", readers.open(source), place.models("account-day"), None).model
    told = scoring.rows_to_judge(measuring.feature_of(rows.feature), readers.open(source)).frame

    assert told.filter(since=START)["trade_give_count"].null_count() == 0
    assert told.filter(since=second)["trade_give_count"].count() == 0
    assert told.filter(since=second)["trade_get_count"].null_count() == 0


@pytest.mark.parametrize("detector", DETECTORS)
def test_days_of_another_vocabulary_do_not_keep_a_model_from_those_it_knows(place, detector):
    second = START + timedelta(days=1)
    renamed = pl.when(pl.col("at") >= second).then("new." + pl.col("kind")).otherwise("kind")
    source = place.log("renamed-day", played(seed=11).with_columns(kind=renamed))

    found, _ = kept(place, detector, source)

    assert found.filter(since=START)["fpr"].null_count() == 0
    assert found.filter(since=second)["fpr"].count() == 0


def test_a_mapping_cannot_promise_what_never_comes(place, tmp_path):
    (tmp_path / "map.toml").write_text('[kinds]\n"combat.kill" = "combat.kill"\n')
    source = place.log("without-combat.kill", without("combat.kill"))

    with pytest.raises(ModelError, match=r"cannot show combat\.kill"):
        kept(place, "account-day", source, tmp_path / "map.toml")


@pytest.mark.parametrize("detector", DETECTORS)
def test_there_is_no_verdict_on_part_of_a_day_whoever_speaks(place, detector):
    cut = place.log("cut", played(seed=11).filter(pl.col("at") >= START + timedelta(hours=8)))

    found, _ = kept(place, detector, cut)

    assert found.filter(since=START)["covered"].max() < 0.7
    assert found.filter(since=START)["fpr"].count() == 0
    assert found.filter(since=START + timedelta(days=1))["fpr"].null_count() == 0
