"""What game servers push is kept once and for good, or refused as a whole with one line."""

import gzip
import json
import os
from collections import Counter
from datetime import UTC, datetime, timedelta

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.desk import inbox as desk_inbox
from gamewarden.desk.inbox import Door, Limits, RefusedBatchError, Sent, TooMuchError
from gamewarden.errors import ReadError, WriteError
from gamewarden.readers import pushed as reading
from gamewarden.readers.pushed import EventRows, read_batch
from gamewarden.store.inbox import BusyError, Inbox, OtherBatchError, Rotation
from gamewarden.store.inbox_segments import OPEN, Told, checked, closed_segments, pending_bytes
from gamewarden.store.lake import Lake
from gamewarden.workspace.forgetting import begin, finish, held
from gamewarden.workspace.status import status
from pushes_made_up import LATER, event, events, in_lake, lines, make_workspace, packet, run_all

AT_ONCE = Rotation(age=0.0)
IN_TWO_HOURS = datetime.now(UTC) + timedelta(hours=2)


@pytest.fixture
def workspace(tmp_path):
    return make_workspace(tmp_path / "ws")


@pytest.fixture
def door(workspace):
    made = Door(workspace, rotation=AT_ONCE)
    yield made
    made.close()


def push(door, body, kind="events", **more):
    body = body if isinstance(body, list) else [body]
    return door.take(kind, Sent(body, **more)).result(30)


def taken_in(door, at=LATER):
    """Close what is written, run, and look."""
    door.close()
    run_all(door.workspace, at)
    return in_lake(door.workspace)


def test_pushed_events_are_in_the_lake_after_a_run(door):
    receipt = push(door, events(0, 500), key="one")

    assert (receipt.rows, receipt.batch, receipt.durable, receipt.again, receipt.note) == (500, "one", True, False, "")
    assert sorted(taken_in(door)) == sorted(f"s{number}" for number in range(500))
    assert pending_bytes(door.workspace.inbox / "events") == 0
    assert "pushed events" in status(door.workspace, LATER).sources["source"].to_list()


def test_what_is_pushed_reads_as_the_same_lines_in_a_log(door, tmp_path):
    rows = [event(number, item=number, amount=-1.5, other="x") for number in range(50)]
    rows += [
        event(50, at=1_740_830_400),
        event(51, at="2025-03-01T12:00:00.5+09:00"),
        event(52, actor=7, at="1740830400.25"),
    ]
    (tmp_path / "log.jsonl").write_bytes(lines(rows))
    other = make_workspace(tmp_path / "other", '\n[[source]]\nname = "log"\nlocator = "../log.jsonl"\n')
    for some in (rows[:50], rows[50:]):
        push(door, lines(some))
    taken_in(door)
    run_all(other)

    def table(workspace):
        batches = (
            Lake(workspace.lake)
            .events()
            .batches(("actor", "at", "kind", "x", "y", "level", "item", "amount", "other", "session"))
        )
        return pl.concat([pl.DataFrame(pl.from_arrow(one)) for one in batches]).cast({"actor": str}).sort("session")

    assert table(door.workspace).cast(pl.String).equals(table(other).cast(pl.String))


def test_a_batch_under_a_known_key_adds_nothing_and_is_answered_as_before(door):
    first, second = push(door, events(0, 10), key="a"), push(door, events(0, 10), key="a")

    assert (second.rows, second.batch, second.again) == (first.rows, first.batch, True)
    assert len(taken_in(door)) == 10


def test_a_key_is_known_after_a_restart_and_after_its_rows_were_taken_in(door):
    push(door, events(0, 10), key="a")
    taken_in(door)
    again = Door(door.workspace, rotation=AT_ONCE)

    assert push(again, events(0, 10), key="a").again
    assert len(taken_in(again)) == 10


def test_a_key_that_names_another_batch_is_refused(door):
    push(door, events(0, 10), key="a")

    with pytest.raises(OtherBatchError, match="names another batch of 10 rows"):
        push(door, events(5, 10), key="a")


def test_keys_of_different_senders_have_nothing_to_do_with_each_other(door):
    push(door, events(0, 10), key="1", by="asia")

    assert not push(door, events(10, 10), key="1", by="europe").again


def test_without_a_key_the_answer_says_that_rows_may_count_twice(door):
    assert "count twice" in push(door, events(0, 1)).note


