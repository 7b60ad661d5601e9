"""Events live: ticks by the stream's own time, and finals that are the batch run's, whatever is killed."""

import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from gamewarden import pipeline, readers
from gamewarden.contracts import Recipe
from gamewarden.core.durations import HOUR, MINUTE
from gamewarden.errors import MeasureError, ReadError, Remark
from gamewarden.online.live_events import LiveEvents, Pace
from gamewarden.online.live_judges import Judge, Judges
from gamewarden.online.partitions import FILE
from gamewarden.online.stream_time import BLOCK, StreamTime
from gamewarden.pipeline.measuring import feature_of
from live_made_up import (
    START,
    Partition,
    batch_scores,
    batches,
    disordered,
    fitted,
    game_log,
    judges_of,
    of_partitions,
    run,
    scores_in,
    settle,
)

pytestmark = pytest.mark.integration

RARE = Pace(tick=2 * HOUR, late=30 * MINUTE, partitions=1)  # ticks cost more than the few events of a test


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    return fitted(tmp_path_factory.mktemp("game"))


@pytest.fixture(scope="module")
def models(shelf):
    return pipeline.load_models(shelf)


@pytest.fixture(scope="module")
def judges(models):
    return judges_of(models)


@pytest.fixture(scope="module")
def log():
    return game_log(days=3)


@pytest.fixture(scope="module")
def expected(log, models):
    return batch_scores(log, models)


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def live(judges, log, place, pace=RARE, sizes=(1000,)):
    work = LiveEvents(place, judges, pace)
    said = "".join(work.take(batch) for batch in batches(log, list(sizes)))
    return said + work.finish(), work


def later(log, days=2):
    """Rows of somebody long after, so that the clock passes the end of everything before."""
    last = log["at"].max() + timedelta(days=days)
    some = {"actor": ["zz"] * 64, "at": [last + timedelta(seconds=n) for n in range(64)], "kind": ["chat"] * 64}
    return pl.DataFrame(some, schema_overrides={"at": log.schema["at"]})


def test_the_final_scores_are_those_of_the_batch_run_bit_for_bit(judges, log, expected, tmp_path):
    said, work = live(judges, log, tmp_path / "0")

    assert_frame_equal(scores_in(said), expected, check_exact=True)
    assert expected["probability"].count() > 1_000
    assert work.counts["late"] == work.counts["ahead"] == 0


def test_a_day_alone_has_the_scores_that_the_command_gives_of_it(shelf, judges, log, tmp_path):
    day = log.filter(pl.col("at") < START + timedelta(days=1))
    said, _ = live(judges, day, tmp_path / "0")

    utc = [judge.model.card.detector for judge in judges.judges if judge.feature.time_zone is None]
    told = pipeline.score(readers.open(day), shelf).frame.filter(pl.col("detector").is_in(utc))
    assert_frame_equal(scores_in(said).filter(pl.col("detector").is_in(utc)), told, check_exact=True)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2))])
def test_partitions_that_are_killed_at_random_say_each_final_once_and_as_the_batch_run(
    judges, log, expected, tmp_path, seed
):
    dice = np.random.default_rng(seed)
    pace = Pace(tick=3 * HOUR, late=30 * MINUTE, partitions=3)
    parts = of_partitions(pl.concat([disordered(log, 0.1, timedelta(minutes=20), seed), later(log)], how="diagonal"), 3)
    sizes = [dice.integers(1, 1500, 20).tolist() for _ in parts]
    workers = [
        Partition(tmp_path / str(number), judges, pace, list(batches(part, size)))
        for number, (part, size) in enumerate(zip(parts, sizes, strict=True))
    ]

    said = run(workers, dice, kills=0.2)

    mine = scores_in(said).filter(pl.col("actor") != "zz")
    assert_frame_equal(mine, expected, check_exact=True)
    assert max(Counter(tuple(line["key"]) for line in lines(said)).values()) == 1


