"""Tasks that end their own process, or wait to be ended; tests of engines name them as entries."""

import os
import signal
import time
import uuid
from pathlib import Path

from gamewarden.spreading import tasks


def die(_words: str) -> bytes:
    """End this process at once."""
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def marked(words: str) -> bytes:
    """Do a real task and leave marks of its beginning and end; the first waits until somebody has ended it."""
    place = Path(os.environ["GAMEWARDEN_MARKS"])
    name = uuid.uuid4().hex
    (place / f"began-{name}").write_text(str(os.getpid()))
    try:
        (place / "first").touch(exist_ok=False)
    except FileExistsError:
        pass
    else:
        time.sleep(120)  # nobody sleeps as long: the process is killed meanwhile
    answer = tasks.done(words)
    (place / f"ended-{name}").touch()
    return answer


def long(words: str) -> bytes:
    """As many bytes as the words say."""
    return b"x" * int(words)


def waits(words: str) -> bytes:
    """Take as many seconds as the words say."""
    time.sleep(float(words))
    return b""
