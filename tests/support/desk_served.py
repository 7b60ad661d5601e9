"""A real server with the desk of a workspace, and a real browser before it."""

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True)
class Served:
    """Where the desk is, and who may log in."""

    url: str
    password: str
    process: subprocess.Popen


@contextmanager
def served(root, *options):
    """`gamewarden serve` in a workspace, until the test is over."""
    words = [sys.executable, "-m", "gamewarden", "--workspace", str(root), "serve", "--port", "0", *options]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            said = ""
            while "Ctrl-C" not in said:
                line = process.stdout.readline()
                assert line, said
                said += line
            password = re.search(r"with the password (\S+)", said)
            yield Served(re.search(r"http://\S+", said)[0].rstrip("/"), password[1] if password else "", process)
        finally:
            process.terminate()
            process.wait(20)


@contextmanager
def browser():
    """Debian's Chromium."""
    if not CHROMIUM.exists():
        pytest.skip("there is no /usr/bin/chromium (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        yield made
        made.close()
