"""Twice the input makes twice the work, whatever somebody has put into it."""

import gzip
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gamewarden.errors import ReadError
from gamewarden.readers.byte_sources import Origin
from gamewarden.readers.compression import Unpacked
from gamewarden.readers.logs.duplicates import SeenRows
from gamewarden.readers.logs.lint import lint
from gamewarden.readers.logs.mapping import parse_mapping
from gamewarden.readers.logs.operator_tables import read_labels, read_profiles, read_table
from gamewarden.readers.logs.tables import EventFile
from growth import assert_linear, work

SIZES = (500, 1_000, 2_000)
HEADER = b"actor,at,kind,x,seq\n"


def _csv(rows: int) -> bytes:
    return HEADER + b"".join(b"a%d,%d,move,1.5,%d\n" % (row % 7, 1_700_000_000 + row, row) for row in range(rows))


def _alike(rows: int) -> bytes:
    return b"".join(b'{"actor":"a%d","at":%d,"kind":"move"}\n' % (row % 7, 1_700_000_000 + row) for row in range(rows))


def _unlike(rows: int) -> bytes:
    lines = ({"actor": "a", "at": 1_700_000_000 + row, "kind": "move", f"k{row}": [row]} for row in range(rows))
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def _members(rows: int) -> bytes:
    return b"".join(gzip.compress(line, 1) for line in _csv(rows).splitlines(keepends=True))


def _empty_members(count: int) -> bytes:
    return gzip.compress(HEADER) + gzip.compress(b"") * count + gzip.compress(b"a,1700000000,move,1,1\n")


def _padded(count: int) -> bytes:
    return gzip.compress(HEADER) + (gzip.compress(b"") + b"\0" * 50) * count


def _frames(rows: int) -> bytes:
    codec = pa.Codec("zstd")
    empty, skipped = codec.compress(b"", asbytes=True), b"\x50\x2a\x4d\x18\0\0\0\0"
    return codec.compress(HEADER, asbytes=True) + (empty + skipped) * rows


def _blank_lines(rows: int) -> bytes:
    return b"\n" * (4 * rows) + _csv(2)


def _blank_between(rows: int) -> bytes:
    return HEADER + b"\r\n \n" * rows + b"a,1700000000,move,1,1\n"


