"""Names for the client ends of a capture: address:port as people write it, or the account behind it at that time."""

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv6Address, ip_address
from typing import Self, TypeAlias

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
Codes: TypeAlias = npt.NDArray[np.int32]  # of actors, as places in a dictionary
End: TypeAlias = tuple[Address, int | None]  # a port, or all of them
Span: TypeAlias = tuple[int, int, str]  # since, until, account


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

    @classmethod
    def of_table(cls, frame: pl.DataFrame) -> Self:
        """Take columns address, port, from, until (microseconds or null) and account.

        Raises:
            ReadError: an address or port is none, or two accounts share an end at one time.
        """
        return cls({key: _without_overlap(key, sorted(rows)) for key, rows in _by_end(frame).items()})

    @classmethod
    def told_one_by_one(cls, frame: pl.DataFrame) -> Self:
        """The same columns, rows in the order they were told in: a later one counts from its `from` on.

        One without an account says that nobody is known there any more.

        Raises:
            ReadError: an address or port is none.
        """
        return cls({key: _later_counts(rows) for key, rows in _by_end(frame).items()})

    def __init__(self, spans: Mapping[End, Sequence[Span]]) -> None:
        """Take the spans of each end, in their order and without overlap."""
        self._numbers = {key: number for number, key in enumerate(spans)}
        ordered = list(spans.values())
        self.names = list(dict.fromkeys(row[2] for rows in ordered for row in rows))
        codes = {name: code for code, name in enumerate(self.names)}
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


def _by_end(frame: pl.DataFrame) -> dict[End, list[Span]]:
    """The rows of each end, in their order."""
    spans: dict[End, list[Span]] = {}
    for address, port, since, until, account in frame.select("address", "port", "from", "until", "account").iter_rows():
        key = (_parsed(address), _checked_port(port))
        spans.setdefault(key, []).append(
            (_ALWAYS[0] if since is None else since, _ALWAYS[1] if until is None else until, account)
        )
    return spans


def _later_counts(rows: Iterable[Span]) -> list[Span]:
    """One span after the other: each row ends what was said before it of the time from its beginning on."""
    told: list[Span] = []
    for since, until, account in rows:
        while told and told[-1][0] >= since:
            told.pop()
        if told and told[-1][1] > since:
            told[-1] = (told[-1][0], since, told[-1][2])
        if account is not None and until > since:
            told.append((since, until, account))
    return told


def _without_overlap(key: End, rows: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
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
        self._dictionary = pa.array([], pa.string())
        self._name_codes: dict[str, int] = {}
        self._end_codes = np.empty(0, np.int32)
        self._spans = np.empty((0, 2), np.int64)
        self._take_names()

    def adopt(self, flows: Flows, accounts: Accounts) -> None:
        """Let another table say who stands behind an address from now on."""
        self._accounts = accounts
        self._take_names()
        self._spans = _spans_of(accounts, _ends(flows, 0, self._known))

    def actors(self, flows: Flows, ends: Codes, at: Ints) -> pa.DictionaryArray:
        """The actor of each row."""
        self.learn(flows)
        return self.named(ends if self._accounts is None else self._by_account(self._accounts, ends, at))

    def named(self, codes: Codes) -> pa.DictionaryArray:
        """The actors that these codes stand for."""
        return pa.DictionaryArray.from_arrays(pa.array(codes), self._dictionary, safe=False)

    def learn(self, flows: Flows) -> Codes:
        """The code of each end under its address, those too that came since the last time."""
        used = int(flows.used[ENDS_USED])
        if used > self._known:
            ends = _ends(flows, self._known, used)
            first = len(self._dictionary)
            self._grow([end_text(address, port) for address, port in ends])
            self._end_codes = np.concatenate([self._end_codes, np.arange(first, first + len(ends), dtype=np.int32)])
            if self._accounts is not None:
                self._spans = np.concatenate([self._spans, _spans_of(self._accounts, ends)])
            self._known = used
        return self._end_codes

    def codes_of(self, names: Sequence[str]) -> Codes:
        """The code of each account."""
        new = [name for name in dict.fromkeys(names) if name not in self._name_codes]
        first = len(self._dictionary)
        self._name_codes.update({name: code for code, name in enumerate(new, first)})
        self._grow(new)
        return np.array([self._name_codes[name] for name in names], np.int32)

    def _grow(self, texts: list[str]) -> None:
        if texts:
            self._dictionary = pa.concat_arrays([self._dictionary, pa.array(texts, pa.string())])

    def _take_names(self) -> None:
        if self._accounts is not None:
            self._codes = self.codes_of(self._accounts.names)[self._accounts.code]

    def _by_account(self, accounts: Accounts, ends: Codes, at: Ints) -> Codes:
        codes = np.empty(len(ends), np.int32)
        self.unmatched += _find_accounts(
            ends,
            at,
            self._spans,
            accounts.starts,
            accounts.since,
            accounts.until,
            self._codes,
            self._end_codes,
            codes,
        )
        return codes


def _ends(flows: Flows, first: int, after: int) -> list[tuple[Address, int]]:
    return [_end(*row) for row in flows.ends[first:after].tolist()]


def _spans_of(accounts: Accounts, ends: Sequence[tuple[Address, int]]) -> Ints:
    return np.array([accounts.numbers(address, port) for address, port in ends], np.int64).reshape(-1, 2)


def _end(high: int, low: int, port_and_version: int) -> tuple[Address, int]:
    port = port_and_version >> 2
    if port_and_version & 2:
        return (6, (high & _M64) << 64 | (low & _M64)), port
    return (4, low), port


@kernel
def _span_code(key: int, at: int, starts: Ints, since: Ints, until: Ints, code: Codes) -> int:
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
    ends: Codes,
    at: Ints,
    spans: Ints,
    starts: Ints,
    since: Ints,
    until: Ints,
    code: Codes,
    addresses: Codes,
    out: Codes,
) -> int:
    unmatched = 0
    for row in range(len(ends)):
        end = ends[row]
        found = _span_code(spans[end, 0], at[row], starts, since, until, code)
        if found < 0:
            found = _span_code(spans[end, 1], at[row], starts, since, until, code)
        if found < 0:
            unmatched += 1
            found = np.int64(addresses[end])
        out[row] = found
    return unmatched
