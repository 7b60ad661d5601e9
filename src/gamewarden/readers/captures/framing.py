"""How a capture is cut into packets: one framing for pcap and one for pcapng."""

from typing import Protocol

import numpy as np

from gamewarden.readers.byte_sources import Window
from gamewarden.readers.captures import kernel
from gamewarden.readers.captures.blocks import (
    PCAP_HEADER,
    SECTION_MAGIC,
    BadBlockError,
    PcapHeader,
    interface,
    pcap_header,
    section_length,
)
from gamewarden.readers.captures.flows import Flows, Ints
from gamewarden.readers.captures.headers import MOST_CAPTURED

_SECTION_START = 16


class Framing(Protocol):
    """A way to cut bytes into packets."""

    links: set[int]  # link types that were named so far

    def scan(
        self, window: Window, rules: kernel.Rules, flows: Flows, tally: Ints, rows: kernel.Rows, count: int
    ) -> tuple[int, int, int]:
        """(start, rows, status) after as many packets as can be read."""

    def learn(self, window: Window, status: int) -> None:
        """Read the block at the window's start that says how to read on.

        Raises:
            BadBlockError: it contradicts itself.
        """


def framing_of(window: Window) -> Framing:
    """The framing a source begins with, its file header read.

    Raises:
        BadBlockError: the header is cut off or of an unknown version.
    """
    if window.holds(len(SECTION_MAGIC)) and window.take(len(SECTION_MAGIC)) == SECTION_MAGIC:
        return Blocks()
    if not window.holds(PCAP_HEADER):
        raise BadBlockError(f"is cut off in its header, of which {window.left} bytes are there")
    header = pcap_header(window.take(PCAP_HEADER))
    window.start += PCAP_HEADER
    return Records(header)


class Records:
    """Classic pcap."""

    def __init__(self, header: PcapHeader) -> None:
        self._header = header
        self.links = {header.link}

    def scan(
        self, window: Window, rules: kernel.Rules, flows: Flows, tally: Ints, rows: kernel.Rows, count: int
    ) -> tuple[int, int, int]:
        """One record after the other."""
        header = self._header
        start, count, status = kernel.scan_records(
            window.data,
            window.start,
            window.end,
            header.big,
            header.nanos,
            header.link,
            rules,
            flows,
            tally,
            rows,
            count,
        )
        return int(start), int(count), int(status)

    def learn(self, window: Window, status: int) -> None:
        """Nothing can change; a scan that stops here found a length that cannot be."""
        del status
        length = int.from_bytes(window.take(12)[8:], "big" if self._header.big else "little")
        raise BadBlockError(f"says it holds {length} bytes, more than any capture writes ({MOST_CAPTURED})")


class Blocks:
    """pcapng: sections, each with its byte order and its interfaces."""

    def __init__(self) -> None:
        self.links: set[int] = set()
        self._big = False
        self._interfaces = np.zeros((4, 3), np.int64)
        self._known = 0

    def scan(
        self, window: Window, rules: kernel.Rules, flows: Flows, tally: Ints, rows: kernel.Rows, count: int
    ) -> tuple[int, int, int]:
        """One block after the other, up to one that has to be learned."""
        start, count, status = kernel.scan_blocks(
            window.data,
            window.start,
            window.end,
            self._big,
            self._interfaces,
            self._known,
            rules,
            flows,
            tally,
            rows,
            count,
        )
        return int(start), int(count), int(status)

    def learn(self, window: Window, status: int) -> None:
        """A section, an interface, or a length that cannot be."""
        if status == kernel.SECTION:
            self._begin_section(window)
        elif status == kernel.INTERFACE:
            length = self._length(window)
            self._add_interface(window.take(length))
            window.start += length
        else:
            raise BadBlockError(f"says it is {self._length(window)} bytes long, which cannot be")

    def _length(self, window: Window) -> int:
        return int.from_bytes(window.take(8)[4:], "big" if self._big else "little")

    def _begin_section(self, window: Window) -> None:
        if not window.holds(_SECTION_START):
            raise BadBlockError("is a section header that is cut off")
        self._big, length = section_length(window.take(_SECTION_START))
        if length > kernel.MOST_BLOCK:
            raise BadBlockError(f"is a section header that says it is {length} bytes long")
        if not window.holds(length):
            raise BadBlockError("is a section header that is cut off")
        self._known = 0
        window.start += length

    def _add_interface(self, block: bytes) -> None:
        described = interface(block, big=self._big)
        if self._known == len(self._interfaces):
            self._interfaces = np.concatenate([self._interfaces, np.zeros_like(self._interfaces)])
        self._interfaces[self._known] = described.link, described.resolution, described.shift
        self._known += 1
        self.links.add(described.link)
