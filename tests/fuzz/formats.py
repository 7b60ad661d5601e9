"""All formats by name, and the case that a name and a number make."""

import random

from fuzz import beside, clients, dumps, headers, logs, packets, settings, stored, workspaces
from fuzz.case import Case, Format
from fuzz.kit import Kit

# The number is how many of a thousand cases are of it: cheap readers are tried more often.
FORMATS = {
    "csv": Format(logs.csv, 95),
    "jsonl": Format(logs.jsonl, 80),
    "parquet": Format(logs.parquet, 70),
    "dump": Format(dumps.sql, 50),
    "export": Format(dumps.exports, 40),
    "pcap": Format(packets.classic, 130),
    "pcapng": Format(packets.nextgen, 100),
    "packet-log": Format(packets.log, 70),
    "client-stream": Format(clients.stream, 70),
    "message-table": Format(clients.table, 60),
    "message-header": Format(headers.header, 40),
    "mapping": Format(settings.mapping, 90),
    "draft": Format(settings.drafted, 30),
    "settings": Format(settings.warden, 100),
    "labels": Format(beside.labels, 50),
    "profiles": Format(beside.profiles, 25),
    "lake": Format(stored.lake, 30),
    "model": Format(stored.model, 30),
    "verdict": Format(stored.verdict, 25),
    "state": Format(stored.state, 25),
    "results-index": Format(workspaces.index, 15),
    "seals": Format(workspaces.seals, 12),
    "bundle": Format(workspaces.bundle, 12),
    "source-state": Format(workspaces.sources, 10),
    "inbox": Format(workspaces.inbox, 10),
}


def make(name: str, number: int, kit: Kit) -> Case:
    """The case of a format and a number: always the same."""
    return FORMATS[name].make(random.Random(f"{name}:{number}"), kit)  # noqa: S311 - repeatable, not a secret


def nth(number: int) -> tuple[str, int]:
    """The format and number of the run's nth case: formats take turns by their weight, and none is skipped."""
    turn, place = divmod(number, sum(one.weight for one in FORMATS.values()))
    place = place * 379 % sum(one.weight for one in FORMATS.values())  # spread, so that any stretch holds all formats
    for name, one in FORMATS.items():
        if place < one.weight:
            return name, turn * one.weight + place
        place -= one.weight
    raise AssertionError(number)
