"""Captures of a few real players under a flood of spoofed sources, for tests and for the benchmark of a long watch."""

import struct

import numpy as np

SERVER = 0xC6336401  # 198.51.100.1
PORT = 3724
SYN, SYN_ACK, PUSH_ACK = 0x02, 0x12, 0x18
START = 1_700_000_000 * 1_000_000
HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)


class Known:
    """A player with a real connection: a handshake, then packets both ways, in the order of their times."""

    def __init__(self, number, *, udp=False, start=START, answered=True):
        self._dice = np.random.default_rng(number)
        self._end = (0xC0000200 + number, 50_000 + number)
        self._udp = udp
        self._answered = answered
        self._seq = [1000 + number, 900_000 + number]
        self.at = start + number * 1_000
        self._steps = iter(() if udp else (self._opening(0), self._opening(1)))

    @property
    def name(self):
        """As the reader names it."""
        address, port = self._end
        return f"{address >> 24}.{address >> 16 & 255}.{address >> 8 & 255}.{address & 255}:{port}"

    def next(self):
        """(time, record) of the next packet; the server answers every second one."""
        at = self.at
        opening = next(self._steps, None)
        if opening is not None:
            self.at += 40_000
            return at, opening(at)
        up = not self._answered or self._dice.random() < 0.6
        size = int(self._dice.integers(1, 120))
        record = self._record(at, up, size, PUSH_ACK)
        self.at += int(self._dice.integers(20_000, 400_000))
        return at, record

    def _opening(self, step):
        return lambda at: self._record(at, step == 0, 0, (SYN, SYN_ACK)[step])

    def _record(self, at, up, size, flags):
        address, port = self._end
        ends = (address, port, SERVER, PORT) if up else (SERVER, PORT, address, port)
        if self._udp:
            return udp_record(at, *ends, size)
        mine, other = (0, 1) if up else (1, 0)
        seq, ack = self._seq[mine], self._seq[other]
        self._seq[mine] += size + (flags in (SYN, SYN_ACK))
        return tcp_record(at, *ends, seq, 0 if flags == SYN else ack, flags, size)


def tcp_record(at, source, source_port, target, target_port, seq, ack, flags, size=0):  # noqa: PLR0917 - a header's order
    """A pcap record of one TCP segment."""
    body = struct.pack(">HHIIBBHHH", source_port, target_port, seq, ack, 5 << 4, flags, 1024, 0, 0) + bytes(size)
    return _record(at, source, target, 6, body)


def udp_record(at, source, source_port, target, target_port, size):  # noqa: PLR0917 - a header's order
    """A pcap record of one UDP datagram."""
    body = struct.pack(">HHHH", source_port, target_port, 8 + size, 0) + bytes(size)
    return _record(at, source, target, 17, body)


def _record(at, source, target, protocol, body):
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(body), 1, 0, 64, protocol, 0, source, target)
    frame = b"\x02" * 12 + b"\x08\x00" + ip + body
    return struct.pack("<IIII", at // 10**6, at % 10**6, len(frame), len(frame)) + frame


def spoofed(dice, times):
    """Records of one spoofed packet at each of these times: SYNs and UDP datagrams in turn, from anywhere."""
    count = len(times)
    drawn = dice.integers(1 << 24, 0xC0000000, count), dice.integers(1024, 65_536, count), dice.random(count) < 0.5
    rows = zip(times.tolist(), *(column.tolist() for column in drawn), strict=True)
    return [
        tcp_record(at, source, port, SERVER, PORT, source & 0xFFFF, 0, SYN)
        if syn
        else udp_record(at, source, port, SERVER, PORT, 30)
        for at, source, port, syn in rows
    ]


def game(players, packets):
    """(time, record) of so many packets of these players, in order of time."""
    told = [min(players, key=lambda one: one.at).next() for _ in range(packets)]
    return sorted(told, key=lambda one: one[0])


def capture(told):
    """A pcap of these (time, record)s, by time."""
    return HEADER + b"".join(record for _, record in sorted(told, key=lambda one: one[0]))


def flood(seed, count, since, until):
    """(time, record) of so many spoofed packets between two times."""
    dice = np.random.default_rng(seed)
    times = np.sort(dice.integers(since, until, count))
    return list(zip(times.tolist(), spoofed(dice, times), strict=True))
