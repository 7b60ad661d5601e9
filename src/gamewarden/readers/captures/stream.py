"""Network captures to packets: who sent how many bytes when, each byte of a TCP stream counted once.

What had to be decided, and is counted in the report where it applies:

* Direction comes from the server ports; without any, from the SYN; for UDP and for flows joined midway the lower port
  is the server, and of two equal ports the one spoken to first. What a joined flow sent before its first captured
  byte is taken as a retransmission.
* A datagram in fragments counts once, at its first fragment, with its whole length; of a TCP segment in fragments
  only the first is seen. Later fragments have no ports and are never read as if they had.
* Simple packet blocks of pcapng have no time and cannot be delivered.
* Empty segments are told apart from nothing: with `include_empty` each captured one is delivered, copies too.
* Bytes are read, not mapped: that was within 4 % of a mapping, serves pipes alike, and survives a file that is cut
  short while it is read. Memory grows with the number of flows (420 bytes each were seen at the peak), not of packets.
"""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gamewarden.contracts import PACKET_COLUMNS, Bounds
from gamewarden.errors import ConfigError
from gamewarden.readers.byte_sources import ByteSource, Origin, Window
from gamewarden.readers.captures import counts, kernel
from gamewarden.readers.captures.account_sources import AccountSource, Looking
from gamewarden.readers.captures.blocks import BadBlockError
from gamewarden.readers.captures.client_ends import Accounts, ClientEnds
from gamewarden.readers.captures.flows import (
    FLOWS_USED,
    Ints,
    ends_that_stay,
    new_flows,
    with_more_room,
    without_silent,
)
from gamewarden.readers.captures.framing import Framing, framing_of
from gamewarden.readers.captures.introductions import FIRST_BYTES, Introductions, Listen
from gamewarden.readers.captures.link_types import refusal
from gamewarden.readers.captures.packet_schema import SCHEMA
from gamewarden.readers.captures.stream_gaps import FORGOTTEN
from gamewarden.readers.captures.tunnels import SERVER_PORT, TUNNEL_PORT, TUNNEL_PORTS

_BATCH_ROWS = 1 << 16
_SEGMENT_POOL = 4 << 20


@dataclass
class CaptureReport:
    """What was counted while reading, and the line that says where reading had to stop."""

    tally: Ints = field(default_factory=lambda: np.zeros(counts.COUNTERS, np.int64))
    problem: str | None = None
    refused: str | None = None  # which link types are not read, when packets had them
    unmatched: int = 0  # packets delivered under their address, since no account was known
    forgotten: int = 0  # connections that were silent for too long
    unanswered: int = 0  # packets not delivered, since the server had not gone on with the account they named
    disowned: int = 0  # accounts that were named, and with which no server went on
    unheard: int = 0  # connections that were not listened to any more, since too many had named nobody
    looked: int = 0  # times that a changed table of accounts was taken

    @property
    def counts(self) -> dict[str, int]:
        """All counts that are not zero, in words."""
        counted = {words: int(self.tally[index]) for index, words in counts.SAYS.items()}
        counted[counts.SAYS[counts.DELIVERED]] -= self.unanswered
        counted["delivered by address, without an account"] = self.unmatched
        counted["silent connections forgotten"] = self.forgotten
        counted["not delivered until the server had answered who they are"] = self.unanswered
        counted["connections that named an account the server did not go on with"] = self.disowned
        counted["connections given up before they named an account"] = self.unheard
        counted["changes of the account table taken"] = self.looked
        return {words: count for words, count in counted.items() if count}

    @property
    def tunnels(self) -> dict[str, int]:
        """How many packets came in each kind of tunnel that was opened; one may have come in several."""
        return {name: int(self.tally[index]) for index, name in counts.TUNNELS.items() if self.tally[index]}

    @property
    def withheld(self) -> int:
        """Packets of sources that have not proven to be there, or for which there was no place."""
        return int(self.tally[counts.UNPROVEN] + self.tally[counts.NO_PLACE]) + self.unanswered

    def lines(self) -> list[str]:
        """The counts on one line; tunnels, link types that are not read, a problem and advice on lines of their own."""
        summary = ", ".join(f"{count} {words}" for words, count in self.counts.items())
        told = (summary, self._opened(), self._unread(), self.refused, self.problem, self._advice())
        return [line for line in told if line]

    def _opened(self) -> str | None:
        if not self.tunnels:
            return None
        told = ", ".join(f"{count:,} packets came in {name}" for name, count in self.tunnels.items())
        return f"{told} tunnels; the players inside were read"

    def _unread(self) -> str | None:
        unread = {counts.SAYS[index]: int(self.tally[index]) for index in counts.UNREAD if self.tally[index]}
        if not unread:
            return None
        told = ", ".join(f"{count:,} packets were {words}" for words, count in unread.items())
        return f"{told}; the players inside are not seen"

    def _advice(self) -> str | None:
        if self.tally[counts.UNPROVEN] and not self.tally[counts.DELIVERED]:
            return (
                "no source has proven to be there, since no answer to any was captured; "
                "if the tap shows one direction only, say --one-sided"
            )
        return None


