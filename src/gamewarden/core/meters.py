"""What a process counts about itself: whoever knows a number sets it, whoever looks gets all of them at once."""

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

Labels = tuple[str, ...]  # the values of a meter's labels, in their order


class Meter(NamedTuple):
    """One kind of number: a counter only grows while a process lives, a gauge goes up and down."""

    name: str
    kind: Literal["counter", "gauge"]
    says: str
    labels: Labels = ()


class Meters:
    """All numbers of a process; any thread may set and read them."""

    def __init__(self, *meters: Meter) -> None:
        self._meters = {meter.name: meter for meter in meters}
        self._values: dict[str, dict[Labels, float]] = {name: {} for name in self._meters}
        self._when_asked: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def set(self, name: str, value: float | None, labels: Mapping[str, str] | None = None) -> None:
        """Let a number be this; nothing is known of it where it is None."""
        key = self._key(name, labels)
        with self._lock:
            if value is None:
                self._values[name].pop(key, None)
            else:
                self._values[name][key] = value

    def add(self, name: str, amount: float = 1, labels: Mapping[str, str] | None = None) -> None:
        """Let a number grow."""
        key = self._key(name, labels)
        with self._lock:
            self._values[name][key] = self._values[name].get(key, 0) + amount

    def when_asked(self, fill: Callable[[], None]) -> None:
        """Let somebody set what changes by itself, such as an age, before anybody reads."""
        self._when_asked.append(fill)

    def read(self) -> Iterable[tuple[Meter, dict[Labels, float]]]:
        """Every meter with its numbers by labels; one without any is there too."""
        for fill in self._when_asked:
            fill()
        with self._lock:
            return [(meter, dict(self._values[name])) for name, meter in self._meters.items()]

    def _key(self, name: str, labels: Mapping[str, str] | None) -> Labels:
        given, known = labels or {}, self._meters[name].labels
        if set(given) != set(known):
            raise KeyError(f"{name} has the labels {known}, not {tuple(given)}")
        return tuple(given[label] for label in known)


MEMORY = Meter("gamewarden_memory_bytes", "gauge", "Memory of the process.")


def memory() -> int | None:
    """Bytes of memory that this process has, where the system tells."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None
