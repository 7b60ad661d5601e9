"""What the capture reader makes of bytes written by hand, of real captures and of pipes."""

import gzip
import io
import os
import struct
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from capture_bytes import (
    ACK,
    AT,
    CLIENT,
    FIN,
    RST,
    SERVER,
    SYN,
    block,
    down,
    enhanced,
    ethernet,
    interface,
    ipv4,
    ipv6,
    pcap,
    section,
    tcp,
    udp,
    up,
)
from capture_reading import frame_of, read, sizes
from gamewarden.errors import ConfigError, ReadError
from gamewarden.lab.world.pcap import write_pcap
from gamewarden.readers.captures import counts, kernel
from gamewarden.readers.captures import flows as flow_table
from gamewarden.readers.captures.packets import open_packets


def rows(tmp_path, data, **options):
    frame, _ = read(tmp_path, data, **options)
    return frame.rows()


ONE_UP = [(f"{CLIENT}:50000", AT, True, 30)]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanos", [False, True])
def test_pcap_is_read_in_both_byte_orders_and_both_resolutions(tmp_path, order, nanos):
    data = pcap([up(1, 30), down(1, 5)], order=order, nanos=nanos)

    assert rows(tmp_path, data) == [*ONE_UP, (f"{CLIENT}:50000", AT + 1_000_000, False, 5)]


IP4 = ipv4(tcp(50000, 3724, 1, 30))
IP6 = ipv6(tcp(50000, 3724, 1, 30))
LINKS = {
    "ethernet": (1, ethernet(IP4)),
    "vlan": (1, ethernet(IP4, tags=bytes.fromhex("81000005"))),
    "qinq": (1, ethernet(IP4, tags=bytes.fromhex("88a8000581000006"))),
    "old qinq": (1, ethernet(IP4, tags=bytes.fromhex("9100000581000006"))),
    "cooked": (113, bytes.fromhex("0004000100060200000000010000") + b"\x08\x00" + IP4),
    "cooked vlan": (113, bytes.fromhex("0004000100060200000000010000") + b"\x81\x00\x00\x05\x08\x00" + IP4),
    "cooked 2": (276, bytes.fromhex("0800000000000002000104060200000000010000") + IP4),
    "cooked 2 vlan": (276, bytes.fromhex("8100000000000002000104060200000000010000") + b"\x00\x05\x08\x00" + IP4),
    "raw": (101, IP4),
    "raw BSD": (12, IP4),
    "raw OpenBSD": (14, IP4),
    "raw IPv4": (228, IP4),
    "null little": (0, b"\x02\0\0\0" + IP4),
    "null big": (0, b"\0\0\0\x02" + IP4),
    "loop": (108, b"\0\0\0\x02" + IP4),
    "frame check bits in the link type": (0x14000001, ethernet(IP4)),
}


@pytest.mark.parametrize("name", LINKS)
def test_each_link_type_leads_to_the_same_packet(tmp_path, name):
    link, frame = LINKS[name]

    assert rows(tmp_path, pcap([frame], link)) == ONE_UP


LINKS6 = {
    "ethernet": (1, ethernet(IP6, 0x86DD)),
    "cooked": (113, bytes(14) + b"\x86\xdd" + IP6),
    "cooked 2": (276, b"\x86\xdd" + bytes(18) + IP6),
    "raw": (101, IP6),
    "raw IPv6": (229, IP6),
    **{f"null {family}": (0, struct.pack("<I", family) + IP6) for family in (10, 23, 24, 28, 30)},
    **{f"null big {family}": (0, struct.pack(">I", family) + IP6) for family in (10, 24, 30)},
    "loop": (108, struct.pack(">I", 24) + IP6),
}


@pytest.mark.parametrize("name", LINKS6)
def test_each_link_type_carries_ipv6(tmp_path, name):
    link, frame = LINKS6[name]

    assert rows(tmp_path, pcap([frame], link)) == [("[2001:db8::7]:50000", AT, True, 30)]


