"""Ctrl-C while a watch runs: it ends between two batches, so that what is saved then is whole."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

_Item = TypeVar("_Item")


class Stop:
    """Whether somebody asked to stop. A second request is not waited for."""

    def __init__(self) -> None:
        self.asked = False
        self._interrupt_waiting = False

    def ask(self, *_: object) -> None:
        """Stop at the next chance; where nothing but waiting goes on, now."""
        if self.asked or self._interrupt_waiting:
            self.asked = True
            raise KeyboardInterrupt
        self.asked = True

    def until(self, items: Iterator[_Item], *, live: bool) -> Iterator[_Item]:
        """The items until somebody asks to stop; waiting for a live source is broken off."""
        while not self.asked:
            self._interrupt_waiting = live
            try:
                item = next(items)
            except StopIteration:
                return
            except KeyboardInterrupt:
                if not self.asked:
                    raise
                return
            finally:
                self._interrupt_waiting = False
            yield item

    @contextmanager
    def on_interrupt(self, *also: signal.Signals) -> Iterator[Self]:
        """Let Ctrl-C ask, and other signals where they are named, for as long as this lasts."""
        signals = (signal.SIGINT, *also)
        before: list[Any] = [signal.signal(one, self.ask) for one in signals]
        try:
            yield self
        finally:
            for one, handler in zip(signals, before, strict=True):
                signal.signal(one, handler)
