"""Results at rest: partitions are replaced whole, one actor's rows are found alone, and damage is one line."""

import json
import multiprocessing
from dataclasses import replace
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gamewarden.errors import ReadError, TableError, WriteError
from gamewarden.store import partitions as stored
from gamewarden.store.partitions import INDEX, ROW_GROUP, Partitions, file_digest, groups_of, read_rows
from partitions_made_up import DAY, THINGS, dies_dropping, dies_saving, dies_sweeping, put, things, writes


@pytest.fixture
def table(tmp_path):
    return Partitions(tmp_path / "things", THINGS)


def files(table):
    return sorted(path.relative_to(table.directory).as_posix() for path in table.directory.rglob("*.parquet"))


def one_line(raised):
    return str(raised.value).splitlines() == [str(raised.value)]


def test_a_table_that_nobody_wrote_is_empty_and_makes_no_directory(table):
    assert table.all() == {}
    assert table.table().schema == {"actor": pl.String, "n": pl.Int64}
    assert not table.directory.exists()


def test_what_was_put_is_read_again_sorted_by_actor_with_what_it_came_from(table):
    made = put(table, about={"notes": ["é"]})

    assert table.all() == {"day=1": made}
    assert table.read(made).equals(things("a", "b"))
    assert (made.rows, made.came_from, made.about) == (2, "a", {"notes": ["é"]})
    assert file_digest(table.directory / made.file) == made.sha256
    assert Partitions(table.directory, THINGS).all() == table.all()


def test_rows_of_one_actor_keep_their_order(table):
    rows = pl.DataFrame({"actor": ["b", "a"] * 500, "n": list(range(1000))})
    made = put(table, frame=rows)

    assert table.read(made, actors=["a"])["n"].to_list() == list(range(1, 1000, 2))


def test_a_partition_is_replaced_whole_and_its_old_file_goes(table):
    first = put(table)
    second = put(table, frame=things("c"), origin="other")

    assert table.all() == {"day=1": second}
    assert files(table) == [second.file] != [first.file]
    assert table.table()["actor"].to_list() == ["c"]


def test_a_reader_who_asked_before_a_partition_was_replaced_reads_the_new_one(table):
    before = put(table)
    put(table, frame=things("c"), origin="other")

    assert table.table([before])["actor"].to_list() == ["c"]


def test_the_same_put_twice_is_one_partition_with_the_very_same_bytes(table):
    assert put(table) == put(table)
    assert len(files(table)) == 1


def test_a_partition_still_holds_only_by_its_origin_and_with_its_file(table):
    made = put(table)

    assert table.still_holds(made, "a")
    assert not table.still_holds(made, "b")
    assert not table.still_holds(None, "a")
    (table.directory / made.file).unlink()
    assert not table.still_holds(made, "a")


def test_partitions_come_in_the_order_of_time_whatever_order_they_were_put_in(table):
    for day in (3, 1, 2):
        put(table, day)

    assert list(table.all()) == ["day=1", "day=2", "day=3"]
    assert [one.name for one in table.within(2 * DAY, 3 * DAY)] == ["day=2"]
    assert [one.name for one in table.within(2 * DAY - 1, 3 * DAY + 1)] == ["day=1", "day=2", "day=3"]


def test_what_is_dropped_is_gone_with_its_directory_and_the_others_stay(table):
    put(table, 1)
    put(table, 2)
    table.drop(["day=1", "day=7"])

    assert list(table.all()) == ["day=2"]
    assert not (table.directory / "day=1").exists()


def test_a_file_that_the_index_does_not_name_is_not_there_and_goes_with_the_next_of_its_name(table):
    made = put(table)
    left = table.directory / "day=1" / "0123456789abcdef.parquet"
    left.write_bytes((table.directory / made.file).read_bytes())

    assert table.table().height == 2
    put(table, frame=things("c"), origin="other")
    assert not left.exists()


def test_rows_that_are_none_of_the_table_are_refused_and_nothing_is_written(table):
    with pytest.raises(TableError, match="lacks n"):
        put(table, frame=pl.DataFrame({"actor": ["a"]}))

    assert not table.directory.exists()