def test_an_unknown_link_type_and_foreign_protocols_are_counted(tmp_path):
    _, strange = read(tmp_path, pcap([b"x" * 60], link=189))
    _, mixed = read(tmp_path, pcap([ethernet(b"x" * 46, 0x0806), ethernet(ipv4(b"x" * 8, protocol=1))]))

    assert strange.counts == {"packets captured": 1, "of a link type that is not read": 1}
    assert mixed.counts == {"packets captured": 2, "not IP": 1, "neither TCP nor UDP": 1}


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("2001:db8:0:0:1:0:0:1", "[2001:db8::1:0:0:1]:50000"),
        ("::ffff:192.0.2.7", "[::ffff:192.0.2.7]:50000"),
        ("fe80::", "[fe80::]:50000"),
        ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:50000"),
        ("::192.0.2.7", "[::c000:207]:50000"),
    ],
)
def test_an_ipv6_actor_is_written_in_canonical_form(tmp_path, address, text):
    frame = ipv6(tcp(50000, 3724, 1, 30), source=address)

    assert rows(tmp_path, pcap([frame], 101)) == [(text, AT, True, 30)]


def test_flows_that_differ_in_one_word_only_are_two(tmp_path):
    ends = [("2001:db8::7", "2001:db8::1"), ("2001:db9::7", "2001:db8::1"), ("2001:db8::8", "2001:db8::1")]
    servers = [("2001:db8::7", "2001:db8::2"), ("2001:db8::7", "2001:db9::1")]
    frames = [ipv6(tcp(50000, 3724, 1, 30), *pair) for pair in ends + servers]
    frames += [ipv6(udp(50000, 3724, 30), protocol=17), ipv6(tcp(50001, 3724, 1, 30))]

    assert len(rows(tmp_path, pcap(frames, 101))) == 7  # none is taken for another's retransmission


def test_the_same_bits_as_ipv4_and_ipv6_are_two_actors(tmp_path):
    v4 = ipv4(tcp(50000, 3724, 1, 30), "0.0.0.1", "0.0.0.2")
    v6 = ipv6(tcp(50000, 3724, 1, 30), "::1", "::2")

    assert [row[0] for row in rows(tmp_path, pcap([v4, v6], 101))] == ["0.0.0.1:50000", "[::1]:50000"]


def test_payload_length_comes_from_the_ip_header(tmp_path):
    padded = ethernet(ipv4(tcp(50000, 3724, 1, 3)) + b"\0" * 20)
    with_options = ethernet(ipv4(tcp(50000, 3724, 4, 7, options=b"\1" * 12), options=b"\1" * 8))
    whole = ethernet(ipv4(tcp(50000, 3724, 11, 1400)))

    assert sizes(tmp_path, [padded, with_options, whole]) == [3, 7, 1400]
    assert rows(tmp_path, pcap([whole], captured=68))[0][3] == 1400


def test_a_total_length_of_zero_means_that_the_card_splits_the_segment(tmp_path):
    offloaded = ethernet(ipv4(tcp(50000, 3724, 1, 3000), total=0))
    offloaded6 = ethernet(ipv6(tcp(50000, 3724, 1, 3000), length=0), 0x86DD)

    assert sizes(tmp_path, [offloaded, offloaded6]) == [3000, 3000]
    assert [row[3] for row in rows(tmp_path, pcap([offloaded, offloaded6], captured=96))] == [3000, 3000]


def test_headers_beyond_the_snap_length_are_counted(tmp_path):
    for captured in (13, 20, 33, 47):
        frame, report = read(tmp_path, pcap([up(1, 30)], captured=captured))

        assert frame.height == 0
        assert report.counts == {"packets captured": 1, "cut off inside their headers": 1}
    assert read(tmp_path, pcap([up(1, 30)], captured=48))[0].height == 1


def test_contradicting_headers_are_counted_and_never_misread(tmp_path):
    frames = [
        ethernet(ipv4(tcp(50000, 3724, 1, 30), total=19)),
        ethernet(ipv4(tcp(50000, 3724, 1, 30), total=39)),
        ethernet(b"\x44" + IP4[1:]),
        ethernet(ipv4(tcp(50000, 3724, 1, 30)[:12] + b"\x40" + tcp(50000, 3724, 1, 30)[13:])),
        ethernet(ipv4(udp(1, 2, 9, length=7), protocol=17)),
        ethernet(ipv4(udp(1, 2, 9, length=18), protocol=17)),
        ethernet(b"\x65" + IP4[1:]),
    ]
    frame, report = read(tmp_path, pcap(frames))

    assert frame.height == 0
    assert report.counts == {"packets captured": 7, "with headers that contradict themselves": 7}


