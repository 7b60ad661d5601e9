"""`-q` and `-v`: how much a command says beside its answer; before the command or among its options."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from time import monotonic, process_time
from typing import Any

import click
from click.core import ParameterSource

from gamewarden.cli.show import QUIET, VERBOSE, detail, is_verbose
from gamewarden.config import FILE_NAME

_FLAGS = {"quiet": QUIET, "verbose": VERBOSE}
NAMES = tuple(_FLAGS)


def options() -> list[click.Option]:
    """The two options, anew for each command."""
    quiet, verbose = "No notes: the answer, and errors.", "Say also what was chosen, and how long it took."
    return [_flag("-q", "--quiet", quiet), _flag("-v", "--verbose", verbose)]


def with_volume(command: click.Command) -> click.Command:
    """The command, and all under it, with both options."""
    if not any(option.name in _FLAGS for option in command.params):
        command.params += options()
        if isinstance(command, click.Group):
            for one in command.commands.values():
                with_volume(one)
        elif command.callback is not None:
            command.callback = _told(command.callback)
    return command


def _flag(short: str, long: str, says: str) -> click.Option:
    return click.Option([short, long], is_flag=True, expose_value=False, is_eager=True, callback=_keep, help=says)


def _keep(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: FBT001  click's signature
    if not value:
        return
    ctx.meta[_FLAGS[str(param.name)]] = True
    if ctx.meta.get(QUIET) and ctx.meta.get(VERBOSE):
        raise click.UsageError("-q says nothing and -v says more; give one of them", ctx)


def _told(function: Callable[..., Any]) -> Callable[..., Any]:
    """The command that first says what was chosen and last how long it took, where somebody asked for it."""

    @wraps(function)
    def run(*args: Any, **given: Any) -> Any:  # noqa: ANN401  the command's own
        if not is_verbose():
            return function(*args, **given)
        detail(*_chosen(click.get_current_context()))
        begun, worked = monotonic(), process_time()
        with _logged():
            answer = function(*args, **given)
        detail(f"done: {monotonic() - begun:.1f} s, {process_time() - worked:.1f} s of them calculating")
        return answer

    return run


def _chosen(ctx: click.Context) -> Iterator[str]:
    """What was given on the command line, and which settings count."""
    named = ctx.find_root().obj
    here = Path(FILE_NAME)
    yield f"settings: {named or (here.absolute() if here.exists() else f'the defaults, there is no {FILE_NAME} here')}"
    for param in ctx.command.get_params(ctx):
        given = ctx.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
        if given and param.name not in _FLAGS:
            value = ctx.params[str(param.name)]
            words = value if isinstance(value, tuple) else (value,)
            yield f"{max(param.opts, key=len).lstrip('-')}: {', '.join(map(str, words))}"


@contextmanager
def _logged() -> Iterator[None]:
    """Within it what our rooms log for those who look closely is said."""
    log, handler = logging.getLogger("gamewarden"), _Detail(logging.INFO)
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.setLevel(before)
        log.removeHandler(handler)


class _Detail(logging.Handler):
    """Says each line once; warnings too, which nobody else says while there is a handler."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self._lines: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """A line of a room."""
        line = record.getMessage()
        if line not in self._lines:
            self._lines.add(line)
            detail(line)
