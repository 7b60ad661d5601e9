"""The traffic test: what the paper and the specification say, packet by packet."""

import os
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.core.durations import MINUTE, SECOND
from gamewarden.core.trees import Tree
from gamewarden.errors import MeasureError
from gamewarden.features.traffic.kernel import PLAYER, Dictionary, Door, Known, Packets, _hash, _meet
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.tables import TRAFFIC, FramePackets, csv_text
from packets_made_up import START, client, mixture, packet_frame
from traffic_reference import correlation, windows_as_they_complete

TABLE_II = TrafficTest()
ALTERNATING = [20, 50] * 10
RAMP = list(range(10, 30))
BLOCKS = ([20] * 5 + [60] * 5) * 2
TRIPLES = ([14, 14, 38] * 7)[:20]
SMALL = TrafficTest(win=6, acn=2, acv=2, dlrt2=3)


def measured(frame, test=TABLE_II, batch=1 << 16):
    return test.measure(FramePackets(frame, batch))


def one_window(frame, test=TABLE_II):
    return measured(frame, test).row(0, named=True)


def by_hand(frame, test=TABLE_II):
    packets = frame.select("actor", pl.col("at").cast(pl.Int64), "up", "size").rows()
    return windows_as_they_complete(test, packets)


def online(frame, test, sizes):
    """The windows of the live half, fed with batches of these sizes in turn."""
    table = next(iter(FramePackets(frame, max(frame.height, 1)).batches()), None)
    fold, parts, begin, turn = test.live(), [pl.DataFrame(schema=dict(TRAFFIC.columns))], 0, 0
    while table is not None and begin < table.num_rows:
        parts.append(fold.push(table.slice(begin, sizes[turn % len(sizes)])).frame())
        begin, turn = begin + sizes[turn % len(sizes)], turn + 1
    return pl.concat(parts)


# Test A: autocorrelation of lengths (§1.4)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (ALTERNATING, -1.0),
        (RAMP, 1.0),
        (BLOCKS, 0.6888888888888889),
        (TRIPLES, -0.46153846153846156),
        ([33] * 20, None),
    ],
)
def test_the_golden_sub_windows_have_their_correlation(sizes, expected):
    assert correlation(sizes) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("sizes", "expected"), [(ALTERNATING, -1.0), (RAMP, 1.0), (BLOCKS, 0.68888), (TRIPLES, -0.46153)]
)
def test_the_kernel_votes_as_the_golden_correlations_say(sizes, expected):
    for threshold in (-0.99, expected - 1e-3, expected + 1e-3, 0.99):
        test = replace(TABLE_II, acthr=max(-1.0, min(1.0, threshold)))

        assert one_window(client(sizes * 5), test)["votes"] == (5 if expected < test.acthr else 0)


def test_a_correlation_exactly_on_the_threshold_says_human():
    assert one_window(client(ALTERNATING * 5), replace(TABLE_II, acthr=-1.0))["votes"] == 0
    assert one_window(client(ALTERNATING * 5), replace(TABLE_II, acthr=float(np.nextafter(-1.0, 0))))["votes"] == 5


def test_three_votes_of_five_say_bot_and_two_say_human():
    three = one_window(client(ALTERNATING * 3 + RAMP * 2))
    two = one_window(client(ALTERNATING * 2 + RAMP * 3))

    assert (three["votes"], three["valid"], three["autocorrelation"]) == (3, 5, True)
    assert (two["votes"], two["valid"], two["autocorrelation"]) == (2, 5, False)


def test_equal_lengths_abstain_and_the_tree_hears_human():
    window = one_window(client([70] * 100))

    assert window["autocorrelation"] is None
    assert (window["votes"], window["valid"], window["bot"]) == (0, 0, False)


@pytest.mark.parametrize(("constants", "answer"), [(0, True), (1, True), (2, True), (3, None), (5, None)])
def test_at_least_half_of_the_sub_windows_must_be_able_to_vote(constants, answer):
    window = one_window(client([40] * 20 * constants + ALTERNATING * (5 - constants)))

    assert window["valid"] == 5 - constants
    assert window["autocorrelation"] is answer