def test_ticks_are_the_same_however_batches_are_cut_and_whatever_is_killed(judges, log, tmp_path):
    log = disordered(log, 0.05, timedelta(minutes=20)).head(14_000)
    pace = Pace(tick=HOUR, late=30 * MINUTE, partitions=1)
    whole = Partition(tmp_path / "a", judges, pace, list(batches(log, [14_000])))
    killed = Partition(tmp_path / "b", judges, pace, list(batches(log, [1, 15, 16, 700, 3, 333])))

    one = run([whole], np.random.default_rng(1))
    other = run([killed], np.random.default_rng(2), kills=0.3)

    assert one == other
    assert sum(not line["final"] for line in lines(one)) > 100


def test_a_tick_says_what_the_batch_run_would_of_the_rows_so_far_and_that_it_is_not_final(judges, log, tmp_path):
    said, _ = live(judges, log.head(6_000), tmp_path / "0", Pace(tick=HOUR, late=HOUR, partitions=1))

    ticks = [line for line in lines(said) if not line["final"]]
    one = next(
        line for line in reversed(ticks) if line["detector"] == "account-day" and line["probability"] is not None
    )
    assert one["key"] == [one["actor"], "account-day", f"{one['since']}/{one['until']}", one["tick"]]
    assert one["covered"] is None
    features = {judge.model.card.detector: judge for judge in judges.judges}["account-day"]
    rows = features.feature.measure(readers.open(log.filter(actor=one["actor"]).head(one["events"])).events())
    alone = features.model.score(rows)
    assert alone["events"].item() == one["events"]


def test_only_those_who_have_changed_are_said_at_a_tick(judges, log, tmp_path):
    said, _ = live(judges, log, tmp_path / "0", Pace(tick=HOUR, late=HOUR, partitions=1))

    mine = [line for line in lines(said) if line["actor"] == "bot00" and line["detector"] == "account-day"]
    by_day = Counter(line["since"] for line in mine if not line["final"])
    # The bot plays for an hour and a half a day, so that few of the 24 ticks have anything new of it.
    assert all(1 <= count <= 4 for count in by_day.values())


def test_a_chunk_of_actions_is_said_at_the_tick_after_it_is_whole_and_not_again(judges, log, tmp_path):
    said, _ = live(judges, log, tmp_path / "0", Pace(tick=HOUR, late=HOUR, partitions=1))

    chunks = [line for line in lines(said) if line["detector"] == "actions-interval" and not line["final"]]
    windows = Counter((line["actor"], line["since"]) for line in chunks)
    assert len(windows) > 100
    assert set(windows.values()) == {1}
    final = {
        (line["actor"], line["since"]): line
        for line in lines(said)
        if line["detector"] == "actions-interval" and line["final"]
    }
    assert all(line["events"] == final[line["actor"], line["since"]]["events"] for line in chunks)


def test_an_event_that_comes_after_the_grace_is_counted_and_said_and_changes_nothing(judges, log, expected, tmp_path):
    first = log.filter(pl.col("at") < START + timedelta(days=2))
    late = first.head(1).with_columns(seq=pl.lit(10**9))
    work = LiveEvents(tmp_path / "0", judges, RARE)

    said = "".join(work.take(batch) for batch in batches(first, [1000]))
    said += work.take(next(batches(late, [1])))
    with pytest.warns(Remark, match="1 events came later than 30m after the end of their period"):
        said += work.take(next(batches(later(log), [64])))

    assert work.counts["late"] == 1
    utc = pl.col("detector") != "self-similarity"
    days = (pl.col("since") < START + timedelta(days=1)) & utc
    assert_frame_equal(scores_in(said).filter(days), expected.filter(days), check_exact=True)


def test_a_first_day_that_began_at_noon_has_nulls_as_in_the_batch_run(judges, models, log, tmp_path):
    cut = log.filter(pl.col("at") >= START + timedelta(hours=12))
    crowd = [cut.with_columns(pl.col("actor", "character", "session") + f"~{n}") for n in range(4)]
    busy = pl.concat(crowd).sort("at", maintain_order=True)
    said, _ = live(judges, busy, tmp_path / "0")

    mine = scores_in(said)
    assert_frame_equal(mine, batch_scores(busy, models), check_exact=True)
    noon = mine.filter(pl.col("detector") == "account-day", pl.col("since") == START)
    assert noon["covered"].max() < 0.9
    assert noon["probability"].count() == 0