def test_packed_batches_are_unpacked_also_in_several_members(door):
    body = gzip.compress(events(0, 10)) + gzip.compress(events(10, 10))

    assert push(door, [body[:7], body[7:]], packed=True).rows == 20


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "no line"),
        (b"\n\n", "no line"),
        (b"null", "not a JSON object"),
        (b"[1]", "not a JSON object"),
        (b"{", "not JSON"),
        (lines([event(0), {}]), "actor is missing in 1 row (first in row 2"),
        (lines([event(0, at="yesterday")]), "time does not parse"),
        (lines([event(0, at="2025-03-01T12:00:00")]), "time has no zone"),
        (lines([event(0, at="2126-03-01T12:00:00Z")]), "time is after"),
        (lines([event(0, at=10**25)]), "time is outside the years"),
        (lines([event(0, level="high")]), "level is not a whole number"),
        (lines([event(0, level=10**30)]), "level is out of range"),
        (lines([event(0, level=1.5)]), "level is not a whole number"),
        (lines([event(0, x=float("nan"))]), "x is not finite"),
        (lines([event(0, x=float("-inf"))]), "x is not finite"),
        (lines([event(0, x=1e300)]), "x is not finite"),
        (lines([event(0, actor={"id": 1})]), "actor is missing"),
        (lines([event(0, actor="a\nb")]), "actor holds a line break"),
        (lines([event(0, zone=[])]), "zone is nested"),
        (lines([event(0, actor="")]), "actor is missing"),
        (b'{"actor": "\xff", "at": 1, "kind": "k"}', "not UTF-8"),
        (b'{"actor": "\\ud800", "at": 1, "kind": "k"}', "not UTF-8"),
        (b'{"a":' + b"[" * 20_000 + b"]" * 20_000 + b"}", "not JSON"),
        (b'{"' + b"a" * 70_000 + b'": 1}', "line of more than 64 KiB"),
        (b"{" + b",".join(b'"k%d":1' % n for n in range(1_000_000)) + b"}", "line of more than 64 KiB"),
    ],
)
def test_what_cannot_be_taken_is_refused_in_one_line_and_leaves_nothing(door, body, says):
    good = events(0, 3)

    with pytest.raises(RefusedBatchError) as refused:
        push(door, body)

    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
    assert pending_bytes(door.workspace.inbox / "events") == 0
    assert push(door, good).rows == 3


def test_the_last_of_two_equal_keys_counts_as_in_logs(door):
    push(door, b'{"actor":"a","at":"2025-03-01T12:00:00Z","kind":"move","session":"x","session":"y"}')

    assert taken_in(door) == ["y"]


def test_keys_that_no_column_is_called_are_named(door):
    assert push(door, lines([event(0, amout=3)])).ignored == ("amout",)


def test_bad_rows_may_be_counted_instead(door):
    receipt = push(door, lines([event(0), event(1, at="?"), event(2, level="x"), event(3)]), count_bad=True)

    assert receipt.rows == 3
    assert {one.reason: one.rows for one in receipt.faults} == {
        "time does not parse": 1,
        "level is not a whole number": 1,
    }
    assert sorted(taken_in(door)) == ["s0", "s2", "s3"]


def test_a_packed_batch_that_ends_early_is_refused(door):
    with pytest.raises(RefusedBatchError, match="ends early"):
        push(door, gzip.compress(events(0, 100))[:-4], packed=True)


def test_what_is_not_gzip_is_refused(door):
    with pytest.raises(RefusedBatchError, match="is not gzip"):
        push(door, gzip.compress(events(0, 100)) + b"more", packed=True)


def test_a_packed_batch_that_unpacks_to_more_than_is_allowed_is_refused(door, monkeypatch):
    monkeypatch.setattr(reading, "LARGEST_UNPACKED", 4 << 20)

    with pytest.raises(RefusedBatchError, match="unpacks to more than 4 MiB"):
        push(door, gzip.compress((b"\n" * 99 + b"{}") * 100_000), packed=True)


