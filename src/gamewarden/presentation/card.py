"""A model's card as Markdown: what it is, what it was made from, how good it was, where it fails."""

from collections.abc import Mapping, Sequence
from typing import Any

from gamewarden.contracts import Card, canonical_json

_PROMISES = "promises"  # among the results: a row a choice


def card_markdown(
    card: Card,
    *,
    needs: Mapping[str, Any] | None = None,
    standing: Sequence[str] = (),
    results: Mapping[str, Any] | None = None,
) -> str:
    """The card for people: every number of the model, and its known weaknesses.

    Whoever knows them adds what the feature needs, the model's standing among others, and results of later trials.
    """
    sections = {
        "Its standing": _list(standing),
        "What it needs": _bullets(needs or {}),
        "What it looks at": _bullets(card.feature),
        "How it was made": _bullets(card.recipe),
        "What it was made from": _bullets(card.training),
        "How good it was on held-out actors": _bullets({k: v for k, v in card.validation.items() if k != _PROMISES}),
        "What its FPR promises, and the price": _table(card.validation.get(_PROMISES, {}), "choice"),
        **_results(results or {}),
        "What it learned": _parameters(card.parameters),
        "Where it fails": _list(card.weaknesses),
    }
    told = [f"## {title}\n\n{text}" for title, text in sections.items() if text]
    return "\n\n".join([f"# {card.id}", *told]) + "\n"


def _results(results: Mapping[str, Any]) -> dict[str, str]:
    """One section a part of later trials: rows as a table, lines as a list."""
    sections = {}
    for name, part in results.items():
        if isinstance(part, list) and part:
            rows = {str(at): row for at, row in enumerate(part, 1)} if isinstance(part[0], Mapping) else {}
            sections[f"Results: {name.replace('_', ' ')}"] = _table(rows, "") if rows else _list(part)
    return sections


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _parameters(parameters: Mapping[str, Any]) -> str:
    columns = parameters.get("columns", {})
    rest = _bullets({name: value for name, value in parameters.items() if name != "columns"})
    return f"{rest}\n\n{_table(columns)}" if columns else rest


def _table(rows: Mapping[str, Mapping[str, Any]], corner: str = "feature") -> str:
    if not rows:
        return ""
    heads = list(dict.fromkeys(head for row in rows.values() for head in row))
    lines = [[corner, *(head.replace("_", " ") for head in heads)], ["---"] * (len(heads) + 1)]
    lines += [[name, *(value_text(row.get(head)) for head in heads)] for name, row in rows.items()]
    return "\n".join(f"| {' | '.join(_cell(text) for text in line)} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _bullets(values: Mapping[str, Any]) -> str:
    return "\n".join(f"- {name.replace('_', ' ')}: {value_text(value)}" for name, value in values.items())


def value_text(value: object) -> str:
    """One value of a card as people write it."""
    match value:
        case None | bool():
            return {None: "none", True: "yes", False: "no"}[value]
        case float():
            return f"{value:.6g}"
        case str():
            return value
        case list() | tuple():
            return ", ".join(value_text(part) for part in value)
        case Mapping():
            return ", ".join(f"{name} {_within(part)}" for name, part in value.items()) or "none"
        case _:
            return canonical_json(value)


def _within(part: object) -> str:
    return f"({value_text(part)})" if isinstance(part, Mapping) else value_text(part)


def actors_of(card: Card) -> tuple[int | None, int | None]:
    """How many bots and humans a model learned from, as far as its card says so."""
    actors = card.training.get("actors")
    if not isinstance(actors, Mapping):
        return None, None
    bots, humans = (actors.get(side) if isinstance(actors.get(side), int) else None for side in ("bot", "human"))
    return bots, humans