@pytest.mark.parametrize(("counts_as", "votes", "answer"), [("human", 0, False), ("bot", 5, True)])
def test_a_sub_window_of_equal_lengths_can_be_told_to_vote(counts_as, votes, answer):
    window = one_window(client([70] * 100), replace(TABLE_II, abstain_as=counts_as))

    assert (window["votes"], window["valid"], window["autocorrelation"]) == (votes, 5, answer)


def test_only_the_values_of_one_side_being_equal_also_abstains():
    window = one_window(client(([40] * 19 + [41]) * 5))

    assert window["valid"] == 0


def test_no_pair_crosses_the_border_of_a_sub_window():
    ramps = client([10, 20, 30, 1, 2, 3] * 2)

    assert measured(ramps, replace(SMALL, acthr=0.9))["votes"].to_list() == [0, 0]


def test_a_tie_of_an_even_number_of_votes_says_human_and_is_warned_about():
    tie = one_window(client([10, 50, 10, 10, 20, 30]), SMALL)

    assert (tie["votes"], tie["valid"], tie["autocorrelation"]) == (1, 2, False)
    assert any("even" in warning for warning in SMALL.warnings)
    assert TABLE_II.warnings == ()


# Test B: interarrival times (§1.5)


@pytest.mark.parametrize(
    ("gaps", "regular", "peak"),
    [
        ([], True, False),
        ([2.0], True, False),
        ([2.000001], False, False),
        ([3], False, False),
        ([3, 7], False, True),
        ([3, 3, 3, 7], False, False),
        ([6.0], False, False),
        ([6.000001], False, True),
        ([3] * 7 + [7] * 3, False, False),
        ([3] * 6 + [7] * 3, False, True),
        ([3] * 14 + [7] * 6, False, False),
    ],
)
def test_the_golden_gaps_are_regular_or_peaked(gaps, regular, peak):
    window = one_window(client([40] * 100, gaps))

    assert (window["regular"], window["peak"], window["interarrival"]) == (regular, peak, regular or peak)


def test_without_a_long_gap_there_is_no_peak_even_if_none_is_needed_for_regularity():
    window = one_window(client([40] * 100), replace(TABLE_II, itrt1=0))

    assert (window["regular"], window["peak"], window["interarrival"]) == (False, False, False)


def test_the_first_window_has_99_gaps_and_the_next_one_bridges():
    over_zero = replace(TABLE_II, itthr1=0)

    assert measured(client([40] * 300), over_zero)["gaps_over_1"].to_list() == [99, 100, 100]


# Test C: data lengths (§1.6)


@pytest.mark.parametrize(
    ("sizes", "bot"),
    [
        ([40] * 100, True),
        ([60] + [40] * 99, False),
        ([59] + [40] * 99, True),
        ([55] * 6 + [50] * 94, True),
        ([55] * 7 + [50] * 93, False),
    ],
)
def test_the_golden_lengths_are_short_or_not(sizes, bot):
    assert one_window(client(sizes))["lengths"] is bot


def test_counts_of_long_packets_grow_with_the_window_only_if_told():
    twice = TrafficTest(win=200, acn=19, acv=10)
    sizes = [55] * 10 + [40] * 190

    assert one_window(client(sizes), twice)["lengths"] is False
    assert one_window(client(sizes), replace(twice, scaled=True))["lengths"] is True


# Which packets count (§1.3)


def test_a_hundred_packets_make_one_decision_and_a_thousand_make_ten():
    assert measured(client([40] * 99)).height == 0
    assert measured(client([40] * 100)).height == 1
    assert measured(client([40] * 1000))["window"].to_list() == list(range(10))


def test_replies_of_the_server_do_not_count():
    mine = client([40, 41] * 50)
    replies = mine.with_columns(
        up=pl.lit(False), size=pl.lit(1400, pl.Int32), at=pl.col("at") + pl.duration(seconds=20)
    )

    assert measured(pl.concat([mine, replies, replies])).equals(measured(mine))
    assert measured(replies).height == 0


def test_a_gap_of_600_seconds_is_a_gap_and_a_longer_one_ends_the_session():
    stays = client([40] * 100, [1.0] * 50 + [600.0])
    leaves = client([40] * 149, [1.0] * 49 + [600.000001])

    assert one_window(stays)["gaps_over_2"] == 1
    assert measured(leaves).height == 0


