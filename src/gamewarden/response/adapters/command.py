"""Actions as a program of the operator: a list of arguments, never a shell, over within a time."""

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gamewarden.cases import DO, Action
from gamewarden.core.durations import SECOND, parse_span
from gamewarden.core.outside import visible
from gamewarden.errors import ConfigError
from gamewarden.policy import AdapterSettings
from gamewarden.response.adapters import CARRIED, Blind, RefusedError, TryLaterError, steps_of

_PLACES = ("actor", "step", "until", "key", "verb")
_PLACE = re.compile(r"\{([a-z_]+)\}")
_OURS = "GAMEWARDEN_"  # variables with secrets of ours, which no program of others needs
_MOST_KEPT, _PIECE = 2 << 10, 64 << 10  # bytes of what a program says
_GLANCE = 0.05  # seconds between two looks whether it has ended


@dataclass(frozen=True)
class CommandAdapter(Blind):
    """Runs a program for each action, and another one for each way back."""

    name: str
    steps: tuple[str, ...]
    command: tuple[str, ...]
    undo: tuple[str, ...]
    sure: bool
    timeout: float
    root: Path

    @classmethod
    def of(cls, settings: AdapterSettings, root: Path) -> "CommandAdapter":
        """The adapter that these settings describe.

        Raises:
            ConfigError: a program is missing, or an argument names what nobody knows.
        """
        for name, command in (("command", settings.command), ("undo", settings.undo)):
            _refuse_crooked(settings.name, name, command)
        timeout = parse_span(settings.timeout) / SECOND
        steps = steps_of(settings, CARRIED)
        return cls(settings.name, steps, settings.command, settings.undo, settings.repeatable, timeout, root)

    def slot(self, step: str) -> str:
        """Each step for itself."""
        return step

    def look(self, action: Action) -> Mapping[str, Any]:
        """Nothing is seen of the game; what cannot be said to the program is refused here, before anything begins.

        Raises:
            RefusedError: the account's name is none that a program may be given.
        """
        self._arguments(action)
        return {}

    def carry(self, action: Action) -> Mapping[str, Any]:
        """Run the program.

        Raises:
            RefusedError: it cannot be started, or not with this account's name.
            TryLaterError: it failed, or did not end in time.
        """
        arguments = self._arguments(action)
        try:
            process = _started(arguments, self.root)
        except (OSError, ValueError) as error:
            cause = getattr(error, "strerror", None) or str(error)
            raise RefusedError(f"{self.name}: {visible(arguments[0])} cannot be started ({cause})") from error
        with process:
            try:
                ended, said = _watched(process, self.timeout)
            except BaseException:  # whoever interrupts us does not wait for the program
                _kill(process)
                raise
        return self._judged(process.returncode if ended else None, said)

    def _arguments(self, action: Action) -> list[str]:
        template = self.command if action.verb == DO else self.undo
        return arguments_of(template, action)

    def _judged(self, code: int | None, said: str) -> Mapping[str, Any]:
        if code == 0:
            return {"exit": 0, "said": said}
        text = f" ({visible(said)})" if said else ""
        if code is None:
            raise TryLaterError(f"{self.name}: it did not end within {self.timeout:g} s and was stopped{text}")
        raise TryLaterError(f"{self.name}: it ended with {code}{text}")


def arguments_of(template: Sequence[str], action: Action) -> list[str]:
    """The arguments of a program for an action.

    An account that is called like an option is one only where the operator says so: behind `--`, or within an
    argument such as `--account={actor}`.

    Raises:
        RefusedError: the account's name is none that a program may be given.
    """
    actor = action.actor
    if not actor or visible(actor) != actor:
        raise RefusedError(f"account {visible(actor)!r} has letters that no program is given; carry it out by hand")
    values = {
        "actor": actor,
        "step": action.step,
        "until": "" if action.until is None else action.until.isoformat(),
        "key": action.id,
        "verb": action.verb,
    }
    made = [_PLACE.sub(lambda found: values[found[1]], one) for one in template]
    options_end = template.index("--") if "--" in template else len(template)
    for place, (pattern, argument) in enumerate(zip(template, made, strict=True)):
        if place < options_end and argument.startswith("-") and not pattern.startswith("-"):
            raise RefusedError(
                f'account {visible(actor)} would be an option of {visible(made[0])}; write "--" before'
                " {actor} in [[response.adapter]], if the program knows that"
            )
    return made


def _refuse_crooked(who: str, name: str, command: Sequence[str]) -> None:
    where = f"[[response.adapter]] {visible(who)}: {name}"
    if not command or not command[0]:
        raise ConfigError(f'{where} is empty; write a program and its arguments, such as ["/opt/ban", "{{actor}}"]')
    if _PLACE.search(command[0]):
        raise ConfigError(f"{where} has no fixed program; write what is filled in as an argument")
    for argument in command:
        if "\0" in argument:
            raise ConfigError(f"{where} has a zero byte in an argument; leave it out")
        for found in _PLACE.findall(argument):
            if found not in _PLACES:
                known = ", ".join(f"{{{one}}}" for one in _PLACES)
                raise ConfigError(f"{where} names {{{visible(found)}}}; known are {known}")


def _started(arguments: Sequence[str], root: Path) -> "subprocess.Popen[bytes]":
    """The program in a group of its own, without our secrets."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return subprocess.Popen(  # noqa: S603  a list of arguments, never a shell
        arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=root,
        env=environment, start_new_session=True,
    )  # fmt: skip


def _watched(process: "subprocess.Popen[bytes]", seconds: float) -> tuple[bool, str]:
    """Whether it ended in time, and the beginning of what it said; where it did not, it and its children are gone."""
    until, said = time.monotonic() + seconds, _Said(process)
    while process.poll() is None:
        if time.monotonic() >= until:
            _kill(process)
            return False, said.text()
        said.listen(min(_GLANCE, max(0.0, until - time.monotonic())))
    return True, said.text()


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End a program and its children."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class _Said:
    """What a program says: all is taken, so that it does not wait for us, and little is kept."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None  # noqa: S101  it was asked for
        self._handle, self._kept, self._over = process.stdout.fileno(), b"", False
        os.set_blocking(self._handle, False)

    def listen(self, seconds: float) -> None:
        """Take what comes within this time."""
        if self._over:
            time.sleep(seconds)
        elif select.select([self._handle], [], [], seconds)[0]:
            self._take()

    def text(self) -> str:
        """The beginning of all that came."""
        self.listen(0)
        return self._kept.decode("utf-8", "replace").strip()

    def _take(self) -> None:
        try:
            piece = os.read(self._handle, _PIECE)
        except BlockingIOError:
            return
        self._over = not piece
        self._kept += piece[: _MOST_KEPT - len(self._kept)]
