"""`gamewarden map init`: a mapping drafted from the first rows of a log."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.cli import root
from gamewarden.errors import GamewardenError, ReadError
from gamewarden.readers.logs.drafts import draft
from gamewarden.readers.logs.mapping import parse_mapping
from gamewarden.readers.logs.tables import EventFile

LOG = """LogTime,Account,Event,CharLevel,Gold,Memo
2026-03-01T12:00:00Z,acc1,Login,5,,x
2026-03-01T12:00:01Z,acc1,PickUpItem,5,10,
2026-03-01T12:00:02Z,,Kill,abc,-10,
2026-03-01T12:00:03Z,acc2,1204,5,,
"""


def write(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def kept(path, text, **given):
    file = EventFile(path, parse_mapping(text, "m"), max_bad_share=1.0, **given)
    return sum(batch.num_rows for batch in file.batches(("actor",)))


def test_a_draft_says_of_each_column_how_many_rows_bear_it_out_and_can_be_used_at_once(tmp_path):
    path = write(tmp_path / "log.csv", LOG)

    drafted = draft(path)

    assert drafted.notes == (
        "Of 4 rows 3 are kept with it (75 %).",
        "25 % of rows are left out: actor is missing in 1 row (first in row 3: '').",
    )
    assert 'actor = "Account"  # in 3 of 4 rows (75 %)\n' in drafted.text
    assert 'level = "CharLevel"  # in 3 of 4 rows (75 %); in 1 it cannot be read\n' in drafted.text
    assert '#   "Memo": filled in 25 %, as in "x"\n' in drafted.text
    assert '# "PickUpItem" = "loot.pickup"  # 1 row\n' in drafted.text
    assert '# "1204" = "…"  # 1 row\n' in drafted.text
    assert kept(path, drafted.text) == 3


def test_a_zone_is_asked_for_and_never_guessed(tmp_path):
    path = write(tmp_path / "log.csv", LOG.replace("Z,", ","))

    drafted = draft(path)

    assert '# zone = "Asia/Seoul"  # the times name none' in drafted.text
    assert "75 % of rows are left out: time has no zone" in drafted.notes[1]
    assert kept(path, draft(path, "Asia/Seoul").text) == 3


@pytest.mark.parametrize(
    ("time", "said"),
    [
        ("1772366400", 'format = "auto"'),
        ("1772366400123", 'format = "epoch_ms"'),
        ("1772366400123456789", 'format = "epoch_ns"'),
        ("2026-03-01 12:00:00.5 UTC", 'format = "auto"'),
        ("2026-03-01 12:00:00.5 +0900 KST m=+1.5", 'format = "auto"'),
        ("13/12/2026 10:00:00", 'format = "%d/%m/%Y %H:%M:%S"'),
        ("20260301120000", 'format = "%Y%m%d%H%M%S"'),
    ],
)
def test_the_format_of_times_is_found_by_trying(tmp_path, time, said):
    path = write(tmp_path / "log.csv", f"account,time,event\na,{time},k\n")

    assert f"\n{said}\n" in draft(path, "UTC").text
    assert kept(path, draft(path, "UTC").text) == 1


def test_times_that_two_formats_read_differently_are_left_to_people(tmp_path):
    text = draft(write(tmp_path / "log.csv", "account,time,event\na,03/04/2026 10:00:00,k\n"), "UTC").text

    assert '# format = "%m/%d/%Y %H:%M:%S"\n# format = "%d/%m/%Y %H:%M:%S"\n' in text
    assert parse_mapping(text, "m").format == "auto"


def test_letters_headers_and_words_for_null_are_found(tmp_path):
    rows = "".join(f"2026-03-01T12:00:0{n}Z,계정{n},사냥,-\n" for n in range(9)).encode("cp949")
    bare = draft(write(tmp_path / "bare.csv", rows)).text
    text = draft(write(tmp_path / "log.csv", b"time,account,event,zone\n" + rows)).text

    assert 'encoding = "cp949"' in text
    assert 'null = ["\\\\N", "NULL", "-"]\n' in text
    assert kept(tmp_path / "log.csv", text) == 9
    assert "header = false" in bare
    assert 'at = "1"' in bare
    assert '# actor = "…"' in bare


def test_a_word_for_null_that_would_cost_rows_is_only_proposed(tmp_path):
    text = draft(write(tmp_path / "log.csv", "time,account,event\n1700000000,-,k\n1700000000,a,k\n")).text

    assert '# null = ["\\\\N", "NULL", "-"]  # 1 row would be left out' in text


@pytest.mark.parametrize("name", ["log.jsonl", "log.parquet"])
def test_paths_into_nested_values_are_drafted_too(tmp_path, name):
    rows = [{"player": {"account": {"id": n}}, "meta": {"ts": 1_700_000_000 + n}, "event": "move"} for n in range(5)]
    path = tmp_path / name
    if name.endswith("jsonl"):
        write(path, "".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)

    drafted = draft(path)

    assert 'actor = "player.account.id"' in drafted.text
    assert 'at = "meta.ts"' in drafted.text
    assert kept(path, drafted.text) == 5


def test_a_text_without_columns_is_sent_to_line_patterns(tmp_path):
    with pytest.raises(ReadError, match=r"say under \[line\] how lines read"):
        draft(write(tmp_path / "log", "01 Mar something happened\n01 Mar and again\n"))


def test_the_command_writes_a_file_once(tmp_path):
    path, out = write(tmp_path / "log.csv", LOG), tmp_path / "map.toml"
    words = ["map", "init", str(path), "--out", str(out)]

    first = CliRunner().invoke(root, words)
    out.write_text("mine")
    second = CliRunner().invoke(root, words)
    third = CliRunner().invoke(root, [*words, "--force"])

    assert (first.exit_code, third.exit_code) == (0, 0)
    assert "is there already; --force writes over it" in str(second.exception)
    assert parse_mapping(out.read_text(), "m").columns["actor"] == "Account"


def test_what_the_command_prints_is_a_mapping(tmp_path):
    said = CliRunner().invoke(root, ["map", "init", str(write(tmp_path / "log.csv", LOG))])

    assert parse_mapping(said.stdout, "m").columns["at"] == "LogTime"


CELL = st.text(max_size=6) | st.sampled_from(
    ["account", "time", "event", "1700000000", "2026-03-01 10:00:00", "NULL", '"', "\x7f"]
)


@pytest.mark.integration
@given(st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=1, max_size=6), st.booleans())
def test_whatever_the_file_the_draft_can_be_loaded_and_keeps_what_it_says(tmp_path, rows, as_json):
    if as_json:
        text = "".join(json.dumps(dict(zip(rows[0], row, strict=True))) + "\n" for row in rows)
    else:
        text = "".join(",".join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row) + "\n" for row in rows)
    path = write(tmp_path / "log", text.encode("utf-8", "replace"))
    try:
        drafted = draft(path)
    except GamewardenError:
        return

    parse_mapping(drafted.text, "m")
    if drafted.notes[0].startswith("Of "):
        assert f" {kept(path, drafted.text):,} are kept" in drafted.notes[0]
