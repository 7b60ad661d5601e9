"""Inside a Spark job: every number as on one machine, to the last bit, also when an executor dies."""

import json
import subprocess
import sys
import threading
import time
import warnings
from datetime import UTC, datetime
from functools import partial

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import spark_cluster
from gamewarden import detectors, features, pipeline, readers, requests
from gamewarden import spark as on_spark
from gamewarden.config import Config
from gamewarden.contracts import Recipe
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY, HOUR, MINUTE, to_micros
from gamewarden.detectors.fusion.recipe import Fusion
from gamewarden.errors import ConfigError, MeasureError, ModelError, Remark, TableError
from gamewarden.features.census import CensusFold
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.tables import TIME, FrameEvents
from gamewarden.verdicts.prevalence import Prevalence
from logs_at_random import AUTUMN, CARNIVAL, played_log, random_log
from upkeep_made_up import Log, make_game

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(spark_cluster.why_not() is not None, reason=str(spark_cluster.why_not())),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets that PySpark leaves to the garbage collector
    pytest.mark.filterwarnings("ignore:distutils Version classes are deprecated"),  # PySpark 3.5 uses them
]
EVENT_FEATURES = [name for name in features.REGISTRY.own if features.load(name).input == "events"]
EVENT_DETECTORS = [name for name in detectors.of_sources() if detectors.feature_of(name) in EVENT_FEATURES]
# Little is enough to be measured in a small log.
LITTLE = {"min_moments": 5, "min_points": 3, "min_windows": 2, "min_actions": 1, "back": 3}
AT_CHANGES = (
    (AUTUMN, {"time_zone": "Europe/Berlin"}),
    (CARNIVAL, {"time_zone": "America/Sao_Paulo", "by": "character", "every": 6 * HOUR}),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def session(place):
    (place / "parts").mkdir()
    spark_cluster.offer_parts(place / "parts")
    with spark_cluster.started(place, place / "parts") as started:
        yield started


@pytest.fixture(scope="module")
def frame(session, place):
    """A log as a frame of Spark, in several files whose rows are in no order."""

    def made(log, name, files=3):
        for part in range(files):
            (place / name).mkdir(exist_ok=True)
            log.gather_every(files, part).write_parquet(place / name / f"{part}.parquet")
        return session.read.parquet(str(place / name))

    return made


@pytest.fixture(scope="module")
def logs(frame):
    """The random logs, in memory and as frames, by their first day."""
    found = {begin: random_log(seed, begin) for seed, begin in enumerate((AUTUMN, CARNIVAL))}
    return {begin: (log, frame(log, f"log-{begin:%m}")) for begin, log in found.items()}


def same(df, local, *keys):
    """Whether a frame of Spark is this table, to the last bit, whatever the order of its rows."""
    found = spark_cluster.frame_of(df)
    assert found.columns == local.columns
    assert_frame_equal(
        found.cast(dict(local.schema)).sort(keys), local.sort(keys), check_exact=True, check_row_order=True
    )
    assert local.height


def recipe(name, **options):
    return features.load(name).taking({**LITTLE, **options})


@pytest.mark.parametrize("case", range(len(AT_CHANGES)), ids=("berlin", "são-paulo"))
@pytest.mark.parametrize("name", EVENT_FEATURES)
def test_every_event_feature_is_measured_as_on_one_machine(logs, name, case):
    begin, options = AT_CHANGES[case]
    log, df = logs[begin]
    feature = recipe(name, **options)

    found = on_spark.measure(df, Recipe(name, feature.to_dict()))

    same(found, pipeline.measure(feature, readers.open(log)).frame, "actor", "since")


def test_a_feature_by_its_name_and_options_is_that_of_the_command_line(logs):
    log, df = logs[AUTUMN]
    feature = pipeline.feature_recipe("activity", {"every": 2 * HOUR}, Config(), "Asia/Seoul")

    found = on_spark.measure(df, "activity", every="2h", time_zone="Asia/Seoul", partitions=2)

    same(found, pipeline.measure(feature, readers.open(log)).frame, "actor", "since")


def test_a_vocabulary_that_was_learned_is_used(logs):
    log, df = logs[AUTUMN]
    feature = SelfSimilarity(vocabulary=("combat.kill", "move", "스킬.사용"), empty="gap")

    same(on_spark.measure(df, feature), pipeline.measure(feature, readers.open(log)).frame, "actor", "since")


@pytest.mark.parametrize("name", ["table-of-all", "second-look"])
def test_features_of_others_that_hold_a_table_or_ask_twice_work_too(logs, place, monkeypatch, name):
    monkeypatch.syspath_prepend(place / "parts")
    for known in ("_points", "_disputed", "_offered"):
        vars(features.REGISTRY).pop(known, None)
    log, df = logs[AUTUMN]
    feature = features.load(name)()

    found = on_spark.measure(df, feature)

    local = pipeline.measure(feature, readers.open(log)).frame
    wide = {column: pl.Int64 for column, dtype in local.schema.items() if dtype == pl.UInt32}
    same(found, local.cast(wide), "actor", "since")


def test_spark_tells_periods_apart_as_our_clock_does(session, place):
    from gamewarden.spark.clocks import number_of

    zones = (
        *("UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia"),
        *("America/St_Johns", "Africa/Casablanca", "Asia/Gaza", "Antarctica/Troll", "America/Havana"),
    )
    clocks = [Clock(every, zone) for zone in zones for every in (DAY, 45 * MINUTE)]
    draw = np.random.default_rng(5)
    ends = to_micros(datetime(1990, 1, 1, tzinfo=UTC)), to_micros(datetime(2026, 1, 1, tzinfo=UTC))
    changes = np.concatenate([Clock(DAY, zone).offsets(*ends).since[1:] for zone in zones])
    near = np.concatenate([changes + minutes * MINUTE for minutes in (-61, -1, 0, 1, 29, 59, 61)])
    at = np.concatenate([draw.integers(*ends, 2_000), near[(near >= ends[0]) & (near <= ends[1])]])
    pl.DataFrame({"at": pl.Series(at).cast(TIME)}).write_parquet(place / "moments.parquet")
    df = session.read.parquet(str(place / "moments.parquet"))

    told = df.select("at", *(number_of(clock, ends).alias(f"n{at}") for at, clock in enumerate(clocks)))

    found = spark_cluster.frame_of(told)
    moments = found["at"].to_physical().to_numpy()
    for number, clock in enumerate(clocks):
        assert np.array_equal(found[f"n{number}"].to_numpy(), clock.numbers(moments)), clock


def test_spark_counts_the_census_that_our_fold_counts(logs):
    from gamewarden.spark.counting import census_of, span_of
    from gamewarden.spark.frames import events_of

    log, df = logs[CARNIVAL]
    clocks = (Clock(DAY), Clock(HOUR, "America/Sao_Paulo"))
    fold = CensusFold(clocks)
    for batch in FrameEvents(log).batches(fold.columns):
        fold.push(batch)

    events = events_of(df, "census")
    found = census_of(events, clocks, span_of(events, "census"))

    assert found.pulse == fold.census().pulse
    assert found.shows == fold.census().shows
    for clock in clocks:
        assert_frame_equal(found.kinds[clock], fold.census().kinds[clock])


# What can be judged


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A model of every detector of events, their days those of Berlin, and a fusion of them."""
    directory, log = tmp_path_factory.mktemp("models"), played_log()
    names = sorted(log["actor"].unique())
    labels = pl.DataFrame({"actor": names, "bot": [name.startswith("bot") for name in names]})
    source = readers.open(log)
    for name in EVENT_DETECTORS:
        pipeline.fit(requests.recipe_named(name, {}, Config(), "Europe/Berlin"), source, labels, directory)
    pipeline.fit_fusion(source, labels, directory, directory, fusion=Fusion(folds=2), every=None, config=Config())
    return directory


@pytest.fixture(scope="module")
def play(frame):
    log = played_log()
    return log, frame(log.sample(fraction=1.0, shuffle=True, seed=2), "play")


def said(run):
    """What a run gives, and what it says beside."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = run()
    return found, [str(one.message) for one in heard if one.category is Remark]


def test_every_event_detector_scores_as_on_one_machine(play, shelf):
    log, df = play
    local = pipeline.score(readers.open(log), shelf, prevalence=Prevalence(0.3))

    found, notes = said(lambda: on_spark.score(df, shelf, prevalence=0.3, config=Config()))

    same(found, local.frame, "actor", "since", "detector")
    assert set(local.frame["detector"]) == set(EVENT_DETECTORS)
    assert "Probabilities suppose that 30 % of all accounts are bots (--prevalence)." in notes
    on_spark.release(found)


def test_verdicts_of_the_fusion_are_those_of_one_machine(play, shelf):
    log, df = play
    local = pipeline.judge(readers.open(log), shelf, config=Config(), prevalence=Prevalence(0.2))

    found, notes = said(lambda: on_spark.judge(df, shelf, config=Config(), prevalence=0.2))

    same(found, local.verdicts, "actor", "since")
    assert local.fusion is not None
    assert local.verdicts["streak"].max() > 1
    assert [line for line in (*local.notes, *local.caveats) if line not in notes and "suppose" not in line] == []
    on_spark.release(found)


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    made = {
        name: make_game(tmp_path_factory.mktemp("game"), log)
        for name, log in {"quiet": Log(days=4), "another language": Log(days=5, renamed=(3,))}.items()
    }
    more = pipeline.detector_recipe("self-similarity", SelfSimilarity(), {})
    quiet = made["quiet"]
    pipeline.fit(more, readers.open(quiet / "early.parquet"), quiet / "labels.csv", quiet / "models")
    return made


def slowed(game):
    """Everybody does what it did before, twenty times as slowly."""
    midnight = pl.col("at").dt.truncate("1d")
    return pl.read_parquet(game / "events.parquet").with_columns(midnight + (pl.col("at") - midnight) * 20)


def test_a_day_in_another_language_is_not_measured_there_either(games, frame):
    game = games["another language"]
    log = pl.read_parquet(game / "events.parquet")
    local = pipeline.score(readers.open(log), game / "models")

    found, _ = said(lambda: on_spark.score(frame(log, "renamed"), game / "models", config=Config()))

    same(found, local.frame, "actor", "since", "detector")
    assert local.frame["probability"].null_count()
    on_spark.release(found)


def test_verdicts_of_other_periods_and_without_a_fusion_are_those_of_one_machine(games, frame):
    game = games["quiet"]
    log = pl.read_parquet(game / "events.parquet")
    run = pipeline.RunOptions("America/Havana")
    local = pipeline.judge(readers.open(log), game / "models", run, config=Config(), every=2 * DAY)
    df = frame(log, "quiet")

    found, _ = said(
        lambda: on_spark.judge(df, game / "models", config=Config(), every="2d", time_zone="America/Havana", keep=False)
    )

    assert local.fusion is None
    assert len(local.models) == 2
    same(found, local.verdicts, "actor", "since")


def test_a_model_to_which_all_is_strange_is_left_out_with_the_same_words(games, frame):
    game, log = games["quiet"], slowed(games["quiet"])
    local = pipeline.judge(readers.open(log), game / "models")

    found, notes = said(lambda: on_spark.judge(frame(log, "slow"), game / "models", config=Config()))

    same(found, local.verdicts, "actor", "since")
    assert [model.card.detector for model in local.models] == ["self-similarity"]
    assert [line for line in local.caveats if "far beyond" in line]
    assert [line for line in local.caveats if line not in notes] == []
    on_spark.release(found)


def test_events_that_no_model_knows_are_refused_with_the_same_words(games, frame):
    game = games["quiet"]
    log = slowed(game).with_columns(kind=pl.lit("неизвестно"))
    with pytest.raises(ModelError) as local:
        pipeline.score(readers.open(log), game / "models")
    df = frame(log, "unknown")

    with pytest.raises(ModelError) as here:
        on_spark.score(df, game / "models", config=Config())

    assert str(here.value).removeprefix("score: ") == str(local.value).removeprefix("table in memory: ")


# What a frame may be


def test_times_mean_the_same_whatever_their_type_and_the_zone_of_the_session(logs, session):
    log, df = logs[AUTUMN]
    local = pipeline.measure(recipe("activity"), readers.open(log)).frame
    before = session.conf.get("spark.sql.session.timeZone")
    try:
        session.conf.set("spark.sql.session.timeZone", "UTC")
        without = df.withColumn("at", df["at"].cast("timestamp_ntz"))
        session.conf.set("spark.sql.session.timeZone", "America/Sao_Paulo")

        assert dict(without.dtypes)["at"] == "timestamp_ntz"
        same(on_spark.measure(without, recipe("activity")), local, "actor", "since")
        same(on_spark.measure(df, recipe("activity")), local, "actor", "since")
    finally:
        session.conf.set("spark.sql.session.timeZone", before)


def test_columns_may_have_the_types_that_a_warehouse_gives_them(frame):
    log = random_log(7, rows=1_500).with_columns(
        actor=pl.col("actor").rank("dense").cast(pl.Int64), amount=pl.col("amount").round(2)
    )
    df = frame(log, "typed")
    typed = {"x": "double", "level": "int", "seq": "int", "amount": "decimal(18,2)", "actor": "bigint"}
    for name, kind in typed.items():
        df = df.withColumn(name, df[name].cast(kind))
    df = df.selectExpr("*", "'more' AS server").drop("ip").selectExpr("*", "NULL AS ip")
    local = readers.open(log.drop("ip").with_columns(pl.col("actor").cast(pl.String)))

    for name in ("activity", "flows", "self-similarity"):
        same(on_spark.measure(df, recipe(name)), pipeline.measure(recipe(name), local).frame, "actor", "since")


def test_a_frame_without_rows_gives_none(logs, shelf):
    nobody = logs[AUTUMN][1].where("actor = ''")

    for name in ("self-similarity", "copies"):
        assert spark_cluster.frame_of(on_spark.measure(nobody, name)).height == 0
    found, _ = said(lambda: on_spark.score(nobody, shelf, config=Config()))
    assert spark_cluster.frame_of(found).height == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda df: df.drop("kind"), "measure: EVENTS lacks kind; the frame has actor, character, at"),
        (lambda df: df.withColumn("at", df["at"].cast("string")), "EVENTS.at is string; it must be timestamp or"),
        (lambda df: df.withColumn("level", df["zone"]), "EVENTS.level is string; it must be byte, short, integer or"),
        (lambda df: df.withColumn("actor", df["x"]), "EVENTS.actor is float; it must be string"),
        (lambda df: df.select("*", "actor"), "the frame has actor more than once"),
        (lambda df: df.toPandas, "measure: method is no DataFrame of Spark"),
    ],
)
def test_a_frame_that_cannot_be_is_refused_in_a_line_before_any_job(logs, change, words):
    with pytest.raises(TableError) as refused:
        on_spark.measure(change(logs[AUTUMN][1]))

    assert words in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_recipes_that_cannot_be_are_refused_in_a_line_before_any_job(logs):
    df = logs[AUTUMN][1]

    with pytest.raises(MeasureError, match="traffic is measured from packets"):
        on_spark.measure(df, "traffic")
    with pytest.raises(ConfigError, match="there is no option minutes"):
        on_spark.measure(df, "self-similarity", minutes=3)
    with pytest.raises(ConfigError, match="a recipe has name and options; this one has name"):
        on_spark.measure(df, {"name": "activity"})
    with pytest.raises(ConfigError, match="time_zone beside a recipe"):
        on_spark.measure(df, {"name": "activity", "options": {}}, time_zone="Asia/Seoul")


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("actor", "NULL", "EVENTS.actor is null in"),
        ("kind", "NULL", "EVENTS.kind is null in"),
        ("at", "NULL", "EVENTS.at is null in"),
        ("level", "70000", "EVENTS.level reaches from"),
        ("x", "CAST('NaN' AS float)", "EVENTS.x holds NaN"),
    ],
)
def test_a_bad_value_ends_the_job_with_our_line_in_sparks_words(logs, column, value, words):
    from pyspark.errors import PythonException

    df = logs[AUTUMN][1]
    bad = df.selectExpr(
        *(name for name in df.columns if name != column), f"IF(seq = 77, {value}, {column}) AS {column}"
    )
    with pytest.raises(PythonException) as failed:
        spark_cluster.frame_of(
            on_spark.measure(bad, SelfSimilarity(vocabulary=("move",)) if column != "x" else "paths")
        )

    (line,) = [line for line in str(failed.value).splitlines() if "TableError" in line and words in line][:1]
    assert line.strip().startswith("gamewarden.errors.TableError: ")


