"""Ctrl-C and a watch: heard between two batches, or while waiting for a live source."""

import os
import signal

import pytest

from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.online.stopping import Stop
from gamewarden.online.watch import watch, watch_to_file
from gamewarden.streams import PlainPackets
from gamewarden.tables import FramePackets
from packets_made_up import mixture

pytestmark = pytest.mark.integration


def interrupted(stop, items, at):
    """The items, with a Ctrl-C while the one at this place is fetched."""
    for place, item in enumerate(items):
        if place == at:
            stop.ask()
        yield item


def test_a_request_lets_a_file_deliver_the_batch_under_way_and_no_further():
    stop = Stop()

    assert list(stop.until(interrupted(stop, range(9), 3), live=False)) == [0, 1, 2, 3]


def test_a_request_breaks_off_waiting_for_a_live_source():
    stop = Stop()

    assert list(stop.until(interrupted(stop, range(9), 3), live=True)) == [0, 1, 2]


def test_a_second_request_is_not_waited_for():
    stop = Stop()
    stop.ask()

    with pytest.raises(KeyboardInterrupt):
        stop.ask()


def test_an_interrupt_that_nobody_asked_for_here_goes_on():
    def broken():
        yield 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(Stop().until(broken(), live=True))


def test_ctrl_c_asks_only_for_as_long_as_it_is_listened_to():
    before = signal.getsignal(signal.SIGINT)
    with Stop().on_interrupt() as stop:
        os.kill(os.getpid(), signal.SIGINT)

    assert stop.asked
    assert signal.getsignal(signal.SIGINT) is before


class Asking(PlainPackets):
    """A source during whose reading somebody asks to stop."""

    def __init__(self, frame, stop, after):
        self._whole, self._stop, self._after = FramePackets(frame, 500), stop, after

    def batches(self):
        return interrupted(self._stop, self._whole.batches(), self._after)


def test_a_watch_that_was_stopped_goes_on_and_decides_as_if_it_had_not_been(tmp_path):
    frame, test, lines = mixture(packets=4000), TrafficTest(), []
    out, state = tmp_path / "out.jsonl", tmp_path / "state"
    watch(FramePackets(frame), test, lines.append)
    stop = Stop()
    first = watch_to_file(Asking(frame, stop, 3), test, out, state=state, stop=stop)

    watch_to_file(FramePackets(frame), test, out, state=state)

    assert first.packets == 2000
    assert out.read_text() == "".join(lines)