def test_a_fragmented_datagram_counts_once_with_its_whole_length(tmp_path):
    whole = udp(50000, 3724, 3000)
    first = ethernet(ipv4(whole[:1480], protocol=17, fragment=0x2000))
    # What stands where ports would stand must not be read as ports.
    second = ethernet(ipv4(struct.pack(">HH", 50001, 3724) + whole[1484:2960], protocol=17, fragment=0x2000 | 185))
    last = ethernet(ipv4(whole[2960:], protocol=17, fragment=370))
    frame, report = read(tmp_path, pcap([first, second, last]), server_ports=[3724])

    assert frame.rows() == [(f"{CLIENT}:50000", AT, True, 3000)]
    assert report.counts["later fragments, without ports"] == 2


def test_ipv6_extension_headers_are_stepped_over(tmp_path):
    body = udp(50000, 3724, 30)
    hop = bytes([60, 1]) + bytes(14)
    options = bytes([43, 0]) + bytes(6)
    routing = bytes([51, 0]) + bytes(6)
    auth = bytes([44, 4]) + bytes(22)
    fragment = struct.pack(">BBHI", 17, 0, 1, 7)
    chain = hop + options + routing + auth + fragment + body
    later = struct.pack(">BBHI", 17, 0, 185 << 3, 7) + b"x" * 40
    frame, report = read(
        tmp_path,
        pcap([ipv6(chain, protocol=0), ipv6(later, protocol=44), ipv6(b"", protocol=59, length=None)], 229),
    )

    assert frame.rows() == [("[2001:db8::7]:50000", AT, True, 30)]
    assert report.counts["later fragments, without ports"] == 1
    assert report.counts["neither TCP nor UDP"] == 1


def test_an_endless_chain_of_extension_headers_is_refused(tmp_path):
    chain = (bytes([60, 0]) + bytes(6)) * 40 + udp(50000, 3724, 30)
    past_the_end = bytes([17, 200]) + bytes(6)
    _, report = read(tmp_path, pcap([ipv6(chain, protocol=60), ipv6(past_the_end, protocol=0)], 229))

    assert report.counts == {"packets captured": 2, "with headers that contradict themselves": 2}


def test_retransmissions_and_captured_duplicates_are_dropped_and_partial_ones_cut(tmp_path):
    frames = [up(100, 10), up(100, 10), up(110, 5), up(100, 15), up(110, 20), down(7, 9), down(7, 9)]
    frame, report = read(tmp_path, pcap(frames))

    assert [row[3] for row in frame.rows()] == [10, 5, 15, 9]
    assert report.counts["TCP retransmissions or captured duplicates"] == 3
    assert report.counts["delivered with only their new bytes"] == 1


def test_segments_that_fill_a_hole_are_new_data(tmp_path):
    assert sizes(tmp_path, [up(0, 10), up(30, 10), up(20, 10), up(10, 10), up(10, 10), up(0, 40), up(40, 1)]) == [
        10,
        10,
        10,
        10,
        1,
    ]
    # A hole filled from its middle leaves two; a segment over everything brings what is left.
    assert sizes(tmp_path, [up(0, 10), up(40, 10), up(20, 5), up(5, 50)]) == [10, 10, 5, 30]


def test_sequence_numbers_wrap_around(tmp_path):
    start = 2**32 - 15

    assert sizes(tmp_path, [up(start, 10), up(start + 10, 10), up(start + 20, 10), up(start + 5, 20)]) == [10, 10, 10]
    assert sizes(tmp_path, [up(start, 10), up(start + 20, 10), up(start + 10, 10), up(start, 30)]) == [10, 10, 10]


def test_keep_alives_and_empty_segments_are_not_counted(tmp_path):
    frames = [up(99, 0, SYN), down(9, 0, SYN | ACK), up(100, 0, ACK), up(100, 10), up(109, 1), up(109, 0, ACK)]
    ending = [up(110, 0, FIN), down(10, 0, RST)]

    assert sizes(tmp_path, frames + ending) == [10]
    assert sizes(tmp_path, frames + ending, include_empty=True) == [0, 0, 0, 10, 0, 0, 0]


def test_udp_is_never_deduplicated(tmp_path):
    frame = ethernet(ipv4(udp(50000, 3724, 12), protocol=17))
    empty = ethernet(ipv4(udp(50000, 3724, 0), protocol=17))

    assert sizes(tmp_path, [frame, frame, empty]) == [12, 12]