def test_a_null_is_found_before_anything_is_scored(logs, shelf):
    bad = logs[AUTUMN][1].selectExpr("IF(seq < 3, NULL, actor) AS actor", "at", "kind")

    with pytest.raises(TableError, match=r"score: EVENTS.actor is null in 3 of 6,000 rows"):
        on_spark.score(bad, shelf, config=Config())


def test_only_text_and_names_of_functions_travel():
    from pyspark import cloudpickle

    from gamewarden.spark import saying, tasks, verdicts

    functions = (tasks.rows_of_actors, tasks.parts_of_days, tasks.rows_of_days, saying.voices_of_actors)
    for function in (*functions, saying.voices_of_days, saying.tallies, verdicts.verdicts_of_actors):
        told = cloudpickle.dumps(partial(function, "text"))

        assert len(told) < 200
        assert function.__module__.encode() in told


# Executors that die, and actors that never rest


def test_an_executor_that_dies_in_the_middle_changes_no_bit(session, place, frame):
    log = pl.concat(
        random_log(3, rows=40_000).with_columns(pl.col("actor") + f"-{copy}", pl.col("seq") + 40_000 * copy)
        for copy in range(12)
    )
    df = frame(log, "large", files=6)
    local = pipeline.measure(recipe("self-similarity"), readers.open(log)).frame
    measured = on_spark.measure(df, recipe("self-similarity"), partitions=8)
    measuring, lost = set(), set()
    for _try in range(4):
        found, known = run_and_kill(session, measured, place)

        assert_frame_equal(
            found.cast(dict(local.schema)).sort("actor", "since"), local.sort("actor", "since"), check_exact=True
        )
        told = spark_cluster.events_told(place)
        measuring = spark_cluster.measuring_stages(told)
        lost = {task for task in spark_cluster.lost_tasks(told) if task[0] in measuring and task not in known}
        if lost:
            break

    assert lost, "no measuring task was lost: nothing was shown"


