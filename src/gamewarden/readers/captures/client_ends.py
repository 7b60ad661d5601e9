"""Names for the client ends of a capture: address:port as people write it, or the account behind it at that time."""

from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from gamewarden.errors import ReadError
from gamewarden.readers.captures.flows import ENDS_USED, Flows, Ints
from gamewarden.readers.kernels import kernel

_ALWAYS = (-(2**62), 2**62)
_M64 = 2**64 - 1

Address = tuple[int, int]  # IP version, number


def end_text(address: Address, port: int) -> str:
    """`address:port`, IPv6 as `[address]:port` in its canonical form (RFC 5952)."""
    version, number = address
    if version == 4:  # noqa: PLR2004 - of IP
        return f"{number >> 24}.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}:{port}"
    whole = IPv6Address(number)
    mapped = whole.ipv4_mapped  # written alike by every version of Python only this way
    return f"[::ffff:{mapped}]:{port}" if mapped else f"[{whole}]:{port}"


class Accounts:
    """Which account used an address and port in which time [from, until).

    A row without a port speaks for all ports of its address that have no row of their own at that time.
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        """Take columns address, port, from, until (microseconds or null) and account.

        Raises:
            ReadError: an address or port is none, or two accounts share an end at one time.
        """
        spans: dict[tuple[Address, int | None], list[tuple[int, int, str]]] = {}
        for address, port, since, until, account in frame.select(
            "address", "port", "from", "until", "account"
        ).iter_rows():
            key = (_parsed(address), _checked_port(port))
            spans.setdefault(key, []).append(
                (_ALWAYS[0] if since is None else since, _ALWAYS[1] if until is None else until, account)
            )
        self._numbers = {key: number for number, key in enumerate(spans)}
        self.names = list(dict.fromkeys(frame["account"]))
        codes = {name: code for code, name in enumerate(self.names)}
        ordered = [_without_overlap(key, sorted(rows)) for key, rows in spans.items()]
        self.starts = np.cumsum([0, *map(len, ordered)]).astype(np.int64)
        flat = [row for rows in ordered for row in rows]
        self.since = np.array([row[0] for row in flat], np.int64)
        self.until = np.array([row[1] for row in flat], np.int64)
        self.code = np.array([codes[row[2]] for row in flat], np.int32)

    def numbers(self, address: Address, port: int) -> tuple[int, int]:
        """Where the spans of this very end stand, and those of the whole address; -1 for none."""
        return self._numbers.get((address, port), -1), self._numbers.get((address, None), -1)


def _parsed(text: str) -> Address:
    try:
        address = ip_address(text.strip().strip("[]"))
    except ValueError as error:
        raise ReadError(f"account table: {text!r} is not an IPv4 or IPv6 address") from error
    return address.version, int(address)


def _checked_port(port: int | None) -> int | None:
    if port is not None and not 0 <= port <= 0xFFFF:  # noqa: PLR2004 - ports have 16 bits
        raise ReadError(f"account table: port {port} is not between 0 and 65535")
    return port


def _without_overlap(
    key: tuple[Address, int | None], rows: Iterable[tuple[int, int, str]]
) -> list[tuple[int, int, str]]:
    merged: list[tuple[int, int, str]] = []
    for since, until, account in rows:
        if merged and since < merged[-1][1]:
            if merged[-1][2] != account:
                (_version, number), port = key
                raise ReadError(
                    f"account table: {ip_address(number)} port {'any' if port is None else port} belongs to "
                    f"{merged[-1][2]!r} and {account!r} at one time; end one before the other begins"
                )
            merged[-1] = (merged[-1][0], max(until, merged[-1][1]), account)
        elif until > since:
            merged.append((since, until, account))
    return merged


class ClientEnds:
    """The actors of one reading: codes never change while it lasts, the dictionary only grows."""

    def __init__(self, accounts: Accounts | None) -> None:
        self.unmatched = 0  # packets whose end no account row speaks for
        self._accounts = accounts
        self.forget()

    def forget(self) -> None:
        """Begin anew: the ends of the flows have other numbers from now on, and so have the actors."""
        self._known = 0
        self._dictionary = pa.array(self._accounts.names if self._accounts else [], pa.string())
        self._spans = np.empty((0, 2), np.int64)

    def actors(self, flows: Flows, ends: npt.NDArray[np.int32], at: Ints) -> pa.DictionaryArray:
        """The actor of each row."""
        self._learn(flows)
        codes = ends if self._accounts is None else self._by_account(self._accounts, ends, at)
        return pa.DictionaryArray.from_arrays(pa.array(codes), self._dictionary, safe=False)

    def _learn(self, flows: Flows) -> None:
        used = int(flows.used[ENDS_USED])
        if used == self._known:
            return
        ends = [_end(*row) for row in flows.ends[self._known : used].tolist()]
        texts = pa.array([end_text(address, port) for address, port in ends], pa.string())
        self._dictionary = pa.concat_arrays([self._dictionary, texts])
        if self._accounts is not None:
            spans = [self._accounts.numbers(address, port) for address, port in ends]
            self._spans = np.concatenate([self._spans, np.array(spans, np.int64)])
        self._known = used

    def _by_account(self, accounts: Accounts, ends: npt.NDArray[np.int32], at: Ints) -> npt.NDArray[np.int32]:
        codes = np.empty(len(ends), np.int32)
        self.unmatched += _find_accounts(
            ends,
            at,
            self._spans,
            accounts.starts,
            accounts.since,
            accounts.until,
            accounts.code,
            len(accounts.names),
            codes,
        )
        return codes


def _end(high: int, low: int, port_and_version: int) -> tuple[Address, int]:
    port = port_and_version >> 2
    if port_and_version & 2:
        return (6, (high & _M64) << 64 | (low & _M64)), port
    return (4, low), port


@kernel
def _span_code(key: int, at: int, starts: Ints, since: Ints, until: Ints, code: npt.NDArray[np.int32]) -> int:
    if key < 0:
        return -1
    low, high = starts[key], starts[key + 1]
    while low < high:
        middle = (low + high) // 2
        if since[middle] <= at:
            low = middle + 1
        else:
            high = middle
    if low > starts[key] and at < until[low - 1]:
        return np.int64(code[low - 1])
    return -1


@kernel
def _find_accounts(
    ends: npt.NDArray[np.int32],
    at: Ints,
    spans: Ints,
    starts: Ints,
    since: Ints,
    until: Ints,
    code: npt.NDArray[np.int32],
    names: int,
    out: npt.NDArray[np.int32],
) -> int:
    unmatched = 0
    for row in range(len(ends)):
        end = ends[row]
        found = _span_code(spans[end, 0], at[row], starts, since, until, code)
        if found < 0:
            found = _span_code(spans[end, 1], at[row], starts, since, until, code)
        if found < 0:
            unmatched += 1
            found = names + end
        out[row] = found
    return unmatched