def test_after_a_new_session_the_unfinished_window_is_gone_and_its_first_gap_too():
    window = one_window(client([700] * 50 + [40] * 100, [1.0] * 49 + [601.0]), replace(TABLE_II, itthr1=0))

    assert window["sizes_over_1"] == 0
    assert window["gaps_over_1"] == 99
    assert window["window"] == 0


def test_windows_are_numbered_through_all_sessions():
    rows = measured(client([40] * 350, [1.0] * 149 + [601.0]))

    assert rows["window"].to_list() == [0, 1, 2]


def test_the_first_packet_of_a_new_session_begins_its_window():
    rows = measured(client([40] * 200, [1.0] * 99 + [601.0]))

    since = rows["since"].cast(pl.Int64).to_list()
    assert since == [START, START + (99 + 601) * SECOND]


def test_a_clock_that_goes_backwards_gives_gaps_of_0_and_stands_still_until_it_is_passed():
    test = replace(SMALL, itthr1=0)
    times = [0, 10, 4, 9, 10, 11]
    frame = packet_frame([("p", START + at * SECOND, True, 40 + at) for at in times])

    window = one_window(frame, test)
    assert window["gaps_over_1"] == 2
    fold = test.live()
    for batch in FramePackets(frame).batches():
        fold.push(batch)
    assert fold.tally.backwards == 2


def test_a_window_ends_no_earlier_than_it_began_whatever_the_clock_does():
    frame = packet_frame([("p", START - at * SECOND, True, 40) for at in range(6)])

    window = one_window(frame, SMALL)
    assert window["since"] == window["until"] == frame["at"][0]


# The two halves and the tree


def test_the_columns_are_those_of_the_contract():
    expected = (
        "actor,since,until,events,window,gaps_over_1,gaps_over_2,sizes_over_1,sizes_over_2,votes,valid,autocorrelation,"
        "interarrival,lengths,regular,peak,bot"
    )
    rows = measured(client(ALTERNATING * 4 + [40] * 20))

    assert csv_text(rows).splitlines() == [
        expected,
        "p,2023-11-14T22:13:20.000000Z,2023-11-14T22:14:59.000000Z,100,0,0,0,0,0,4,4,true,true,true,true,false,true",
    ]


def switches():
    yield pytest.param(TABLE_II, id="Table II")
    yield pytest.param(SMALL, id="small")
    for option in fields(TrafficTest):
        for value in option.metadata["also"]:
            yield pytest.param(replace(TABLE_II, **{option.name: value}), id=f"{option.name}={value}")
    for acn, acv in ((9, 9), (9, 11), (13, 7), (33, 3), (4, 4)):
        yield pytest.param(TrafficTest(win=acv * (acn + 1), acn=acn, acv=acv, scaled=True), id=f"acn={acn} acv={acv}")


@pytest.mark.parametrize("test", list(switches()))
def test_batch_and_online_halves_are_the_reference_bit_for_bit(test):
    frame = mixture(packets=4000)
    expected = by_hand(frame, test)

    assert expected.height > 10
    assert online(frame, test, [37, 1000]).equals(expected)
    assert measured(frame, test, batch=113).equals(expected.sort("actor", "since", "window"))


packet = st.tuples(
    st.sampled_from(["a", "b", "ab", "", "ü"]),
    st.one_of(st.integers(-3, 3), st.sampled_from([2, 6, 600])).map(lambda s: s * SECOND),
    st.booleans(),
    st.integers(0, 80),
)


@given(
    st.lists(packet, max_size=120),
    st.lists(st.integers(1, 40), min_size=1, max_size=5),
    st.sampled_from(["abstain", "human", "bot"]),
)
def test_neither_the_size_of_micro_batches_nor_the_other_players_change_a_row(packets, sizes, abstain_as):
    test = replace(SMALL, abstain_as=abstain_as)
    moments = START + np.cumsum([at for _, at, _, _ in packets] or [0])
    frame = packet_frame([(who, int(at), up, size) for (who, _, up, size), at in zip(packets, moments, strict=False)])
    expected = by_hand(frame, test)

    assert online(frame, test, sizes).equals(expected)
    assert measured(frame, test, batch=sizes[0]).equals(expected.sort("actor", "since", "window"))
    apart = [measured(frame.filter(actor=who), test) for who in sorted({who for who, *_ in packets})]
    assert pl.concat([expected.clear(), *apart]).equals(expected.sort("actor", "since", "window"))