def test_a_new_connection_on_the_same_ports_starts_afresh(tmp_path):
    first = [up(1000, 0, SYN), down(2000, 0, SYN | ACK), up(1001, 10), down(2001, 20), up(1011, 0, FIN)]
    # Its numbers lie behind those of the first: without a reset all would be retransmissions.
    second = [up(500, 0, SYN), up(500, 0, SYN), down(1990, 0, SYN | ACK), up(501, 10), down(1991, 10)]
    late = [up(500, 0, SYN), up(501, 10), down(1990, 0, SYN | ACK), down(1991, 10)]

    assert sizes(tmp_path, first + second + late) == [10, -20, 10, -10]


def test_a_new_connection_starts_the_servers_side_afresh_even_if_its_answer_was_missed(tmp_path):
    first = [up(1000, 0, SYN), down(2000, 0, SYN | ACK), up(1001, 10), down(2001, 20)]

    assert sizes(tmp_path, [*first, up(5000, 0, SYN), down(1500, 30), up(5001, 4)]) == [10, -20, -30, 4]


def test_a_far_jump_is_a_new_connection_whose_syn_was_missed(tmp_path):
    assert sizes(tmp_path, [up(2**31, 10), up(5, 10), up(5, 10), up(15, 10), up(2**30, 10)]) == [10, 10, 10, 10]


def test_data_in_the_syn_counts(tmp_path):
    assert sizes(tmp_path, [up(99, 12, SYN), up(99, 12, SYN), up(112, 3)]) == [12, 3]


def test_direction_comes_from_the_syn_even_against_the_port_numbers(tmp_path):
    odd = {"source": SERVER, "target": CLIENT}
    syn = ethernet(ipv4(tcp(3724, 50000, 1, 0, SYN), **odd))
    answer = ethernet(ipv4(tcp(50000, 3724, 1, 0, SYN | ACK)))
    data = ethernet(ipv4(tcp(3724, 50000, 2, 8), **odd))

    for opening in ([syn], [answer]):
        frame, report = read(tmp_path, pcap([*opening, data]))

        assert frame.rows() == [(f"{SERVER}:3724", AT + 1_000_000, True, 8)]
        assert not any("without a captured SYN" in words for words in report.counts)


def test_without_a_syn_the_lower_port_is_the_server_and_the_report_says_so(tmp_path):
    frame, report = read(tmp_path, pcap([down(5, 8), up(5, 9)]))

    assert [row[2] for row in frame.rows()] == [False, True]
    assert report.counts["flows without a captured SYN, the lower port taken as the server"] == 1


def test_with_equal_ports_who_speaks_first_is_the_client(tmp_path):
    first = ethernet(ipv4(udp(7777, 7777, 5), SERVER, CLIENT, protocol=17))
    second = ethernet(ipv4(udp(7777, 7777, 6), protocol=17))

    assert rows(tmp_path, pcap([first, second])) == [
        (f"{SERVER}:7777", AT, True, 5),
        (f"{SERVER}:7777", AT + 1_000_000, False, 6),
    ]


def test_server_ports_choose_flows_and_direction_whatever_the_syn_says(tmp_path):
    frames = [down(1, 0, SYN), up(5, 9), down(5, 8), ethernet(ipv4(tcp(50000, 80, 1, 30)))]
    frame, report = read(tmp_path, pcap(frames), server_ports=[3724, 3725])

    assert [row[2:] for row in frame.rows()] == [(True, 9), (False, 8)]
    assert report.counts["of other ports"] == 1
    assert sizes(tmp_path, frames, server_ports=[3724], only_up=True) == [9]
    assert sizes(tmp_path, [*frames[:3], frames[2]], only_up=True) == [8]


def test_a_port_of_zero_is_a_port(tmp_path):
    frame = ethernet(ipv4(udp(0, 3724, 5), "0.0.0.0", "0.0.0.0", protocol=17))  # noqa: S104 - an address in a packet

    assert rows(tmp_path, pcap([frame]), server_ports=[3724]) == [("0.0.0.0:0", AT, True, 5)]


def test_a_port_that_is_none_is_refused(tmp_path):
    (tmp_path / "a.pcap").write_bytes(pcap([]))

    with pytest.raises(ConfigError, match="server port 70000 is not between 0 and 65535"):
        open_packets(tmp_path / "a.pcap", server_ports=[70000])


