"""A model's card as Markdown: what it is, what it was made from, how good it was, where it fails."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from gamewarden.contracts import Card, canonical_json


def card_json(card: Card) -> str:
    """The card for machines."""
    return canonical_json(asdict(card))


def card_markdown(card: Card) -> str:
    """The card for people: every number of the model, and its known weaknesses."""
    sections = (
        ("What it looks at", _bullets(card.feature)),
        ("How it was made", _bullets(card.recipe)),
        ("What it was made from", _bullets(card.training)),
        ("How good it was on held-out actors", _bullets(card.validation)),
        ("What it learned", _parameters(card.parameters)),
        ("Where it fails", "\n".join(f"- {weakness}" for weakness in card.weaknesses)),
    )
    return "\n\n".join([f"# {card.id}", *(f"## {title}\n\n{text}" for title, text in sections)]) + "\n"


def _parameters(parameters: Mapping[str, Any]) -> str:
    columns = parameters.get("columns", {})
    rest = _bullets({name: value for name, value in parameters.items() if name != "columns"})
    return f"{rest}\n\n{_table(columns)}" if columns else rest


def _table(rows: Mapping[str, Mapping[str, Any]]) -> str:
    heads = list(next(iter(rows.values())))
    lines = [["feature", *heads], ["---"] * (len(heads) + 1)]
    lines += [[name, *(_text(row[head]) for head in heads)] for name, row in rows.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _bullets(values: Mapping[str, Any]) -> str:
    return "\n".join(f"- {name.replace('_', ' ')}: {_text(value)}" for name, value in values.items())


def _text(value: object) -> str:
    match value:
        case None | bool():
            return {None: "none", True: "yes", False: "no"}[value]
        case float():
            return f"{value:.6g}"
        case str():
            return value
        case list() | tuple():
            return ", ".join(_text(part) for part in value)
        case Mapping():
            return ", ".join(f"{name} {_within(part)}" for name, part in value.items()) or "none"
        case _:
            return canonical_json(value)


def _within(part: object) -> str:
    return f"({_text(part)})" if isinstance(part, Mapping) else _text(part)
