"""Looking at a page of metrics as Prometheus does: over HTTP, on loopback."""

import socket
import time
import urllib.error
import urllib.request

from prometheus_client.parser import text_string_to_metric_families


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def page(port, path="/metrics"):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return answer.read().decode()


def families(port):
    """Every family by its name, once somebody answers."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return {one.name: one for one in text_string_to_metric_families(page(port))}
        except (urllib.error.URLError, ConnectionError):
            assert time.monotonic() < deadline, "nobody answers"
            time.sleep(0.05)


def value(found, name, **labels):
    """One number; None where it is not there."""
    samples = [one for one in found[name].samples if one.labels == labels and not one.name.endswith("_created")]
    return samples[0].value if samples else None


def wait_for(port, name, wanted, **labels):
    """Look until a number is at least so large; what was found then."""
    deadline = time.monotonic() + 60
    while True:
        found = families(port)
        if (value(found, name, **labels) or 0) >= wanted:
            return found
        assert time.monotonic() < deadline, f"{name} is {value(found, name, **labels)}"
        time.sleep(0.05)
