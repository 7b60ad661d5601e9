"""Tunnels and taps lead to the packet inside; what cannot be opened is counted; a game on a tunnel's port is a game."""

import random
import struct

import pytest

import capture_oracle as oracle
from capture_bytes import CLIENT, CLIENT6, SERVER, SERVER6, SYN, ethernet, ipv4, ipv6, pcap, tcp, udp
from capture_bytes_reading import Whole
from capture_bytes_reading import read as read_bytes
from capture_reading import read
from gamewarden.readers.captures import counts
from gamewarden.readers.captures.stream import TUNNEL_PORTS
from tunnel_bytes import (
    MIRROR,
    OUTER,
    QINQ,
    TAPS,
    TUNNELS,
    VLAN,
    datagram,
    frame,
    geneve,
    gre,
    gtp,
    labels,
    nflog,
    over4,
    pppoe,
    radiotap,
    vxlan,
    wifi,
)

INNER = {
    (4, "tcp"): ipv4(tcp(50_000, 3724, 1, 30)),
    (4, "udp"): ipv4(udp(50_000, 3724, 30), protocol=17),
    (6, "tcp"): ipv6(tcp(50_000, 3724, 1, 30)),
    (6, "udp"): ipv6(udp(50_000, 3724, 30), protocol=17),
}
PLAYER = {4: f"{CLIENT}:50000", 6: f"[{CLIENT6}]:50000"}
NAMES = {getattr(counts, name): name for name in dir(counts) if isinstance(getattr(counts, name), int)} | {
    counts.PACKETS: "PACKETS"
}


def ours(data, ports=()):
    """What the reader says, in the oracle's words."""
    said, tally, problem = read_bytes(Whole(data), server_ports=ports)
    assert problem is None
    counted = {NAMES[index]: count for index, count in enumerate(tally) if count}
    return [(actor, up, size) for actor, _, up, size in said], counted


def agree(data, ports=()):
    found = ours(data, ports)
    assert found == oracle.read(data, ports)
    return found


@pytest.mark.parametrize("tags", [b"", VLAN, QINQ], ids=["", "vlan", "qinq"])
@pytest.mark.parametrize("inner", INNER, ids=str)
@pytest.mark.parametrize("name", TUNNELS)
def test_the_player_inside_a_tunnel_is_read(name, inner, tags):
    told, kind, wrap = TUNNELS[name]
    data = pcap([ethernet(wrap(INNER[inner], inner[0]), kind, tags)])

    rows, tally = agree(data)
    assert rows == [(PLAYER[inner[0]], True, 30)]
    assert tally[next(NAMES[index] for index, words in counts.TUNNELS.items() if words == told)] == 1


@pytest.mark.parametrize("inner", INNER, ids=str)
@pytest.mark.parametrize("name", TAPS)
def test_each_tap_leads_to_the_same_packet(name, inner):
    link, wrap = TAPS[name]

    assert agree(pcap([wrap(INNER[inner], inner[0])], link))[0] == [(PLAYER[inner[0]], True, 30)]


def test_each_tap_and_tunnel_cut_at_each_byte_is_read_as_the_oracle_does():
    for (version, _), packet in INNER.items():
        for link, wrap in FRAMES:
            whole = wrap(packet, version)
            for data in (pcap_of(link, cuts(whole)), pcap_of(link, shorter(whole))):
                agree(data)


def ethernet_of(_told, kind, wrap):
    return lambda packet, version: ethernet(wrap(packet, version), kind)


def cuts(whole):
    """The frame as snap lengths of every size leave it."""
    return [(whole[:size], len(whole)) for size in range(1, len(whole) + 1)]


def shorter(whole):
    """The same without a word of how long the frame was."""
    return [(whole[:size], size) for size in range(1, len(whole) + 1)]


def pcap_of(link, frames):
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    return head + b"".join(struct.pack("<IIII", 9, 0, len(kept), sent) + kept for kept, sent in frames)


BUSY = (0, 1, 4, 6, 8, 17, 0x11, 0x45, 0x60, 0x7F, 0x80, 0x88, 0xFF)


def damaged(dice, whole):
    """A frame with some bytes changed, mostly in its headers, and perhaps cut."""
    data = bytearray(whole)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        place = dice.randrange(min(len(data), dice.choice((60, 150))))
        data[place] = dice.choice((data[place] ^ 1 << dice.randrange(8), dice.choice(BUSY), dice.randrange(256)))
    kept = bytes(data[: dice.choice((len(data), len(data), dice.randrange(1, len(data))))])
    return kept, dice.choice((len(whole), len(whole), len(kept), dice.randrange(2000)))