def test_pcapng_reads_each_interface_in_its_own_resolution(tmp_path):
    data = (
        section()
        + interface()
        + interface(101, resolution=9)
        + interface(resolution=0x80 | 32, shift=-5)
        + enhanced(up(0, 1), AT)
        + enhanced(IP4, AT * 1000 + 999, face=1)
        + enhanced(up(31, 2), (1_700_000_005 << 32) + (1 << 31), face=2)
        + enhanced(up(33, 3), AT, face=3)
    )
    frame, report = read(tmp_path, data)

    assert [row[1] for row in frame.rows()] == [AT, AT, 1_700_000_000_500_000]
    assert report.counts["of an interface that was not described"] == 1


def test_pcapng_sections_bring_their_own_byte_order_and_interfaces(tmp_path):
    data = (
        section("<")
        + interface(1, "<")
        + enhanced(up(0, 1), order="<")
        + section(">")
        + interface(101, ">")
        + enhanced(ipv4(tcp(50000, 3724, 1, 2)), order=">")
        + section("<")
        + enhanced(up(3, 3))
    )
    frame, report = read(tmp_path, data)

    assert [row[3] for row in frame.rows()] == [1, 2]
    assert report.counts["of an interface that was not described"] == 1


def test_pcapng_skips_other_blocks_and_counts_packets_without_a_time(tmp_path):
    old = struct.pack("<HHIIII", 0, 0, AT >> 32, AT & 0xFFFFFFFF, len(up(0, 4)), len(up(0, 4))) + up(0, 4)
    data = (
        section()
        + block(0x0BAD, b"anything")
        + interface()
        + block(5, bytes(16))
        + block(3, struct.pack("<I", len(up(9, 9))) + up(9, 9))
        + block(2, old)
        + enhanced(up(4, 5))
    )
    frame, report = read(tmp_path, data)

    assert [row[3] for row in frame.rows()] == [4, 5]
    assert report.counts["simple packet blocks, which have no time"] == 1
    assert report.counts["blocks of other kinds"] == 2


def test_a_pcapng_time_beyond_the_calendar_is_counted(tmp_path):
    data = section() + interface(resolution=0) + enhanced(up(0, 1), 2**64 - 1) + enhanced(up(0, 1), 1_700_000_000)
    frame, report = read(tmp_path, data)

    assert [row[1] for row in frame.rows()] == [1_700_000_000_000_000]
    assert report.counts["with a time beyond the calendar"] == 1


@given(ticks=st.integers(0, 2**64 - 1), resolution=st.integers(0, 255), shift=st.integers(-(2**63), 2**63 - 1))
def test_pcapng_times_are_exact_for_every_resolution(ticks, resolution, shift):
    unit = 2 ** (resolution & 127) if resolution & 128 else 10 ** (resolution & 127)
    micros = ticks * 1_000_000 // unit + shift * 1_000_000
    seconds = ticks // unit
    inside = (
        seconds <= kernel.LAST_SECOND
        and kernel.FIRST_SECOND <= shift <= kernel.LAST_SECOND
        and kernel.FIRST_SECOND <= seconds + shift <= kernel.LAST_SECOND
    )

    good, at = kernel.block_time(ticks >> 32, ticks & 0xFFFFFFFF, resolution, shift)

    assert good == inside
    assert not inside or at == micros


def test_damage_is_told_with_its_place_and_all_before_it_kept(tmp_path):
    good = pcap([up(0, 10), up(10, 10)])
    third = struct.pack("<IIII", 1, 0, 60, 60)
    damaged = {
        good + third[:7]: "cut off in the record at byte 184, of which 7 bytes are there",
        good + third + b"x" * 20: "cut off in the record at byte 184, of which 36 bytes are there",
        good + struct.pack("<IIII", 1, 0, 0xFFFFFFFF, 60): "byte 184 says it holds 4294967295 bytes",
    }
    for data, message in damaged.items():
        frame, report = read(tmp_path, data)

        assert frame.height == 2
        assert message in report.problem
        assert report.problem.startswith(str(tmp_path / "a.pcap"))
        assert "\n" not in report.problem