def test_a_log_of_other_kinds_gets_no_final_and_a_remark(judges, log, tmp_path):
    other = log.filter(pl.col("at") < START + timedelta(days=1)).with_columns(pl.col("kind") + "!")
    with pytest.warns(Remark, match="cannot judge this log"):
        said, _ = live(judges, other, tmp_path / "0")

    assert {line["detector"] for line in lines(said)} <= {"paths"}


@pytest.mark.filterwarnings("ignore::gamewarden.errors.Remark")  # which says so
def test_that_most_rows_lie_far_is_found_by_all_partitions_together(judges, models, tmp_path):
    day = game_log(days=1)
    busier = [day.with_columns(pl.col("at") + pl.duration(milliseconds=50 * n)) for n in range(12)]
    log = pl.concat(busier).sort("at", maintain_order=True).with_columns(seq=pl.int_range(pl.len(), dtype=pl.Int64))
    pace = Pace(tick=6 * HOUR, late=30 * MINUTE, partitions=5)
    parts = of_partitions(pl.concat([log, later(log)], how="diagonal"), 5)
    workers = [
        Partition(tmp_path / str(n), judges, pace, list(batches(part, [20_000]))) for n, part in enumerate(parts)
    ]

    said = scores_in(run(workers, np.random.default_rng(1))).filter(pl.col("actor") != "zz")

    expected = batch_scores(log, models)
    assert "account-day" not in expected["detector"]
    assert_frame_equal(said, expected, check_exact=True)


def test_a_time_in_the_future_closes_no_day(judges, log, expected, tmp_path):
    odd = log.gather(range(100, 20_000, 200)).with_columns(
        actor=pl.lit("odd"),
        at=pl.Series([START + timedelta(days=400 + 7 * n) for n in range(100)]).cast(log.schema["at"]),
    )
    mixed = pl.concat([pl.concat([log[200 * n : 200 * n + 200], odd[n : n + 1]]) for n in range(100)] + [log[20_000:]])
    work = LiveEvents(tmp_path / "0", judges, RARE)

    said = "".join(work.take(batch) for batch in batches(pl.concat([mixed, later(log)], how="diagonal"), [997]))

    mine = scores_in(said)
    assert_frame_equal(
        mine, expected.filter(pl.col("since") < mine["since"].max() + timedelta(seconds=1)), check_exact=True
    )
    assert mine["since"].max() >= START + timedelta(days=2)
    assert work.counts["late"] == 0
    assert work.counts["ahead"] > 50
    assert work.counts["open"] <= 2 * 40


def test_a_final_waits_until_every_partition_has_passed_the_end(judges, log, tmp_path):
    pace = Pace(tick=HOUR, late=30 * MINUTE, partitions=2)
    first, second = (
        Partition(tmp_path / str(number), judges, pace, list(batches(part, [2_000])), wall=lambda: 0.0)
        for number, part in enumerate(of_partitions(log, 2))
    )
    for one in (first, second):
        one.open()
        one.save()
    while not first.is_over:
        first.step()
    settle([first])
    assert first.work.counts["waiting"] > 0
    assert not any(line["final"] for line in lines(first.decisions))

    while not second.is_over:
        second.step()
    settle([second, first])
    assert any(line["final"] for line in lines(first.decisions))


def test_a_partition_to_which_nothing_comes_holds_nobody_up(judges, log, expected, tmp_path):
    pace = Pace(tick=HOUR, late=30 * MINUTE, partitions=2)
    busy = Partition(tmp_path / "0", judges, pace, list(batches(pl.concat([log, later(log)], how="diagonal"), [3_000])))
    empty = Partition(tmp_path / "1", judges, pace, [])

    said = run([busy, empty], np.random.default_rng(3))

    assert_frame_equal(scores_in(said).filter(pl.col("actor") != "zz"), expected, check_exact=True)


