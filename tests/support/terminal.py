"""Commands typed at a real terminal of some width: a pseudo-terminal in a child process."""

import fcntl
import os
import pty
import struct
import sys
import termios
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """How a program ended, and what a person saw of it."""

    returncode: int
    text: str

    @property
    def lines(self):
        return self.text.splitlines()


def at_terminal(*words, width=80, typed=(), **environment):
    """Run `gamewarden WORDS…` at a terminal; TERM is dumb, so that no progress bar is drawn, unless it is given."""
    return run_at_terminal("-m", "gamewarden", *words, width=width, typed=typed, **environment)


def run_at_terminal(*words, width=80, typed=(), **environment):
    """Run Python with these words at a terminal; `typed` are keys, each with what is waited for before it is hit."""
    settings = {**os.environ, "TERM": "dumb", **environment}
    settings.pop("COLUMNS", None)
    child, ours = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        os.execve(sys.executable, [sys.executable, *map(str, words)], settings)  # noqa: S606  our own command line
    seen, heard, keys = bytearray(), 0, list(typed)
    try:
        while part := os.read(ours, 1 << 16):
            seen += part
            while keys and (found := seen.find(keys[0][0].encode(), heard)) >= 0:
                time.sleep(0.3)  # a program that reads keys throws away what was hit before it looked
                heard = found + len(keys[0][0].encode())
                os.write(ours, keys.pop(0)[1].encode())
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    _, status = os.waitpid(child, 0)
    return Shown(os.waitstatus_to_exitcode(status), seen.decode().replace("\r\n", "\n"))