def test_a_batch_larger_than_a_block_keeps_its_order_and_its_row_numbers(door):
    rows = [event(number, seq=20_000 - number) for number in range(20_000)]
    push(door, lines(rows))
    with pytest.raises(RefusedBatchError, match="first in row 15,001"):
        push(door, lines([*rows[:15_000], event(0, level="x"), *rows[15_000:]]))

    door.close()
    run_all(door.workspace)
    batches = Lake(door.workspace.lake).events().batches(("seq", "session"))
    found = pl.concat([pl.DataFrame(pl.from_arrow(one)) for one in batches]).sort("seq")
    assert found["session"].to_list() == [f"s{number}" for number in reversed(range(20_000))]


def test_bytes_on_their_way_are_bounded(workspace):
    door = Door(workspace, Limits(in_flight=100))
    door.reserve(60)

    with pytest.raises(TooMuchError) as refused:
        door.reserve(60)
    door.release(60)
    door.reserve(100)

    assert refused.value.retry_after >= 1


def test_a_backlog_that_nobody_takes_in_is_bounded(workspace, monkeypatch):
    monkeypatch.setattr(desk_inbox, "_LOOK_AGAIN", 0.0)
    door = Door(workspace, Limits(backlog=100), AT_ONCE)
    door.refuse_if_full("events")
    push(door, events(0, 50))

    with pytest.raises(TooMuchError, match="wait for `gamewarden run`"):
        door.refuse_if_full("events")
    taken_in(door)
    door.refuse_if_full("events")


def test_some_of_the_disk_stays_free(workspace):
    with pytest.raises(TooMuchError, match="the disk has"):
        Door(workspace, Limits(free=1 << 60)).refuse_if_full("events")


def test_a_second_process_is_told_to_send_elsewhere(door):
    push(door, events(0, 1))
    other = Door(door.workspace)

    with pytest.raises(BusyError, match="another process takes batches"):
        push(other, events(1, 1))
    door.close()
    assert push(other, events(1, 1)).rows == 1
    other.close()


def test_a_run_beside_a_door_takes_in_what_is_closed_and_the_next_run_the_rest(workspace):
    door = Door(workspace, rotation=Rotation(age=3600))
    push(door, events(0, 5))
    run_all(workspace)
    before = in_lake(workspace)

    assert before == []
    assert len(taken_in(door)) == 5


def segment_of(tmp_path, batches=3):
    made = Inbox(tmp_path / "in", Rotation(age=3600))
    for number in range(batches):
        made.put(Told(1, f"d{number}", f"k{number}"), b"x" * 100).result(10)
    made.close()
    (path,) = closed_segments(tmp_path / "in")
    return path


def test_wherever_a_segment_is_cut_its_whole_batches_stay_and_no_other(tmp_path):
    path = segment_of(tmp_path)
    whole, ends = path.read_bytes(), [one.ends for one in checked(path).batches]
    path.unlink()
    for cut in range(len(whole) + 1):
        left = tmp_path / f"cut{cut}" / "in"
        left.mkdir(parents=True)
        (left / f"0{OPEN}").write_bytes(whole[:cut])
        Inbox(left).close()

        found = [one.told.digest for path in closed_segments(left) for one in checked(path).batches]
        assert found == [f"d{number}" for number, end in enumerate(ends) if end <= cut]


def test_a_damaged_segment_is_told_of_and_the_others_are_taken_in(door):
    for number in range(3):
        push(door, events(number, 1))
        door.close()
    second = closed_segments(door.workspace.inbox / "events")[1]
    content = bytearray(second.read_bytes())
    content[-5] ^= 1
    second.write_bytes(content)
    with pytest.raises(AssertionError, match="is damaged after 0 of"):
        run_all(door.workspace)

    assert sorted(in_lake(door.workspace)) == ["s0", "s2"]
    assert second.exists()


def test_rows_that_are_in_the_lake_do_not_come_again_when_their_segment_could_not_be_removed(door, monkeypatch):
    from gamewarden.workspace import pushed

    push(door, events(0, 5))
    door.close()
    monkeypatch.setattr(pushed, "remove", lambda _: (_ for _ in ()).throw(OSError(5, "no")))
    with pytest.raises(AssertionError):
        run_all(door.workspace)
    monkeypatch.undo()
    left = closed_segments(door.workspace.inbox / "events")
    run_all(door.workspace)

    assert left
    assert len(in_lake(door.workspace)) == 5
    assert not closed_segments(door.workspace.inbox / "events")