class CaptureStream:
    """The packets of one pcap or pcapng source.

    A file can be read as often as needed, standard input once. `report` speaks of the latest reading.
    """

    rows: int | None = None

    def __init__(
        self,
        origin: Origin,
        server_ports: Sequence[int] = (),
        accounts: AccountSource | None = None,
        *,
        listen: Listen | None = None,
        include_empty: bool = False,
        only_up: bool = False,
        bounds: Bounds | None = None,
    ) -> None:
        """Take a source; `accounts` say who stands behind an address, or clients themselves to whoever can `listen`."""
        self.report = CaptureReport()
        self._origin = origin
        self._source = accounts
        self._accounts = None if accounts is None else accounts.now()
        self._listen = listen
        self._bounds = bounds
        rules = _rules(server_ports, include_empty=include_empty, only_up=only_up)
        self._rules = rules if listen is None else rules._replace(first_bytes=FIRST_BYTES)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the latest reading counted, and where it had to stop."""
        return tuple(self.report.lines())

    @property
    def counts(self) -> dict[str, int]:
        """What the latest reading has counted so far, in words."""
        return self.report.counts

    @property
    def withheld(self) -> int:
        """Packets so far of sources that have not proven to be there, or for which there was no place."""
        return self.report.withheld

    def batches(self, columns: Sequence[str] = PACKET_COLUMNS) -> Iterator[pa.RecordBatch]:
        """All packets in the source's order; damage ends them and is told by `report`."""
        self.report = CaptureReport()
        with self._origin.opened() as source:
            reading = CaptureReading(
                source, self._origin.name, self._rules, self._accounts, self.report, bounds=self._bounds
            )
            if self._listen is not None:
                one_sided = self._bounds is not None and self._bounds.one_sided
                reading.introductions = Introductions(self._listen, believe=one_sided)
            if self._source is not None and source.live:
                reading.looking = Looking(self._source)
            for batch in reading.batches():
                yield batch.select(columns)


def segment_reading(
    source: ByteSource, name: str, server_ports: Sequence[int], report: CaptureReport
) -> "CaptureReading":
    """A reading whose rows are the TCP segments of clients with their bytes, copies and all."""
    rules = _rules(server_ports, include_empty=False, only_up=True)._replace(segments=True)
    return CaptureReading(source, name, rules, None, report, pool=_SEGMENT_POOL)


def _rules(server_ports: Sequence[int], *, include_empty: bool, only_up: bool) -> kernel.Rules:
    ports = np.zeros(1 << 16, np.uint8)
    ports[list(TUNNEL_PORTS)] = TUNNEL_PORT
    for port in server_ports:
        if not 0 <= port < len(ports):
            raise ConfigError(f"server port {port} is not between 0 and 65535")
        ports[port] = SERVER_PORT  # a game may use the port of a tunnel
    return kernel.Rules(ports, bool(server_ports), include_empty, only_up, segments=False)


