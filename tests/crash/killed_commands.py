"""Every command that writes, on a game small enough to be played hundreds of times."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from click.testing import CliRunner

from gamewarden.cli import root
from upkeep_made_up import Log, make_game

ROWS = 300
LOG = "actor,at,kind\n" + "".join(f"a{n % 7},{1_700_006_400 + n * 700},k{n % 3}\n" for n in range(ROWS))  # three days
WORKSPACE = """[workspace]
labels = "labels.csv"

[[source]]
name = "game"
locator = "logs/*.parquet"

"""
SETTINGS = """[maintain]
common_actors = 10
provisional = 3
baseline = 4
labelled = 4
window_least = 1
window_most = 2
"""


@dataclass(frozen=True)
class Command:
    """A command line in which {0} is the place, what it grows, and what has happened before."""

    line: str
    grows: tuple[str, ...] = ()  # files that are appended to: any beginning of what they end as is well
    moves: tuple[str, ...] = ()  # patterns of files with a state in between: as they end when the command has ended
    before: Callable[[Path], object] | None = None
    once: bool = False  # done twice it does more: where the kill came too late, it is not done again

    def arguments(self, place: Path) -> list[str]:
        """As they are typed."""
        return [part.replace("{0}", str(place)) for part in self.line.split()]


def _read_cut(place: Path) -> None:
    """The log is in the lake with its last line cut: its rows are read anew, and its parts replaced."""
    log = place / "log.csv"
    log.write_text(LOG[: len(LOG) // 2 - 3])
    run("read", log, "--to", place / "lake2", "--max-bad-share", "1")
    log.write_text(LOG)


def _read_half(place: Path) -> None:
    log = place / "log.csv"
    log.write_text(LOG[: LOG.index("\n", len(LOG) // 2) + 1])
    run("read", log, "--to", place / "lake2")
    log.write_text(LOG)


def _read_two(place: Path) -> None:
    other = place / "other.csv"
    other.write_text(LOG.replace("\na", "\nb"))
    run("read", place / "log.csv", other, "--to", place / "lake2")


def _read_two_for_others(place: Path) -> None:
    _read_two(place)
    run("delta", place / "lake2")


def _promoted(place: Path) -> None:
    run("fit", "self-similarity", place / "early.parquet", "--labels", place / "labels.csv", "--to", place / "models")
    models = sorted(path.stem for path in (place / "models").glob("*@*.json"))
    for model in models:
        run("model", "promote", model, "--models", place / "models", "--because", "test")
    run(
        *("fit", "account-day", place / "events.parquet", "--labels", place / "labels.csv"),
        *("--to", place / "models", "--min-windows", "3"),
    )
    (other,) = {path.stem for path in (place / "models").glob("account-day@*.json")} - {*models}
    run("model", "promote", other, "--models", place / "models", "--because", "test")


def _workspace(place: Path) -> None:
    """A workspace of this game that was never run: its log by days, its models and labels."""
    root = place / "ws"
    (root / "logs").mkdir(parents=True)
    for name in ("models", "labels.csv"):
        shutil.move(place / name, root / name)
    shutil.copytree(root / "models", place / "models")  # commands are told of a model here
    events = pl.read_parquet(place / "events.parquet")
    for (day,), rows in events.group_by(pl.col("at").dt.date()):
        rows.write_parquet(root / "logs" / f"{day}.parquet")
    (root / "warden.toml").write_text(WORKSPACE + SETTINGS)


def _late_files(place: Path) -> None:
    """A workspace that was run, and a file of two days that were judged."""
    _workspace(place)
    days = sorted((place / "ws" / "logs").iterdir())
    late = pl.concat([pl.read_parquet(path).head(30) for path in days[1:3]])
    run("--workspace", place / "ws", "run")
    late.with_columns(actor=pl.lit("stranger")).write_parquet(place / "ws" / "logs" / "late.parquet")


def _pushes(place: Path) -> None:
    """A workspace into which a game server has pushed; the server was killed while it wrote."""
    from gamewarden.desk.inbox import Door, Sent
    from gamewarden.store.inbox import Rotation
    from gamewarden.workspace.place import Workspace
    from pushes_made_up import events, lines, packet

    (place / "ws").mkdir()
    (place / "ws" / "warden.toml").write_text("[workspace]\n")
    door = Door(Workspace.at(place / "ws"), rotation=Rotation(age=0.0))
    for first in (0, 40):
        door.take("events", Sent([events(first, 40)], key=str(first))).result()
        door.close()
    door.take("packets", Sent([lines(packet(number) for number in range(50))])).result()
    door.close()
    last = max((place / "ws" / "inbox" / "events").glob("*.segment"))
    last.rename(last.with_suffix(".open")).write_bytes(last.with_suffix(".open").read_bytes() + b"GWB1 half of one")


_GAME = "--models {0}/models"
_LAKE_AND_LOG = ("lake2/lake.json", *(f"lake2/_delta_log/{number:020}.json" for number in range(1, 5)))
_RUN_GROWS = (
    "ws/models/maintenance/account-day/history.jsonl",
    "ws/models/promotions.jsonl",
    "ws/results/verdicts/seals.jsonl",
)
# A day's logs become one part when they are compacted; each step adds to its index, or to its list of files.
_RUN_MOVES = (
    "ws/lake/*",
    "ws/results/*/index.json",
    "ws/results/sources/*.json",
    "ws/results/verdicts/head.json",
    "ws/ledger.db",
)
COMMANDS = {
    "read": Command("read {0}/log.csv --to {0}/lake2", moves=("lake2/lake.json",)),  # an empty lake comes first
    "read more": Command("read {0}/log.csv --to {0}/lake"),
    "read a grown log": Command("read {0}/log.csv --to {0}/lake2", before=_read_half),
    "read a cut log anew": Command("read {0}/log.csv --to {0}/lake2", before=_read_cut),
    "compact": Command("compact {0}/lake2", before=_read_two, moves=("lake2/lake.json",)),  # a day at a time
    "compact beside a Delta log": Command("compact {0}/lake2", before=_read_two_for_others, moves=_LAKE_AND_LOG),
    "fit": Command("fit account-day {0}/early.parquet --labels {0}/labels.csv --to {0}/new/models"),
    "model promote": Command(f"model promote {{model}} {_GAME} --because test", grows=("models/promotions.jsonl",)),
    "model roll-back": Command(
        f"model roll-back account-day {_GAME} --because test",
        grows=("models/promotions.jsonl",),
        before=_promoted,
        once=True,
    ),
    "measure --out csv": Command("measure self-similarity {0}/lake --out {0}/out/days.csv"),
    "score --out parquet": Command(f"score {{0}}/lake {_GAME} --out {{0}}/out/scores.parquet"),
    "rank --out json": Command(f"rank {{0}}/lake {_GAME} --out {{0}}/out/rank.json"),
    "explain --plot": Command(f"explain bot001 {{0}}/lake {_GAME} --plot {{0}}/out/windows.png"),
    "judge --to": Command(f"judge {{0}}/early.parquet {_GAME} --to {{0}}/verdicts --all"),
    "evaluate --report": Command(
        "evaluate {0}/early.parquet --labels {0}/labels.csv --report {0}/out/page.html --models {0}/models --folds 2"
    ),
    "maintain": Command(
        f"--config {{0}}/warden.toml maintain --lake {{0}}/lake {_GAME} --labels {{0}}/labels.csv "
        "--report {0}/out/upkeep.html",
        grows=("models/maintenance/account-day/history.jsonl", "models/promotions.jsonl"),
    ),
    "run": Command("--workspace {0}/ws run", before=_workspace, grows=_RUN_GROWS, moves=_RUN_MOVES),
    "run with late files": Command("--workspace {0}/ws run", before=_late_files, grows=_RUN_GROWS, moves=_RUN_MOVES),
    "run with pushes": Command(
        "--workspace {0}/ws run", before=_pushes, grows=_RUN_GROWS, moves=(*_RUN_MOVES, "ws/inbox/*")
    ),
    "watch": Command(
        "watch {0}/traffic/packets.parquet --state {0}/state --out {0}/decisions.jsonl",
        grows=("decisions.jsonl",),
        moves=("state",),
    ),
    "world": Command("world {0}/w --accounts 12 --days 1 --seed 3 --packets"),
    "world --ragnarok": Command("world {0}/r --ragnarok --sessions 4 --seed 3"),
}


def prepare(place: Path) -> None:
    """A lake, a model, labels, packets and a log."""
    make_game(place, Log(days=5, bots=12, humans=12, adapts=3))
    (place / "log.csv").write_text(LOG)
    (place / "warden.toml").write_text(SETTINGS)
    run("world", place / "traffic", "--accounts", "12", "--days", "1", "--seed", "4", "--packets")
    for name in ("events.parquet", "capture.pcap"):
        (place / "traffic" / name).unlink()


def line_of(name: str, place: Path) -> list[str]:
    """A command as it is typed; {model} is the model that was fitted."""
    model = next(path.stem for path in (place / "models").glob("account-day@*.json"))
    return [part.replace("{model}", model) for part in COMMANDS[name].arguments(place)]


def run(*arguments: object) -> None:
    """A command that must succeed, in this process."""
    done = CliRunner().invoke(root, list(map(str, arguments)), catch_exceptions=False)
    if done.exit_code:
        raise RuntimeError(f"{arguments}: {done.stderr}")


def copied(template: Path, place: Path) -> None:
    """The place as it was."""
    if place.exists():
        shutil.rmtree(place)
    shutil.copytree(template, place, symlinks=True)
