"""Which process holds an action that was begun, and whether it still lives."""

import os
from functools import cache
from pathlib import Path

_BOOT, _SPACE = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")


def me() -> str:
    """A name of this process that no other one has, wherever it runs and whenever."""
    return f"{_machine()}/{os.getpid()}/{_born(os.getpid())}"


def is_gone(holder: str) -> bool:
    """Whether the process of this name surely lives no more; False where nobody here can know."""
    machine, number, born = ("", "", *holder.rsplit("/", 2))[-3:]
    if not machine or machine != _machine() or not number.isdecimal():
        return False
    return _born(int(number)) != born


@cache
def _machine() -> str:
    """This start of this machine and the space in which its processes are numbered; empty where nobody says."""
    try:
        return f"{_BOOT.read_text().strip()}/{_SPACE.readlink()}"
    except OSError:
        return ""


def _born(number: int) -> str:
    """When a process began, in ticks since the machine did; empty where it is gone."""
    try:
        told = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = told.rpartition(")")[2].split()
    return "" if fields[0] in {"Z", "X"} else fields[19]  # what a dead one's parent has not looked at yet
