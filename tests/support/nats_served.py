"""A real NATS server with JetStream on a loopback port of its own."""

import importlib.util
import json
import shutil
import socket
import subprocess
import time
from contextlib import closing, contextmanager

import pytest


@contextmanager
def served(directory):
    """A server for as long as this lasts; its address."""
    program = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin")
    if program is None or importlib.util.find_spec("nats") is None:
        pytest.skip("nats-server or nats-py is not installed: nothing was tried with NATS")
    ports = directory / "ports"
    ports.mkdir(parents=True)
    command = [program, "-js", "-a", "127.0.0.1", "-p", "-1", "-sd", directory / "store", "--ports_file_dir", ports]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield _address(ports, process)
        finally:
            process.terminate()


def _address(ports, process):
    until = time.monotonic() + 20
    while time.monotonic() < until and process.poll() is None:
        for found in ports.glob("*.ports"):
            try:
                address = json.loads(found.read_text())["nats"][0].removeprefix("nats://")
            except ValueError:
                continue  # it is being written
            host, port = address.rsplit(":", 1)
            with closing(socket.create_connection((host, int(port)), timeout=5)):
                return address
        time.sleep(0.05)
    pytest.fail(f"nats-server did not start (it ended with {process.poll()})")
