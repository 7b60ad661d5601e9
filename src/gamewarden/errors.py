"""What can go wrong, as one tree.

GamewardenError         anything we say on one line; the command line exits with 1
├── ReadError           a source cannot be read, or too much of it is bad
│   └── EmptyError      there is nothing in it yet
├── TableError          a table lacks a column, or holds what it must not
├── ConfigError         warden.toml or a mapping file says something we cannot follow
├── MeasureError        a feature cannot be measured with these options
├── FitError            labels or features do not allow a model
├── ModelError          a stored model is missing, damaged or from another format
├── VerdictError        a stored verdict is missing, damaged or from another format
├── LedgerError         the ledger is missing, damaged, changed by hand or of another version
├── ResponseError       a decision, challenge or appeal that may not be made so
├── PeopleError         a person of the desk, a password or a token that may not be so
│   └── LoginError      somebody was not let in
├── NotThereError       nobody and nothing of this name is here
├── EngineError         a cluster or a process of ours lost a task, or does not answer
├── WriteError          a file or directory cannot be written
└── InstallError        a library that this work needs is not installed

Remark                  a warning that stops nothing and that a person should read
"""

_SHOWN = 80  # letters of a value that was not ours to choose


def short(value: object) -> str:
    """A value as an error shows it: enough of it to know it again."""
    shown = repr(value) if not isinstance(value, str) else repr(value[: _SHOWN + 1])
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


class GamewardenError(Exception):
    """Who speaks, what was seen, what is needed: one line for a person."""


class ReadError(GamewardenError):
    """A source cannot be read, or too much of it is bad."""


class EmptyError(ReadError):
    """A file has nothing in it yet, not even a header."""


class TableError(GamewardenError):
    """A table lacks a column, or holds what it must not."""


class ConfigError(GamewardenError):
    """A settings or mapping file says something we cannot follow."""


class MeasureError(GamewardenError):
    """A feature cannot be measured with these options."""


class FitError(GamewardenError):
    """Labels or features do not allow a model."""


class ModelError(GamewardenError):
    """A stored model is missing, damaged or from another format."""


class VerdictError(GamewardenError):
    """A stored verdict is missing, damaged or from another format."""


class LedgerError(GamewardenError):
    """The ledger is missing, damaged, changed by hand or of another version."""


class ResponseError(GamewardenError):
    """A decision, challenge or appeal that may not be made so."""


class NotThereError(GamewardenError):
    """Nobody and nothing of this name is here."""


class PeopleError(GamewardenError):
    """A person of the desk, a password or a token that may not be so."""


class LoginError(PeopleError):
    """Somebody was not let in; `wait` says for how many seconds no try counts."""

    def __init__(self, says: str, wait: int = 0) -> None:
        super().__init__(says)
        self.wait = wait


class EngineError(GamewardenError):
    """A cluster or a process of ours lost a task, or does not answer."""


class WriteError(GamewardenError):
    """A file or directory cannot be written."""


class InstallError(GamewardenError):
    """A library that this work needs is not installed."""


class Remark(UserWarning):
    """What a person should know although nothing failed; the command line says it as one line."""