def test_every_batch_may_bring_its_own_dictionary_or_none():
    frame = mixture()
    fold = TABLE_II.live()
    parts = []
    for at, batch in enumerate(FramePackets(frame, 100).batches()):
        names = batch.column("actor").cast(pa.string())
        actor = names.take(pa.array(range(100))).dictionary_encode() if at % 2 else names.cast(pa.large_string())
        parts.append(fold.push(batch.set_column(0, "actor", actor)).frame())

    assert pl.concat(parts).equals(by_hand(frame))


def test_players_whose_names_share_a_beginning_or_are_empty_are_kept_apart():
    names = ["", "p", "pp", "p" * 300, "P", "é", "e"]
    frame = pl.concat([client([20 + at] * 100, actor=name) for at, name in enumerate(names)]).sort("at")

    assert sorted(measured(frame)["actor"].to_list()) == sorted(names)


def test_a_hash_that_fits_is_not_believed_without_the_name():
    text = np.frombuffer(b"alicebella", np.uint8)
    names = Dictionary(text, np.array([0, 5, 10]), np.full(2, -1, np.int32))
    bella = _hash(text, 5, 10)
    table = np.zeros(1024, np.uint64)
    table[int(bella) & 1023] = (int(bella) >> 32 << 32) | 1  # where bella would be, alice is
    known = Known(table, np.array([0, 5, 0]), np.frombuffer(bytearray(b"alice....."), np.uint8))
    players = np.zeros(2, PLAYER)
    door = Door(2, 100, np.zeros(1, np.uint64), 0)
    packets = Packets(np.array([1], np.int32), np.zeros(1, np.int64), np.ones(1, np.uint8), 0, np.zeros(1, np.int32))

    assert _meet(packets, 0, names, known, 1, players, door) == (1, 2)
    assert _meet(packets, 0, names, known, 2, players, door) == (1, 2)
    assert known.text.tobytes() == b"alicebella"


def test_many_players_keep_their_own_state():
    frame = pl.concat([client([at % 90] * 6, actor=f"player {at}") for at in range(3000)]).sort(
        "at", maintain_order=True
    )

    rows = measured(frame, SMALL, batch=1000)
    assert rows.height == 3000
    long = rows.select(pl.col("actor").str.slice(7).cast(pl.Int64) % 90 > 59, over=pl.col("sizes_over_1") == 6)
    assert long["actor"].equals(long["over"].alias("actor"))


@pytest.mark.parametrize("test", [TABLE_II, TrafficTest(win=3 * 2048, acn=2047, acv=3)])
def test_the_longest_payloads_stay_exact(test):
    draw = np.random.default_rng(4)
    frame = client([int(size) for size in draw.integers(test.longest - 9, test.longest + 1, test.win)])

    assert online(frame, test, [frame.height]).equals(by_hand(frame, test))


# Real play


def test_a_person_playing_firefall_is_measured_as_the_reference_says():
    folder = os.environ.get("GAMEWARDEN_DATA")
    if not folder:
        pytest.skip("GAMEWARDEN_DATA names no folder with the real captures")
    columns = pl.read_csv(Path(folder) / "captures" / "firefall_packets.csv", schema_overrides={"t_seconds": pl.String})
    seconds = pl.col("t_seconds").cast(pl.Decimal(38, 9)) * SECOND
    frame = columns.select(
        actor="capture",
        at=seconds.floor().cast(pl.Int64).cast(pl.Datetime("us", "UTC")),
        up=pl.col("direction") == "c2s",
        size=pl.col("payload_len").cast(pl.Int32),
    )

    rows = measured(frame)
    assert rows.equals(by_hand(frame).sort("actor", "since", "window"))
    assert rows.height == 17 + 48  # 1,783 and 4,862 client packets


# Refusals


