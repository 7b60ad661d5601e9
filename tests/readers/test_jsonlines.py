"""JSON Lines that Arrow's reader cannot take are never given to it, and are read as every other line is."""

import json
import subprocess
import sys

import pytest

from gamewarden.readers.logs.jsonlines import _looks_alike
from gamewarden.readers.logs.tables import EventFile

GOOD = [b'{"actor":"a","at":%d,"kind":"move"}' % at for at in range(1_700_000_000, 1_700_000_050)]
ODD = {
    "null": b"null",
    "null and blanks": b"  null  ",
    "null and a NUL": b"null\0",
    "true": b"true",
    "a number": b"-1.5e3",
    "a text": b'"abc"',
    "a list": b"[1,2]",
    "two objects": b'{"actor":"a"}{"actor":"b"}',
    "an object and null": b'{"actor":"a"} null',
    "half an object": b'{"actor":"a"',
    "a comment": b"/* {} */",
    "a NUL": b"\0",
    "a list without end": b'{"q":' + b"[" * 50_000,
}


def _lines(path, lines, end):
    """A first block that shows what to expect, then one that begins, goes on and ends with what is asked for."""
    blank = b" " * (1 << 20)  # lines of blanks so that a block ends after each of them
    path.write_bytes(b"\n".join([*GOOD, blank + GOOD[0], *lines]) + end)
    return path


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
@pytest.mark.parametrize("odd", ODD)
def test_a_line_that_is_no_object_is_one_bad_row_wherever_it_stands(tmp_path, odd, end):
    asked = (
        "import sys; from pathlib import Path; from gamewarden.readers.logs.tables import EventFile\n"
        "for path in sys.argv[1:]:\n"
        "    file = EventFile(Path(path), max_bad_share=1.0)\n"
        "    kept = sum(batch.num_rows for batch in file.batches(('actor',)))\n"
        "    print(kept, sum(fault.count for fault in file.report.bad))"
    )
    places = {"first": [ODD[odd], GOOD[1]], "last": [GOOD[1], ODD[odd]], "alone": [ODD[odd]]}
    paths = [str(_lines(tmp_path / place, lines, end)) for place, lines in places.items()]

    told = subprocess.run([sys.executable, "-c", asked, *paths], capture_output=True, text=True, check=False)

    assert told.returncode == 0, told.stderr[-300:]
    assert told.stdout.splitlines() == ["52 1", "52 1", "51 1"]


def test_null_lines_in_the_middle_of_a_log_are_no_objects_and_not_rows_without_an_actor(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\n".join([*GOOD * 1_000, b"null", *GOOD * 1_000]))

    file = EventFile(path)
    assert sum(batch.num_rows for batch in file.batches(("actor",))) == 100_000

    assert [(fault.reason, fault.count) for fault in file.report.bad] == [("line is not a JSON object", 1)]


@pytest.mark.parametrize(
    "block", [b"{}", b"{}\n{}", b"{}\r\n{}\r\n{}", b" {} \n\t{} \r\n {}\t", b'{"a":{}}\n{"a":"}{"}']
)
def test_a_block_with_one_object_a_line_looks_like_one(block):
    assert _looks_alike(block)


@pytest.mark.parametrize(
    "block", [b"", b"null", b"{}\nnull", b"null\n{}", b"{}\n\n{}", b'{"a":\n1}', b"{", b"{\n}", b"{}\r\n\r\n{}", b"}{"]
)
def test_a_block_with_anything_else_does_not(block):
    assert not _looks_alike(block)


def test_a_value_nested_as_deep_as_can_be_read_can_also_be_told(tmp_path):
    path = tmp_path / "deep.jsonl"
    lines = [GOOD[0][:-1] + b',"zone":' + b"[" * depth + b"]" * depth + b"}" for depth in range(800, 1_000, 3)]
    path.write_bytes(b"\n".join(lines))

    file = EventFile(path, max_bad_share=1.0)
    for _ in file.batches(("actor", "zone")):
        pass

    assert file.report.rows == len(lines)
    assert json.dumps(file.report.sentences())
