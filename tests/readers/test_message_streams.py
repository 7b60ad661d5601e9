"""Packetstreams: every byte is part of a message, of a tag, or skipped for a reason."""

from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragnarok_bytes as ro
import ragnarok_reference as reference
from gamewarden.readers.ragnarok.message_table import Entry, MessageTable
from gamewarden.readers.ragnarok.report import CUT_OFF, REASONS
from gamewarden.readers.ragnarok.streams import MessageFile
from gamewarden.readers.ragnarok.thesis_profile import thesis_profile
from gamewarden.tables import MESSAGES

AT = 1_794_767_736_440_533
PROFILE = thesis_profile()
# Beside the thesis' packets: one without bytes, one of a single byte, and one that could be the start of a tag.
ODD = MessageTable(
    "odd", {**PROFILE.entries, 0x0216: Entry(0x0216, 0), 0x0217: Entry(0x0217, 1), 0x4D41: Entry(0x4D41, 3)}
)


def read(data, db=PROFILE, *, step=None, batch=1 << 16, strict=False):
    """The messages, and the report."""
    stream = MessageFile(ro.Given(data, step), db, strict=strict, batch=batch)
    return ro.decoded(stream), stream.report


def times(frame):
    return frame["at"].to_physical().to_list()


def test_the_dump_of_the_thesis_is_twelve_messages_and_one_cut_off():
    frame, report = read(ro.DUMP)

    assert len(ro.DUMP) == 98
    assert [f"{identity:X}" for identity in frame["id"]] == [
        *["9B", "21D", "7D", "89", "14D", "14F", "14F", "14F", "89", "89", "89", "89"]
    ]
    assert set(frame["actor"]) == {"2000002"}
    assert set(frame["character"]) == {"150002"}
    assert frame["at"].null_count() == 12
    assert report.skipped == {CUT_OFF: 4}
    assert report.taken == 94


def test_the_parts_of_the_dump_stand_where_the_profile_says():
    ticks, place = [], 0
    connect = PROFILE.entries[0x9B].fields
    for identity, size in read(ro.DUMP)[0].select("id", "size").iter_rows():
        if identity == 0x89:
            ticks.append(int.from_bytes(ro.DUMP[place + 4 : place + 8], "little"))
        place += size
    numbers = {name: int.from_bytes(ro.DUMP[at : at + 4], "little") for name, at in connect.items()}

    assert (numbers["login"], numbers["tick"], ro.DUMP[connect["sex"]]) == (0x4ED54174, 209_823_716, 1)
    assert ticks == [209_825_595, 209_837_603, 209_849_605, 209_861_607, 209_873_608]


def test_three_bytes_hold_a_place():
    frame, _ = read(bytes([0xA7, 0, 9, 9, 9, 37, 140, 128]))

    assert frame.select("x", "y").row(0) == (150, 200)


@pytest.mark.parametrize("place", [(0, 0), (1023, 1023), (1, 1022), (512, 3)])
def test_every_place_comes_back_whatever_stands_beside_it(place):
    frame, _ = read(ro.walk(*place, junk=255))

    assert frame.select("x", "y").row(0) == place


def test_the_action_is_byte_18_and_the_next_message_is_not_shifted():
    frame, report = read(ro.action(7, target=110_014) + ro.action(0) + ro.take(5))

    assert frame["action"].to_list() == [7, 0, None]
    assert frame["target"].to_list() == [110_014, 110_014, 5]
    assert not report.skipped


