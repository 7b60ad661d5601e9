"""Sealed days: whatever is changed, removed or added shows, and a crash leaves nothing that counts."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from gamewarden.core.files import write_text
from gamewarden.errors import GamewardenError, VerdictError, WriteError
from gamewarden.store import verdict_days
from gamewarden.store.append_log import AppendLog
from gamewarden.store.verdict_days import FACTS, HEAD, LOG, Bundle, VerdictDays

DAY = 86_400_000_000
DAYS = ("day=2026-03-01", "day=2026-03-02", "day=2026-03-03")


def rows(*actors):
    return pl.DataFrame({"actor": list(actors), "n": list(range(len(actors)))})


def bundle(actors=("a", "b", "c")):
    tables = {"verdicts": rows(*actors), "scores": rows(*actors, *actors), "features-x": rows(*actors)}
    return Bundle(tables, {"gamewarden": "1", "caveats": []})


def seal(days, day=DAYS[0], at="2026-03-09T00:00:00+00:00", content="c", **options):
    since = DAYS.index(day) * DAY
    told = {"content": content, "rules": "r", "kept": 1, "at": at}
    return days.seal(day, options.pop("bundle", bundle()), since=since, until=since + DAY, **told)


@pytest.fixture
def days(tmp_path):
    """Three days that were sealed, the second one twice."""
    found = VerdictDays(tmp_path / "verdicts")
    for day in (*DAYS, DAYS[1]):
        seal(found, day, at=f"2026-03-09T00:00:0{len(found.seals())}+00:00", content=f"c{len(found.seals())}")
    return found


def faults(days):
    """Everything that is wrong with any seal, superseded or not; or the one line that nothing can be said."""
    try:
        return [f"{one.day}: {line}" for one in days.seals() for line in days.faults(one)]
    except VerdictError as error:
        return str(error).splitlines()


def test_days_that_nobody_touched_are_as_they_were_sealed(days):
    assert faults(days) == []
    assert list(days.current()) == list(DAYS)
    assert days.table(days.seals()[0])["actor"].to_list() == ["a", "b", "c"]
    assert days.tables(days.seals()[0]) == ["features-x", "scores", "verdicts"]
    assert days.facts(days.seals()[0]) == {"gamewarden": "1", "caveats": []}
    assert (days.seals()[0].verdicts, days.seals()[0].kept) == (3, 1)


def test_nothing_was_sealed_where_nobody_sealed(tmp_path):
    assert VerdictDays(tmp_path / "none").seals() == []
    assert not (tmp_path / "none").exists()


def test_a_day_that_is_judged_again_has_its_latest_seal_and_the_earlier_one_stays(days):
    first, second = (one for one in days.seals() if one.day == DAYS[1])

    assert days.current()[DAYS[1]] == second != first
    assert days.table(first).equals(days.table(second))
    assert first.bundle != second.bundle


FILES = ("verdicts.parquet", "scores.parquet", "features-x.parquet", FACTS)


@pytest.mark.parametrize("name", FILES)
def test_a_changed_byte_in_any_file_of_a_day_shows(name, days):
    path = days.directory / days.seals()[0].bundle / name
    whole = path.read_bytes()
    for place in {0, len(whole) // 3, len(whole) // 2, len(whole) - 1}:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert faults(days) == [f"{DAYS[0]}: {name} is not what was sealed"]


def test_a_removed_row_shows(days):
    path = days.directory / days.seals()[0].bundle / "verdicts.parquet"
    pl.read_parquet(path).filter(pl.col("actor") != "b").write_parquet(path)

    assert faults(days) == [f"{DAYS[0]}: verdicts.parquet is not what was sealed"]


def test_the_same_rows_written_anew_show_too(days):
    path = days.directory / days.seals()[0].bundle / "verdicts.parquet"
    pl.read_parquet(path).write_parquet(path, compression="lz4")

    assert len(faults(days)) == 1


@pytest.mark.parametrize("name", FILES)
def test_a_removed_file_shows(name, days):
    (days.directory / days.seals()[0].bundle / name).unlink()

    assert faults(days) == [f"{DAYS[0]}: {name} is gone"]


def test_an_added_file_shows(days):
    (days.directory / days.seals()[0].bundle / "more.parquet").write_bytes(b"")

    assert faults(days) == [f"{DAYS[0]}: more.parquet was added after it was sealed"]


def test_a_file_that_became_a_directory_shows(days):
    path = days.directory / days.seals()[0].bundle / FACTS
    path.unlink()
    path.mkdir()

    assert faults(days) == [f"{DAYS[0]}: {FACTS} is gone"]


@pytest.mark.parametrize("what", ["the day", "the bundle"])
def test_a_removed_day_shows(what, days):
    shutil.rmtree(days.directory / (DAYS[2] if what == "the day" else days.current()[DAYS[2]].bundle))

    assert faults(days) == [f"{DAYS[2]}: it is gone (3 verdicts were sealed)"]


def test_two_days_that_changed_places_show(days):
    first, last = days.seals()[0], days.seals()[2]
    (days.directory / first.bundle).rename(days.directory / "kept")
    (days.directory / last.bundle).rename(days.directory / first.bundle)
    (days.directory / "kept").rename(days.directory / last.bundle)
    seal(days, DAYS[2], bundle=bundle("abx"), at="2026-03-10T00:00:00+00:00")
    again = days.current()[DAYS[2]]
    shutil.rmtree(days.directory / again.bundle)
    shutil.copytree(days.directory / first.bundle, days.directory / again.bundle)

    assert f"{DAYS[2]}: verdicts.parquet is not what was sealed" in faults(days)


def lines_of(days):
    return (days.directory / LOG).read_bytes().splitlines(keepends=True)


def chained(directory, records):
    """A log of one's own making, in which every line follows from those before."""
    (directory / LOG).unlink(missing_ok=True)
    log = AppendLog(directory / LOG)
    for record in records:
        log.append(record)