@pytest.mark.filterwarnings("ignore::gamewarden.errors.Remark")  # no model judges such kinds
def test_a_day_of_which_nothing_is_said_holds_nobody_up(models, log, tmp_path):
    judges = judges_of([model for model in models if model.card.detector == "account-day"])
    pace = Pace(tick=HOUR, late=30 * MINUTE, partitions=2)
    other = log.with_columns(pl.col("kind") + "!")
    first, second = of_partitions(pl.concat([other, later(log)], how="diagonal"), 2)
    quiet = Partition(
        tmp_path / "1",
        judges,
        pace,
        list(batches(second.filter(pl.col("at") < START + timedelta(days=1)), [2_000])),
    )
    busy = Partition(tmp_path / "0", judges, pace, list(batches(first, [2_000])))
    for one in (busy, quiet):
        one.open()
        while not one.is_over:
            one.step()
        one.save()

    for _ in range(12):
        for one in (busy, quiet):
            before = len(one.decisions)
            one.idle()
            if len(one.decisions) != before:  # as a worker does, which saves what it has written
                one.save()

    assert busy.work.counts["waiting"] == 0
    assert quiet.work.counts["waiting"] == 0


def test_a_partition_to_which_nothing_comes_passes_nothing_that_is_not_over_by_the_clock_on_the_wall(
    judges, log, tmp_path
):
    pace = Pace(tick=HOUR, late=30 * MINUTE, partitions=2)
    whole = pl.concat([log, later(log)], how="diagonal")
    wall = (START + timedelta(hours=20)).timestamp
    busy = Partition(tmp_path / "0", judges, pace, list(batches(whole, [3_000])), wall=wall)
    empty = Partition(tmp_path / "1", judges, pace, [], wall=wall)

    said = run([busy, empty], np.random.default_rng(3))

    final = [line for line in lines(said) if line["final"]]
    assert final  # of the day in Seoul
    assert max(line["until"] for line in final) <= "2026-03-02T15:00:00.000000Z"


def test_closed_days_leave_nothing_behind(judges, log, tmp_path):
    work = LiveEvents(tmp_path / "0", judges, RARE)
    for batch in batches(pl.concat([log, later(log)], how="diagonal"), [1000]):
        work.take(batch)
    work.save({"offset": 1})

    assert work.counts["waiting"] == 0
    assert len(list((tmp_path / "0").glob("*.rows"))) == work.counts["open"] == 2
    assert (tmp_path / "0" / FILE).stat().st_size < 100_000


def test_a_row_that_cannot_be_measured_is_refused_and_nothing_of_its_batch_counts(judges, log, tmp_path):
    work = LiveEvents(tmp_path / "0", judges, RARE)
    bad = log.head(100).with_columns(actor=pl.when(pl.col("seq") == 50).then(None).otherwise(pl.col("actor")))

    with pytest.raises(MeasureError, match="actor is null in 1 of 100 rows"):
        work.take(next(batches(bad, [100])))
    with pytest.raises(MeasureError, match="live events: at is"):
        work.take(pa.RecordBatch.from_pydict({"actor": ["a"], "at": ["x"], "kind": ["chat"]}))

    assert work.counts["events"] == 0
    assert work.counts["open"] == 0


def saved_work(judges, log, place):
    work = LiveEvents(place, judges, RARE)
    for batch in batches(log.head(3_000), [500]):
        work.take(batch)
    work.save({"offset": 3_000})
    work.close()
    return next(iter(sorted(place.glob("*.rows"))))


@pytest.mark.parametrize("damage", ["short", "turned"])
def test_damaged_rows_are_one_line(judges, log, tmp_path, damage):
    kept = saved_work(judges, log, tmp_path / "0")
    data = bytearray(kept.read_bytes())
    if damage == "turned":
        data[len(data) // 2] ^= 0xFF
    kept.write_bytes(data[:-10] if damage == "short" else data)

    with pytest.raises(ReadError, match=r"\.rows: (has .* bytes of the|is damaged at byte)") as caught:
        LiveEvents(tmp_path / "0", judges, RARE).take(next(batches(later(log), [64])))

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"reached": 1, "idle": false, "closed": {"a": 1}, "rest": {}}', "\xff"]
)
def test_a_damaged_state_is_one_line(judges, tmp_path, text):
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / FILE).write_text(text, encoding="latin-1")

    with pytest.raises(ReadError, match=r"live\.json: is damaged"):
        LiveEvents(tmp_path / "0", judges, RARE)