NESTING = ("vxlan", "geneve", "gtp", "gre", "nvgre", "erspan 2", "ip in ip", "gre over IPv6", "mpls in ip")
FRAMES = [
    *TAPS.values(),
    *((1, ethernet_of(*tunnel)) for tunnel in TUNNELS.values()),
    (1, frame),
    (101, lambda packet, _: packet),
]


def stacked(dice, packet, version):
    """Tunnels in tunnels, up to more of them than are opened."""
    for _ in range(dice.choice((0, 1, 1, 2, 3, 6, 12))):
        _, kind, wrap = TUNNELS[dice.choice(NESTING)]
        packet, version = wrap(packet, version), 4 if kind == 0x0800 else 6
    return packet, version


@pytest.mark.parametrize("seed", range(40))
def test_damaged_tunnels_and_taps_are_read_as_the_oracle_does(seed):
    dice = random.Random(seed)  # noqa: S311 - repeatable damage, not a secret
    by_link = {}
    for _ in range(500):
        version, _ = inner = dice.choice(list(INNER))
        packet, version = stacked(dice, INNER[inner], version)
        if len(packet) > 60_000:
            continue
        link, wrap = dice.choice(FRAMES)
        by_link.setdefault(link, []).append(damaged(dice, wrap(packet, version)))
    for link, frames in by_link.items():
        data = pcap_of(link, frames)
        if ours(data) != oracle.read(data):
            for each in frames:  # so that the message speaks of one frame
                agree(pcap_of(link, [each]))
        agree(data)


def test_a_mirror_shows_each_player_and_not_itself(tmp_path):
    """All players of a server in one VXLAN tunnel, both ways: they were one client before."""
    frames = [
        ethernet(vxlan(packet, 4))
        for player in range(50)
        for packet in (
            ipv4(tcp(40_000 + player, 3724, 9, 0, SYN), f"192.0.2.{player + 1}"),
            ipv4(tcp(40_000 + player, 3724, 10, 20 + player), f"192.0.2.{player + 1}"),
            ipv4(tcp(3724, 40_000 + player, 100, 300), SERVER, f"192.0.2.{player + 1}"),
        )
    ]
    frame_, report = read(tmp_path, pcap(frames), server_ports=[3724])

    assert sorted(set(frame_["actor"])) == sorted(f"192.0.2.{n + 1}:{40_000 + n}" for n in range(50))
    assert report.lines()[1] == "150 packets came in VXLAN tunnels; the players inside were read"


def test_kinds_of_tunnels_are_told_in_one_line(tmp_path):
    packet = INNER[4, "udp"]
    _, report = read(tmp_path, pcap([ethernet(gtp(packet, 4))] * 1200 + [ethernet(gre(packet, 4))]))

    assert report.lines()[1] == (
        "1,200 packets came in GTP-U, 1 packets came in GRE tunnels; the players inside were read"
    )


@pytest.mark.parametrize("port", TUNNEL_PORTS)
def test_a_game_on_the_port_of_a_tunnel_is_a_game(port):
    dice = random.Random(port)  # noqa: S311 - made-up play, not a secret
    payloads = [dice.randbytes(dice.randrange(1, 200)) for _ in range(2000)]
    payloads += [bytes(dice.choice((0, 0, 0, 8, 0x30, 255)) for _ in range(dice.randrange(1, 90))) for _ in range(2000)]
    frames = [ethernet(ipv4(udp(50_000, port, 0, 8 + len(each)) + each, protocol=17)) for each in payloads]

    rows, tally = agree(pcap(frames))
    assert rows == [(f"{CLIENT}:50000", True, len(each)) for each in payloads]
    assert set(tally) == {"PACKETS", "DELIVERED", "GUESSED_FLOWS"}