def records_of(days):
    return [json.loads(line)["record"] for line in lines_of(days)]


LOGS = {
    "an edited line": lambda lines: [lines[0].replace(b'"kept":1', b'"kept":0'), *lines[1:]],
    "an edited last line": lambda lines: [*lines[:-1], lines[-1].replace(b'"kept":1', b'"kept":0')],
    "a removed line": lambda lines: [lines[0], *lines[2:]],
    "a removed first line": lambda lines: lines[1:],
    "swapped lines": lambda lines: [lines[1], lines[0], *lines[2:]],
    "a line twice": lambda lines: [lines[0], *lines],
    "a cut end": lambda lines: lines[:-1],
    "a cut last line": lambda lines: [*lines[:-1], lines[-1][:-10]],
    "a lost last line end": lambda lines: [*lines[:-1], lines[-1][:-1]],
    "emptied": lambda _: [],
    "a line of another kind": lambda lines: [*lines, b"[]\n"],
    "no text": lambda lines: [*lines, b"\xff\n"],
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_of_seals_that_was_edited_or_cut_shows_and_nothing_is_sealed_on_it(name, days):
    (days.directory / LOG).write_bytes(b"".join(LOGS[name](lines_of(days))))
    left = (days.directory / LOG).read_bytes()

    assert len(faults(days)) == 1
    with pytest.raises(VerdictError, match="put a copy of it back"):
        seal(days, DAYS[0], at="2026-03-10T00:00:00+00:00")
    with pytest.raises(VerdictError, match="put a copy of it back"):
        days.drop([DAYS[0]], "because", "later")
    assert (days.directory / LOG).read_bytes() == left
    assert (days.directory / DAYS[0]).is_dir()


def test_a_log_that_was_bound_anew_without_its_end_shows(days):
    chained(days.directory, records_of(days)[:-1])

    assert "seals are missing that were there" in faults(days)[0]


def test_a_log_that_was_bound_anew_around_another_end_shows(days):
    *most, last = records_of(days)
    chained(days.directory, [*most, last | {"kept": 0}])

    assert "seals are missing that were there" in faults(days)[0]


def test_a_removed_log_shows(days):
    (days.directory / LOG).unlink()

    assert "seals are missing that were there" in faults(days)[0]


@pytest.mark.parametrize("gone", [(HEAD,), (HEAD, LOG)])
def test_a_removed_head_shows_with_its_log_or_without(gone, days):
    for name in gone:
        (days.directory / name).unlink()

    assert "put a copy of it back" in faults(days)[0]
    with pytest.raises(VerdictError, match="put a copy of it back"):
        seal(days, DAYS[0], at="2026-03-10T00:00:00+00:00")


HEADS = {
    "empty": b"",
    "no text": b"\xff",
    "a list": b"[]",
    "lacking": b"{}",
    "a text": b'{"seals": "x", "last": ""}',
    "below nothing": b'{"seals": -1, "last": ""}',
    "far below nothing": b'{"seals": -99, "last": ""}',
    "endless": b'{"seals": Infinity, "last": ""}',
    "not a number": b'{"seals": NaN, "last": ""}',
    "long": b'{"seals": ' + b"9" * 5000 + b"}",
    "large": b'{"seals": 99999999999999999999, "last": ""}',
    "a half": b'{"seals": 1.5, "last": ""}',
    "true": b'{"seals": true, "last": ""}',
    "deep": b"[" * 100_000,
    "another end": b'{"seals": 4, "last": ""}',
    "none, though there are": b'{"seals": 0}',
}


@pytest.mark.parametrize("name", HEADS)
def test_a_damaged_or_edited_head_is_one_line(name, days):
    (days.directory / HEAD).write_bytes(HEADS[name])

    (line,) = faults(days)
    assert len(line) < 1000


FOREIGN = {
    "a day elsewhere": {"day": "../.."},
    "a day that is a place": {"day": "day=2026-03-01/../../.."},
    "a bundle elsewhere": {"bundle": "../../kept"},
    "a bundle of another day": {"bundle": f"{DAYS[1]}/0123456789abcdef"},
    "a file elsewhere": {"files": {"../../kept": "0" * 64}},
    "a time beyond the calendar": {"until": 2**62},
    "verdicts below nothing": {"verdicts": -1},
    "a text for a number": {"kept": "1"},
    "files that are none": {"files": []},
    "a part too many": {"more": 1},
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_seal_is_one_line_even_where_it_is_bound_well(name, days):
    first, *others = records_of(days)
    chained(days.directory, [first | FOREIGN[name], *others])

    (line,) = faults(days)
    assert "put a copy of it back" in line
    assert line.isprintable()


def test_facts_that_are_damaged_are_one_line(days):
    one = days.seals()[0]
    for content in (b"", b"[]", b"\xff", b"[" * 100_000):
        (days.directory / one.bundle / FACTS).write_bytes(content)
        with pytest.raises(VerdictError) as raised:
            days.facts(one)
        assert str(raised.value).splitlines() == [str(raised.value)]


def test_what_was_dropped_is_gone_and_the_log_says_that_it_was_there_and_why(days):
    days.drop([DAYS[0]], "retention of 90 days", "2026-06-01")

    assert days.dropped() == {DAYS[0]}
    assert not (days.directory / DAYS[0]).exists()
    assert {"dropped": DAYS[0], "because": "retention of 90 days", "at": "2026-06-01"} in records_of(days)
    assert [one.day for one in days.seals() if one.day not in days.dropped()] == [DAYS[1], DAYS[2], DAYS[1]]


# Each of these stays below the test's own directory even where nothing refuses it.
@pytest.mark.parametrize("day", ["../beside", "day=2026-03-01/../../beside", "beside", "day=2026-03-01\n"])
def test_dropping_a_name_that_is_no_day_is_refused_before_anything_is_touched(day, days, monkeypatch):
    monkeypatch.setattr(verdict_days.shutil, "rmtree", _killed)
    with pytest.raises(WriteError, match="names no day"):
        days.drop([day], "because", "later")

    assert faults(days) == []


class _KilledError(Exception):
    """Where the power went."""


def _killed(*_given, **_more):
    raise _KilledError


STEPS = {
    "while its files are written": ("write_text", FACTS),
    "between its files and its seal": ("AppendLog.append", ""),
    "between its seal and the head": ("write_text", HEAD),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("first", [True, False], ids=["the first day", "a later day"])
def test_a_crash_leaves_nothing_that_counts_by_half_and_what_is_left_is_swept(step, first, tmp_path, monkeypatch):
    days = VerdictDays(tmp_path)
    if not first:
        seal(days, DAYS[0])
    target, only = STEPS[step]
    with monkeypatch.context() as patched:
        if target == "write_text":
            # The head of a first day says that there is none yet, and is written before anything else.
            patched.setattr(verdict_days, "write_text", _only_killed_at(only, after=1 if first and only == HEAD else 0))
        else:
            patched.setattr(AppendLog, "append", _killed)
        with pytest.raises(_KilledError):
            seal(days, DAYS[1], at="2026-03-10T01:00:00+00:00")

    counts = [one.at for one in days.seals() if one.day == DAYS[1]]
    assert counts == (["2026-03-10T01:00:00+00:00"] if only == HEAD else [])
    assert faults(days) == []
    again = seal(days, DAYS[1], at="2026-03-10T02:00:00+00:00")
    named = {one.bundle for one in days.seals()}
    assert {f"{DAYS[1]}/{path.name}" for path in (tmp_path / DAYS[1]).iterdir()} == named - {f"{DAYS[0]}/x"} - {
        one for one in named if not one.startswith(DAYS[1])
    }
    assert days.current()[DAYS[1]] == again
    assert faults(days) == []


def _only_killed_at(name, after=0):
    seen = []

    def write(path, text):
        if path.name == name:
            seen.append(path)
            if len(seen) > after:
                raise _KilledError
        write_text(path, text)

    return write


def test_a_seal_that_a_crash_kept_from_the_head_is_remembered_by_the_next_one(tmp_path, monkeypatch):
    days = VerdictDays(tmp_path)
    seal(days, DAYS[0])
    with monkeypatch.context() as patched:
        patched.setattr(verdict_days, "write_text", _only_killed_at(HEAD))
        with pytest.raises(_KilledError):
            seal(days, DAYS[1])
    seal(days, DAYS[2])
    chained(tmp_path, records_of(days)[:2])

    assert "seals are missing that were there" in faults(days)[0]


def test_every_failure_is_an_error_of_ours(days):
    shutil.rmtree(days.directory / DAYS[0])
    with pytest.raises(GamewardenError, match="is missing"):
        days.table(days.seals()[0])


def _bytes_read():
    """By this process from files so far."""
    return int(Path("/proc/self/io").read_text().split()[1])


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="nobody counts what a process reads here")
def test_sealing_many_days_reads_no_more_for_a_later_day_than_for_an_early_one(tmp_path):
    days, cost = VerdictDays(tmp_path), []
    with days.several():
        for place in range(120):
            before = _bytes_read()
            name = f"day={2026 + place // 28}-03-{place % 28 + 1:02}"
            days.seal(
                name, bundle(), since=0, until=DAY, content="c", rules="r", kept=1, at="2026-03-09T00:00:00+00:00"
            )
            cost.append(_bytes_read() - before)

    assert len(days.current()) == 120
    assert sum(cost[100:]) < 1.5 * sum(cost[10:30])


def test_a_log_that_another_process_added_to_is_read_again_before_a_further_day_is_sealed(tmp_path):
    days = VerdictDays(tmp_path)
    with days.several():
        seal(days, DAYS[0])
        seal(VerdictDays(tmp_path), DAYS[1])
        seal(days, DAYS[2])
        (tmp_path / LOG).write_bytes(b"".join(lines_of(days)[:-1]))
        with pytest.raises(VerdictError, match="put a copy of it back"):
            seal(days, DAYS[0], at="2026-03-10T00:00:00+00:00")

    assert days.directory.joinpath(DAYS[1]).is_dir()