def test_rows_written_after_the_state_was_saved_are_cut_off(judges, log, tmp_path):
    kept = saved_work(judges, log, tmp_path / "0")
    length = kept.stat().st_size
    with kept.open("ab") as file:
        file.write(b"half a block")
    (tmp_path / "0" / "1d-UTC-99.rows").write_bytes(b"of nobody")

    LiveEvents(tmp_path / "0", judges, RARE)

    assert kept.stat().st_size == length
    assert not (tmp_path / "0" / "1d-UTC-99.rows").exists()


def test_the_clock_needs_most_of_two_blocks_of_rows_to_believe_a_time():
    clock = StreamTime(MINUTE)
    now = np.arange(10 * BLOCK) * 1_000_000
    odd = now.copy()
    odd[16:24] = odd[40:48] = 10**15

    clock.strikes(odd)

    assert clock.now <= now[-1]
    clock.strikes(np.full(2 * BLOCK, 10**15))
    assert clock.now == 10**15


@given(cuts=st.lists(st.integers(0, 400), max_size=8), seed=st.integers(0, 100))
@settings(deadline=None)
def test_the_clock_strikes_alike_however_rows_are_cut(cuts, seed):
    at = np.cumsum(np.random.default_rng(seed).integers(-3, 20, 400)) * 1_000_000
    together = StreamTime(MINUTE).strikes(at)

    clock, apart = StreamTime(MINUTE), []
    borders = [0, *sorted(cuts), 400]
    for begin, end in pairwise(borders):
        clock = StreamTime(MINUTE, clock.to_dict())
        apart += [(begin + place, now) for place, now in clock.strikes(at[begin:end])]

    assert apart == together


@pytest.mark.filterwarnings("ignore::gamewarden.errors.Remark")  # an edge of the log is too little to be judged
@pytest.mark.parametrize(
    "zone",
    [
        "Asia/Seoul",
        "Europe/Berlin",
        *(pytest.param(zone, marks=pytest.mark.nightly) for zone in ("UTC", "America/New_York", "Australia/Lord_Howe")),
    ],
)
def test_days_end_as_in_the_batch_run_where_clocks_change(log, models, tmp_path, zone):
    days = next(model for model in models if model.card.detector == "account-day")
    elsewhere = replace(days, feature=Recipe(days.feature.name, {**days.feature.options, "time_zone": zone}))
    # Clocks change on 2026-03-08 (New York), 2026-03-29 (Berlin) and 2026-04-05 (Lord Howe).
    moved = pl.concat(
        log.with_columns(pl.col("at") + pl.duration(days=by)).filter(pl.col("at") < START + timedelta(days=by + 3))
        for by in (5, 26, 33)
    ).with_columns(seq=pl.int_range(pl.len(), dtype=pl.Int64))
    said, work = live(Judges((Judge(elsewhere, feature_of(elsewhere.feature)),)), moved, tmp_path / "0")

    assert_frame_equal(scores_in(said), batch_scores(moved, [elsewhere]), check_exact=True)
    assert work.counts["late"] == 0


@pytest.mark.filterwarnings("ignore::gamewarden.errors.Remark")
def test_characters_are_judged_as_in_the_batch_run(log, models, tmp_path):
    days = next(model for model in models if model.card.detector == "account-day")
    characters = replace(days, feature=Recipe(days.feature.name, {**days.feature.options, "by": "character"}))
    some = disordered(log, 0.05, timedelta(minutes=20)).with_columns(
        character=pl.when(pl.col("actor") == "bot03").then(None).otherwise(pl.col("character"))
    )
    said, _ = live(Judges((Judge(characters, feature_of(characters.feature)),)), some, tmp_path / "0")

    assert_frame_equal(scores_in(said), batch_scores(some, [characters]), check_exact=True)
    assert "bot04-0" in scores_in(said)["actor"]
