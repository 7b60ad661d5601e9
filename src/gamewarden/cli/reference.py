"""The pages docs/cli.md and docs/config.md, from the commands and settings themselves: `make docs` writes them."""

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import click

from gamewarden.cli import SECTIONS, root
from gamewarden.cli.show import say
from gamewarden.config import (
    ADAPTER,
    RUNG,
    SOURCE,
    SourceSettings,
    allowed,
    allowed_in_list,
    ladder_text,
    needed_in_list,
    settings,
    written,
)
from gamewarden.config import SECTIONS as SETTINGS
from gamewarden.core.files import write_text
from gamewarden.policy import AdapterSettings, Rung

PROGRAM = "gamewarden"
_GUIDES = "how-to"
_MADE = "<!-- Written by `make docs` from {what}: change those, and run it again. -->"
_DEFAULT = re.compile(r"\s+\[default: (.*)\]$")
_LISTED = re.compile(r"^gamewarden .*", re.MULTILINE)


def pages(docs: Path) -> dict[str, str]:
    """The generated pages by name; `docs` is where the recipes stand that they link to."""
    return {"cli.md": command_page(guides(docs)), "config.md": settings_page()}


def guides(docs: Path) -> dict[Path, str]:
    """The recipes, in order, with their text."""
    return {path: path.read_text(encoding="utf-8") for path in sorted(docs.glob(f"{_GUIDES}/*.md"))}


def command_page(told: Mapping[Path, str]) -> str:
    """Every command with its help, its arguments and its options."""
    context = click.Context(root, info_name=PROGRAM)
    lines = [
        "# Commands",
        _MADE.format(what="the commands"),
        *_sentences(root.help or ""),
        *_sentences(root.epilog or ""),
    ]
    lines += ["[What all commands share](common.md) says how sources are named and what is written where.", ""]
    lines += [*_options(root, context), "", *_contents(context)]
    for words, command, inner in _walk(context):
        lines += ["", f"## `{' '.join(words)}`", *command_lines(words, command, inner), *_mentions(words, told)]
    return "\n".join(lines) + "\n"


def _contents(context: click.Context) -> Iterator[str]:
    yield from ("| for | commands |", "|---|---|")
    for title, commands in SECTIONS.items():
        names = [words for command in commands for words, _, _ in _parts(command, context)]
        yield f"| {title} | {' · '.join(map(_link, names))} |"


def _link(words: Sequence[str]) -> str:
    return f"[`{' '.join(words[1:])}`](#{'-'.join(words)})"


Found = tuple[tuple[str, ...], click.Command, click.Context]


def _walk(context: click.Context) -> Iterator[Found]:
    """All commands that do something, in the order of the work."""
    for commands in SECTIONS.values():
        for command in commands:
            yield from _parts(command, context)


def _parts(command: click.Command, context: click.Context) -> Iterator[Found]:
    name = command.name or ""
    inner = click.Context(command, info_name=name, parent=context)
    if isinstance(command, click.Group):
        for part in command.list_commands(inner):
            known = command.get_command(inner, part)
            if known is not None:
                yield from _parts(known, inner)
    else:
        yield tuple(inner.command_path.split()), command, inner


def command_lines(words: Sequence[str], command: click.Command, context: click.Context) -> Iterator[str]:
    """What the page says of one command: its help, how it is called, its options, its last words."""
    yield from _sentences(command.help or "")
    yield from ("", "```", " ".join([*words, *command.collect_usage_pieces(context)]), "```")
    options = list(_options(command, context))
    yield from ["", *options] if options else []
    yield from ["", *_sentences(command.epilog)] if command.epilog else []


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    taken = (one for one in command.get_params(context) if isinstance(one, click.Option))
    options = [one for one in taken if "--help" not in one.opts]
    if options:
        yield from ("| option | default | what it is |", "|---|---|---|")
    for option in options:
        yield f"| {_flags(option, context)} | {_default(option)} | {_says(option)} |"


def _flags(option: click.Option, context: click.Context) -> str:
    names = " / ".join([*option.opts, *option.secondary_opts])
    value = "" if option.is_flag else f" {option.make_metavar(context).removesuffix(' RANGE')}"
    return f"`{_cell(names + value)}`{' (required)' if option.required else ''}"


def _default(option: click.Option) -> str:
    by_hand = _DEFAULT.search(option.help or "")
    if by_hand:
        return _cell(by_hand[1])
    return f"`{_cell(str(option.default))}`" if option.show_default and option.default is not None else ""


def _says(option: click.Option) -> str:
    text = _cell(_DEFAULT.sub("", option.help or "").strip())
    kind = option.type
    if isinstance(kind, click.IntRange | click.FloatRange):
        text += f" Allowed: {_range(kind)}."
    return text + (" May be given again." if option.multiple and "given again" not in text else "")


