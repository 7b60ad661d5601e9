"""The labels that an operator's own table has in it, and which identifiers give them away."""

from collections.abc import Callable

import polars as pl

from gamewarden.contracts import RowStream
from gamewarden.errors import ConfigError
from gamewarden.features.account_table.recipe import AccountTable, whole

_BOT = {"bot": True, "true": True, "1": True, "yes": True, "human": False, "false": False, "0": False, "no": False}
# What people write where nobody has looked: neither bot nor human.
_UNLABELLED = ("", "?", "-", "na", "n/a", "none", "null", "unknown", "unlabelled", "unlabeled", "unreviewed", "pending")


def labels_of_table(
    rows: RowStream, feature: AccountTable, positive: str | None
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """LABELS of the rows somebody has judged, and what has to be said of them."""
    if feature.label is None:
        raise ConfigError(f"fit account-table: {rows.name} needs a label column; name it with --label")
    columns = [feature.actor, feature.label, *((feature.group,) if feature.group else ())]
    frame = whole(rows, list(dict.fromkeys(columns)))
    text = frame[feature.label].cast(pl.String).str.strip_chars()
    silent = text.is_null() | text.str.to_lowercase().is_in(list(_UNLABELLED))
    bot = _verdicts(text, silent, feature.label, positive)
    group = frame[feature.group].cast(pl.String) if feature.group else pl.Series([None] * frame.height, dtype=pl.String)
    labels = pl.DataFrame(
        {"actor": frame[feature.actor].cast(pl.String), "bot": bot, "source": feature.label, "group": group}
    )
    unlabelled = int(silent.sum())
    notes = (f"{unlabelled:,} rows have no label and are neither bot nor human",) if unlabelled else ()
    return labels.filter(~silent).unique(maintain_order=True), notes


def groups_of_table(rows: RowStream, feature: AccountTable) -> pl.DataFrame:
    """Who belongs together by the table: actor and group."""
    columns = [feature.actor, *((feature.group,) if feature.group else ())]
    frame = whole(rows, list(dict.fromkeys(columns)))
    return pl.DataFrame(
        {"actor": frame[feature.actor].cast(pl.String), "group": frame[columns[-1]].cast(pl.String)}
    ).unique("actor", keep="first", maintain_order=True)


def _verdicts(text: pl.Series, silent: pl.Series, label: str, positive: str | None) -> pl.Series:
    values = text.filter(~silent).unique().sort().to_list()
    if positive is None:
        said = text.str.to_lowercase().replace_strict(_BOT, default=None, return_dtype=pl.Boolean)
        if (said.is_null() & ~silent).any():
            raise ConfigError(
                f"fit account-table: {label} holds {_shown(values)}; say with --positive which of them is a bot"
            )
        return said
    if positive not in values:
        raise ConfigError(f"fit account-table: {label} never is {positive!r}; it holds {_shown(values)}")
    return text == positive


def _shown(values: list[str]) -> str:
    return ", ".join(map(repr, values[:6])) + (" …" if len(values) > 6 else "")  # noqa: PLR2004 - as many as fit a line


def with_probes(
    rows: RowStream, feature: AccountTable, labels: pl.DataFrame, separates: Callable[[pl.DataFrame, str], float | None]
) -> dict[str, str]:
    """Why columns are left out; with an identifier, how well it alone would tell bots from humans."""
    reasons = dict(feature.left_out)
    if not feature.identifiers:
        return reasons
    frame = whole(rows, list(dict.fromkeys((feature.actor, *feature.identifiers))))
    known = frame.with_columns(pl.col(feature.actor).cast(pl.String).alias("probed actor")).join(
        labels, left_on="probed actor", right_on="actor", how="inner", suffix=" of the label"
    )
    for name in feature.identifiers:
        found = separates(known, name)
        reasons[name] += "" if found is None else f"; alone it separates the labels with an AUC of {found:.2f}"
    return reasons