@pytest.mark.parametrize(
    "options",
    [
        {"win": 101},
        {"acn": 1, "win": 10},
        {"acv": 0, "win": 0},
        {"itthr2": SECOND},
        {"acn": 2048, "acv": 1, "win": 2049},
        {"acv": 4001, "win": 80020},
        {"abstain_as": "cheater"},
        {"session_gap": 0},
        {"dlrt2": -1},
        {"itrt2": 1.5},
        {"acthr": -2.0},
        {"itthr1": -1},
    ],
)
def test_a_profile_the_test_cannot_run_with_is_refused(options):
    with pytest.raises(MeasureError, match="traffic: "):
        TrafficTest(**options)


def test_a_session_shorter_than_a_peak_is_warned_about():
    assert "no gap can be a peak" in TrafficTest(session_gap=3 * SECOND).warnings[0]
    assert TrafficTest(session_gap=MINUTE).warnings == ()


@pytest.mark.parametrize("size", [-1, TABLE_II.longest + 1])
def test_a_size_no_payload_has_is_refused_with_its_actor_and_nothing_of_the_batch_counts(size):
    frame = client([40] * 99 + [size])
    fold = TABLE_II.live()

    with pytest.raises(MeasureError, match=f"of p at .* {size} bytes"):
        fold.push(next(FramePackets(frame).batches()))
    assert fold.tally.packets == 0


def test_the_size_of_a_reply_does_not_matter():
    replies = client([-5] * 3).with_columns(up=pl.lit(False))

    assert measured(replies).height == 0


@pytest.mark.parametrize("column", ["actor", "at", "up", "size"])
def test_a_packet_without_a_value_is_refused(column):
    batch = next(FramePackets(client([40] * 5)).batches())
    place = batch.schema.get_field_index(column)
    holed = batch.set_column(place, column, pa.nulls(5, batch.column(column).type))

    with pytest.raises(MeasureError, match=column):
        TABLE_II.live().push(holed)


def test_times_of_another_unit_are_refused():
    batch = next(FramePackets(client([40] * 5)).batches())
    coarse = batch.set_column(1, "at", batch.column("at").cast(pa.timestamp("s", "UTC"), safe=False))

    with pytest.raises(MeasureError, match="timestamp"):
        TABLE_II.live().push(coarse)


# The profile as data


def test_a_profile_comes_back_from_its_own_values():
    for parameter in switches():
        (test,) = parameter.values
        assert TrafficTest.from_dict(test.to_dict()) == test


def test_what_a_profile_does_not_say_is_as_in_table_ii():
    assert TrafficTest.from_dict({"itrt1": 2, "tree": "any"}) == replace(TABLE_II, itrt1=2, tree=Tree.named("any"))


@pytest.mark.parametrize("values", [{"foo": 1}, {"win": "100"}, {"win": 100.0}, {"tree": "oak"}, {"itrt1": True}])
def test_a_stored_profile_with_other_values_is_refused(values):
    with pytest.raises(MeasureError, match="traffic: "):
        TrafficTest.from_dict(values)


def test_every_option_has_a_sentence():
    assert all(option.metadata["says"].endswith(".") for option in fields(TrafficTest))


# Memory


def test_the_state_of_a_player_does_not_grow_over_a_million_packets():
    fold = TABLE_II.live()
    batch = next(FramePackets(client([40, 41] * 5000)).batches())
    fold.push(batch)
    before = fold.nbytes
    for _ in range(100):
        fold.push(batch)

    assert fold.tally.counted == 1_010_000
    assert fold.nbytes == before


def test_a_hundred_thousand_players_take_at_most_200_bytes_each():
    count = 100_000
    names = pa.array([f"203.0.{at >> 8}.{at & 255}:{50_000 + at % 9000}" for at in range(count)])
    batch = pa.record_batch(
        {
            "actor": pa.DictionaryArray.from_arrays(pa.array(np.arange(count, dtype=np.int32)), names),
            "at": pa.array(np.full(count, START), pa.timestamp("us", "UTC")),
            "up": pa.array(np.ones(count, np.bool_)),
            "size": pa.array(np.full(count, 40, np.int32)),
        }
    )
    fold = TABLE_II.live()
    fold.push(batch)

    assert fold.tally.players == count
    assert fold.nbytes <= 200 * count
