"""Messages from captures: segments in any order, twice, split or lost give the messages that can be known."""

import random

import numpy as np
import polars as pl
import pytest

import ragnarok_bytes as ro
from capture_bytes import AT, CLIENT, SERVER, ethernet, ipv4, pcap, tcp, udp
from gamewarden.errors import ConfigError
from gamewarden.readers.captures.tcp_streams import MOST_HELD, MOST_HELD_BYTES, Assembly
from gamewarden.readers.ragnarok.captures import MessageCapture
from gamewarden.readers.ragnarok.report import AFTER_LOSS, CUT_OFF, JOINED, REASONS, REUSED
from gamewarden.readers.ragnarok.thesis_profile import thesis_profile
from message_frames import FIRST, PORT, cut, frames_of, play, segment

SECOND = 1_000_000
SAID = ("id", "x", "y", "target", "action", "size")


def read(frames, *, strict=False, batch=1 << 16, captured=None, ports=(PORT,)):
    """The messages of frames a second apart, and the report."""
    origin = ro.Given(pcap(frames, captured=captured))
    stream = MessageCapture(origin, thesis_profile(), ports, strict=strict, batch=batch)
    return ro.decoded(stream), stream.report


def said(frame):
    return frame.select(SAID).rows()


def test_a_message_has_the_time_of_the_segment_that_holds_its_last_byte():
    whole = ro.connect() + ro.walk(150, 200) + ro.take(7)

    frame, report = read(frames_of([(0, whole[:10]), (10, whole[10:30]), (30, whole[30:])]))

    assert frame["function"].to_list() == ["wanttoconnection", "walktoxy", "takeitem"]
    assert [at - AT for at in frame["at"].to_physical()] == [2 * SECOND, 3 * SECOND, 3 * SECOND]
    assert set(frame["client"]) == {f"{CLIENT}:50000"}
    assert (report.taken, report.skipped, report.lost) == (42, {}, 0)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("first", [FIRST, 2**32 - 300], ids=["plain", "numbers wrap"])
def test_shuffled_doubled_split_and_overlapping_segments_give_the_same_messages(seed, first):
    draw, messages = random.Random(seed), play(seed)  # noqa: S311 - made-up play, not a secret
    data = b"".join(messages)
    expected = said(read(frames_of([(0, data)]))[0])
    pieces = cut(data, draw)
    pieces += [draw.choice(pieces) for _ in range(30)]
    pieces += [(max(place - 5, 0), data[max(place - 5, 0) : place + 30]) for place, _ in draw.sample(pieces, 20)]
    order = sorted(range(len(pieces)), key=lambda n: pieces[n][0] + draw.uniform(0, 200))

    frame, report = read(frames_of([pieces[n] for n in order], first=first), batch=draw.choice([3, 50, 10_000]))

    assert said(frame) == expected
    assert len(expected) == len(messages)
    assert (report.taken, report.skipped, report.lost, report.problem) == (len(data), {}, 0, None)


@pytest.mark.parametrize("seed", range(20))
def test_a_lost_segment_loses_its_messages_and_no_others_for_long(seed):
    draw, messages = random.Random(seed), play(seed)  # noqa: S311 - made-up play, not a secret
    pieces, place = [], 0
    for message in messages:
        pieces.append((place, message))
        place += len(message)
    lost = draw.randrange(1, len(pieces) - 5)

    frame, report = read(frames_of(pieces[:lost] + pieces[lost + 1 :]))

    everything = said(read(frames_of(pieces))[0])
    assert said(frame) == everything[:lost] + everything[lost + 1 :]
    assert report.lost == len(pieces[lost][1])
    assert (report.resumed, report.skipped) == (1, {})
    assert "bytes were not captured" in report.problem


@pytest.mark.parametrize("seed", range(20))
def test_after_a_loss_inside_messages_every_byte_is_accounted_for(seed):
    draw, data = random.Random(seed), b"".join(play(seed))  # noqa: S311 - made-up play, not a secret
    pieces = [piece for piece in cut(data, draw) if draw.random() > 0.05 or piece[0] == 0]

    frame, report = read(frames_of(pieces))

    captured = sum(len(piece) for _, piece in pieces)
    assert report.bytes == captured
    assert report.taken == frame["size"].sum()
    assert set(report.skipped) <= {AFTER_LOSS, CUT_OFF}
    whole = said(read(frames_of([(0, data)]))[0])
    assert len(set(said(frame)) & set(whole)) == len(set(said(frame)))  # nothing was made up


def test_a_strict_reading_ends_a_connection_at_a_loss_and_counts_the_rest():
    pieces = [(0, ro.connect()), (26, ro.walk(1, 2)), (42, ro.walk(3, 4)), (50, ro.take())]

    frame, report = read(frames_of(pieces), strict=True)

    assert frame.height == 2
    assert (report.lost, report.skipped) == (8, {AFTER_LOSS: 16})


def test_an_id_nobody_knows_skips_to_the_next_segment_that_begins_like_a_message():
    pieces = [(0, ro.connect() + b"\xff\xff\xff"), (29, b"\xee" * 9), (38, ro.walk(1, 2) + ro.take())]

    frame, report = read(frames_of(pieces))

    assert frame["function"].to_list() == ["wanttoconnection", "walktoxy", "takeitem"]
    assert report.skipped == {REASONS[3]: 12}
    assert "id 0xffff" in report.problem
    assert report.problem.endswith("name the server's table with --packet-db")