NEARLY = {
    "vxlan without its flag": vxlan(INNER[4, "udp"], 4, head="0000000000002a00"),
    "vxlan with another flag": vxlan(INNER[4, "udp"], 4, head="0c00000000002a00"),
    "vxlan with reserved bits": vxlan(INNER[4, "udp"], 4, head="0800000000002a01"),
    "vxlan of an unknown type": datagram(4789, bytes.fromhex("0800000000002a00") + ethernet(bytes(40), 0x1234)),
    "vxlan of another version": datagram(4789, bytes.fromhex("0800000000002a00") + ethernet(INNER[4, "udp"], 0x86DD)),
    "vxlan that ends before a frame": datagram(4789, bytes.fromhex("0800000000002a00") + bytes(13)),
    "geneve of version 1": datagram(6081, b"\x40" + geneve(INNER[4, "udp"], 4)[29:]),
    "geneve with reserved bits": geneve(INNER[4, "udp"], 4, flags=1),
    "geneve of an unknown type": geneve(INNER[4, "udp"], 4, kind=0x0806),
    "geneve with options that do not fit": geneve(INNER[4, "udp"], 4, bytes.fromhex("0108010300000001")),
    "gtp of another length": datagram(2152, gtp(INNER[4, "udp"], 4)[28:] + b"x"),
    "gtp of version 2": gtp(INNER[4, "udp"], 4, flags=0x50),
    "gtp of another message": gtp(INNER[4, "udp"], 4, kind=16),
    "gtp that carries no IP": gtp(b"\x10" * 40, 4),
}


@pytest.mark.parametrize("name", NEARLY)
def test_what_is_nearly_a_tunnel_is_a_datagram(name):
    rows, tally = agree(pcap([ethernet(NEARLY[name])]))

    assert rows[0][0] == f"{OUTER}:40000"
    assert not any(name.startswith("IN_") for name in tally)


def test_a_port_that_is_named_as_the_games_is_never_opened():
    rows, _ = ours(pcap([ethernet(vxlan(INNER[4, "udp"], 4))]), ports=[4789])

    assert rows == [(f"{OUTER}:40000", True, 80)]


def test_what_a_tunnel_says_of_itself_is_no_packet_of_a_player():
    arp = datagram(4789, bytes.fromhex("0800000000002a00") + ethernet(bytes(46), 0x0806))
    spanning = datagram(4789, bytes.fromhex("0800000000002a00") + bytes(12) + b"\0\x26\x42\x42\x03" + bytes(35))
    control = geneve(INNER[4, "udp"], 4, flags=0x80)
    echo = gtp(b"", 4, bytes(4), 0x32, 1)

    rows, tally = agree(pcap([ethernet(packet) for packet in (arp, spanning, control, echo)]))
    assert rows == []
    assert tally == {"PACKETS": 4, "NOT_IP": 4, "IN_VXLAN": 2, "IN_GENEVE": 1, "IN_GTP": 1}


CLOSED = {
    "esp": (1, ethernet(over4(bytes(60), 50)), "ENCRYPTED"),
    "esp in vxlan": (1, ethernet(vxlan(over4(bytes(60), 50), 4)), "ENCRYPTED"),
    "macsec": (1, ethernet(bytes(60), 0x88E5), "ENCRYPTED"),
    "protected 802.11": (105, wifi(INNER[4, "tcp"], 4, 0x08, 0x41), "ENCRYPTED"),
    "pptp": (1, ethernet(over4(struct.pack(">HHHH", 0x3001, 0x880B, 40, 1) + bytes(40), 47)), "UNOPENED"),
    "gre of an unknown protocol": (1, ethernet(gre(INNER[4, "tcp"], 4, kind=0x883E)), "UNOPENED"),
    "gre with a route": (1, ethernet(gre(INNER[4, "tcp"], 4, 0x4000)), "UNOPENED"),
    "l2tp": (1, ethernet(over4(bytes(60), 115)), "UNOPENED"),
    "compressed ppp": (1, ethernet(pppoe(bytes(40), 4, b"\0\xfd"), 0x8864), "UNOPENED"),
    "several packets in a frame": (105, wifi(INNER[4, "tcp"], 4, 0x88, 1, b"\x80\0"), "UNOPENED"),
    "endless labels": (1, ethernet(labels(*range(40)), 0x8847), "TOO_DEEP"),
}


@pytest.mark.parametrize("name", CLOSED)
def test_what_cannot_be_opened_is_counted_and_remarked_on(tmp_path, name):
    link, packet, reason = CLOSED[name]
    data = pcap([packet], link)
    _, report = read(tmp_path, data)

    assert agree(data)[1][reason] == 1
    assert report.lines()[-1] == (
        f"1 packets were {counts.SAYS[getattr(counts, reason)]}; the players inside are not seen"
    )


def test_tunnels_inside_each_other_are_opened_to_a_bounded_depth():
    packet = INNER[4, "udp"]
    found = []
    for _ in range(12):
        packet = vxlan(packet, 4)
        found.append(agree(pcap([ethernet(packet)]))[1])

    assert [counted.get("DELIVERED", 0) for counted in found] == [1] * 7 + [0] * 5
    assert [counted.get("TOO_DEEP", 0) for counted in found] == [0] * 7 + [1] * 5


