"""The command `review`: what is typed, and what it shows."""

import io
import re
import sys
from contextlib import contextmanager


@contextmanager
def typing(text):
    """Lines that come from a pipe."""
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(text.encode(errors="surrogateescape")))
    try:
        yield
    finally:
        sys.stdin = before


def shown(ended):
    """The accounts that were shown, in order."""
    return re.findall(r"^\d+\. (.*)$", ended.stdout, re.MULTILINE)