def test_damaged_pcapng_is_told_with_its_place_and_all_before_it_kept(tmp_path):
    good = section() + interface() + enhanced(up(0, 10))
    place = len(good)
    option = struct.pack("<HHIHH", 1, 0, 0, 9, 400)
    damaged = {
        good + enhanced(up(10, 10))[:-5]: f"cut off in the record at byte {place}",
        good + struct.pack("<II", 6, 0xFFFFFFFC) + bytes(40): f"byte {place} says it is 4294967292 bytes long",
        good + struct.pack("<II", 6, 8) + bytes(40): f"byte {place} says it is 8 bytes long",
        good + block(6, bytes(12) + struct.pack("<II", 5000, 5000)): f"byte {place} says it is 32 bytes long",
        good + block(6, b""): f"byte {place} says it is 12 bytes long",
        good + enhanced(up(10, 10))[:-4] + bytes(4): f"byte {place} says",
        good + block(1, option): f"byte {place} is an interface description with an option that runs past its end",
        good + block(0x0A0D0D0A, bytes(16)): f"byte {place} is a section header without a byte-order mark",
        good
        + struct.pack("<III", 0x0A0D0D0A, 0xFFFFFFFC, 0x1A2B3C4D)
        + bytes([1, 0, 0, 0]): f"byte {place} is a section header that says it is 4294967292 bytes long",
        good + section()[:20]: f"byte {place} is a section header that is cut off",
    }
    for data, message in damaged.items():
        frame, report = read(tmp_path, data)

        assert frame.height == 1
        assert message in (report.problem or "no problem")


def test_a_cut_off_file_header_is_told(tmp_path):
    frame, report = read(tmp_path, pcap([])[:20])

    assert frame.height == 0
    assert "cut off in its header, of which 20 bytes are there" in report.problem


def test_what_is_neither_capture_nor_table_is_refused(tmp_path):
    (tmp_path / "empty").write_bytes(b"")

    with pytest.raises(ReadError, match="is empty"):
        open_packets(tmp_path / "empty")
    with pytest.raises(ReadError, match="No such file"):
        open_packets(tmp_path / "nowhere")
    with pytest.raises(ReadError, match="is a directory"):
        open_packets(tmp_path)


def test_gzipped_captures_of_several_members_are_read(tmp_path):
    data = pcap([up(0, 10), up(10, 10), up(20, 10)])
    packed = gzip.compress(data[:50]) + gzip.compress(data[50:])

    assert len(rows(tmp_path, packed, name="a.pcap.gz")) == 3

    frame, report = read(tmp_path, gzip.compress(data[:150]) + gzip.compress(data[150:])[:-12])
    assert frame.height >= 1
    assert "gzip data is cut off" in report.problem