SENT = [ro.connect(), ro.walk(150, 200), ro.whisper(b"ADAM is here"), ro.take(9), ro.tick(), ro.loaded()]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"".join(ro.tag(AT + i) + m for i, m in enumerate(SENT)), [AT + i for i in range(6)]),
        (ro.tag(AT) + b"".join(SENT[:3]) + ro.tag(AT + 9) + b"".join(SENT[3:]), [AT] * 3 + [AT + 9] * 3),
        (ro.tag(AT) + ro.tag(AT + 5) + b"".join(SENT), [AT + 5] * 6),
        (b"".join(SENT), [None] * 6),
        (SENT[0] + ro.tag(AT) + b"".join(SENT[1:]) + ro.tag(AT + 1), [None] + [AT] * 5),
    ],
    ids=["before each", "before several", "doubled", "none", "late and last"],
)
@pytest.mark.parametrize("step", [None, 1, 5])
def test_messages_come_back_with_their_times_wherever_tags_stand(data, expected, step):
    frame, report = read(data, step=step, batch=2)

    assert frame["function"].to_list() == ["wanttoconnection", "walktoxy", "wis", "takeitem", "ticksend", "loadendack"]
    assert times(frame) == expected
    assert report.bytes == len(data)
    assert not report.skipped


def test_a_time_is_seconds_and_microseconds_since_1970():
    frame, _ = read(ro.tag(AT) + ro.loaded())

    assert frame["at"][0] == datetime(2026, 11, 15, 18, 35, 36, 440_533, tzinfo=UTC)


def test_each_connect_message_begins_a_session_and_what_comes_before_has_no_account():
    frame, report = read(ro.tick() + ro.connect(1, 11) + ro.tick() + ro.connect(2, 22) + ro.connect(2, 22), batch=2)

    assert frame["session"].to_list() == [0, 1, 1, 2, 3]
    assert frame["actor"].to_list() == [None, "1", "1", "2", "2"]
    assert frame["character"].to_list() == [None, "11", "11", "22", "22"]
    assert (report.messages, report.sessions) == (5, 4)


def test_a_lenient_reading_goes_on_at_the_next_tag_and_a_strict_one_ends():
    data = ro.tag(AT) + ro.tick() + b"\xff\xff\1\2\3" + ro.tag(AT + 1) + ro.tick()

    lenient, counted = read(data)
    strict, ended = read(data, strict=True)

    assert (lenient.height, strict.height) == (2, 1)
    assert counted.skipped == {REASONS[3]: 5}
    assert ended.skipped == {REASONS[3]: 5 + 12 + 8}
    assert (counted.resumed, ended.resumed) == (1, 0)
    assert counted.lines()[0].endswith("resumed 1 time")
    assert "id 0xffff at byte 20 is not in the message table" in counted.lines()[-1]


def test_an_id_the_built_in_profile_lacks_asks_for_the_servers_table_and_one_a_named_table_lacks_does_not():
    _, unnamed = read(ro.tick() + b"\xff\xff")
    _, named = read(ro.tick() + b"\xff\xff", ODD)
    _, lengthy = read(b"\x96\0\0\0")

    assert unnamed.lines()[-1].endswith("is not in the message table; name the server's table with --packet-db")
    assert named.lines()[-1].endswith("is not in the message table")
    assert lengthy.lines()[-1].endswith("has a length no message can have")


def test_the_mark_that_ends_a_stream_ends_it_in_either_mode():
    data = ro.tick() + b"\0\0" + ro.tag(AT) + ro.tick()

    for strict in (False, True):
        frame, report = read(data, strict=strict)
        assert frame.height == 1
        assert report.skipped == {REASONS[2]: 22}
        assert report.problem is None


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"\x16\x02" + bytes(8), REASONS[4]),
        (b"\x17\x02" + bytes(8), REASONS[5]),
        (b"\x96\x00\x03\x00", REASONS[5]),
        (b"\x96\x00\x00\x00", REASONS[5]),
    ],
    ids=["no length", "one byte", "dynamic of 3", "dynamic of 0"],
)
def test_a_length_no_message_can_have_never_loops(bad, reason):
    frame, report = read(bad + ro.tag(AT) + ro.tick(), ODD)

    assert frame.height == 1
    assert report.skipped == {reason: len(bad)}


def test_a_length_above_32767_is_not_negative():
    long = b"\x96\x00" + (40_000).to_bytes(2, "little") + b"x" * 39_996

    frame, report = read(long + ro.tick())

    assert frame["size"].to_list() == [40_000, 8]
    assert not report.skipped