def test_frames_that_a_mirror_cut_count_with_the_length_they_had():
    whole = ipv4(tcp(50_000, 3724, 1, 1200))
    cut_short = datagram(4789, bytes.fromhex("0800000000002a00") + ethernet(whole)[:96])

    assert agree(pcap([ethernet(cut_short)]))[0] == [(f"{CLIENT}:50000", True, 1200)]
    assert agree(pcap([nflog(whole, 4)[:90]], 239))[0] == [(f"{CLIENT}:50000", True, 1200)]


def test_a_tunnel_in_fragments_counts_the_packet_whose_beginning_it_holds():
    tunnel = gre(ipv4(tcp(50_000, 3724, 1, 1400)), 4)[20:]
    first, later = over4(tunnel[:800], 47, fragment=0x2000), over4(tunnel[800:], 47, fragment=100)

    rows, tally = agree(pcap([ethernet(first), ethernet(later)]))
    assert rows == [(f"{CLIENT}:50000", True, 1400)]
    assert tally["FRAGMENTS"] == 1


def test_padding_behind_a_tunnel_is_no_part_of_it():
    packet = ipv4(tcp(50_000, 3724, 1, 10), total=0)

    assert agree(pcap([ethernet(vxlan(packet, 4)) + bytes(30)]))[0] == [(f"{CLIENT}:50000", True, 10)]


def test_a_frame_that_was_received_badly_is_not_read():
    _, tally = agree(pcap([radiotap(wifi(INNER[4, "tcp"], 4), 2, b"\x40")], 127))

    assert tally == {"PACKETS": 1, "MALFORMED": 1}


# An IP length beyond the frame.


def test_an_ip_length_beyond_the_frame_counts_as_far_as_the_frame_went(tmp_path):
    long4 = ethernet(ipv4(tcp(50_000, 3724, 1, 30), total=6000))
    long6 = ethernet(ipv6(udp(50_000, 3724, 30, 5000), protocol=17, length=5000), 0x86DD)
    after = ethernet(ipv4(tcp(50_000, 3724, 31, 50)))

    rows, tally = agree(pcap([long4, long6, after]))
    assert [size for _, _, size in rows] == [30, 30, 50]
    assert tally["OVERLONG"] == 2
    _, report = read(tmp_path, pcap([long4]))
    assert "1 said to be longer than their frame, counted as far as it goes" in report.lines()[0]


def test_a_snap_length_does_not_shorten_what_was_sent():
    whole = [ethernet(ipv4(tcp(50_000, 3724, 1, 1000))), ethernet(ipv4(udp(50_001, 3724, 900), protocol=17))]

    rows, tally = agree(pcap(whole, captured=60))
    assert [size for _, _, size in rows] == [1000, 900]
    assert "OVERLONG" not in tally


def test_an_original_length_shorter_than_what_was_captured_is_not_believed():
    whole = ethernet(ipv4(tcp(50_000, 3724, 1, 100)))

    assert agree(pcap_of(1, [(whole, 20)]))[0] == [(f"{CLIENT}:50000", True, 100)]


def test_headers_longer_than_their_frame_are_malformed():
    packet = ipv4(tcp(50_000, 3724, 1, 0)[:12] + b"\xf0\x18" + bytes(6), total=900)

    assert agree(pcap([ethernet(packet)]))[1] == {"PACKETS": 1, "MALFORMED": 1}


# Link types.


def test_a_link_type_that_is_not_read_is_named_with_those_that_are(tmp_path):
    _, report = read(tmp_path, pcap([b"x" * 60] * 3, 249))

    assert report.counts == {"packets captured": 3, "of a link type that is not read": 3}
    line = report.lines()[1]
    assert line.startswith(f"{tmp_path}/a.pcap: link type USB (249) is not read; captures of Ethernet, ")
    assert "802.11 with radiotap" in line


def test_a_link_type_nobody_knows_is_told_by_its_number(tmp_path):
    _, report = read(tmp_path, pcap([b"x" * 60], 147))

    assert "link type 147 is not read" in report.lines()[1]


def test_the_servers_side_of_a_tunnel_is_read_too():
    packets = [ipv6(udp(3724, 50_000, 40), SERVER6, CLIENT6, protocol=17), INNER[6, "udp"]]

    rows, _ = agree(pcap([ethernet(geneve(packet, 6)) for packet in packets]))
    assert rows == [(PLAYER[6], False, 40), (PLAYER[6], True, 30)]
    assert MIRROR not in str(rows)
