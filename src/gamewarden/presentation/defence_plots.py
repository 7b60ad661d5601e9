"""Pictures of policies against bots: what bots earn, whom it disturbs, and what the timing tells."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from gamewarden.presentation.plots import BOT, GREY, INK, LINES, percent, save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SEED = 0  # of the jitter: a picture is the same each time
_MARKERS = ("v", "o", "s", "^")  # from strict to lax
_APART = 0.055  # the least distance of two names at the end of their lines


def plot_gold(shares: pl.DataFrame, path: Path, title: str = "") -> None:
    """A line per policy over the days, in a band from the lowest to the highest world; the first is without any.

    `shares` has policy, day, share, lowest and highest.

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """
    names = shares["policy"].unique(maintain_order=True).to_list()
    last = int(shares["day"].to_numpy().max())

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        ends = {}
        for name, colour in zip(names, (GREY, *LINES), strict=False):
            rows = shares.filter(policy=name)
            axes.fill_between(rows["day"], rows["lowest"], rows["highest"], color=colour, alpha=0.12, linewidth=0)
            axes.plot(rows["day"], rows["share"], color=colour, linewidth=1.9)
            ends[name] = float(rows["share"][-1]), colour
        _name_lines(axes, ends, last)
        axes.set(xlabel="day", ylabel="of all they would have earned", title=title, ylim=(0, 1.04), xlim=(1, last))
        axes.set_xticks(range(7, last + 1, 7))
        percent(axes, "y")

    save_picture(draw, path, (9.5, 4.8))


def _name_lines(axes: "Axes", ends: Mapping[str, tuple[float, str]], last: int) -> None:
    """Each line's name beside its end, moved apart where two would touch."""
    height = -1.0
    for name, (end, colour) in sorted(ends.items(), key=lambda item: item[1][0]):
        height = max(end, height + _APART)
        axes.annotate(
            f"{name}  {100 * end:.0f} %",
            (last, height),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=colour,
            annotation_clip=False,
        )


def plot_disturbed(
    strict: pl.DataFrame, by_time: pl.DataFrame, path: Path, title: str = "", policies: Sequence[str] = ()
) -> None:
    """Left, from strict to lax evidence: people who notice against gold kept back; right, by a person's time.

    `strict` has policy, fpr, families, people_noticing (of 1,000) and gold_kept_back; `by_time` policy, cases_a_day and
    gold_handed_on. `policies` are all that there are, so that each has its colour in every picture.

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """
    shown = strict["policy"].unique(maintain_order=True).to_list()
    every = dict(zip(policies or shown, LINES, strict=False))
    colours = {name: every[name] for name in shown}

    def draw(figure: "Figure") -> None:
        people, time = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        _by_strictness(people, strict, colours)
        _bars(time, by_time, colours)
        people.set(ylabel="gold kept from bots", ylim=(0, 1))
        percent(people, "y")
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, color=INK)

    save_picture(draw, path, (9.5, 4.6))


def _by_strictness(axes: "Axes", strict: pl.DataFrame, colours: Mapping[str, str]) -> None:
    """A line per policy; its markers tell how strict the evidence must be."""
    how = strict.select("fpr", "families").unique(maintain_order=True).rows()
    for name, colour in colours.items():
        rows = strict.filter(policy=name)
        axes.plot(rows["people_noticing"], rows["gold_kept_back"], color=colour, linewidth=1.6, label=name)
        for row in rows.iter_rows(named=True):
            marker = _MARKERS[how.index((row["fpr"], row["families"])) % len(_MARKERS)]
            axes.plot(row["people_noticing"], row["gold_kept_back"], marker, color=colour, markersize=7)
    axes.add_artist(axes.legend(loc="upper left", fontsize=8))
    shapes = [axes.plot([], [], marker, color=INK)[0] for marker, _ in zip(_MARKERS, how, strict=False)]
    said = ["one family" if families == 1 else f"{families} families" for _, families in how]
    named = [f"FPR {fpr:g}, {one}" for (fpr, _), one in zip(how, said, strict=True)]
    axes.legend(shapes, named, loc="lower right", fontsize=8, title="evidence must have", title_fontsize=8)
    ticks = (0, 1, 3, 10, 30, 100, 300, 1000)
    most = max(strict["people_noticing"].to_list())
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xticks([tick for tick in ticks if tick <= 2 * most], [f"{tick}" for tick in ticks if tick <= 2 * most])
    axes.minorticks_off()
    axes.set_xlabel("people of 1,000 who are touched, or shown to a game master")


def _bars(axes: "Axes", by_time: pl.DataFrame, colours: Mapping[str, str]) -> None:
    """A group of bars per number of cases that a game master looks at in a day."""
    a_day = by_time["cases_a_day"].unique(maintain_order=True).to_list()
    width = 0.8 / len(colours)
    for at, (name, colour) in enumerate(colours.items()):
        kept = 1 - by_time.filter(policy=name)["gold_handed_on"]
        places = [place - 0.4 + (at + 0.5) * width for place in range(len(a_day))]
        axes.bar(places, kept, width * 0.92, color=colour)
    axes.set_xticks(range(len(a_day)), [f"{count}" for count in a_day])
    axes.set_xlabel("cases a game master looks at in a day")
    axes.grid(axis="x", visible=False)


def plot_timing(
    pairs: Mapping[str, tuple[Sequence[float], Sequence[float]]], leaks: pl.DataFrame, path: Path, title: str = ""
) -> None:
    """A panel per signal: the day of the evidence against the day of what followed, a dot per bot.

    `leaks` has signal, known and accounts, which stand above the panels.

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """
    told = {row["signal"]: row for row in leaks.iter_rows(named=True)}
    dice = np.random.default_rng(_SEED)

    def draw(figure: "Figure") -> None:
        panels = figure.subplots(1, len(pairs), sharex=True, sharey=True, squeeze=False)[0]
        most = max((max(last, default=1.0) for _, last in pairs.values()), default=1.0) + 1
        for axes, (signal, (first, last)) in zip(panels, pairs.items(), strict=True):
            jitter = dice.uniform(-0.3, 0.3, (2, len(first)))
            axes.plot([0, most], [0, most], color=GREY, linewidth=0.8, linestyle=":")
            axes.plot(first + jitter[0], last + jitter[1], ".", color=BOT, markersize=5, alpha=0.5)
            axes.set_title(f"{signal}\n{_said(told[signal])}", fontsize=9)
            axes.set(xlabel="day of the evidence", xlim=(0, most), ylim=(0, most), aspect="equal")
        panels[0].set_ylabel("day of what followed")
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, color=INK)

    save_picture(draw, path, (3.0 * max(len(pairs), 2), 3.9))


def _said(row: Mapping[str, float | None]) -> str:
    known, accounts = row["known"], row["accounts"]
    lost = "over 100" if accounts is None else f"{accounts}"
    return "too few" if known is None else f"tells {100 * known:.0f} % of it; {lost} account{'s' * (lost != '1')} lost"
