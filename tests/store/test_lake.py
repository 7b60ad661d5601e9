import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamewarden.errors import ReadError, WriteError
from gamewarden.readers.logs.mapping import LogMap
from gamewarden.readers.logs.tables import EventFile
from gamewarden.store.lake import Lake
from gamewarden.store.manifest import load
from gamewarden.tables import EVENTS

HEADER = "actor,at,kind,level,amount\n"
DAY_ONE = "a,2024-01-01T10:00:00Z,combat.kill,3,\nb,2024-01-01T11:00:00Z,move,,1.5\n"
DAY_TWO = "a,2024-01-02T00:00:00Z,move,4,\n"


def read_into(lake: Lake, path: Path, **options):
    return lake.add(EventFile(path, **options).numbered())


def rows(stream, columns=tuple(EVENTS.columns)):
    return [row for batch in stream.batches(list(columns)) for row in batch.to_pylist()]


def kinds(lake: Lake):
    return sorted((row["actor"], str(row["at"]), row["kind"]) for row in rows(lake.events()))


def everything(directory: Path) -> dict[str, str]:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(HEADER + DAY_ONE + DAY_TWO)
    return path


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path / "lake")


def test_a_lake_holds_one_directory_a_day_and_gives_the_events_back(lake, log):
    added = read_into(lake, log)

    assert (added.new, added.known, added.days) == (3, 0, ("2024-01-01", "2024-01-02"))
    assert sorted(path.name for path in lake.directory.glob("day=*")) == ["day=2024-01-01", "day=2024-01-02"]
    assert rows(lake.events()) == rows(EventFile(log).numbered())
    assert lake.events().rows == 3
    assert lake.events().columns == {"actor", "at", "kind", "level", "amount", "seq"}


def test_reading_the_same_file_twice_changes_no_byte(lake, log):
    read_into(lake, log)
    before = everything(lake.directory)

    again = read_into(lake, log)

    assert (again.new, again.known) == (0, 3)
    assert everything(lake.directory) == before


