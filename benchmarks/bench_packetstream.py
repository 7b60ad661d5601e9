"""How many client messages a second are decoded, beside a struct loop in Python and C in the same run.

A synthetic packetstream with a tag before every message, in the mix of messages that real bots were seen to send. Every
contender turns the file into the columns session, at, id, x, y, target and action; that they agree is looked at before
the clock runs. Ratios are of CPU-seconds of one run, the best of several rounds taken in turn; absolute figures depend
on the machine.
"""

import ctypes
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gamewarden.readers.ragnarok.messages import open_messages
from gamewarden.readers.ragnarok.thesis_profile import thesis_profile

MESSAGES = 3_000_000
PYTHON_SHARE = 10  # the loop in Python reads a tenth of it
ROUNDS = 5
LEAST_OF_PYTHON, LEAST_OF_C = 30.0, 0.3
HERE = Path(__file__).parent
COLUMNS = ("session", "at", "id", "x", "y", "target", "action")
Columns = dict[str, Any]  # a batch: numbers, null or -1 where there is none
Reader = Callable[[Path], Iterator[Columns]]


def write_stream(path: Path, messages: int) -> None:
    """A stream of walks, pick-ups, attacks, ticks, turns and whispers, and a connect message now and then."""
    draw = np.random.default_rng(20080527)
    kinds = draw.choice(7, messages, p=[0.8, 0.03, 0.06, 0.03, 0.02, 0.0599, 0.0001])
    x, y = draw.integers(0, 1024, (2, messages))
    target = draw.integers(0, 2**32, messages)
    with path.open("wb") as file:
        for number in range(messages):
            at = 1_700_000_000_000_000 + number * 250_000
            tag = struct.pack("<4sII", b"ADAM", at // 1_000_000, at % 1_000_000)
            file.write(tag + _message(int(kinds[number]), int(x[number]), int(y[number]), int(target[number])))


def _message(kind: int, x: int, y: int, target: int) -> bytes:
    return (
        lambda: struct.pack("<H3x3B", 0xA7, x >> 2, (x & 3) << 6 | y >> 4, (y & 15) << 4),
        lambda: struct.pack("<H2xI", 0xF5, target),
        lambda: struct.pack("<H3xI9xB", 0x190, target, 7),
        lambda: struct.pack("<H2xI", 0x89, target),
        lambda: struct.pack("<HH24s", 0x96, 28 + x % 60, b"someone") + bytes(x % 60),
        lambda: struct.pack("<H5xB2xB", 0x85, 0, 3),
        lambda: struct.pack("<H2xIBI4xIIB", 0x9B, target, 0, target, 1, 2, 1),
    )[kind]()


def ours(path: Path) -> Iterator[Columns]:
    """The reader behind `measure session`."""
    for batch in open_messages(path).batches(COLUMNS):
        yield {name: batch.column(name) for name in COLUMNS}


def python_loop(path: Path) -> Iterator[Columns]:
    """The same with struct, a message at a time."""
    table = {entry.id: (entry.length, entry.function, entry.fields) for entry in thesis_profile().entries.values()}
    data = path.read_bytes()
    columns: dict[str, list[int | None]] = {name: [] for name in COLUMNS}
    add = {name: column.append for name, column in columns.items()}
    u16, u32, tag = struct.Struct("<H").unpack_from, struct.Struct("<I").unpack_from, struct.Struct("<II").unpack_from
    offset, end, at, session = 0, len(data), None, -1
    while offset < end:
        if data[offset : offset + 4] == b"ADAM":
            seconds, micros = tag(data, offset + 4)
            at = seconds * 1_000_000 + micros
            offset += 12
            continue
        (identity,) = u16(data, offset)
        size, function, fields = table[identity]
        if size < 0:
            (size,) = u16(data, offset + 2)
        x = y = target = action = None
        if function == "walktoxy":
            first, second, third = data[offset + fields["place"] : offset + fields["place"] + 3]
            x, y = first * 4 + (second >> 6), ((second & 0x3F) << 4) + (third >> 4)
        elif function == "wanttoconnection" or session < 0:
            session += 1
        if "target" in fields:
            (target,) = u32(data, offset + fields["target"])
        if "action" in fields:
            action = data[offset + fields["action"]]
        for name, value in zip(COLUMNS, (session, at, identity, x, y, target, action), strict=True):
            add[name](value)
        offset += size
    yield columns


def compiled(folder: Path) -> Reader:
    """The C reader, compiled here and now."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        sys.exit("bench_packetstream needs a C compiler (gcc or cc)")
    library = folder / "packetstream.so"
    source = str(HERE / "packetstream.c")
    subprocess.run([compiler, "-O3", "-march=native", "-shared", "-fPIC", "-o", str(library), source], check=True)
    read = ctypes.CDLL(str(library)).read_stream
    read.restype = ctypes.c_int64
    layout = np.zeros((1 << 16, 7), np.int32)
    for entry in thesis_profile().entries.values():
        parts = (entry.fields.get(part, 0) for part in ("place", "target", "action", "account", "character"))
        layout[entry.id] = entry.length, entry.function == "wanttoconnection", *parts
    kinds = [np.int64] * 5 + [np.uint16] + [np.int16] * 3

    def run(path: Path) -> Iterator[Columns]:
        rows = [np.empty(MESSAGES + 1, kind) for kind in kinds]
        pointers = (ctypes.c_void_p * len(rows))(*(row.ctypes.data for row in rows))
        count = read(str(path).encode(), ctypes.c_void_p(layout.ctypes.data), pointers, ctypes.c_int64(MESSAGES))
        order = ("session", "at", "target", "account", "character", "id", "x", "y", "action")
        yield {name: row[:count] for name, row in zip(order, rows, strict=True) if name in COLUMNS}

    return run


def all_values(reader: Reader, path: Path) -> dict[str, list[int]]:
    """What a reader finds, in one form for all of them."""
    found: dict[str, list[int]] = {name: [] for name in COLUMNS}
    for columns in reader(path):
        for name, values in columns.items():
            plain = values.cast(pa.int64()).to_pylist() if isinstance(values, pa.Array) else list(values)
            found[name] += [-1 if value is None else int(value) for value in plain]
    return found


def cpu_seconds(reader: Reader, path: Path) -> float:
    """CPU-seconds of one reading."""
    began = time.process_time()
    for _ in reader(path):
        pass
    return time.process_time() - began


def main() -> None:
    """Print messages a CPU-second and the ratios; fail below what was promised."""
    with tempfile.TemporaryDirectory() as folder:
        whole, part = Path(folder) / "whole.adam", Path(folder) / "part.adam"
        write_stream(whole, MESSAGES)
        write_stream(part, MESSAGES // PYTHON_SHARE)
        in_c = compiled(Path(folder))
        expected = all_values(python_loop, part)
        if not all_values(ours, part) == all_values(in_c, part) == expected or not expected["id"]:
            sys.exit("bench_packetstream: the readers disagree")
        best: dict[str, float] = {}
        for _ in range(ROUNDS):
            for name, reader, path, count in (
                ("ours", ours, whole, MESSAGES),
                ("C", in_c, whole, MESSAGES),
                ("Python", python_loop, part, MESSAGES // PYTHON_SHARE),
            ):
                best[name] = max(best.get(name, 0.0), count / cpu_seconds(reader, path))
    for name, rate in best.items():
        print(f"{name:8} {rate / 1e6:8.2f} million messages a CPU-second, {rate / best['C']:6.3f} × C")
    of_python, of_c = best["ours"] / best["Python"], best["ours"] / best["C"]
    print(f"ours is {of_python:.0f} × the loop in Python (at least {LEAST_OF_PYTHON:.0f})")
    print(f"ours is {of_c:.2f} × C (at least {LEAST_OF_C})")
    if of_python < LEAST_OF_PYTHON or of_c < LEAST_OF_C:
        sys.exit("slower than promised")


if __name__ == "__main__":
    main()