def run_and_kill(session, measured, place):
    """What a job gives one of whose executors is killed while it measures; and the tasks that were lost before."""
    before = spark_cluster.lost_tasks(spark_cluster.events_told(place))
    found = []
    job = threading.Thread(target=lambda: found.append(spark_cluster.frame_of(measured)))
    job.start()
    while job.is_alive() and not any(map(is_in_the_middle, spark_cluster.busy(session))):
        time.sleep(0.002)
    spark_cluster.kill_one(session)
    job.join(timeout=120)
    return found[0], before


def is_in_the_middle(stage):
    """Of the eight tasks that measure some are done, and others under way."""
    return stage.numTasks == 8 and stage.numCompletedTasks and stage.numActiveTasks


BIG = """
import json, os, sys
import numpy as np
import pyarrow as pa
from gamewarden.contracts import Recipe
from gamewarden import features
from gamewarden.spark import tasks

kinds = pa.array(["combat.kill", "loot.pickup", "move", "chat", "trade.give"])
begin, day = 1_772_323_200_000_000, 86_400_000_000
page, peak = os.sysconf("SC_PAGE_SIZE"), [0]


def held():
    with open("/proc/self/statm") as told:
        return int(told.read().split()[1]) * page


def batches(rows):
    for first in range(0, rows, 10_000):
        count = min(10_000, rows - first)
        place = np.arange(first, first + count)
        text = lambda value: pa.array([value]).take(pa.array(np.zeros(count, np.int32)))
        columns = {
            "actor": text("tireless"),
            "at": pa.array(begin + place * day // rows, pa.int64()).view(pa.timestamp("us", "UTC")),
            "seq": pa.array(place),
            "kind": kinds.take(pa.array(place % 5)),
            "zone": text("field"),
            "x": pa.array((place % 37).astype(np.float32)),
            "y": pa.array((place % 11).astype(np.float32)),
            "ip": text("10.0.0.1"),
            tasks.DAY: pa.array(np.full(count, 20_513)),
        }
        peak[0] = max(peak[0], held())
        yield pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


columns = ("actor", "at", "seq", "kind", "zone", "x", "y", "ip")


def measured(name, rows):
    feature = features.load(name)()
    learns = feature.learned is not None
    work = tasks.Work(Recipe(name, feature.to_dict()), columns, tuple(kinds.to_pylist()) if learns else None)
    by_actor = lambda text, some: tasks.rows_of_actors(text, "actor", some)
    run = by_actor if feature.divides.actors else tasks.parts_of_days
    assert sum(batch.num_rows for batch in run(work.text(), batches(rows)))
    return max(peak[0], held())


found = {}
for name in sys.argv[1:]:
    found[name] = []
    for rows in (200_000, 2_000_000):
        peak[0] = 0
        found[name].append(measured(name, rows))
print(json.dumps(found))
"""


def test_an_actor_that_never_rests_takes_no_more_memory():
    done = subprocess.run([sys.executable, "-c", BIG, *EVENT_FEATURES], capture_output=True, text=True, check=True)

    held = json.loads(done.stdout)
    assert set(held) == set(EVENT_FEATURES)
    for name, (few, many) in held.items():
        assert many - few < 60 << 20, (name, few, many)  # two million rows are about 150 MB