def test_damaged_gzip_is_told_and_what_was_unpacked_kept(tmp_path):
    packed = bytearray(gzip.compress(pcap([up(n * 10, 10) for n in range(5000)])))
    packed[-4:] = b"\0\0\0\0"
    frame, report = read(tmp_path, bytes(packed))

    assert frame.height == 5000
    assert "gzip data is damaged" in report.problem

    packed[len(packed) // 2] ^= 0xFF
    frame, report = read(tmp_path, bytes(packed))
    assert 500 < frame.height < 5000
    assert "gzip data is damaged" in report.problem


def many_packets(count):
    generator = np.random.default_rng(3)
    start = datetime(2024, 5, 1, tzinfo=UTC)
    return pl.DataFrame(
        {
            "actor": [f"player{n}" for n in generator.integers(0, 3000, count)],
            "at": [start + timedelta(microseconds=int(n)) for n in np.cumsum(generator.integers(0, 900, count))],
            "up": generator.random(count) < 0.4,
            "size": generator.integers(1, 1400, count).astype(np.int32),
        }
    )


def test_what_is_written_is_read_back_row_for_row(tmp_path):
    packets = many_packets(80_000)
    accounts = write_pcap(packets, tmp_path / "w.pcap")
    stream = open_packets(tmp_path / "w.pcap", accounts=accounts)
    batches = list(stream.batches())
    frame = pl.DataFrame(pl.from_arrow(pa.Table.from_batches(batches)))

    assert len(batches) > 1
    assert frame.with_columns(pl.col("actor").cast(pl.String)).equals(packets)
    assert stream.report.problem is None
    for earlier, later in pairwise(batches):
        before, after = earlier["actor"].dictionary.to_pylist(), later["actor"].dictionary.to_pylist()
        assert after[: len(before)] == before


def test_dropping_and_repeating_segments_loses_and_doubles_nothing(tmp_path):
    packets = many_packets(5_000)
    write_pcap(packets, tmp_path / "w.pcap")
    data = (tmp_path / "w.pcap").read_bytes()
    records, place = [], 24
    while place < len(data):
        size = 16 + int.from_bytes(data[place + 8 : place + 12], "little")
        records.append(data[place : place + size])
        place += size
    doubled = data[:24] + b"".join(record * 2 for record in records)

    assert rows(tmp_path, doubled) == rows(tmp_path, data)


def test_standard_input_delivers_what_has_arrived():
    program = (
        "import sys\n"
        "from gamewarden.readers.captures.packets import open_packets\n"
        "for batch in open_packets('-').batches():\n"
        "    print(*batch['size'].to_pylist(), flush=True)\n"
    )
    data = pcap([up(0, 1), up(1, 2), up(3, 3)])
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        size = (len(data) - 24 - 6) // 3
        process.stdin.write(data[: 24 + size + 30])
        process.stdin.flush()

        assert process.stdout.readline() == b"1\n"

        process.stdin.write(data[24 + size + 30 :])
        process.stdin.close()
        assert process.stdout.read() == b"2 3\n"
    assert process.returncode == 0


def test_standard_input_is_read_once(monkeypatch):
    class Replaced:
        buffer = io.BytesIO(pcap([up(0, 1)]))

        def fileno(self):
            raise OSError

    monkeypatch.setattr(sys, "stdin", Replaced())
    stream = open_packets("-")

    assert frame_of(stream).height == 1
    with pytest.raises(ReadError, match="standard input can be read only once"):
        frame_of(stream)


def test_a_file_is_read_as_often_as_asked_with_the_same_rows(tmp_path):
    write_pcap(many_packets(2_000), tmp_path / "w.pcap")
    stream = open_packets(tmp_path / "w.pcap")

    assert frame_of(stream).equals(frame_of(stream))
    assert stream.report.counts["packets delivered"] == 2_000


def test_accounts_are_found_by_address_port_and_time(tmp_path):
    second = 1_000_000
    table = pl.DataFrame(
        {
            "address": [CLIENT, CLIENT, CLIENT],
            "port": [50000, 50000, None],
            "from": [None, f"{(AT + 2 * second) / second:.6f}", None],
            "until": [f"{(AT + second) / second:.6f}", None, f"{(AT + 5 * second) / second:.6f}"],
            "account": ["ann", "bea", "cafe"],
        }
    )
    frames = [up(0, 1), up(1, 2), up(3, 3), up(6, 4, port=50001), up(10, 5), up(10, 6, port=50001)]
    frame, report = read(tmp_path, pcap(frames), accounts=table)
    table.write_csv(tmp_path / "accounts.csv")

    assert frame["actor"].to_list() == ["ann", "cafe", "bea", "cafe", "bea", f"{CLIENT}:50001"]
    assert report.counts["delivered by address, without an account"] == 1
    assert read(tmp_path, pcap(frames), accounts=tmp_path / "accounts.csv")[0].equals(frame)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1.2.3,5,,,a", "'1.2.3' is not an IPv4 or IPv6 address"),
        ("1.2.3.4,x,,,a", "port 'x' cannot be read"),
        ("1.2.3.4,70000,,,a", "port 70000 is not between"),
        ("1.2.3.4,5,yesterday,,a", "from 'yesterday' cannot be read"),
        ("1.2.3.4,5,,,", "account None cannot be read"),
        ("1.2.3.4,5,,,a\n1.2.3.4,5,3,,b", "belongs to 'a' and 'b' at one time"),
    ],
)
def test_an_account_table_that_cannot_be_is_refused(tmp_path, row, message):
    (tmp_path / "accounts.csv").write_text(f"address,port,from,until,account\n{row}\n")
    (tmp_path / "a.pcap").write_bytes(pcap([]))

    with pytest.raises(ReadError, match=message):
        open_packets(tmp_path / "a.pcap", accounts=tmp_path / "accounts.csv")


@njit
def row_of(flows, key):
    return flow_table.flow_row(flow_table.flow_pointers(flows), key[0], key[1], key[2], key[3], key[4])


@pytest.mark.parametrize("word", range(5))
def test_flows_that_differ_in_one_word_are_told_apart_in_a_crowd(word):
    flows = flow_table.new_flows(5, capacity=2048)
    key = np.zeros(5, np.int64)
    found = []
    for value in range(2048):
        key[word] = value
        found.append(row_of(flows, key))

    assert found == list(range(2048))


