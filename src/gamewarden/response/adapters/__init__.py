"""What carries decisions into a game and back: one small interface, one file a way."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from gamewarden.cases import Action
from gamewarden.core.durations import parse_span
from gamewarden.core.outside import visible
from gamewarden.errors import ConfigError, GamewardenError, ResponseError
from gamewarden.policy import GAME_SERVERS, NUMBER_COLUMNS, REACTIONS, SANCTIONS, AdapterSettings

CARRIED = (*REACTIONS, *SANCTIONS)  # the steps that reach a game
NOW = "now"  # in a receipt: what `look` would see afterwards
LEFT = "left"  # in a receipt: what was left alone, and why
STILL = "still"  # in the receipt of an undo: the step holds, as it did when the action began


class RefusedError(ResponseError):
    """Nothing was done, and trying it again would not help: a person is asked."""


class TryLaterError(ResponseError):
    """It may not have happened; the same action may be tried again, not before so many seconds."""

    def __init__(self, text: str, after: float | None = None) -> None:
        super().__init__(text)
        self.after = after


@dataclass(frozen=True)
class GameState:
    """What the game shows of an action now; None: the game does not show it."""

    text: str = ""
    holds: bool | None = None  # whether the step holds for the account, whoever wrote it
    own: bool | None = None  # whether the game holds this very action, by our own marker
    cleared: Mapping[str, Any] | None = None  # what `look` would see of the account without the step


class Adapter(Protocol):
    """A way into a game; it raises RefusedError where nothing was done, TryLaterError where trying again may help."""

    @property
    def name(self) -> str:
        """What the settings call it."""

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps that it carries out."""

    @property
    def sure(self) -> bool:
        """Whether the same action twice, known by its id, does no more than once."""

    def slot(self, step: str) -> str:
        """What in the game a step changes: of several steps on the same thing the last one is seen."""

    def look(self, action: Action) -> Mapping[str, Any]:
        """What is there now, as the way back needs it; empty where nobody can say."""

    def carry(self, action: Action) -> Mapping[str, Any]:
        """Do the action or undo it, with what was there before it; a receipt."""

    def state(self, action: Action) -> GameState:
        """The present state of the account and of the action's own marker; nothing is changed."""

    def own_keys(self) -> Mapping[str, str]:
        """Every action that the game holds by our own marker: its id, and what the game shows."""


class Blind:
    """An adapter that does not see the game."""

    def state(self, action: Action) -> GameState:  # noqa: ARG002  it sees nothing
        """Nothing is known."""
        return GameState()

    def own_keys(self) -> Mapping[str, str]:
        """Nothing is known."""
        return {}


def refuse_repeated(state: GameState) -> None:
    """Stop an action that has not begun, and that the game holds already.

    Raises:
        RefusedError: the ledger is older than the game.
    """
    if state.own:
        raise RefusedError(
            f"the game holds this action already ({state.text}), and the ledger has no record of it; was an older"
            " ledger put back? run `gamewarden decisions reconcile`"
        )


def adapter_of(settings: AdapterSettings, root: Path) -> Adapter:
    """The adapter that a section [[response.adapter]] describes; paths are below `root`.

    Raises:
        ConfigError: its kind is unknown, or a setting that it needs is missing.
        InstallError: it needs a library that is not installed.
    """
    if settings.kind not in _KINDS:
        name, kind, known = visible(settings.name), visible(settings.kind), ", ".join(_KINDS)
        raise ConfigError(f"[[response.adapter]] {name}: kind {kind} is unknown; known are {known}")
    return _KINDS[settings.kind](settings, root)


@dataclass(frozen=True)
class Ways:
    """All adapters of an installation, and of those that cannot work why."""

    adapters: Mapping[str, Adapter]
    missing: Mapping[str, str] = field(default_factory=dict)  # name -> what is missing
    closed: Mapping[str, str] = field(default_factory=dict)  # name -> why it only undoes
    attempts: Mapping[str, int] = field(default_factory=dict)
    patience: timedelta = timedelta(0)  # the longest that one attempt may take


def ways_of(settings: Iterable[AdapterSettings], root: Path, named: Collection[str] = ()) -> Ways:
    """The adapters of these settings; one that cannot work stops no other, and what needs it waits.

    `named` are the sources whose actors may be names: an adapter that goes by account numbers would take a player
    who is called 2000030 for the account of that number.
    """
    adapters, missing, attempts, patience, closed = {}, {}, {}, 0, {}
    for one in settings:
        attempts[one.name] = one.attempts
        patience = max(patience, parse_span(one.timeout))
        try:
            adapters[one.name] = adapter_of(one, root)
            if named and one.kind in GAME_SERVERS and one.account in NUMBER_COLUMNS:
                closed[one.name] = (
                    f"adapter {visible(one.name)} goes by {one.account}, and the actors of {visible(min(named))}"
                    " may be names; write account_numbers = true in its [[source]] (of pushed events in [workspace]),"
                    " or let the adapter go by names"
                )
        except GamewardenError as error:
            missing[one.name] = str(error)
    return Ways(adapters, missing, closed, attempts, timedelta(microseconds=patience))


def steps_of(settings: AdapterSettings, able: tuple[str, ...]) -> tuple[str, ...]:
    """The steps that an adapter of this kind is asked to carry out.

    Raises:
        ConfigError: the settings name one that it cannot.
    """
    for step in settings.steps:
        if step not in able:
            raise ConfigError(
                f"[[response.adapter]] {visible(settings.name)}: {settings.kind} cannot carry out {visible(step)};"
                f" it can {', '.join(able)}"
            )
    return settings.steps or able


def _log(settings: AdapterSettings, root: Path) -> Adapter:
    from gamewarden.response.adapters.log import LogAdapter

    return LogAdapter.of(settings, root)


def _webhook(settings: AdapterSettings, root: Path) -> Adapter:
    from gamewarden.response.adapters.webhook import WebhookAdapter

    return WebhookAdapter.of(settings, root)


def _command(settings: AdapterSettings, root: Path) -> Adapter:
    from gamewarden.response.adapters.command import CommandAdapter

    return CommandAdapter.of(settings, root)


def _rathena(settings: AdapterSettings, root: Path) -> Adapter:
    from gamewarden.response.adapters.rathena import RathenaAdapter

    return RathenaAdapter.of(settings, root)


def _azerothcore(settings: AdapterSettings, root: Path) -> Adapter:
    from gamewarden.response.adapters.azerothcore import AzerothcoreAdapter

    return AzerothcoreAdapter.of(settings, root)


def _eqemu(settings: AdapterSettings, root: Path) -> Adapter:
    from gamewarden.response.adapters.eqemu import EqemuAdapter

    return EqemuAdapter.of(settings, root)


_KINDS: Mapping[str, Callable[[AdapterSettings, Path], Adapter]] = {
    "log": _log,
    "webhook": _webhook,
    "command": _command,
    "rathena": _rathena,
    "hercules": _rathena,
    "azerothcore": _azerothcore,
    "trinitycore": _azerothcore,
    "eqemu": _eqemu,
}