def _columns(count: int) -> bytes:
    names = b",".join(b"c%d" % column for column in range(count // 4))
    return b"actor,at,kind," + names + b"\na,1700000000,move" + b"," * (count // 4) + b"\n"


def _quoted(rows: int) -> bytes:
    return HEADER + b'a,1700000000,move,"1\n1",2\n' * rows


def _bad(rows: int) -> bytes:
    return HEADER + b"a,1700000000,move,1,2\na,x,move,1,2\na,b\n" * rows


LOGS = (_csv, _alike, _unlike, _members, _empty_members, _padded, _frames, _blank_lines, _blank_between, _columns)


def _file(folder: Path, make: Callable[[int], bytes]) -> Callable[[int], Path]:
    def written(size: int) -> Path:
        path = folder / f"{make.__name__}{size}"
        path.write_bytes(make(size))
        return path

    return written


@pytest.mark.parametrize("make", [*LOGS, _quoted, _bad])
@pytest.mark.parametrize("keep_truncated", [False, True])
def test_a_log_of_twice_the_length_takes_twice_the_work(tmp_path, make, keep_truncated):
    def read(path):
        try:
            file = EventFile(path, max_bad_share=1.0, keep_truncated=keep_truncated)
            file.content()
            return sum(batch.num_rows for batch in file.batches(("actor", "at", "kind", "x")))
        except ReadError as error:
            return str(error)

    assert_linear(_file(tmp_path, make), read, SIZES)


RULES = """
[columns]
actor = "c.acc"
[where]
kind = {not = "rest"}
[join.c]
file = "chars.csv"
on = "actor"
key = "id"
[[also]]
kind = "zone.enter"
"""
PATTERN = "[line]\npattern = '(?P<actor>.+?),(?P<at>.+?),(?P<kind>.+),(?P<x>(?:[0-9.]+)+)?,.*'\nother = 'skip'\n"


@pytest.mark.parametrize("rules", [RULES, RULES + PATTERN])
def test_twice_the_rows_under_rules_take_twice_the_work(tmp_path, rules):
    (tmp_path / "chars.csv").write_text("id,acc\n" + "".join(f"a{n},acc{n}\n" for n in range(5)))

    def read(path):
        file = EventFile(path, parse_mapping(rules, "m", tmp_path), max_bad_share=1.0)
        return sum(batch.num_rows for batch in file.batches(("actor", "at", "kind", "x")))

    assert_linear(_file(tmp_path, _csv), read, SIZES)


@pytest.mark.parametrize("make", LOGS)
def test_looking_at_twice_the_log_takes_twice_the_work(tmp_path, make):
    assert_linear(_file(tmp_path, make), lambda path: lint(path).sentences(), SIZES)


def test_a_parquet_log_of_twice_the_row_groups_takes_twice_the_work(tmp_path):
    def written(size):
        path = tmp_path / f"{size}.parquet"
        table = pl.read_csv(_csv(size)).with_columns(pl.col("actor").cast(pl.String)).to_arrow()
        pq.write_table(table, path, row_group_size=50)
        return path

    def read(path):
        return sum(batch.num_rows for batch in EventFile(path).batches(("actor", "at", "kind", "x")))

    assert_linear(written, read, SIZES)


@pytest.mark.parametrize("make", [_csv, _alike, _members, _blank_lines, _columns])
def test_an_own_table_of_twice_the_length_takes_twice_the_work(tmp_path, make):
    assert_linear(_file(tmp_path, make), read_table, SIZES)


def test_twice_the_profiles_take_twice_the_work(tmp_path):
    def profiles(rows):
        return b"actor,level,more\n" + b"".join(b"a%d,7,x\n" % row for row in range(rows))

    assert_linear(_file(tmp_path, profiles), read_profiles, SIZES)


def _labels(rows: int) -> bytes:
    hours = (f"a,{row % 2},{1_700_000_000 + row * 60},{1_700_000_060 + row * 60}\n" for row in range(rows))
    return ("actor,bot,since,until\n" + "".join(hours)).encode()


def test_twice_the_labels_of_one_actor_take_twice_the_work(tmp_path):
    assert_linear(_file(tmp_path, _labels), read_labels, (500, 1_000, 2_000))


def test_ten_thousand_appeals_of_one_actor_against_ten_thousand_bans_fit_into_a_small_memory(tmp_path):
    rows = (f"a,1,ban,{row},{row + 1}\na,0,appeal,{row + 5},{row + 6}\n" for row in range(1_700_000_000, 1_700_010_000))
    path = tmp_path / "labels.csv"
    path.write_text("actor,bot,source,since,until\n" + "".join(rows))
    asked = (
        "import resource, sys; from pathlib import Path\n"
        "from gamewarden.readers.logs.operator_tables import read_labels\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))\n"
        "print(read_labels(Path(sys.argv[1])).frame.height)"
    )

    told = subprocess.run([sys.executable, "-c", asked, str(path)], capture_output=True, text=True, check=False)

    assert (told.returncode, told.stdout) == (0, "20000\n"), told.stderr[-300:]


@pytest.mark.parametrize("make", [_members, _empty_members, _padded])
def test_a_capture_of_twice_the_gzip_members_takes_twice_the_work(tmp_path, make):
    def read(path):
        room, total = memoryview(bytearray(1 << 16)), 0
        with Origin(str(path)).opened() as source:
            while got := source.read_into(room):
                total += got
        return total

    assert_linear(_file(tmp_path, make), read, SIZES)


def test_damage_in_a_gzip_is_found_in_few_steps_and_all_before_it_is_kept(tmp_path):
    text = np.random.default_rng(0).integers(0, 256, 400_000, dtype=np.uint8).tobytes()
    packed = bytearray(gzip.compress(text, 1))
    packed[200_000:200_010] = b"\xff" * 10
    path = tmp_path / "damaged.gz"
    path.write_bytes(packed)
    kept = bytearray()

    def read():
        room = memoryview(bytearray(1 << 16))
        with Origin(str(path)).opened() as source:
            while got := source.read_into(room):
                kept.extend(room[:got])
            assert "damaged" in source.problem

    steps = work(read)

    assert steps < 60_000  # of 200,000 bytes
    assert len(kept) > 150_000
    assert text.startswith(kept[:150_000])


def test_one_long_line_is_never_whole_in_memory_though_truncated_files_are_kept(tmp_path):
    path = tmp_path / "long.csv.gz"
    path.write_bytes(gzip.compress(HEADER + b"x" * (64 << 20), 1))
    tracemalloc.start()
    total = 0

    with Unpacked(path, keep_truncated=True) as stream:
        while chunk := stream.read(1 << 20):
            total += len(chunk)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert total == len(HEADER) + (64 << 20)
    assert peak < 40 << 20


def test_numbers_in_disorder_are_remembered_without_moving_all_of_them_for_each_batch():
    def numbers(size):
        return np.random.default_rng(1).permutation(size * 100).astype(np.int64) * 2

    def remember(all_numbers):
        seen = SeenRows()
        for batch in np.split(all_numbers, len(all_numbers) // 500):
            assert seen.first_time(batch) is None

    assert_linear(numbers, remember, (1_000, 2_000, 4_000))


def test_numbers_in_disorder_are_known_again():
    seen, known = SeenRows(), set()
    for batch in np.random.default_rng(2).integers(0, 5_000, (50, 200), dtype=np.int64):
        first = [number not in known and number not in batch[:place] for place, number in enumerate(batch)]
        fresh = seen.first_time(batch)

        assert (np.ones(200, dtype=bool) if fresh is None else fresh).tolist() == first
        known |= set(batch.tolist())


def test_lines_that_lack_nearly_all_keys_of_a_table_do_not_make_it_grow_without_end(tmp_path):
    path = tmp_path / "sparse.jsonl"
    path.write_text(json.dumps({f"key{place}": 1 for place in range(20_000)}) + "\n" + "{}\n" * 20_000)

    with pytest.raises(ReadError, match="of its 20,000 keys nearly all are missing"):
        read_table(path)
