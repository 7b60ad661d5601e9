"""`gamewarden warm`: every command that calculates, run once on something small, so that all is compiled ahead."""

import struct
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from gamewarden.cli.show import progress, quietly, say, tell
from gamewarden.core.extras import installed
from gamewarden.core.text import counted
from gamewarden.errors import WriteError

# A section header and one Ethernet interface: another kernel than the older pcap format has reads it.
_EMPTY_PCAPNG = struct.pack("<3I2HqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28) + struct.pack(
    "<2I2H2I", 1, 20, 1, 0, 0xFFFF, 20
)


@click.command
def warm() -> None:
    """Compile ahead, as for an image that is read-only later.

    Compiled code is kept beside the installation, or in NUMBA_CACHE_DIR; it suits this kind of processor, and is found
    by every user who may read it. A second time there is nothing to do.
    """
    from gamewarden.core.kernels import SO_FAR

    can_fit = installed("sklearn") and installed("lightgbm")
    root = click.get_current_context().find_root().command
    with TemporaryDirectory(prefix="gamewarden-warm-") as name:
        steps = [*_steps(Path(name)), *(_fits(Path(name)) if can_fit else ())]
        (Path(name) / "warden.toml").touch()
        _write_accounts(Path(name) / "accounts.csv")
        (Path(name) / "empty.pcapng").write_bytes(_EMPTY_PCAPNG)
        with progress("compiling", len(steps)) as done:
            for words in steps:
                with quietly():
                    root.main(["--config", f"{name}/warden.toml", *words], standalone_mode=False)
                done(1)
    _call_the_rest()
    if not SO_FAR.kept:
        raise WriteError("warm: nothing that was compiled could be kept; set NUMBA_CACHE_DIR to a directory of yours")
    tell(_outcome(len(SO_FAR.made), sorted(SO_FAR.kept)))
    if not can_fit:
        say("Left out, without gamewarden[fit]: what sessions and account tables need; it is compiled at its first use")


def _call_the_rest() -> None:
    """What needs a capture of more than a thousand players, or millions of rows out of order."""
    import numpy as np

    from gamewarden.core.sorted_rows import SortedRows
    from gamewarden.readers.captures.flows import new_flows, with_more_room

    rows = SortedRows(np.dtype([("slot", "i4"), ("at", "i8")]), most=1)
    rows.add([np.array([1, 0], np.int32), np.array([0, 1])])
    for _ in rows.batches():
        pass

    full = new_flows(1, capacity=1)
    full.used[:] = 1
    with_more_room(full)


def _outcome(made: int, places: list[Path]) -> str:
    where = ", ".join(map(str, places))
    if made == 0:
        return f"Nothing was to do: all is compiled in {where}"
    return f"{counted(made, 'function')} compiled, in {where}"


def _steps(place: Path) -> Iterator[list[str]]:
    """The words of commands that between them use every kernel, with each kind of array it gets."""
    world, lake, streams = (str(place / name) for name in ("world", "lake", "ragnarok"))
    log, packets, capture = f"{world}/events.parquet", f"{world}/packets.parquet", f"{streams}/capture.pcap"
    yield ["world", world, "--accounts", "40", "--game", "aion", "--packets", "--players", "4", "--minutes", "5"]
    yield ["world", str(place / "society"), "--accounts", "60", "--days", "1", "--game", "aion", "--society"]
    yield ["world", streams, "--ragnarok", "--sessions", "8"]
    yield ["read", log, "--to", lake]
    for feature in ("self-similarity", "activity", "actions", "pulses", "paths", "copies", "rhythm", "names"):
        yield from (["measure", feature, source] for source in (lake, log))
    if installed("graspologic_native"):
        yield from (["groups", source] for source in (lake, f"{place}/society/events.parquet"))
    yield ["compact", lake]
    yield ["measure", "traffic", packets]
    yield from (["measure", "traffic", name, "--server-port", "5121"] for name in (capture, f"{place}/empty.pcapng"))
    for accounts in (f"{streams}/accounts.csv", "messages"):
        yield ["measure", "traffic", capture, "--server-port", "5121", "--accounts", accounts]
    yield ["measure", "session", f"{streams}/players"]
    yield ["measure", "session", capture, "--server-port", "5121"]
    yield ["watch", packets]


def _fits(place: Path) -> Iterator[list[str]]:
    """The same for what has to be fitted first."""
    streams, models = str(place / "ragnarok"), str(place / "models")
    for name in ("session-angle", "session-network"):
        yield ["fit", name, f"{streams}/players", f"{streams}/bots", "--to", f"{models}-of-sessions"]
    table = [str(place / "accounts.csv"), "--actor", "actor"]
    yield ["fit", "account-table", *table, "--label", "verdict", "--rounds", "20", "--to", f"{models}-of-tables"]
    yield ["score", table[0], "--models", f"{models}-of-tables"]
    yield ["explain", "a1", table[0], "--models", f"{models}-of-tables"]


def _write_accounts(path: Path) -> None:
    """A small table of accounts, in which bots play longer."""
    rows = (f"a{at},{'bot' if at % 2 else 'human'},{at % 17 + 9 * (at % 2)},{at * 7 % 13}" for at in range(120))
    path.write_text("\n".join(["actor,verdict,hours,level", *rows]) + "\n", encoding="utf-8")