def test_a_batch_that_cannot_be_written_is_not_acknowledged_and_may_come_again(door, monkeypatch):
    push(door, events(0, 2), key="a")
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(WriteError, match="No space left"):
        push(door, events(2, 2), key="b")
    monkeypatch.setattr(os, "fsync", real)

    for _ in range(50):  # the writer tries to close the torn segment first
        try:
            receipt = push(door, events(2, 2), key="b")
            break
        except WriteError:
            continue
    assert not receipt.again
    assert Counter(taken_in(door)) == Counter(f"s{number}" for number in range(4))


def test_batches_at_the_same_time_share_a_sync(workspace, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(1), real(handle))[1])
    made = Inbox(workspace.root / "in", Rotation(age=3600))
    made.put(Told(1, "a"), b"a").result(10)
    before = len(synced)
    with made._turn:
        waiting = [made.put(Told(1, str(n)), b"x") for n in range(50)]
    for one in waiting:
        one.result(10)
    after = len(synced)
    made.close()

    assert after - before <= 2


def test_pushed_packets_become_a_file_that_is_taken_in(door):
    push(door, lines(packet(number) for number in range(100)), "packets", key="p")
    push(door, lines([packet(200, at="2025-03-01T13:00:00Z", up="1", size="12"), packet(201)]), "packets")
    door.close()
    run_all(door.workspace, IN_TWO_HOURS)
    (file,) = (door.workspace.inbox / "packets").glob("*.parquet")

    assert pl.read_parquet(file).height == 102
    assert [one.kinds for one in door.workspace.states.load("pushed packets").files] == [("packets",)]
    assert not closed_segments(door.workspace.inbox / "packets")
    assert len(door.workspace.parts(LATER).parts) == 1


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (packet(0, actor=None), "actor is missing"),
        (packet(0, up="maybe"), "up is neither true nor false"),
        (packet(0, size=-1), "size is not a whole number of bytes"),
        (packet(0, size=1.5), "size is not a whole number of bytes"),
        (packet(0, size=1 << 40), "size is not a whole number of bytes"),
        (packet(0, at=None), "time is missing"),
    ],
)
def test_a_packet_that_cannot_be_taken_is_refused(door, row, says):
    with pytest.raises(RefusedBatchError, match=says):
        push(door, lines([packet(1), row]), "packets")


def test_packets_are_gathered_once_although_their_segments_could_not_be_removed(door, monkeypatch):
    from gamewarden.workspace import pushed

    push(door, lines(packet(number) for number in range(10)), "packets")
    door.close()
    monkeypatch.setattr(pushed, "remove", lambda _: (_ for _ in ()).throw(OSError(5, "no")))
    with pytest.raises(AssertionError):
        run_all(door.workspace, IN_TWO_HOURS)
    monkeypatch.undo()
    run_all(door.workspace, IN_TWO_HOURS)

    assert [pl.read_parquet(path).height for path in (door.workspace.inbox / "packets").glob("*.parquet")] == [10]


def test_what_a_crash_left_unfinished_in_an_inbox_counts_for_nothing(door):
    push(door, events(0, 5), key="a")
    push(door, lines(packet(number) for number in range(10)), "packets")
    door.close()
    inbox = door.workspace.inbox
    (segment,) = closed_segments(inbox / "packets")
    told = {"segments": json.dumps([segment.stem])}
    draft = pa.table({"actor": ["a"]}).replace_schema_metadata(told)
    pq.write_table(draft, inbox / "packets" / ".gamewarden-abcdefgh.parquet")
    (inbox / "events" / ".gamewarden-abcdefgh.keys").write_text('[1, "d", ')
    again = Door(door.workspace, rotation=AT_ONCE)
    assert push(again, events(0, 5), key="a").again
    again.close()
    run_all(door.workspace, IN_TWO_HOURS)

    files = [path for path in (inbox / "packets").iterdir() if path.suffix == ".parquet"]
    assert [pl.read_parquet(path).height for path in files] == [10]


@pytest.mark.parametrize("content", [b"PAR1 broken PAR1", b"", pl.DataFrame({"other": [1]}).write_parquet])
def test_a_strange_file_among_pushed_packets_stops_forgetting_in_one_line(door, content):
    push(door, lines(packet(number) for number in range(10)), "packets")
    door.close()
    strange = door.workspace.inbox / "packets" / "0.parquet"
    if callable(content):
        content(strange)
    else:
        strange.write_bytes(content)

    with pytest.raises(ReadError, match=r"0\.parquet"):  # noqa: PT012  what is damaged is found first, the rest later
        begin(door.workspace, ["player3"], LATER)
        finish(door.workspace, LATER)


