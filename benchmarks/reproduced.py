"""The papers' experiments as docs/results.md states them: runs `gamewarden reproduce STUDY` and keeps its figures.

    python benchmarks/reproduced.py cornelissen [--table FILE]

`--table` takes what `gamewarden reproduce STUDY --out FILE.json` wrote before: some of them take a while.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from figures import Figure, record
from gamewarden.core.binomial import upper_bound

Table = tuple[Mapping[str, Figure], tuple[str, ...]]
_EVENINGS, _BOTS = 10, 25
_OTHER, _BEYOND = "another evening's", "above the cut of 0.909"


def cornelissen(rows: list[dict[str, Any]]) -> Table:
    """Errors with each session left out once, and who stands beyond the cut."""
    values = {(row["method"], row["figure"]): row for row in rows}
    errors = "left out once: errors at 0.5"
    figures: dict[str, Figure] = {}
    for name, method in (
        ("published", "network, as published"),
        ("scored", "network, z-scores"),
        ("turns", "network, with turns"),
        ("angles", "angles, as published"),
        ("repaired", "angles of z-scores"),
    ):
        row = values[method, errors]
        figures |= {name: row["synthetic"], f"{name}_least": row["lowest"], f"{name}_most": row["highest"]}
    scored = {figure: row["synthetic"] for (method, figure), row in values.items() if method == "network, z-scores"}
    people = round(_EVENINGS * (scored["left out once: sessions judged"] - _BOTS))
    figures["people"] = people
    for name, whose in (("own", "humans above the cut of 0.909 (FPR)"), ("other", f"{_OTHER} humans {_BEYOND}")):
        beyond = round(people * scored[whose])
        figures |= {name: 100 * scored[whose], f"{name}s": beyond}
        figures[f"{name}_up_to"] = 100 * upper_bound(beyond, people, 0.025)
    figures |= {"caught": 100 * scored["bots above the cut of 0.909 (recall)"]}
    figures |= {"other_caught": 100 * scored[f"{_OTHER} bots {_BEYOND}"]}
    return figures, (
        "the network as published makes {published:.1f} errors in 50 ({published_least:.0f}–{published_most:.0f};",
        "on z-scores {scored:.1f} ({scored_least:.0f}–{scored_most:.0f}), with turn angles {turns:.1f}",
        "vector angles {angles:.1f} as published, {repaired:.1f} repaired",
        "(of {people}; up to {own_up_to:.1f} %), and {others} of {people} of another evening",
        "({other:.1f} %; up to {other_up_to:.1f} %), with {caught:.0f} % and {other_caught:.0f} % of the bots",
    )


def hilaire(rows: list[dict[str, Any]]) -> Table:
    """The windows of the client's side: the tree, and each of its tests alone."""
    client = {row["answer"]: row for row in rows if row["setting"] == "Table II, client side"}
    tree = client.pop("the tree")
    low, high = (100 * float(end) for end in tree["accuracy_range"].split(" – "))
    alone = [100 * row["accuracy"] for row in client.values()]
    figures: dict[str, Figure] = {"accuracy": 100 * tree["accuracy"], "low": low, "high": high}
    figures |= {"false_alarm": 100 * tree["false_alarm"], "alone_least": min(alone), "alone_most": max(alone)}
    return figures, (
        "accuracy of a window {accuracy:.1f} % ({low:.1f}–{high:.1f})",
        "false alarms {false_alarm:.1f} %",
        "each of the three tests alone {alone_least:.0f}–{alone_most:.0f} %",
    )


def together(rows: list[dict[str, Any]]) -> Table:
    """What each trace catches alone, and all of them, of all bots and by family."""
    figures: dict[str, Figure] = {}
    for row in rows:
        family, caught = row["family"].replace("all bots", "everybody"), row["figure"].startswith("caught")
        times, kind = (100, "caught") if caught else (1, "auc")
        for way in ("log", "packets", "messages", "all", "all_lowest", "all_highest", "excusing", "combined"):
            figures[f"{family}_{way}_{kind}"] = times * row[way]
    families = (
        "| {0} | {{{0}_log_caught:.0f}} % | {{{0}_packets_caught:.0f}} % | {{{0}_messages_caught:.0f}} % "
        "| {{{0}_all_caught:.0f}} % ({{{0}_all_lowest_caught:.0f}}–{{{0}_all_highest_caught:.0f}}) |"
    )
    return figures, (
        "AUC {everybody_log_auc:.2f}, {everybody_packets_auc:.2f} and {everybody_messages_auc:.2f} alone",
        "{everybody_all_auc:.3f} ({everybody_all_lowest_auc:.3f}–{everybody_all_highest_auc:.3f}) together",
        families.format("everybody").replace("| everybody |", "| all bots |"),
        *(families.format(name) for name in ("open", "macro", "paced", "clientless", "careful")),
        "a fusion in which looking human excuses catches {everybody_excusing_caught:.0f} %",
        "combining without labels {everybody_combined_caught:.0f} %",
    )