@pytest.mark.parametrize("cut", range(1, 26))
def test_a_message_that_is_cut_off_is_counted_and_everything_before_it_kept(cut):
    frame, report = read(ro.tick() + ro.connect()[:cut], step=3)

    assert frame.height == 1
    assert report.skipped == {CUT_OFF: cut}


def test_a_stream_that_was_cut_off_and_goes_on_is_picked_up_again():
    whisper = b"\x96\x00\xff\xff" + b"x" * 40

    frame, report = read(ro.tag(AT) + whisper + ro.tag(AT + 1) + ro.tick())

    assert frame["function"].to_list() == ["ticksend"]
    assert report.skipped == {CUT_OFF: 44}


def test_parts_beyond_the_end_of_a_message_are_not_told():
    short = MessageTable(
        "short", {0x0190: Entry(0x0190, 10, "actionrequest", (5, 18)), 0x9B: Entry(0x9B, 4, "wanttoconnection", (4, 9))}
    )

    frame, _ = read(b"\x9b\x00\x00\x00" + b"\x90\x01" + bytes(8), short)

    assert frame["actor"].to_list() == [None, None]
    assert frame["action"].to_list() == [None, None]
    assert frame["target"].to_list() == [None, 0]


PIECES = st.one_of(
    st.builds(ro.tag, st.integers(0, 2**32 * 1_000_000 - 1)),
    st.builds(ro.connect, st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)),
    st.builds(ro.walk, st.integers(0, 1023), st.integers(0, 1023), st.integers(0, 255)),
    st.builds(ro.take, st.integers(0, 2**32 - 1)),
    st.builds(ro.action, st.integers(0, 255)),
    st.builds(ro.whisper, st.binary(max_size=40)),
    st.just(ro.loaded()),
    st.just(ro.face()),
    st.just(ro.tick()),
    st.binary(max_size=6),
    st.sampled_from([b"AD", b"ADAM", b"\x16\x02", b"\x17\x02", b"\0\0", b"\x96\0", b"\x41\x4d"]),
)


@given(st.lists(PIECES, max_size=30), st.sampled_from([None, 1, 7]), st.sampled_from([1, 3, 64]), st.booleans())
def test_the_kernel_reads_what_the_plain_reader_reads(pieces, step, batch, strict):
    data = b"".join(pieces)
    expected, tags, taken, skipped = reference.parse(data, ODD, strict=strict)

    frame, report = read(data, ODD, step=step, batch=batch, strict=strict)

    rows = frame.with_columns(pl.col("at").to_physical(), pl.col("actor", "character").cast(pl.Int64))
    shown = [name for name in MESSAGES.columns if name not in ("stream", "client", "amount")]
    assert rows.select(shown).to_dicts() == [{name: row[name] for name in shown} for row in expected]
    assert (report.tags, report.taken, report.skipped) == (tags, taken, skipped)
    assert report.bytes == len(data)


def test_the_columns_asked_for_come_in_the_order_asked_for():
    stream = MessageFile(ro.Given(ro.walk(1, 2)), PROFILE)

    (batch,) = stream.batches(("y", "x", "function"))

    assert batch.schema.names == ["y", "x", "function"]
    assert batch.to_pylist() == [{"y": 2, "x": 1, "function": "walktoxy"}]


def test_memory_does_not_grow_with_the_stream():
    import resource

    data = b"".join(ro.tag(AT) + ro.walk(1, 2) for _ in range(50))
    stream = MessageFile(ro.Given(data * 20), PROFILE)
    for _ in stream.batches(("x", "y")):
        pass
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    long = MessageFile(ro.Given(data * 20_000), PROFILE)
    rows = sum(batch.num_rows for batch in long.batches(("x", "y")))

    assert rows == 1_000_000
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert growth < len(data) * 20_000 + (24 << 20)  # the stream itself stands in memory here, and a few batches