def test_a_log_that_is_there_already_tells_its_latest_row_also_once_it_is_compacted(lake, log, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(HEADER + DAY_TWO.replace("a,", "b,").replace("T00", "T09"))
    first, _ = read_into(lake, log), read_into(lake, other)
    again = read_into(lake, log)
    list(lake.compact())

    compacted = read_into(lake, log)

    assert first.last == again.last == compacted.last == 1_704_153_600_000_000


def test_a_packed_copy_under_another_name_is_known_again(lake, log, tmp_path):
    read_into(lake, log)
    before = everything(lake.directory)
    copy = tmp_path / "copy.csv.gz"
    copy.write_bytes(gzip.compress(log.read_bytes()))

    again = read_into(lake, copy)

    assert again.new == 0
    assert "under another name" in str(again)
    assert everything(lake.directory) == before


def test_a_file_that_has_grown_adds_only_its_new_rows(lake, log):
    read_into(lake, log)
    old = everything(lake.directory)
    with log.open("a") as file:
        file.write("c,2024-01-02T05:00:00Z,chat,1,\n")

    added = read_into(lake, log)

    assert (added.new, added.known, added.days) == (1, 3, ("2024-01-02",))
    assert rows(lake.events(), ["actor", "seq"])[-1] == {"actor": "c", "seq": 3}
    assert {name: old[name] for name in old if "part" in name}.items() <= everything(lake.directory).items()


def test_a_log_that_grows_while_it_is_read_gives_the_rows_it_had_at_the_start(lake, log):
    class GrowsMeanwhile(EventFile):
        def content(self, beginnings=()):
            found = super().content(beginnings)
            with log.open("a") as file:
                file.write("late,2024-01-03T00:00:00Z,chat,,\nhalf,2024-01-0")
            return found

    added = lake.add(GrowsMeanwhile(log, number_rows=True))
    log.write_text(log.read_text() + "3T00:00:01Z,chat,,\n")
    later = read_into(lake, log)

    assert (added.new, later.new, later.known) == (3, 2, 3)
    assert rows(lake.events()) == rows(EventFile(log).numbered())


def test_the_rest_of_a_truncated_file_is_added_when_it_comes(lake, tmp_path):
    log = tmp_path / "log.csv.gz"
    whole = gzip.compress("".join([HEADER, *(f"a{i},{i},k,,\n" for i in range(20_000))]).encode())
    log.write_bytes(whole[: len(whole) // 2])
    source = EventFile(log, keep_truncated=True).numbered()
    first = lake.add(source)
    log.write_bytes(whole)

    rest = read_into(lake, log)

    assert "ends early" in source.report.notes[0].reason
    assert (first.new + rest.new, rest.known) == (20_000, first.new)
    assert rows(lake.events(), ["actor", "seq"]) == rows(EventFile(log).numbered(), ["actor", "seq"])


def test_a_grown_file_keeps_its_numbers_past_bad_rows(lake, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text(HEADER + DAY_ONE + "\n,2024-01-01T10:00:00Z,x,,\n")
    read_into(lake, log, max_bad_share=1)
    with log.open("a") as file:
        file.write(DAY_TWO)

    added = read_into(lake, log, max_bad_share=1)

    assert (added.new, added.known) == (1, 2)
    assert [row["seq"] for row in rows(lake.events())] == [0, 1, 3]


def test_a_file_read_while_its_last_line_was_half_written_is_read_anew(lake, log):
    whole = log.read_bytes()
    log.write_bytes(whole[:-8])  # "…,mov"
    read_into(lake, log, max_bad_share=1)
    log.write_bytes(whole)

    added = read_into(lake, log)

    assert "read anew" in str(added)
    assert rows(lake.events()) == rows(EventFile(log).numbered())
    assert len(list(lake.directory.rglob("*.parquet"))) == 2


def test_an_earlier_state_of_a_grown_file_is_known_again(lake, log, tmp_path):
    old = tmp_path / "log.1.csv"
    old.write_bytes(log.read_bytes())
    read_into(lake, log)
    log.write_text(log.read_text() + DAY_TWO)
    read_into(lake, log)

    again = read_into(lake, old)

    assert again.new == 0
    assert lake.events().rows == 4


def test_other_content_under_a_known_name_loses_neither(lake, log):
    read_into(lake, log)
    log.write_text(HEADER + "z,2024-01-01T00:00:00Z,chat,,\n")

    added = read_into(lake, log)

    assert added.new == 1
    assert "kept beside it" in str(added)
    assert lake.events().rows == 4


def test_rows_with_a_seq_of_their_own_are_there_once(lake, tmp_path):
    log = tmp_path / "log.csv"
    head = "actor,at,kind,seq\n"
    log.write_text(head + "a,1,k,10\nb,2,k,11\n")
    read_into(lake, log)
    log.write_text(head + "b,2,k,11\na,1,k,10\nc,3,k,12\n")

    added = read_into(lake, log)

    assert (added.new, added.known) == (1, 2)
    assert [row["seq"] for row in rows(lake.events())] == [10, 11, 12]


def test_rows_that_share_a_seq_but_not_their_values_are_both_kept(lake, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("actor,at,kind,seq\na,1,k,10\nb,2,k,11\n")
    read_into(lake, log)
    log.write_text("actor,at,kind,seq\na,1,k,10\nb,2,CHANGED,11\n")

    added = read_into(lake, log)

    assert (added.new, added.known) == (1, 1)
    assert "both are kept" in str(added)
    assert [row["kind"] for row in rows(lake.events())] == ["k", "k", "CHANGED"]


def test_the_same_seq_in_two_sources_is_two_rows(lake, tmp_path):
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text(f"actor,at,kind,seq\n{name},1,k,10\n")
        read_into(lake, tmp_path / name)

    assert lake.events().rows == 2


def test_a_file_read_again_with_another_mapping_is_refused(lake, log):
    read_into(lake, log)

    with pytest.raises(ReadError, match="another mapping"):
        lake.add(EventFile(log, LogMap(kinds={"move": "zone.enter"})).numbered())


def test_rows_without_numbers_are_refused(lake, log):
    with pytest.raises(ReadError, match="not numbered"):
        lake.add(EventFile(log))


def test_a_lake_gives_a_window_of_time_and_chosen_actors(lake, log):
    read_into(lake, log)

    window = lake.events(since=datetime(2024, 1, 1, 11, tzinfo=UTC), until=datetime(2024, 1, 2, tzinfo=UTC))
    some = lake.events(actors=["a", "nobody"])

    assert rows(window, ["actor", "kind"]) == [{"actor": "b", "kind": "move"}]
    assert [row["kind"] for row in rows(some, ["kind"])] == ["combat.kill", "move"]
    assert window.rows is None
    assert some.rows is None


def test_a_failed_reading_leaves_the_lake_as_it_was(lake, log, tmp_path):
    read_into(lake, log)
    before = everything(lake.directory)
    bad = tmp_path / "bad.csv"
    bad.write_text(HEADER + DAY_TWO * 50 + "x,never,move,,\n" * 10)

    with pytest.raises(ReadError, match="time does not parse"):
        read_into(lake, bad)

    assert everything(lake.directory) == before


def test_a_directory_that_holds_something_else_never_becomes_a_lake(tmp_path, log):
    (tmp_path / "mine" / "day=2024-01-01").mkdir(parents=True)
    precious = tmp_path / "mine" / "day=2024-01-01" / "part-0123456789ab-0000.parquet"
    precious.write_text("mine")

    with pytest.raises(WriteError, match="is not a lake"):
        read_into(Lake(tmp_path / "mine"), log)

    assert precious.read_text() == "mine"


def test_a_place_that_cannot_be_written_gets_one_line(log):
    with pytest.raises(WriteError, match="cannot be written") as caught:
        read_into(Lake(log / "lake"), log)

    assert "\n" not in str(caught.value)


def test_a_second_writer_is_told_to_wait(lake, log, tmp_path):
    read_into(lake, log)
    other = tmp_path / "other.csv"
    other.write_text(HEADER + DAY_TWO)

    with lake.writing(), pytest.raises(WriteError, match="another process is writing"):
        read_into(lake, other)


@pytest.mark.parametrize(("name", "time"), [("since", 2**31), ("last", 2_000_000_000_000_000), ("since", -1)])
def test_a_part_that_claims_times_of_other_days_is_none(lake, log, name, time):
    read_into(lake, log)
    manifest = lake.directory / "lake.json"
    values = json.loads(manifest.read_text())
    values["parts"][0][name] = time
    manifest.write_text(json.dumps(values))

    with pytest.raises(ReadError, match="is no part of a lake"):
        lake.events()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": 99}', '{"format": 1}', '{"format":1,"sources":[],"parts":[3]}']
)
def test_a_damaged_manifest_gets_one_line(lake, log, text):
    read_into(lake, log)
    (lake.directory / "lake.json").write_text(text)

    with pytest.raises(ReadError, match="damaged"):
        lake.events()


def test_a_manifest_cannot_name_files_outside_its_lake(lake, log):
    read_into(lake, log)
    values = json.loads((lake.directory / "lake.json").read_text())
    values["parts"][0]["file"] = "../secret.parquet"
    (lake.directory / "lake.json").write_text(json.dumps(values))

    with pytest.raises(ReadError, match="no part of a lake"):
        lake.events()


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (lambda part: part.drop("seq"), "no column seq"),
        (lambda part: part.with_columns(pl.col("at").cast(pl.Datetime("ns", "UTC"))), r"at as timestamp\[ns, tz=UTC\]"),
        (lambda part: part.with_columns(kind=pl.lit(3)), "kind as int32"),
    ],
)
def test_a_part_that_somebody_else_wrote_is_named(lake, log, change, seen):
    read_into(lake, log)
    part = next(lake.directory.glob("day=2024-01-01/*.parquet"))
    change(pl.read_parquet(part)).write_parquet(part)

    with pytest.raises(ReadError, match=f"{part.name}: has {seen}, which no part of a lake has"):
        rows(lake.events())


def test_a_missing_and_a_damaged_part_are_named(lake, log):
    read_into(lake, log)
    first, second = sorted(lake.directory.rglob("*.parquet"))
    first.unlink()

    with pytest.raises(ReadError, match=r"day=2024-01-01/part-\w+-0000.parquet: is missing"):
        rows(lake.events())
    first.write_bytes(second.read_bytes()[:-20])
    with pytest.raises(ReadError, match="is damaged"):
        rows(lake.events())


def test_no_lake_is_not_an_empty_lake(tmp_path):
    with pytest.raises(ReadError, match="is not a lake"):
        Lake(tmp_path).events()


KILLED = """
import os, signal, sys
from pathlib import Path
from gamewarden.readers.logs.tables import EventFile
from gamewarden.store import lake as lakes, lake_writing, manifest

where, directory, log = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
die = lambda *_a, **_k: os.kill(os.getpid(), signal.SIGKILL)
source = EventFile(log).numbered()
if where == "first batch":
    source.batches = lambda columns: iter(die, None)
if where == "last batch":
    rows = source.batches
    source.batches = lambda columns: (yield from rows(columns)) or die()
if where == "before publishing":
    lake_writing.Writers.publish = die
if where == "between two renames":
    done = []
    lake_writing.sync = lambda path: done.append(path) or len(done) == 2 and die()
if where == "before the manifest":
    manifest.save = die
lake_writing.ROW_GROUP = 1
lakes.Lake(directory).add(source)
"""


@pytest.mark.parametrize(
    "where", ["first batch", "last batch", "before publishing", "between two renames", "before the manifest"]
)
def test_a_killed_reader_leaves_the_lake_as_before_and_the_next_one_sweeps_up(lake, log, tmp_path, where):
    read_into(lake, log)
    before = kinds(lake)
    more = tmp_path / "more.csv"
    more.write_text(HEADER + "x,2024-01-01T00:00:00Z,chat,,\ny,2024-01-05T00:00:00Z,chat,,\n")

    killed = subprocess.run([sys.executable, "-c", KILLED, where, lake.directory, more], check=False)

    assert killed.returncode == -signal.SIGKILL
    assert kinds(lake) == before
    assert read_into(lake, more).new == 2
    live = {part.file for part in load(lake.directory).parts}
    assert {path.relative_to(lake.directory).as_posix() for path in lake.directory.rglob("*.parquet")} == live
    assert sorted(path.name for path in lake.directory.iterdir() if not path.name.startswith("day=")) == [
        ".lock",
        "lake.json",
    ]


KILLED_IN_A_BATCH = """
import os, signal, sys
from pathlib import Path
from gamewarden.readers.logs.tables import EventFile
from gamewarden.store.lake import Lake

with Lake(Path(sys.argv[1])).batch() as batch:
    for number, log in enumerate(sys.argv[2:]):
        batch.add(EventFile(Path(log)).numbered())
        if number == 1:
            batch.save()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def three_logs(tmp_path):
    logs = [tmp_path / f"{number}.csv" for number in range(3)]
    for number, log in enumerate(logs):
        log.write_text(HEADER + f"a{number},2024-01-0{number + 1}T00:00:00Z,chat,,\n")
    return logs


def test_a_reader_of_many_files_that_is_killed_keeps_what_it_saved_and_reads_the_rest_again(lake, tmp_path):
    logs = three_logs(tmp_path)

    killed = subprocess.run([sys.executable, "-c", KILLED_IN_A_BATCH, lake.directory, *logs], check=False)

    assert killed.returncode == -signal.SIGKILL
    assert [actor for actor, _, _ in kinds(lake)] == ["a0", "a1"]
    assert [read_into(lake, log).new for log in logs] == [0, 0, 1]
    live = {part.file for part in load(lake.directory).parts}
    assert {path.relative_to(lake.directory).as_posix() for path in lake.directory.rglob("*.parquet")} == live


def test_a_file_that_cannot_be_read_leaves_the_other_files_of_its_batch_in_the_lake(lake, tmp_path):
    first, unreadable, last = three_logs(tmp_path)
    unreadable.write_text(HEADER + "a1,no time,chat,,\n")

    with lake.batch() as batch:
        batch.add(EventFile(first).numbered())
        with pytest.raises(ReadError):
            batch.add(EventFile(unreadable).numbered())
        batch.add(EventFile(last).numbered())

    assert [actor for actor, _, _ in kinds(lake)] == ["a0", "a2"]


def test_a_file_whose_last_line_was_half_written_is_read_anew_within_a_batch(lake, log, tmp_path):
    whole = log.read_text()
    log.write_text(whole[:-4])
    more = tmp_path / "more.csv"
    more.write_text(HEADER + "x,2024-01-01T00:00:00Z,chat,,\n")

    with lake.batch() as batch:
        batch.add(EventFile(log, max_bad_share=1.0).numbered())
        batch.add(EventFile(more).numbered())
        log.write_text(whole)
        batch.add(EventFile(log, max_bad_share=1.0).numbered())
        assert batch.add(EventFile(more).numbered()).new == 0

    assert [actor for actor, _, _ in kinds(lake)] == ["a", "a", "b", "x"]
    live = {part.file for part in load(lake.directory).parts}
    assert {path.relative_to(lake.directory).as_posix() for path in lake.directory.rglob("*.parquet")} == live


FULL = """
import resource, signal, sys
from pathlib import Path
from gamewarden.errors import WriteError
from gamewarden.readers.logs.tables import EventFile
from gamewarden.store.lake import Lake

source = EventFile(Path(sys.argv[2])).numbered()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
try:
    Lake(Path(sys.argv[1])).add(source)
except WriteError as error:
    print(error)
    sys.exit(3)
"""


@pytest.mark.parametrize("limit", [1, 600, 3000])
def test_a_full_disk_leaves_the_lake_as_before_and_says_so_on_one_line(lake, log, tmp_path, limit):
    read_into(lake, log)
    before = everything(lake.directory)
    more = tmp_path / "more.csv"
    more.write_text(HEADER + "".join(f"{hashlib.sha256(b'%d' % i).hexdigest()},{i},k,,\n" for i in range(2000)))

    full = subprocess.run(
        [sys.executable, "-c", FULL, lake.directory, more, str(limit)], check=False, capture_output=True, text=True
    )

    assert (full.returncode, full.stderr) == (3, "")
    assert "cannot be written" in full.stdout
    assert full.stdout.count("\n") == 1
    assert everything(lake.directory) == before


def test_parts_stay_few_and_whole_when_days_come_in_any_order(lake, tmp_path, monkeypatch):
    monkeypatch.setattr("gamewarden.store.lake_writing.OPEN_FILES", 3)
    monkeypatch.setattr("gamewarden.store.lake_writing.HELD_ROWS", 50)
    monkeypatch.setattr("gamewarden.readers.logs.delimited.LONGEST_ROW", 512)
    log = tmp_path / "log.csv"
    log.write_text("actor,at,kind\n" + "".join(f"a{i},{(i * 7 % 10) * 86400 + i},k\n" for i in range(1000)))

    added = read_into(lake, log)

    assert (added.new, len(added.days)) == (1000, 10)
    found = rows(lake.events(), ["actor", "at", "seq"])
    assert [str(row["at"])[:10] for row in found] == sorted(str(row["at"])[:10] for row in found)
    assert sorted(row["seq"] for row in found) == list(range(1000))
    for part in lake.directory.rglob("*.parquet"):
        seqs = pq.read_table(part)["seq"].to_pylist()
        assert seqs == sorted(seqs)


@settings(max_examples=settings.default.max_examples * 15 // 25)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4 * 86400), st.sampled_from("kl")), max_size=30))
def test_a_lake_gives_back_exactly_what_went_in(tmp_path, events):
    place = tmp_path / os.urandom(8).hex()
    place.mkdir()
    log = place / "log.csv"
    log.write_text("actor,at,kind\n" + "".join(f"{a},{t},{k}\n" for a, t, k in events))
    lake = Lake(place / "lake")

    read_into(lake, log)

    there = pl.DataFrame(rows(lake.events()), schema=EVENTS.columns).sort("seq")
    assert there.rows() == [
        row for batch in EventFile(log).numbered().batches(list(EVENTS.columns)) for row in pl.from_arrow(batch).rows()
    ]


def unsigned(lake, beyond=0):
    """Parts as they were written when seq had no sign."""
    for path in lake.directory.rglob("*.parquet"):
        part = pq.read_table(path)
        seqs = pa.array([seq + beyond for seq in part["seq"].to_pylist()], pa.uint64())
        pq.write_table(part.set_column(part.schema.names.index("seq"), "seq", seqs), path)


def test_a_lake_whose_parts_have_unsigned_seqs_is_read_and_knows_its_rows_again(lake, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("actor,at,kind,seq\na,10,k,7\nb,20,k,8\n")
    read_into(lake, log)
    before = rows(lake.events())
    unsigned(lake)
    log.write_text("actor,at,kind,seq\nb,20,k,8\nc,30,k,9\n")

    assert rows(lake.events()) == before
    assert next(lake.events().batches(["seq"])).schema.field("seq").type == pa.int64()
    assert (read_into(lake, log).new, len(rows(lake.events()))) == (1, 3)


def test_an_unsigned_seq_of_an_old_part_that_does_not_fit_is_refused(lake, log):
    read_into(lake, log)
    unsigned(lake, beyond=2**63)

    with pytest.raises(ReadError, match=r"holds a seq beyond 9223372036854775807; read its source into a new lake"):
        rows(lake.events())


def two_logs(lake, tmp_path, rows, *, ordered=True):
    """Rows dealt to two logs, as a game has one of fights and one of trades."""
    for name, part in (("fights", rows[::2]), ("trades", rows[1::2])):
        log = tmp_path / f"{name}.csv"
        told = sorted(part, key=lambda row: row[1]) if ordered else part
        log.write_text("actor,at,kind\n" + "".join(f"{actor},{at},{kind}\n" for actor, at, kind in told))
        read_into(lake, log)


@pytest.mark.parametrize("batch", [1 << 18, 1])
def test_two_logs_of_one_day_come_in_the_order_of_time(lake, tmp_path, monkeypatch, batch):
    monkeypatch.setattr("gamewarden.store.lake_events.BATCH", batch)
    monkeypatch.setattr("gamewarden.store.lake_events.LEAST_BATCH", batch)
    dealt = [(f"a{number % 5}", number * 7919 % 172_800, f"k{number % 3}") for number in range(500)]
    two_logs(lake, tmp_path, dealt)

    found = [(row["actor"], row["at"].timestamp(), row["kind"]) for row in rows(lake.events(), ["actor", "at", "kind"])]

    assert [row[1] for row in found] == sorted(row[1] for row in dealt)
    assert sorted(found) == sorted(dealt)
    some = lake.events(datetime(1970, 1, 1, 12, tzinfo=UTC), datetime(1970, 1, 2, 6, tzinfo=UTC), ["a1", "a2"])
    wanted = [row for row in dealt if row[0] in {"a1", "a2"} and 43_200 <= row[1] < 108_000]
    assert sorted(row["at"].timestamp() for row in rows(some, ["at"])) == sorted(row[1] for row in wanted)


def test_logs_in_no_order_and_more_parts_than_are_read_together_lose_nothing(lake, tmp_path, monkeypatch):
    monkeypatch.setattr("gamewarden.store.lake_events.TOGETHER", 2)
    monkeypatch.setattr("gamewarden.store.lake_events.LEAST_BATCH", 3)
    monkeypatch.setattr("gamewarden.store.lake_events.BATCH", 3)
    dealt = [(f"a{number % 5}", number * 7919 % 100_000, "k") for number in range(90)]
    for place in range(3):
        (tmp_path / str(place)).mkdir()
        two_logs(lake, tmp_path / str(place), dealt[place * 30 : place * 30 + 30], ordered=False)

    found = [(row["actor"], row["at"].timestamp(), row["kind"]) for row in rows(lake.events(), ["actor", "at", "kind"])]

    assert sorted(found) == sorted(dealt)