def defence(rows: list[dict[str, Any]]) -> Table:
    """What each policy lets bots hand on, whom it disturbs, and how fast it is."""
    policies = {"ban late": "late", "ban at once": "once", "ladder, fast decay": "fast", "ladder, slow decay": "slow"}
    named = {
        "gold that bots handed on": ("gold", 100, ".0f", " %"),
        "bots stopped": ("stopped", 100, ".0f", " %"),
        "days to the first reaction (median)": ("reacted", 1, ".1f", ""),
        "days to being stopped (median)": ("ended", 1, ".1f", ""),
        "challenges to people, per 1,000 of their hours": ("asked", 1, ".2f", ""),
        "people limited, of 1,000": ("limited", 1, ".0f", ""),
        "people banned, of 1,000": ("banned", 1, ".1f", ""),
        "cases a game master looked at": ("cases", 1, ".0f", ""),
        "people among these": ("people", 1, ".0f", ""),
    }
    figures: dict[str, Figure] = {}
    for row in rows:
        if row["figure"] not in named:
            continue
        name, times, _, _ = named[row["figure"]]
        for policy, short in policies.items():
            low, high = (times * float(end) for end in row[f"{policy} (range)"].split(" – "))
            figures |= {
                f"{name}_{short}": times * row[policy],
                f"{name}_{short}_low": low,
                f"{name}_{short}_high": high,
            }
    return figures, tuple(
        f"| {figure} | " + " | ".join(_told(f"{name}_{short}", form, sign) for short in policies.values()) + " |"
        for figure, (name, _, form, sign) in named.items()
    )


def _told(name: str, form: str, sign: str) -> str:
    """The template of a figure with its lowest and highest."""
    return f"{{{name}:{form}}}{sign} ({{{name}_low:{form}}}–{{{name}_high:{form}}})"


_GAMES = {"lineage": "lin", "aion": "aion", "blade-and-soul": "bns"}
_BARRED = ("star-hub", "star-farmer", "occasional", "mimic")


def farms(rows: list[dict[str, Any]]) -> Table:
    """AUC of each family in each game: without the new evidence, with it, with all of it but ways, and unseen."""
    figures: dict[str, Figure] = {}
    for row in rows:
        name = f"{_GAMES[row['game']]}_{row['family'].replace(' ', '_').replace('-', '_')}"
        for kind in ("without", "with", "no_ways", "unseen_without", "unseen_with"):
            if row[kind] is not None and row[kind] == row[kind]:  # NaN where nobody was unseen
                figures[f"{name}_{kind}"] = row[kind]
    families = list(dict.fromkeys(row["family"] for row in rows))
    main = (_farm_line(family, ("without", "with", "no_ways"), figures) for family in families)
    unseen = (_farm_line(family, ("unseen_without", "unseen_with"), figures) for family in _BARRED)
    return figures, (*main, *unseen)


def _farm_line(family: str, kinds: tuple[str, ...], figures: Mapping[str, Figure]) -> str:
    """A row of a table: the figures of each game, a dash where a game has too few such bots."""
    names = [
        f"{game}_{family.replace(' ', '_').replace('-', '_')}_{kind}" for game in _GAMES.values() for kind in kinds
    ]
    return f"| {family} | " + " | ".join(f"{{{name}:.3f}}" if name in figures else "–" for name in names) + " |"


_POPULATIONS = {
    "synthetic lineage, 5% bots": "lin5",
    "synthetic aion, 5% bots": "aion5",
    "synthetic blade-and-soul, 5% bots": "bns5",
    "synthetic lineage, 20% bots": "lin20",
    "synthetic aion, 20% bots": "aion20",
    "synthetic blade-and-soul, 20% bots": "bns20",
    "Aion characters (real)": "real",
}
_METHODS = {
    "oddness": "odd",
    "oddness, no ways": "plain",
    "isolation forest": "forest",
    "one-class SVM": "svm",
    "ECOD": "ecod",
}
_SIZES = (20, 50, 100, 200)


