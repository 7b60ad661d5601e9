"""Commands typed in this process: what a person would have seen of them."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest.mock import patch

from gamewarden.cli import main


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


def typed(*words):
    """Run `gamewarden WORDS…` as the shell would."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    code = None
    with patch.object(sys, "argv", ["gamewarden", *map(str, words)]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())
    return Ended(0 if code is None else code, *texts)


def done(*words):
    """Run a command that must succeed."""
    ended = typed(*words)
    assert ended.code == 0, ended.err
    return ended