def naming(workspace, actor):
    found = []
    for path in sorted(one for one in workspace.root.rglob("*") if one.is_file()):
        texts = [path.read_bytes()]
        if path.suffix == ".parquet":
            texts.append(pl.read_parquet(path, glob=False).write_json().encode())
        found += [path for text in texts if actor.encode() in text]
    return found


def test_a_player_who_is_forgotten_is_in_no_pending_segment_and_in_no_pushed_packet(door):
    push(door, lines([*(event(n) for n in range(20)), event(30, target="player3")]))
    push(door, lines(packet(number) for number in range(20)), "packets")
    door.close()
    workspace = door.workspace
    assert held(workspace, ["player3"]).events == 4
    begin(workspace, ["player3"], LATER)
    finish(workspace, LATER)

    assert naming(workspace, "player3") == []
    (file,) = (workspace.inbox / "packets").glob("*.parquet")
    assert b"segments" in pq.read_schema(file).metadata
    assert len(in_lake(workspace)) == 18
    before = workspace.states.load("pushed packets").files
    run_all(workspace, IN_TWO_HOURS)
    assert workspace.states.load("pushed packets").files == before
    push(door, events(0, 20))
    assert len(taken_in(door)) == 18 + 17


def test_packets_that_were_taken_in_before_somebody_is_forgotten_are_not_taken_in_again(door):
    push(door, lines(packet(number) for number in range(20)), "packets")
    door.close()
    workspace = door.workspace
    run_all(workspace, IN_TWO_HOURS)
    before = [one.digest for one in workspace.states.load("pushed packets").files]
    begin(workspace, ["player3"], LATER)
    finish(workspace, LATER)
    run_all(workspace, IN_TWO_HOURS)

    assert [one.digest for one in workspace.states.load("pushed packets").files] == before
    assert naming(workspace, "player3") == []
    assert workspace.parts(LATER).parts[0].opened().packets() is not None


def test_identifiers_are_hashed_before_the_lake_has_them(tmp_path, monkeypatch):
    monkeypatch.setenv("GAMEWARDEN_KEY", "a long random text")
    workspace = make_workspace(tmp_path / "ws", '[privacy]\nhash = "ip"\nkey_from = "GAMEWARDEN_KEY"\n')
    door = Door(workspace, rotation=AT_ONCE)
    push(door, lines([event(0, ip="203.0.113.7")]))
    taken_in(door)

    assert naming(workspace, "203.0.113.7") == []


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)
_ROWS = st.fixed_dictionaries({}, optional=dict.fromkeys((*event(0), "seq", "amount", "ip", "up", "size"), _VALUES))
_LINES = st.one_of(_ROWS.map(lambda row: json.dumps(row).encode()), st.binary(max_size=20), st.just(lines([event(1)])))


@given(st.lists(_LINES, max_size=4), st.sampled_from(["events", "packets"]), st.booleans(), st.booleans())
def test_whatever_is_sent_is_taken_or_refused_in_one_line(some, kind, packed, counted):
    body = b"\n".join(some)
    body = gzip.compress(body) if packed and counted else body
    shape = reading.SHAPES[kind]()
    try:
        found = read_batch([body], shape, packed=packed)
    except ReadError as error:
        said = str(error)
        assert "\n" not in said
        return
    assert found.rows.num_rows == found.report.kept <= found.report.rows
    assert all("\n" not in str(one) for one in found.faults)
    found.rows.validate(full=True)


@given(st.lists(_ROWS.map(lambda row: json.dumps(row).encode()), min_size=1, max_size=3))
def test_rows_are_judged_alike_alone_and_among_good_ones(some):
    plain = events(0, 3).splitlines()
    alone = [read_batch([line], EventRows()) for line in some]
    together = read_batch([b"\n".join([*plain, *some])], EventRows())

    assert together.rows.num_rows == 3 + sum(one.rows.num_rows for one in alone)
    assert together.rows.slice(3).to_pylist() == [row for one in alone for row in one.rows.to_pylist()]
