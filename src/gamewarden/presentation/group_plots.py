"""Pictures of groups: each as a small network with its hub in the middle, and all of them on one map."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.core.files import make_directory
from gamewarden.core.text import counted
from gamewarden.groups.finding import Found
from gamewarden.presentation.group_files import edges_of
from gamewarden.presentation.group_story import KINDS
from gamewarden.presentation.plots import BOT, GREY, HUMAN, INK, save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Places = dict[str, tuple[float, float]]
_PANELS, _ACROSS = 12, 3
_RING = 48  # accounts that a panel shows around a hub, or in a ring
_NAMES = 14  # accounts of a panel that are all named
_LONGEST = 16  # letters of a name
_UPRIGHT = 0.3  # so near to the middle a name stands above or below its dot
_MAPPED = 80  # groups on the map
_LINES = 150  # flows between groups on the map, those of most value; ties of a panel of copies
_STEPS = 150
_STRETCH = (52, 2)  # letters in a line, and lines, that say under a panel what copies share
_MIDDLE = ("hub", "giver", "bank", "trader")
_COLOURS = {
    "hub": BOT,
    "leaf": "#e0987f",
    "link": "#8e5aa8",
    "copy": "#b8860b",
    "buyer": HUMAN,
    "giver": HUMAN,
    "bank": HUMAN,
    "trader": HUMAN,
    "member": GREY,
}
_WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
_TYPES = {"star": BOT, "small-star": "#e0987f", "chain": "#8e5aa8"}


def plot_groups(found: Found, directory: Path) -> list[Path]:
    """groups.png with the first groups as networks, and map.png with all of them.

    Raises:
        WriteError: the place cannot be written.
    """
    make_directory(directory)
    made = [directory / "groups.png", directory / "map.png"]
    _panels(found, made[0])
    _map(found, made[1])
    return made


def _panels(found: Found, path: Path) -> None:
    shown = found.groups.head(_PANELS)
    down = max(1, -(-shown.height // _ACROSS))
    ties = _ties(found)

    def draw(figure: "Figure") -> None:
        axes = figure.subplots(down, _ACROSS, squeeze=False).ravel()
        for place, one in enumerate(axes):
            one.set_axis_off()
            if place < shown.height:
                row = shown.row(place, named=True)
                _panel(one, row, found.members.filter(group=row["id"]), ties)
        _legend(figure, found.members.filter(pl.col("group").is_in(shown["id"].implode())))
        more = f", the first {shown.height} of {found.groups.height:,}" if shown.height < found.groups.height else ""
        figure.suptitle(f"Accounts that belong together{more}", x=0.01, ha="left", fontsize=12, color=INK)

    save_picture(draw, path, (4.0 * _ACROSS, 3.4 * down + 0.9))


def _ties(found: Found) -> pl.DataFrame:
    """Who gives to whom one way, who exchanges or plays together, and who is a copy of whom."""
    gifts = found.flows.filter("one_way").select("value", one="giver", other="taker", by=pl.lit("gifts"))
    others = [found.around.exchanged, found.around.parties]
    both = [one.select(value=pl.lit(0.0), one="one", other="other", by=pl.lit("ties")) for one in others]
    value = pl.max_horizontal("alike", "same_way")
    same = found.copies.select(value=value, one="actor", other="other", by=pl.lit("copies"))
    ties = pl.concat([gifts, *both, same])
    return ties.with_columns(arrow=pl.col("by") == "gifts")


def _panel(axes: "Axes", row: Mapping[str, Any], members: pl.DataFrame, ties: pl.DataFrame) -> None:
    places, left = _laid_out(row, members, ties)
    names = pl.Series(list(places), dtype=pl.String).implode()
    inside = ties.filter(pl.col("one").is_in(names), pl.col("other").is_in(names))
    _lines(axes, _drawn_of(inside, row["by"]), places)
    roles = dict(members.select("actor", "role").iter_rows())
    for actor, (x, y) in places.items():
        middle = roles[actor] in _MIDDLE
        axes.plot(x, y, "o", color=_COLOURS[roles[actor]], ms=13 if middle else 7, mec="white", mew=0.8, zorder=3)
        if middle or roles[actor] == "link" or len(places) <= _NAMES:
            _name(axes, actor, (x, y), below=middle or row["type"] == "chain")
    below = [f"and {left:,} more, not drawn"] if left else []
    below += _in_lines(row["shared"]) if row["shared"] else []
    axes.text(0, -1.35, "\n".join(below), ha="center", va="top", fontsize=8, color=INK)
    flagged = "  all signs of a farm" if row["flagged"] else ""
    axes.set_title(f"{KINDS[row['type']]} of {row['n']:,}{flagged}", fontsize=10, color=BOT if row["flagged"] else INK)
    axes.set(xlim=(-1.65, 1.65), ylim=(-1.5, 1.4), aspect="equal")


def _drawn_of(ties: pl.DataFrame, by: str) -> pl.DataFrame:
    """The ties that made a group, and gifts among those who are together by others; of copies the closest."""
    if by == "copies":
        return (
            ties.filter(pl.col("by") == by).sort("value", "one", "other", descending=[True, False, False]).head(_LINES)
        )
    return ties.filter(pl.col("by").is_in(["gifts"] if by == "gifts" else ["gifts", "ties"]))


def _in_lines(text: str) -> list[str]:
    across, down = _STRETCH
    return wrap(text, across, max_lines=down, placeholder=" …")


def _name(axes: "Axes", actor: str, place: tuple[float, float], *, below: bool) -> None:
    x, y = place
    short = _short(actor)
    look: dict[str, Any] = {"va": "center", "color": INK, "zorder": 4}
    if below:  # where lines meet it stands on white
        look["bbox"] = _WHITE
        axes.text(x, y - 0.2, short, ha="center", fontsize=8, **look)
    elif abs(x) < _UPRIGHT:
        axes.text(x, y + (0.15 if y > 0 else -0.15), short, ha="center", fontsize=7, **look)
    else:
        axes.text(x * 1.1, y * 1.1, short, ha="left" if x > 0 else "right", fontsize=7, **look)


def _lines(axes: "Axes", ties: pl.DataFrame, places: Places) -> None:
    most = max([*ties["value"], 1e-9])
    for value, one, other, arrow in ties.select("value", "one", "other", "arrow").iter_rows():
        look = {"color": "#8794a1" if arrow else "#d5dae0", "lw": 0.5 + value / most, "shrinkA": 4, "shrinkB": 8}
        style = "-|>" if arrow else "-"
        axes.annotate(
            "", places[other], places[one], arrowprops={"arrowstyle": style, "mutation_scale": 7, **look}, zorder=1
        )


def _laid_out(row: Mapping[str, Any], members: pl.DataFrame, ties: pl.DataFrame) -> tuple[Places, int]:
    """Where each account stands, and how many found no place."""
    if row["type"] == "chain":
        return _in_a_row(_in_order(members["actor"].to_list(), ties.filter("arrow")))
    middle = members.filter(pl.col("role").is_in(_MIDDLE))["actor"].to_list()
    links = members.filter(pl.col("role") == "link")["actor"].to_list()
    rest = members.filter(~pl.col("actor").is_in([*middle, *links]))["actor"].to_list()
    drawn = rest[:: max(1, -(-len(rest) // _RING))]
    where: Places = {}
    for place, actor in enumerate(middle):
        where[actor] = ((place - (len(middle) - 1) / 2) * 0.7, 0.0)
    where |= _on_a_ring([*links, *drawn])
    return where, len(rest) - len(drawn)


def _on_a_ring(actors: Sequence[str]) -> Places:
    angles = np.linspace(0, 2 * np.pi, len(actors), endpoint=False) + np.pi / 2
    return {actor: (float(np.cos(at)), float(np.sin(at))) for actor, at in zip(actors, angles, strict=True)}


def _in_order(actors: Sequence[str], gifts: pl.DataFrame) -> list[str]:
    """A chain from its first account to its last."""
    known = set(actors)
    after = {one: other for one, other in gifts.select("one", "other").iter_rows() if one in known and other in known}
    first = sorted(known - set(after.values())) or sorted(known)
    ordered: list[str] = []
    for begin in [*first, *sorted(known)]:
        here: str | None = begin
        while here is not None and here not in ordered:
            ordered.append(here)
            here = after.get(here)
    return ordered


def _in_a_row(actors: Sequence[str]) -> tuple[Places, int]:
    """Left to right; a long chain turns at the edge, as lines of a book do when an ox ploughs them."""
    shown = actors[:_RING]
    across = min(len(shown), 4)
    down = -(-len(shown) // across)
    where: Places = {}
    for place, actor in enumerate(shown):
        line, column = divmod(place, across)
        column = column if line % 2 == 0 else across - 1 - column
        where[actor] = (2.2 * column / max(across - 1, 1) - 1.1, 0.8 - 1.6 * (line + 0.5) / down)
    return where, len(actors) - len(shown)


def _legend(figure: "Figure", members: pl.DataFrame) -> None:
    from matplotlib.lines import Line2D

    roles = [role for role in _COLOURS if role in set(members["role"])]
    looks: dict[str, Any] = {"marker": "o", "ls": "", "ms": 7, "mec": "white"}
    signs = [Line2D([], [], color=_COLOURS[role], **looks) for role in roles]
    figure.legend(signs, roles, loc="outside lower left", ncols=max(len(roles), 1), fontsize=8)


def _map(found: Found, path: Path) -> None:
    """Groups by gifts as discs, and what flows between them."""
    groups = found.groups.filter(pl.col("by") == "gifts").head(_MAPPED)
    flows = _between(found, groups["id"].to_list())
    where = _spread(groups.height, flows, groups["id"].to_list())

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        axes.set_axis_off()
        most = max([*flows["value"], 1e-9])
        numbers = {name: place for place, name in enumerate(groups["id"])}
        for giver, taker, value in flows.iter_rows():
            one, other = where[numbers[giver]], where[numbers[taker]]
            look = {"arrowstyle": "-|>", "color": "#c9d0d8", "lw": 0.5 + 2.0 * value / most, "shrinkA": 6, "shrinkB": 8}
            axes.annotate("", other, one, arrowprops=look, zorder=1)
        sizes = 30 + 1000 * groups["n"].to_numpy() / max([1, *groups["n"]])
        colours = [_TYPES.get(kind, GREY) for kind in groups["type"]]
        axes.scatter(where[::-1, 0], where[::-1, 1], s=sizes[::-1], c=colours[::-1], edgecolors="white", zorder=2)
        _disc_names(axes, groups, where, sizes)
        of_all = found.groups.filter(pl.col("by") == "gifts").height
        more = f", {groups.height} of {of_all:,}" if groups.height < of_all else f": {counted(of_all, 'group')}"
        axes.set_title(f"Groups by gifts that go one way{more}; a disc is as large as its group")
        axes.margins(0.08)
        _type_legend(figure, groups["type"].unique().to_list())

    save_picture(draw, path, (10.0, 7.5))


def _disc_names(axes: "Axes", groups: pl.DataFrame, where: NDArray[np.float64], sizes: NDArray[np.float64]) -> None:
    """What a star or a chain is, under its disc."""
    for place, size, kind, hub, n in zip(where, sizes, groups["type"], groups["hub"], groups["n"], strict=True):
        if kind in _TYPES:
            name = f" around {_short(hub)}" if hub else ""
            below = (0, -np.sqrt(size) / 2 - 3)  # points
            text: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": 7, "color": INK, "bbox": _WHITE}
            axes.annotate(f"{KINDS[kind]} of {n}{name}", place, xytext=below, textcoords="offset points", **text)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _type_legend(figure: "Figure", there: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    looks: dict[str, Any] = {"marker": "o", "ls": "", "ms": 8, "mec": "white"}
    kinds = [kind for kind in KINDS if kind in there]
    named = [(KINDS[kind], _TYPES[kind]) for kind in kinds if kind in _TYPES]
    others = ", ".join(KINDS[kind] for kind in kinds if kind not in _TYPES)
    named += [(others, GREY)] if others else []
    signs = [Line2D([], [], color=colour, **looks) for _, colour in named]
    figure.legend(signs, [name for name, _ in named], loc="outside lower left", ncols=4, fontsize=8)


def _between(found: Found, shown: Sequence[str]) -> pl.DataFrame:
    """What the accounts of one group gave one way to those of another."""
    who = found.members.select("actor", "group").filter(pl.col("group").is_in(shown))
    rows = edges_of(found).filter("one_way").drop("group")
    rows = rows.join(who.rename({"group": "from"}), left_on="giver", right_on="actor")
    rows = rows.join(who.rename({"group": "to"}), left_on="taker", right_on="actor")
    sums = rows.filter(pl.col("from") != pl.col("to")).group_by("from", "to").agg(pl.col("value").sum())
    return sums.sort("value", "from", "to", descending=[True, False, False]).head(_LINES)


def _spread(n: int, flows: pl.DataFrame, names: Sequence[str]) -> NDArray[np.float64]:
    """Places for groups: each pushes the others away, and what flows pulls two together (Fruchterman and Reingold)."""
    golden = np.arange(n) * np.pi * (3 - np.sqrt(5))
    where: NDArray[np.float64] = np.sqrt((np.arange(n) + 0.5) / max(n, 1))[:, None] * np.stack(
        [np.cos(golden), np.sin(golden)], axis=1
    )
    numbers = {name: place for place, name in enumerate(names)}
    pairs = np.array([(numbers[a], numbers[b]) for a, b, _ in flows.iter_rows()], dtype=np.int64).reshape(-1, 2)
    near = 1.1 / np.sqrt(max(n, 1))
    # Who has many ties is pulled by each of them the less: else all that hangs together falls into one heap.
    often = np.sqrt(1.0 + np.bincount(pairs.ravel(), minlength=n))
    for step in range(_STEPS):
        apart = where[:, None] - where[None]
        far = np.maximum(np.linalg.norm(apart, axis=2), 1e-6)
        push = (apart / far[..., None] ** 2 * near**2).sum(axis=1) - near * where
        pull = where[pairs[:, 1]] - where[pairs[:, 0]]
        pull = 0.15 * pull * np.linalg.norm(pull, axis=1, keepdims=True) / near
        pull /= (often[pairs[:, 0]] * often[pairs[:, 1]])[:, None]
        np.add.at(push, pairs[:, 0], pull)
        np.add.at(push, pairs[:, 1], -pull)
        length = np.maximum(np.linalg.norm(push, axis=1, keepdims=True), 1e-9)
        where = where + push / length * np.minimum(length, 0.1 * (1 - step / _STEPS))
    return where
