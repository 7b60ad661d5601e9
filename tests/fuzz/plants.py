"""Faults planted on purpose: a harness that does not see these sees nothing."""

import ctypes
import os
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np

PLANT = "plant"


def _raise() -> None:
    raise KeyError("planted")


def _die() -> None:
    ctypes.string_at(0)


def _burn() -> None:
    while True:
        pass


def _sleep() -> None:
    time.sleep(3600)


def _fill() -> None:
    held = [np.ones(1 << 25) for _ in range(40)]  # 256 MiB each
    del held


def _write_past_us() -> None:
    os.write(2, b"thread '<unnamed>' panicked at src/lib.rs:1\n")
    sys.exit(0)


def _warn() -> None:
    from gamewarden.cli.asides import asides_as_remarks

    with asides_as_remarks():
        warnings.warn("divide by zero", RuntimeWarning, stacklevel=1)
    sys.exit(0)


def _steer() -> None:
    sys.stdout.write("\x1b[31mred\n")
    sys.exit(0)


def _leave() -> None:
    sys.exit(3)


def _fail_silently() -> None:
    sys.exit(1)


PLANTS: dict[str, Callable[[], None]] = {
    "raise": _raise,
    "die": _die,
    "burn": _burn,
    "sleep": _sleep,
    "fill": _fill,
    "write-past-us": _write_past_us,
    "warn": _warn,
    "steer": _steer,
    "leave": _leave,
    "fail-silently": _fail_silently,
}
