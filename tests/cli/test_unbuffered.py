"""What is handed over arrives whole, also where Python does not buffer and somebody asks to stop meanwhile."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

_SCRIPT = """
from gamewarden.cli.show import hand_over
from gamewarden.online.stopping import Stop
import sys
with Stop().on_interrupt():
    print("ready", file=sys.stderr, flush=True)
    hand_over("".join('{"key": %d}\\n' % number for number in range(200_000)))
"""


def test_a_stop_while_nobody_reads_loses_no_line():
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", _SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    ) as process:
        process.stderr.readline()
        deadline = time.monotonic() + 30
        while not _waits_for_a_pipe(process.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        told = process.stdout.read()

    assert process.returncode == 0
    assert told.count(b"\n") == 200_000


def _waits_for_a_pipe(process: int) -> bool:
    """Whether it sleeps: the pipe is full."""
    return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "S"