def test_many_flows_are_told_apart_while_the_table_grows():
    flows = flow_table.new_flows(5, capacity=4)
    rows_of = {}
    generator = np.random.default_rng(1)
    for key in generator.integers(0, 4, (3000, 5)).tolist() + generator.integers(0, 2**40, (3000, 5)).tolist():
        flows = flow_table.with_more_room(flows)
        row = row_of(flows, np.array(key))
        assert rows_of.setdefault(tuple(key), row) == row
    assert len(set(rows_of.values())) == len(rows_of)


DATA = os.environ.get("GAMEWARDEN_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="GAMEWARDEN_DATA is not set: real captures are not at hand")


# tshark -r FILE -Y 'tcp.len > 0 && !tcp.analysis.retransmission' -T fields -e tcp.len   (rows, sum)
# tshark -r FILE -Y 'udp.length > 8' -T fields -e udp.length                             (rows, sum of length - 8)
# tshark -r FILE -Y FILTER | wc -l, FILTER being 'tcp.analysis.retransmission && tcp.len > 0', 'tcp && tcp.len == 0',
# '!ip && !ipv6' and 'ip && !tcp && !udp'
REAL = {
    "wow.pcap": (95, 20, 2408, 12, 63, 0, 0),
    "hots.pcapng": (100, 100, 5945, 0, 0, 0, 0),
    "starcraft_battle.pcap": (800, 368 + 51, 310111 + 6525, 0, 376, 3, 2),
}


@needs_data
@pytest.mark.parametrize("name", REAL)
def test_real_captures_have_the_counts_of_tshark(name):
    stream = open_packets(Path(DATA) / "captures" / name)
    frame = frame_of(stream)
    tally = stream.report.tally

    assert (
        tally[counts.PACKETS],
        frame.height,
        frame["size"].sum(),
        tally[counts.DUPLICATES],
        tally[counts.EMPTY],
        tally[counts.NOT_IP],
        tally[counts.NOT_TCP_UDP],
    ) == REAL[name]
    assert stream.report.problem is None


# tshark -r FILE -T fields -e tcp.srcport -e tcp.len -Y FILTER,
# FILTER being 'tcp.dstport == PORT && tcp.len > 0 && !tcp.analysis.retransmission'
# tshark -r FILE -T fields -e udp.srcport -e udp.length -Y 'udp.dstport == PORT && udp.length > 8'
CLIENTS = {
    ("wow.pcap", 3724): {"39329": (2, 553), "39364": (4, 105), "39593": (2, 92)},
    ("starcraft_battle.pcap", 1119): {"3427": (3, 52), "3517": (96, 2341), "53146": (2, 4), "6113": (2, 2)},
    ("hots.pcapng", 3724): {"54598": (14, 320)},
}


@needs_data
@pytest.mark.parametrize(("name", "port"), CLIENTS)
def test_real_clients_send_what_tshark_sees(name, port):
    frame = frame_of(open_packets(Path(DATA) / "captures" / name, server_ports=[port], only_up=True))
    found = frame.group_by(pl.col("actor").str.split(":").list.last()).agg(pl.len(), pl.col("size").sum())

    assert {actor: (count, total) for actor, count, total in found.iter_rows()} == CLIENTS[name, port]


@needs_data
def test_a_real_capture_is_read_the_same_from_a_slow_pipe(tmp_path):
    source = Path(DATA) / "captures" / "starcraft_battle.pcap"
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = (
        "import sys, time\n"
        "data = open(sys.argv[1], 'rb').read()\n"
        "with open(sys.argv[2], 'wb', buffering=0) as out:\n"
        "    for place in range(0, len(data), 7001):\n"
        "        out.write(data[place:place + 7001])\n"
        "        time.sleep(0.001)\n"
    )
    with subprocess.Popen([sys.executable, "-c", writer, str(source), str(fifo)]):
        slow = frame_of(open_packets(fifo))

    assert slow.equals(frame_of(open_packets(source)))


def test_twenty_thousand_interfaces_do_not_take_long(tmp_path):
    data = section() + interface() * 20_000 + enhanced(up(0, 5), face=19_999)
    began = time.process_time()

    assert len(rows(tmp_path, data)) == 1
    assert time.process_time() - began < 5