class CaptureReading:
    """One pass over a source: a window of bytes that moves along, and the rows being filled from it."""

    def __init__(
        self,
        source: ByteSource,
        name: str,
        rules: kernel.Rules,
        accounts: Accounts | None,
        report: CaptureReport,
        *,
        pool: int = 0,
        bounds: Bounds | None = None,
    ) -> None:
        self._source = source
        self._name = name
        self._rules = rules
        self._report = report
        self._window = Window(source)
        self._flows = new_flows(secrets.randbits(62), bounds=bounds)
        self._ends = ClientEnds(accounts)
        self._pool = pool
        self._rows = kernel.new_rows(_BATCH_ROWS, pool, rules.first_bytes)
        self._count = 0
        self.introductions: Introductions | None = None  # by which clients name themselves
        self.looking: Looking | None = None  # for accounts that become known while packets come

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The packets, a batch when it is full or when the source makes us wait."""
        for rows, count in self.fills():
            if count and (batch := self._batch(rows, count)).num_rows:
                yield batch

    def fills(self) -> Iterator[tuple[kernel.Rows, int]]:
        """The rows, and how many, when they are full or when the source makes us wait."""
        framing = self._framing()
        while framing is not None:
            status = self._scan(framing)
            if status == kernel.NEEDS_ROOM:
                self._flows = with_more_room(self._flows)
            elif status == kernel.NEEDS_BYTES:
                if self._source.live and self._count:
                    yield self._taken()
                if not self._window.fill():
                    break
            elif status == kernel.ROWS_FULL:
                yield self._taken()
            elif status == kernel.FORGETS:
                yield self._taken()  # while their ends still have their numbers
                self._forget_silent()
            elif not self._understood(framing, status):
                break
        self._notice_cut(framing)
        if self._count:
            yield self._taken()

    def _taken(self) -> tuple[kernel.Rows, int]:
        filled = self._rows, self._count
        self._rows, self._count = kernel.new_rows(_BATCH_ROWS, self._pool, self._rules.first_bytes), 0
        return filled

    def _forget_silent(self) -> None:
        before = int(self._flows.used[FLOWS_USED])
        if self.introductions is not None:
            self.introductions.renumber(ends_that_stay(self._flows))
        self._flows = without_silent(self._flows)
        self._report.forgotten += before - int(self._flows.used[FLOWS_USED])
        self._ends.forget()

    def clients(self, ends: npt.NDArray[np.int32], at: Ints) -> pa.DictionaryArray:
        """Who stands behind each of these ends."""
        return self._ends.actors(self._flows, ends, at)

    def _framing(self) -> Framing | None:
        try:
            return framing_of(self._window)
        except BadBlockError as error:
            self._report.problem = f"{self._name}: the capture {error}"
            return None

    def _scan(self, framing: Framing) -> int:
        window = self._window
        window.start, self._count, status = framing.scan(
            window, self._rules, self._flows, self._report.tally, self._rows, self._count
        )
        self._report.tally[counts.GAPS_GIVEN_UP] = self._flows.spans.used[FORGOTTEN]
        return status

    def _understood(self, framing: Framing, status: int) -> bool:
        """Whether a block that says how to read what follows was understood."""
        try:
            framing.learn(self._window, status)
        except BadBlockError as error:
            self._report.problem = (
                f"{self._name}: the block at byte {self._window.position} {error}; all before it is kept"
            )
            return False
        return True

    def _notice_cut(self, framing: Framing | None) -> None:
        report, left = self._report, self._window.left
        if framing is not None and report.tally[counts.UNKNOWN_LINK]:
            told = refusal(framing.links)
            report.refused = f"{self._name}: {told}" if told else None
        if self._source.problem:
            report.problem = self._source.problem
        elif report.problem is None and framing is not None and left:
            report.problem = (
                f"{self._name}: the capture is cut off in the record at byte {self._window.position}, "
                f"of which {left} bytes are there; all before it is kept"
            )
        self._count_accounts()

    def _count_accounts(self) -> None:
        report, introduced = self._report, self.introductions
        report.unmatched = self._ends.unmatched
        if introduced is not None:
            report.unmatched, report.unanswered = introduced.by_address, introduced.waited
            report.disowned, report.unheard = introduced.refused, introduced.crowded_out

    def _batch(self, rows: kernel.Rows, count: int) -> pa.RecordBatch:
        self._look_again()
        at, up, size = rows.at[:count], rows.up[:count], rows.size[:count]
        if self.introductions is None:
            actors = self.clients(rows.end[:count], at)
        else:
            codes = self.introductions.codes(rows, count, self._ends.learn(self._flows), self._ends.codes_of)
            told = codes >= 0
            actors, at, up, size = self._ends.named(codes[told]), at[told], up[told], size[told]
        columns = [
            actors,
            pa.Array.from_buffers(SCHEMA.field("at").type, len(at), [None, pa.py_buffer(at)]),
            pa.array(up.view(np.bool_)),
            pa.array(size),
        ]
        self._count_accounts()
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)

    def _look_again(self) -> None:
        """Take what has become known of accounts, when there is something."""
        if self.looking is not None and (news := self.looking.news()) is not None:
            self._ends.adopt(self._flows, news)
            self._report.looked += 1