def test_a_connection_joined_midway_begins_with_the_first_whole_message():
    pieces = [(0, ro.whisper(b"\xfe" * 30)[20:]), (38, ro.walk(1, 2)), (46, ro.take())]

    frame, report = read(frames_of(pieces, syn=False))

    assert frame["function"].to_list() == ["walktoxy", "takeitem"]
    assert frame["actor"].null_count() == 2
    assert report.skipped == {JOINED: 38}


def test_a_snap_length_loses_what_it_cuts_off():
    frames = frames_of([(0, ro.connect()), (26, ro.whisper(b"x" * 90)), (144, ro.walk(1, 2)), (152, ro.take())])

    frame, report = read(frames, captured=100)

    assert frame["function"].to_list() == ["wanttoconnection", "walktoxy", "takeitem"]
    assert report.lost == 118 - (100 - 54)
    assert report.skipped == {AFTER_LOSS: 100 - 54}


def test_a_new_connection_on_the_same_port_is_a_stream_of_its_own():
    frames = [*frames_of([(0, ro.connect(1, 11) + b"\xa7\0")]), *frames_of([(0, ro.connect(2, 22))], first=90_000)]

    frame, report = read(frames)

    assert frame["stream"].to_list() == [0, 1]
    assert frame["actor"].to_list() == ["1", "2"]
    assert report.skipped == {CUT_OFF: 2}


def test_the_same_syn_twice_begins_nothing_anew():
    frames = frames_of([(0, ro.connect()), (26, ro.tick())])

    frame, report = read([frames[0], frames[0], frames[1], frames[0], frames[2]])

    assert (frame.height, report.sessions, report.skipped) == (2, 1, {})


def test_a_new_connection_with_the_number_of_the_one_before_is_counted_where_its_bytes_are_dropped():
    first, second = frames_of([(0, ro.connect(1, 11) + ro.walk(1, 2))]), frames_of([(0, ro.connect(2, 22))])

    frame, report = read([*first, *second])

    assert frame["actor"].to_list() == ["1", "1"]
    assert report.skipped == {REUSED: len(ro.connect())}
    assert (
        "26 bytes skipped of a connection that began with the sequence number of the one before" in report.lines()[-1]
    )


def test_only_the_clients_side_of_the_games_port_is_read():
    other = [
        segment(50, ro.walk(9, 9), server=80),
        ethernet(ipv4(tcp(PORT, 50_000, 9) + ro.walk(9, 9), SERVER, CLIENT)),
        ethernet(ipv4(udp(50_000, PORT, 8), protocol=17)),
    ]

    frame, report = read([*other, *frames_of([(0, ro.connect())])])

    assert frame["function"].to_list() == ["wanttoconnection"]
    assert any("of other ports" in line for line in report.lines())


def test_two_clients_are_told_apart_and_sessions_have_numbers_of_their_own():
    frames = [segment(1, ro.connect(n, n + 1), port=40_000 + n) for n in range(5)]
    frames += [segment(27, ro.walk(n + 1, 9), port=40_000 + n) for n in range(5)]

    frame, _ = read(frames, batch=2)

    assert frame.group_by("session").agg(pl.col("actor").n_unique())["actor"].to_list() == [1] * 5
    assert frame.filter(pl.col("x").is_not_null()).select("actor", "x").sort("x").rows() == [
        (str(n), n + 1) for n in range(5)
    ]


def test_a_capture_without_a_port_is_refused():
    with pytest.raises(ConfigError, match="--server-port"):
        MessageCapture(ro.Given(b""), thesis_profile(), ())


def test_what_waits_behind_a_hole_does_not_wait_for_the_end():
    count = 70_000  # more than are read at a time
    pieces = [(8 * n, ro.walk(1, 2)) for n in range(count) if n != 1]
    stream = MessageCapture(ro.Given(pcap(frames_of(pieces))), thesis_profile(), (PORT,))
    batches = stream.batches(("id",))

    first = next(batches)

    assert stream.report.lost == 8
    assert first.num_rows + sum(batch.num_rows for batch in batches) == count - 1


@pytest.mark.parametrize(("pieces", "size"), [(MOST_HELD + 1, 8), (5, MOST_HELD_BYTES // 4)], ids=["many", "large"])
def test_only_so_much_waits_behind_a_hole(pieces, size):
    assembly = Assembly()
    assembly.begin(0, opened=True)

    full = []
    for number in range(pieces):
        assembly.take(8 + number * size, np.zeros(size, np.uint8), 0)
        full.append(assembly.overfull)

    assert full == [False] * (pieces - 1) + [True]
    assert assembly.give_up() == 8
    assert (assembly.overfull, assembly.holds) == (False, False)


@pytest.mark.parametrize("order", ["forward", "backward"])
def test_a_hundred_open_holes_in_a_clients_stream_lose_nothing(order):
    messages = play(3, count=200)
    places = np.cumsum([0, *(len(message) for message in messages)]).tolist()
    pieces = list(zip(places[:-1], messages, strict=True))
    late = pieces[1::2]

    frame, report = read(frames_of([*pieces[::2], *(late if order == "forward" else late[::-1])]))

    assert len(late) >= 100
    assert said(frame) == said(read(frames_of(pieces))[0])
    assert (report.lost, report.skipped) == (0, {})
