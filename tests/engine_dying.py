"""A task that ends its own process; `test_engine.py` asks for it."""

import os
import signal


def die(_words: str) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""
