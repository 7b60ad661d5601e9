"""What is right, to be spoiled: a small lake, models of every kind, verdicts and maintenance, made once and kept.

The kit is the same whenever it is made, so that a case's number means the same input again.
"""

import json
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

import polars as pl

from capture_bytes import SYN, pcap, up
from gamewarden.cli import root
from gamewarden.detectors.account_table.recipe import AccountTableDetector
from gamewarden.detectors.actions.recipe import TwoStage
from gamewarden.detectors.session.recipe import SessionAngle
from gamewarden.detectors.traffic.recipe import TrafficDetector
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.features.session.recipe import Sessions
from gamewarden.features.traffic.details import TrafficDetails
from gamewarden.pipeline import maintaining
from gamewarden.store import models
from gamewarden.tables import FramePackets, FrameRows
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.running import Run
from made_up import CHUNKS, action_chunks, labels_of
from packets_made_up import client
from ragnarok_bytes import connect, tag, take, walk
from sessions_made_up import session_rows
from tables_made_up import account_table
from traces_made_up import trace_labels, traces
from upkeep_made_up import Log, make_game, task_of

_NOW = datetime(2026, 3, 6, tzinfo=UTC)
READY = "ready"  # written last: a kit without it was never finished


@dataclass(frozen=True)
class Kit:
    """A directory of right files."""

    place: Path

    @cached_property
    def models(self) -> dict[str, str]:
        """The values of one model of each detector, as JSON."""
        return {path.name: json.dumps(models.load(path)) for path in sorted((self.place / "shelf").glob("*@*.json"))}

    @cached_property
    def verdicts(self) -> list[str]:
        """Whole documents, unsealed, as JSON."""
        found = sorted((self.place / "verdicts").glob("verdict@*.json"))
        return [json.dumps(json.loads(path.read_text())["verdict"]) for path in found]

    @cached_property
    def sealed(self) -> list[str]:
        """The ids of verdicts that rest in the workspace."""
        days = Workspace.at(self.place / "ws").verdicts
        return [name for seal in days.seals() for name in days.table(seal)["verdict"].drop_nulls().to_list()]

    def bytes_of(self, name: str) -> bytes:
        """A right file's content."""
        return _read(self.place / name)

    def files(self, folder: str) -> dict[str, bytes]:
        """All files below a folder, by their path from the kit on."""
        return {str(path.relative_to(self.place)): _read(path) for path in _below(self.place / folder)}


_KNOWN: dict[Path, bytes] = {}


def _read(path: Path) -> bytes:
    if path not in _KNOWN:
        _KNOWN[path] = path.read_bytes()
    return _KNOWN[path]


def _below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")


def make_kit(place: Path) -> Kit:
    """The kit at a place; one that is there is taken as it is."""
    if not (place / READY).exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        _play(place)
        _learn(place)
        _rest(place)
        (place / READY).touch()
    return Kit(place)


def _play(place: Path) -> None:
    """A lake of four days, judged and maintained."""
    make_game(place, Log(days=4, bots=6, humans=8, seed=4), learned_days=3)
    _run("judge", place / "lake", "--models", place / "models", "--to", place / "verdicts", "--all")
    shutil.copytree(place / "models", place / "kept")
    maintaining.maintain(task_of(place, clock=lambda: _NOW, common_actors=5, labelled=3))
    _run("measure", "self-similarity", place / "events.parquet", "--out", place / "days.csv")
    client([40, 60, 30] * 80, [0.3, 0.7, 2.5] * 79).write_csv(place / "packets.csv")
    pl.read_parquet(place / "events.parquet").tail(30).drop("seq").write_csv(place / "more.csv")
    (place / "net.pcap").write_bytes(pcap([up(99, 0, SYN), *(up(100 + 20 * number, 20) for number in range(9))]))
    (place / "one.adam").write_bytes(tag(10**15) + connect() + tag(10**15) + walk(3, 4) + tag(10**15 + 10**6) + take())
    _run("watch", place / "packets.csv", "--state", place / "watch.state", "--out", place / "watch.jsonl")


def _rest(place: Path) -> None:
    """A workspace of the first two days that was run, and one of whose days was judged again after a late file."""
    root = place / "ws"
    (root / "logs").mkdir(parents=True)
    shutil.copytree(place / "kept", root / "models")
    watched = "[verdict]\nwatch = 0.5\n"  # of so few humans no rate is lower
    (root / "warden.toml").write_text(f'{watched}[workspace]\n[[source]]\nname = "game"\nlocator = "logs/*.parquet"\n')
    rows = pl.read_parquet(place / "events.parquet")
    days = rows["at"].dt.date()
    first, second = days.unique().sort()[:2]
    rows.filter(days <= second).tail(-30).write_parquet(root / "logs" / "log.parquet")
    for number in range(2):
        failed = Run(Workspace.at(root), _NOW + timedelta(hours=number), lambda _step: None).run()
        if failed:
            raise RuntimeError("the workspace of the kit could not be run")
        rows.filter(days == first).head(30).write_parquet(root / "logs" / "late.parquet")


def _learn(place: Path) -> None:
    """A model of every kind on one shelf, of which nothing was ever promoted."""
    shelf = place / "shelf"
    shutil.copytree(place / "kept", shelf)
    models.save(TwoStage(CHUNKS).fit(action_chunks(), labels_of(12, 14)), shelf)
    layouts = TrafficDetails(layouts=((19, 5),))
    models.save(TrafficDetector(layouts).fit(layouts.measure(FramePackets(traces(0.1))), trace_labels()), shelf)
    rows = FrameRows(account_table(30, 40))
    table = AccountTable(label="verdict", drop=("character",)).learn(rows)
    models.save(
        AccountTableDetector(feature=table, rounds=3, runs=1).fit(table.measure(rows), labels_of(30, 40)), shelf
    )
    models.save(SessionAngle(Sessions()).fit(session_rows(), labels_of(12, 14)), shelf)
    account_table(2, 3, seed=8).drop("verdict").write_csv(place / "table.csv")


def _run(*words: object) -> None:
    root.main([str(word) for word in words], prog_name="gamewarden", standalone_mode=False)