HOSTILE = (
    "day=../x",
    "../day=1",
    "day=",
    "day=a/b",
    "day=.x",
    "=x",
    "",
    "day=" + "x" * 300,
    "day=a\n",
    "day=\0",
    "DAY=1",
    "/day=1",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_leads_elsewhere_is_refused_and_nothing_is_written(name, table):
    with pytest.raises(WriteError, match="names no partition") as raised:
        table.put(name, things("a"), came_from="a", since=0, until=1)

    assert one_line(raised)
    assert not files(table)


@pytest.mark.parametrize("name", HOSTILE)
def test_dropping_a_name_that_leads_elsewhere_touches_nothing(name, table, tmp_path):
    put(table)
    beside = tmp_path / "x" / "kept.parquet"
    beside.parent.mkdir()
    beside.write_bytes(b"kept")
    with pytest.raises(WriteError, match="names no partition"):
        table.drop([name])

    assert beside.read_bytes() == b"kept"
    assert table.table().height == 2


ACTORS = 40_000


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    table = Partitions(tmp_path_factory.mktemp("large") / "things", THINGS)
    names = [f"actor{number:05}" for number in range(ACTORS)]
    return table, put(table, frame=things(*reversed(names)))


@pytest.fixture
def read_groups(monkeypatch):
    """The row groups that were read."""
    seen = []
    real = stored.parquet_batches

    def counting(file, columns, groups=None, **more):
        seen.extend(range(file.num_row_groups) if groups is None else groups)
        return real(file, columns, groups, **more)

    monkeypatch.setattr(stored, "parquet_batches", counting)
    return seen


def test_of_one_actor_one_row_group_is_read(large, read_groups):
    table, made = large
    found = table.read(made, actors=["actor20000"])

    assert found["actor"].to_list() == ["actor20000"]
    assert read_groups == [20_000 // ROW_GROUP]


def test_of_several_actors_only_the_row_groups_between_whose_ends_they_lie_are_read(large, read_groups):
    table, made = large
    names = ["actor00000", "actor00001", f"actor{ACTORS - 1:05}", "nobody", ""]
    found = table.read(made, ["n"], actors=names)

    assert found.columns == ["n"]
    assert found.height == 3
    assert read_groups == [0, (ACTORS - 1) // ROW_GROUP]


def test_of_nobody_and_of_a_stranger_nothing_is_read(large, read_groups):
    table, made = large

    assert table.read(made, actors=[]).schema == {"actor": pl.String, "n": pl.Int64}
    assert table.read(made, actors=["zzz"]).height == 0
    assert read_groups == []


def test_an_actor_whose_rows_lie_in_two_row_groups_is_read_from_both(tmp_path, read_groups):
    table = Partitions(tmp_path, THINGS)
    made = put(table, frame=things(*["a"] * (ROW_GROUP - 1), *["b"] * 2, *["c"] * ROW_GROUP))

    assert table.read(made, actors=["b"]).height == 2
    assert read_groups == [0, 1]


def test_what_is_held_of_the_rows_of_others_does_not_grow_with_the_row_groups(large, monkeypatch):
    table, made = large
    held, real = [], stored.parquet_batches

    def watched(*asked, **more):
        for batch in real(*asked, **more):
            held.append(pa.total_allocated_bytes())
            yield batch

    monkeypatch.setattr(stored, "parquet_batches", watched)
    one_in_each = [f"actor{number:05}" for number in range(0, ACTORS, ROW_GROUP)]

    assert table.read(made, actors=one_in_each)["actor"].to_list() == one_in_each
    assert len(held) == len(one_in_each)
    assert max(held) - held[1] < ROW_GROUP * 8  # bytes: less than the numbers of one of them


def test_names_beyond_ascii_are_found_where_they_lie(tmp_path):
    names = sorted({chr(number) * 3 for number in (*range(0x40, 0x3000, 7), 0xE000, 0xFFFD, 0x10000, 0x1F600)})
    rows = things(*(name for name in names for _ in range(30)))
    table = Partitions(tmp_path, THINGS)
    made = put(table, frame=rows)

    with pq.ParquetFile(table.directory / made.file) as file:
        assert file.num_row_groups > 1
        assert all(len(groups_of(file, [name])) in {1, 2} for name in names)
    assert all(table.read(made, actors=[name]).height == 30 for name in names[::50] + names[-4:])


def test_a_name_that_no_file_can_hold_is_nobodys(table):
    made = put(table)

    assert table.read(made, actors=["a\udcff", "b"])["actor"].to_list() == ["b"]


def test_row_groups_that_say_nothing_of_their_actors_are_read(tmp_path, read_groups):
    path = tmp_path / "rows.parquet"
    pq.write_table(things("a", "b", "c").to_arrow(), path, row_group_size=1, write_statistics=False)

    assert read_rows(path, actors=["b"]).height == 1
    assert read_groups == [0, 1, 2]


def index_of(table):
    return json.loads((table.directory / INDEX).read_bytes())


def changed(table, **values):
    told = index_of(table)
    told["partitions"][0].update(values)
    return json.dumps(told).encode()


DAMAGED = {
    "cut": lambda table: (table.directory / INDEX).read_bytes()[:-9],
    "empty": lambda _: b"",
    "no text": lambda _: b"\xff\xfe",
    "deep": lambda _: b"[" * 100_000,
    "a list": lambda _: b"[]",
    "another format": lambda table: json.dumps({**index_of(table), "format": 2}).encode(),
    "a part missing": lambda _: b'{"format": 1}',
    "a part too many": lambda table: json.dumps({**index_of(table), "more": 1}).encode(),
    "rows below nothing": lambda table: changed(table, rows=-1),
    "a file elsewhere": lambda table: changed(table, file="../../day=1/0123456789abcdef.parquet"),
    "a file of no partition": lambda table: changed(table, file="day=1/x.parquet"),
    "a time beyond the calendar": lambda table: changed(table, until=2**62),
    "an end before its beginning": lambda table: changed(table, until=0),
    "no mapping beside it": lambda table: changed(table, about=[1]),
    "two of one name": lambda table: json.dumps(
        {**index_of(table), "partitions": index_of(table)["partitions"] * 2}
    ).encode(),
    "a number of 5,000 digits": lambda table: changed(table, rows=1).replace(b'"rows": 1', b'"rows": ' + b"9" * 5000),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_or_foreign_index_is_one_line_for_readers_and_writers(name, table):
    put(table)
    (table.directory / INDEX).write_bytes(DAMAGED[name](table))
    for asked in (table.all, table.table, lambda: put(table, 2), lambda: table.drop(["day=1"])):
        with pytest.raises(ReadError, match=f"{INDEX}: ") as raised:
            asked()

        assert one_line(raised)
        assert len(str(raised.value)) < 1000


def test_an_index_beyond_all_size_is_refused_before_it_is_read(table, monkeypatch):
    put(table)
    monkeypatch.setattr(stored, "LARGEST", 20)
    with pytest.raises(ReadError, match="too large to be an index of results") as raised:
        table.all()

    assert one_line(raised)


def parquet(frame):
    def made(path):
        frame.write_parquet(path)

    return made


def cut(path):
    path.write_bytes(path.read_bytes()[:-20])


def page(path):
    content = bytearray(path.read_bytes())
    content[8:40] = b"\xff" * 32
    path.write_bytes(content)


SPOILED = {
    "gone": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "cut": cut,
    "a damaged page": page,
    "a directory": lambda path: (path.unlink(), path.mkdir()),
    "a text": lambda path: path.write_text("actor,n\na,1\n"),
    "without its actors": parquet(pl.DataFrame({"n": [1]})),
    "without a column": parquet(pl.DataFrame({"actor": ["a"]})),
    "actors that are numbers": parquet(pl.DataFrame({"actor": [[1]], "n": [1]})),
    "a column of another kind": parquet(pl.DataFrame({"actor": ["a"], "n": ["x"]})),
    "a row without its number": parquet(pl.DataFrame({"actor": ["a"], "n": [None]}, schema=THINGS.columns)),
    "NaN": parquet(pl.DataFrame({"actor": ["a"], "n": [1], "x": [float("nan")]})),
}


@pytest.mark.parametrize("actors", [None, ["a"]], ids=["all", "one actor"])
@pytest.mark.parametrize("name", SPOILED)
def test_damaged_or_foreign_rows_are_one_line_that_says_how_they_are_made_anew(name, actors, table):
    made = put(table)
    SPOILED[name](table.directory / made.file)
    for asked in (lambda: table.read(made, actors=actors), lambda: table.table(actors=actors)):
        with pytest.raises(ReadError, match="compute it anew with --fresh") as raised:
            asked()

        assert one_line(raised)
        assert str(table.directory / made.file) in str(raised.value)


def test_a_spoiled_partition_is_mended_by_putting_it_again(table):
    made = put(table)
    page(table.directory / made.file)

    assert put(table) == made
    assert table.read(made).equals(things("a", "b"))


def test_a_directory_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "things").write_text("a file")
    with pytest.raises(WriteError, match="cannot be written") as raised:
        put(Partitions(tmp_path / "things", THINGS))

    assert one_line(raised)


def test_two_processes_that_write_at_once_lose_nothing(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    work = [spawn.Process(target=writes, args=(tmp_path / "t", range(start, 40, 2))) for start in (0, 1)]
    for one in work:
        one.start()
    for one in work:
        one.join()
    table = Partitions(tmp_path / "t", THINGS)
    kept = [number for number in range(40) if number % 5]

    assert [one.exitcode for one in work] == [0, 0]
    assert list(table.all()) == [*(f"day={number}" for number in kept), "day=10000"]
    assert table.table()["actor"].to_list()[:-1] == [f"a{number}" for number in kept]
    assert files(table) == sorted(one.file for one in table.all().values())


def test_a_process_that_died_in_the_middle_lets_go_and_leaves_nothing_that_counts(table):
    put(table)
    child = multiprocessing.get_context("spawn").Process(target=dies_saving, args=(table.directory,))
    child.start()
    child.join()

    assert child.exitcode == 9
    assert table.table()["actor"].to_list() == ["a", "b"]
    assert len(files(table)) == 2
    made = put(table, frame=things("d"), origin="third")
    assert files(table) == [made.file]


def killed(work, table):
    child = multiprocessing.get_context("spawn").Process(target=work, args=(table.directory,))
    child.start()
    child.join()
    assert child.exitcode == 9


@pytest.mark.parametrize("work", [dies_saving, dies_sweeping, dies_dropping])
def test_what_a_killed_process_left_goes_when_the_table_is_swept_and_what_counts_stays(table, work):
    kept = put(table, day=2)
    put(table)
    killed(work, table)
    assert len(files(table)) > len(table.all())

    table.sweep()

    assert files(table) == sorted(one.file for one in table.all().values())
    assert kept.file in files(table)
    assert {path.name for path in table.directory.glob("day=*")} == set(table.all())


def test_sweeping_leaves_files_that_are_not_ours_and_makes_no_directory(table):
    Partitions(table.directory.parent / "never", THINGS).sweep()
    put(table)
    (table.directory / "day=1" / "notes.txt").write_text("mine")
    (table.directory / "day=2").mkdir()
    (table.directory / "day=2" / "mine.parquet").write_text("mine too")

    table.sweep()

    assert not (table.directory.parent / "never").exists()
    assert (table.directory / "day=1" / "notes.txt").exists()
    assert (table.directory / "day=2" / "mine.parquet").exists()


def test_a_draft_that_nobody_writes_any_more_is_swept(table):
    put(table)
    (table.directory / "day=1" / ".gamewarden-abcdefgh.parquet").write_bytes(b"half")

    table.sweep()

    assert len(files(table)) == 1


def test_a_partition_of_another_table_is_told_apart_by_its_origin(table):
    made = put(table)

    assert not table.still_holds(replace(made, came_from="x"), "a")


def test_a_file_of_numbers_that_no_table_of_ours_has_is_one_line(table):
    made = put(table)
    wide = pa.table({"actor": ["a"], "n": pa.array([Decimal(1)], pa.decimal256(60, 2))})
    pq.write_table(wide, table.directory / made.file)

    with pytest.raises(ReadError) as raised:
        table.read(made)

    assert one_line(raised)
