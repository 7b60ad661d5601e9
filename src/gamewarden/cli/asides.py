"""What libraries say on the side: one remark for a person, or nothing, never a Python warning."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gamewarden.cli.show import say
from gamewarden.errors import Remark

# Written for those who call a library, not for those who use a command.
_FOR_PROGRAMMERS = (
    DeprecationWarning,
    PendingDeprecationWarning,
    FutureWarning,
    ResourceWarning,
    ImportWarning,
    SyntaxWarning,
    BytesWarning,
    EncodingWarning,
)

# Where matplotlib keeps its list of fonts, and that it looks for them: it finds a place by itself.
_ON_ITS_OWN_FILES = ("matplotlib", "matplotlib.font_manager")


@contextmanager
def asides_as_remarks() -> Iterator[None]:
    """Within it a warning, or a line in a log nobody reads, is said once as a remark."""
    said = _Said()
    before = logging.lastResort
    logging.lastResort = said
    with warnings.catch_warnings():
        warnings.showwarning = said.warning  # type: ignore[assignment]  # Python names none of the arguments
        try:
            yield
        finally:
            logging.lastResort = before


class _Said(logging.Handler):
    """Says each thing once."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._lines: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """What a library wrote to a log."""
        library = record.name.partition(".")[0]
        if library == "gamewarden":
            self._say(record.getMessage())
        elif record.name not in _ON_ITS_OWN_FILES:
            self._say(f"Remark by {library}: {record.getMessage()}")

    def warning(self, message: Warning | str, category: type[Warning], filename: str, *_where: object) -> None:
        """What Python would have printed."""
        if issubclass(category, Remark):
            self._say(str(message))
        elif not issubclass(category, _FOR_PROGRAMMERS):
            self._say(f"Remark by {_library(filename)}: {message}")

    def _say(self, text: str) -> None:
        line = " ".join(text.split())
        if line not in self._lines:
            self._lines.add(line)
            say(line)


def _library(filename: str) -> str:
    parts = Path(filename).parts
    inside = parts[parts.index("site-packages") + 1 :] if "site-packages" in parts else parts[-1:]
    return inside[0].removesuffix(".py")
