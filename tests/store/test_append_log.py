"""A history that only grows: crashes cut nothing off but their own line, and edits show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.errors import ReadError
from gamewarden.store.append_log import AppendLog


def written(path, count=3):
    history = AppendLog(path)
    for number in range(count):
        history.append({"step": "score", "number": number, "text": "é\n"})
    return history


def test_what_was_appended_is_read_again(tmp_path):
    written(tmp_path / "a/history.jsonl")

    assert [one["number"] for one in AppendLog(tmp_path / "a/history.jsonl").records] == [0, 1, 2]


def test_records_are_added_and_the_lines_before_stay_byte_for_byte(tmp_path):
    path = tmp_path / "history.jsonl"
    written(path)
    before = path.read_bytes()
    AppendLog(path).append({"step": "watch"})

    assert path.read_bytes().startswith(before)


def test_a_line_that_a_crash_cut_short_never_happened_whatever_byte_it_ended_at(tmp_path):
    path = tmp_path / "history.jsonl"
    written(path, 2)
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    for end in range(second, len(whole)):
        path.write_bytes(whole[:end])
        assert len(AppendLog(path).records) == 1
    AppendLog(path).append({"number": 1, "step": "score", "text": "é\n"})

    assert path.read_bytes() == whole


def test_a_long_line_cut_short_leaves_nothing_behind_a_shorter_one(tmp_path):
    path = tmp_path / "history.jsonl"
    written(path, 1)
    path.write_bytes(path.read_bytes() + b'{"link":"' + b"x" * 500)
    AppendLog(path).append({"step": "watch"})

    assert path.read_bytes().endswith(b'{"step":"watch"}}\n')
    assert len(AppendLog(path).records) == 2


@given(place=st.integers(0, 200), byte=st.integers(0, 255))
def test_a_changed_byte_in_a_whole_line_is_found(tmp_path, place, byte):
    path = tmp_path / "history.jsonl"
    path.unlink(missing_ok=True)
    written(path)
    content = bytearray(path.read_bytes())
    place %= content.rindex(b"\n", 0, -1)
    if content[place] == byte:
        return
    content[place] = byte
    path.write_bytes(bytes(content))
    with pytest.raises(ReadError, match="does not follow from the lines before it"):
        AppendLog(path)


def test_a_line_taken_out_is_found(tmp_path):
    path = tmp_path / "history.jsonl"
    written(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])

    with pytest.raises(ReadError, match=r"history\.jsonl:2: does not follow"):
        AppendLog(path)


def test_a_log_that_was_cut_while_somebody_holds_it_is_refused(tmp_path):
    path = tmp_path / "history.jsonl"
    history = written(path)
    path.write_bytes(path.read_bytes()[:-5])

    with pytest.raises(ReadError, match="was cut; put a copy of it back"):
        history.append({"step": "watch"})