def _range(kind: click.IntRange | click.FloatRange) -> str:
    low = None if kind.min is None else f"{'above' if kind.min_open else 'from'} {kind.min:g}"
    high = None if kind.max is None else f"{'below' if kind.max_open else 'to'} {kind.max:g}"
    return " ".join(part for part in (low, high) if part) or "any number"


def _mentions(words: Sequence[str], told: Mapping[Path, str]) -> Iterator[str]:
    """Links to the recipes that show this command."""
    shown = [path for path, text in told.items() if any(_begins(line, words) for line in _LISTED.findall(text))]
    if shown:
        links = (f"[{title_of(told[path])}]({_GUIDES}/{path.name})" for path in shown)
        yield from ("", f"Shown in: {' · '.join(links)}.")


def _begins(line: str, words: Sequence[str]) -> bool:
    return line.split()[: len(words)] == list(words)


def title_of(text: str) -> str:
    """A page's title: what stands in its first line."""
    return text.partition("\n")[0].removeprefix("# ")


def settings_page() -> str:
    """Every setting with its default, what it may be, and its sentence."""
    lines = ["# Settings", _MADE.format(what="src/gamewarden/config.py"), *_INTRODUCTION]
    for name, section in SETTINGS.items():
        lines += ["", f"## `[{name}]`", *_sentences(section.__doc__ or ""), ""]
        lines += ["| setting | default | may be | what it is |", "|---|---|---|---|"]
        for where, setting in settings():
            if where == name:
                shown = (f"`[{name}] {setting.name}`", f"`{written(setting.default)}`", allowed(name, setting))
                lines.append(f"| {' | '.join(shown)} | {_cell(setting.metadata['says'])} |")
    for head, member, example in (
        (SOURCE, SourceSettings, _SOURCE_EXAMPLE),
        (RUNG, Rung, _RUNG_EXAMPLE),
        (ADAPTER, AdapterSettings, _ADAPTER_EXAMPLE),
    ):
        lines += ["", f"## `[[{head}]]`", *_sentences(member.__doc__ or ""), *example]
        lines += ["| key | default | may be | what it is |", "|---|---|---|---|"]
        lines += [_row_in_list(head, one) for one in fields(member)]
    return "\n".join(lines) + "\n"


def _row_in_list(head: str, setting: Field[Any]) -> str:
    default = written(setting.default)
    stands = "(required)" if setting.name in needed_in_list(head) else f"`{default}`" if default else "(left out)"
    shown = (f"`{setting.name}`", stands, allowed_in_list(head, setting), _cell(setting.metadata["says"]))
    return f"| {' | '.join(shown)} |"


_SOURCE_EXAMPLE = (
    "",
    "```toml",
    "[[source]]",
    'name = "combat"',
    'locator = "logs/combat-*.csv.gz"',
    'map = "blade-and-soul"',
    "",
    "[[source]]",
    'name = "tap"',
    'locator = ["s3://taps/*.pcap", "local.pcap"]',
    'kind = "packets"',
    "server_ports = [5121]",
    'settled = "5m"',
    "```",
    "",
)
_RUNG_EXAMPLE = (
    "",
    "Whoever writes one rung writes all of them; without any these hold:",
    "",
    "```toml",
    *ladder_text().splitlines(),
    "```",
    "",
)
_ADAPTER_EXAMPLE = (
    "",
    "```toml",
    "[[response.adapter]]",
    'name = "desk"',
    'kind = "webhook"',
    'url = "https://desk.example/gamewarden"',
    "",
    "[[response.adapter]]",
    'name = "server"',
    'kind = "rathena"',
    'steps = ["hold", "suspend", "ban"]',
    "```",
    "",
)
_INTRODUCTION = (
    "Numbers of policy live in `warden.toml`.",
    "It is looked for in the directory gamewarden runs in, or named with `gamewarden --config FILE …`.",
    "What the command line says wins.",
    "`gamewarden config` prints the settings in force as such a file.",
    "A key that is not listed here is refused, with the one that was probably meant.",
)


def _sentences(text: str) -> list[str]:
    """A help text as Markdown: a sentence a line, what is laid out by hand as it is."""
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        lines += [""] if lines else []
        if paragraph.startswith("\b"):
            lines += ["```", *(line.strip() for line in paragraph.split("\n")[1:]), "```"]
        else:
            lines += re.split(r"(?<=[.!?]) (?=[A-Z`\[-])", " ".join(paragraph.split()))
    return lines


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main(arguments: Iterable[str]) -> None:
    """Write the pages into the directory named, by default ./docs."""
    docs = Path(next(iter(arguments), "docs"))
    for name, text in pages(docs).items():
        write_text(docs / name, text)
        say(f"written: {docs / name}")


if __name__ == "__main__":
    main(sys.argv[1:])
