"""A model's card as Markdown: what it is, what it was made from, how good it was, where it fails."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gamewarden.contracts import Card, canonical_json
from gamewarden.presentation.pages import fragment

_PROMISES = "promises"  # among the results: a row a choice
HELD_OUT, FAILS = "How good it was on held-out actors", "Where it fails"


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
    sections = card_sections(card, needs=needs, standing=standing, results=results)
    return "\n\n".join([f"# {card.id}", *(section.markdown() for section in sections)]) + "\n"


@dataclass(frozen=True)
class Section:
    """A part of a card under its title: lines, a table, or both."""

    title: str
    lines: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()

    def markdown(self) -> str:
        """The part as Markdown."""
        lines = "\n".join(f"- {line}" for line in self.lines)
        written = [self.heads, ["---"] * len(self.heads), *self.rows] if self.rows else []
        table = "\n".join(f"| {' | '.join(_cell(text) for text in row)} |" for row in written)
        return f"## {self.title}\n\n" + "\n\n".join(part for part in (lines, table) if part)


def card_sections(
    card: Card,
    *,
    needs: Mapping[str, Any] | None = None,
    standing: Sequence[str] = (),
    results: Mapping[str, Any] | None = None,
) -> list[Section]:
    """The parts of a card that say something, in their order."""
    columns = card.parameters.get("columns", {})
    learned = {name: value for name, value in card.parameters.items() if name != "columns"}
    validated = {name: value for name, value in card.validation.items() if name != _PROMISES}
    sections = [
        Section("Its standing", tuple(standing)),
        Section("What it needs", _lines(needs or {})),
        Section("What it looks at", _lines(card.feature)),
        Section("How it was made", _lines(card.recipe)),
        Section("What it was made from", _lines(card.training)),
        Section(HELD_OUT, _lines(validated)),
        Section("What its FPR promises, and the price", (), *_table(card.validation.get(_PROMISES, {}), "choice")),
        *_results(results or {}),
        Section("What it learned", _lines(learned), *_table(columns, "feature")),
        Section(FAILS, tuple(card.weaknesses)),
    ]
    return [section for section in sections if section.lines or section.rows]


def card_fragment(card: Card, sections: Sequence[Section], notes: Sequence[str] = ()) -> str:
    """The card as a part of a notebook: how good it is and where it fails at once, the rest unfolded by a click."""
    return fragment("card.html", kind="model", title=card.id, sections=sections, opened=(HELD_OUT, FAILS), notes=notes)


def _results(results: Mapping[str, Any]) -> Iterator[Section]:
    """One section a part of later trials: rows as a table, lines as a list."""
    for name, part in results.items():
        if isinstance(part, list) and part:
            title = f"Results: {name.replace('_', ' ')}"
            rows = {str(at): row for at, row in enumerate(part, 1)} if isinstance(part[0], Mapping) else {}
            yield Section(title, (), *_table(rows, "")) if rows else Section(title, tuple(part))


def _table(rows: Mapping[str, Mapping[str, Any]], corner: str) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The heads of a table, and its rows."""
    heads = list(dict.fromkeys(head for row in rows.values() for head in row))
    named = (corner, *(head.replace("_", " ") for head in heads))
    return named, tuple((name, *(value_text(row.get(head)) for head in heads)) for name, row in rows.items())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _lines(values: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(f"{name.replace('_', ' ')}: {value_text(value)}" for name, value in values.items())


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
