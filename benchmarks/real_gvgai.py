"""How well self-similarity tells programs from people in two real arcade games (GAMEWARDEN_DATA/gvgai).

    python benchmarks/real_gvgai.py [--deals 10] [--record]

Ticks are taken as seconds, a session is an actor, a window is 5 s; players are held out whole. With six players a side
the result hangs on which of them share a fold, so that they are dealt ten times: AUCs and the ends of their intervals
are means over the deals. The second part holds out sessions and lets a player stand on both sides: it shows how much
that flatters.
"""

import argparse
import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from figures import Figure, record
from gamewarden import readers
from gamewarden.core.durations import SECOND
from gamewarden.detectors import load
from gamewarden.evaluation.cross_validation import evaluate
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.readers.logs.operator_tables import read_labels
from gamewarden.readers.options import LogOptions, SourceOptions

MAPPING = """\
[columns]
actor = "session"
at = "tick"
kind = "action"

[time]
format = "epoch_s"
"""
SETTINGS = '[read]\nearliest = "1970-01-01"  # its clock counts from the beginning of a session\n'
DETECTORS = ("self-similarity", "account-day")
DEALS = 10
SAYS = (
    "{bots} sessions of programs and {humans} of people with 30 windows of 5 s or more, {groups} players held out",
    "self-similarity alone AUC {self_similarity_auc:.2f} (95 %: {self_similarity_low:.2f}–{self_similarity_high:.2f})",
    "all features {account_day_auc:.2f} ({account_day_low:.2f}–{account_day_high:.2f})",
    "counting events {events_alone_auc:.2f} ({events_alone_low:.2f}–{events_alone_high:.2f})",
    "from {self_similarity_least:.2f} to {self_similarity_most:.2f}",
    "the second figure becomes {account_day_flattered:.2f}",
)


def write_inputs(log: Path, place: Path) -> tuple[Path, Path]:
    """The mapping file, and labels with the player each session belongs to; beside them settings (`warden.toml`)."""
    mapping, labels = place / "gvgai.toml", place / "labels.csv"
    mapping.write_text(MAPPING, encoding="utf-8")
    (place / "warden.toml").write_text(SETTINGS, encoding="utf-8")
    with log.open(newline="", encoding="utf-8") as rows:
        sessions = {row["session"]: (row["label"] == "ai", row["player"]) for row in csv.DictReader(rows)}
    with labels.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["actor", "bot", "player"])
        writer.writerows([session, int(bot), player] for session, (bot, player) in sessions.items())
    return mapping, labels


def evaluated(log: Path, deals: Sequence[int], *, players: bool) -> pl.DataFrame:
    """The results by session of every deal, players or single sessions being held out."""
    with TemporaryDirectory() as place:
        mapping, told = write_inputs(log, Path(place))
        mapped = SourceOptions(LogOptions(mapping=mapping))
        events, labels = readers.open(log, mapped).events(), read_labels(told, None).frame
        feature = SelfSimilarity(unit=5 * SECOND).learn(events)
        measured = feature.measure(events)
    recipes = [load(name)(feature=feature) for name in DETECTORS]
    groups = labels.select("actor", group="player") if players else None
    known = labels.drop("player")
    parts = [
        evaluate(recipes, measured, known, groups=groups, seed=deal).summary.with_columns(deal=deal) for deal in deals
    ]
    return pl.concat(parts).filter(unit="actor")


def figures_of(apart: pl.DataFrame, flattered: pl.DataFrame) -> Mapping[str, Figure]:
    """Means over the deals, and the AUC of self-similarity in each."""
    first = apart.row(0, named=True)
    told: dict[str, Figure] = {name: first[name] for name in ("bots", "humans", "groups")}
    for (detector,), rows in apart.partition_by("detector", as_dict=True, maintain_order=True).items():
        name = str(detector).replace("-", "_").replace(" ", "_")
        told |= {f"{name}_{end}": rows[f"auc_{end}"].mean() for end in ("low", "high")}
        told |= {f"{name}_auc": rows["auc"].mean(), f"{name}_auc_by_deal": rows["auc"].to_list()}
        told |= {f"{name}_least": rows["auc"].min(), f"{name}_most": rows["auc"].max()}
    return {**told, "account_day_flattered": flattered.filter(detector="account-day")["auc"].mean()}


def main() -> None:
    """Print both evaluations, and keep their figures if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--deals", type=int, default=DEALS)
    parser.add_argument("--record", action="store_true", help="keep the figures for docs/results.md")
    given = parser.parse_args()
    log = Path(os.environ["GAMEWARDEN_DATA"]) / "gvgai" / "events.csv"
    apart, together = (evaluated(log, range(given.deals), players=players) for players in (True, False))
    figures = figures_of(apart, together)
    print("\n".join(f"{name}: {value}" for name, value in figures.items()))
    print("\n".join(template.format(**figures) for template in SAYS))
    if given.record:
        record("real_gvgai", "python benchmarks/real_gvgai.py --record", figures, SAYS)


if __name__ == "__main__":
    main()