def cold_start(rows: list[dict[str, Any]]) -> Table:
    """Bots among the first without labels, and what reviewed accounts are worth; rows of all tables together."""
    figures: dict[str, Figure] = {}
    for row in rows:
        name = _POPULATIONS[row["population"]]
        if "method" in row:
            own = f"{name}_{_METHODS[row['method']]}"
            figures |= {f"{own}_{key}": row[key] for key in row if key.startswith(("first_", "auc"))}
        elif "auc_gain" in row:
            figures |= {f"{name}_{row['reviewed']}_{key}": row[key] for key in row if "gain" in key}
        elif row["order"] != "all labels":
            own = f"{name}_{row['order']}_{row['errors'] * 100:.0f}_{row['reviewed']}"
            figures |= {f"{own}_{key}": row[key] for key in ("auc", "tpr", "bots_found", "of_full_auc")}
    for name in {_POPULATIONS[row["population"]] for row in rows}:
        full = [row for row in rows if row.get("order") == "all labels" and _POPULATIONS[row["population"]] == name]
        figures |= {f"{name}_full_{key}": sum(row[key] for row in full) / len(full) for key in ("auc", "tpr")}
    there = [name for name in _POPULATIONS if f"{_POPULATIONS[name]}_odd_auc" in figures]
    lines = (_found_line, _worth_line, _gain_line)
    return figures, tuple(line(name, _POPULATIONS[name], figures) for line in lines for name in there)


def _called(name: str) -> str:
    """As the tables of the page call a population."""
    return name.replace("%", " %")


def _found_line(name: str, short: str, figures: Mapping[str, Figure]) -> str:
    first = f"{{{short}_odd_first_100:.2f}} ({{{short}_odd_first_100_low:.2f}}–{{{short}_odd_first_100_high:.2f}})"
    others = [
        f"{{{short}_{method}_first_100:.2f}}" if f"{short}_{method}_first_100" in figures else "–"
        for method in ("plain", "forest", "svm", "ecod")
    ]
    ends = f"{{{short}_odd_first_500:.2f}} | {{{short}_odd_auc:.3f}}"
    return f"| {_called(name)} | {{{short}_odd_first_50:.2f}} | {first} | {ends} | {' | '.join(others)} |"


def _worth_line(name: str, short: str, figures: Mapping[str, Figure]) -> str:
    del figures
    sizes = [f"{{{short}_active_0_{size}_auc:.3f}} ({{{short}_random_0_{size}_auc:.3f}})" for size in _SIZES]
    wrong = f"{{{short}_active_5_100_auc:.3f}} | {{{short}_active_10_100_auc:.3f}}"
    share = f"{{{short}_active_0_100_of_full_auc:.3f}}"
    return f"| {_called(name)} | {' | '.join(sizes)} | {{{short}_full_auc:.3f}} | {share} | {wrong} |"


def _gain_line(name: str, short: str, figures: Mapping[str, Figure]) -> str:
    del figures
    tpr = f"{{{short}_active_0_100_tpr:.2f}} ({{{short}_random_0_100_tpr:.2f}}) | {{{short}_full_tpr:.2f}}"
    own = [f"{short}_100_{kind}_gain" for kind in ("auc", "tpr")]
    gains = [f"{{{gain}:+.3f}} ({{{gain}_low:+.3f}} to {{{gain}_high:+.3f}})" for gain in own]
    found = f"{{{short}_active_0_100_bots_found:.0f}} ({{{short}_random_0_100_bots_found:.0f}})"
    return f"| {_called(name)} | {' | '.join(gains)} | {tpr} | {found} |"


STUDIES: Mapping[str, Callable[[list[dict[str, Any]]], Table]] = {
    "cold-start": cold_start,
    "cornelissen": cornelissen,
    "defence": defence,
    "farms": farms,
    "hilaire": hilaire,
    "together": together,
}


_SEVERAL = ("cold-start",)  # studies whose further tables are recorded too


def main() -> None:
    """Run a study, or take its table, and record it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--table", type=Path)
    given = parser.parse_args()
    with TemporaryDirectory() as place:
        table = given.table or Path(place) / "table.json"
        if given.table is None:
            command = [sys.executable, "-m", "gamewarden", "reproduce", given.study, "--out", str(table)]
            subprocess.run(command, check=True)
        beside = sorted(table.parent.glob(f"{table.stem}-*{table.suffix}")) if given.study in _SEVERAL else []
        rows = [row for file in (table, *beside) for row in json.loads(file.read_text(encoding="utf-8"))]
        figures, says = STUDIES[given.study](rows)
    name = f"reproduced_{given.study.replace('-', '_')}"
    print(record(name, f"python benchmarks/reproduced.py {given.study}", figures, says))


if __name__ == "__main__":
    main()
