"""Maintain in a process of its own, and die without a word at the step asked for: for the tests of crashes."""

import os
import signal
import sys
from pathlib import Path

from gamewarden.pipeline.maintaining import maintain
from upkeep_made_up import task_of


def main():
    place, left = Path(sys.argv[1]), int(sys.argv[2])
    count = 0

    def tick(_step, _moment):
        nonlocal count
        count += 1
        if count == left:
            os.kill(os.getpid(), signal.SIGKILL)

    maintain(task_of(place), tick)


if __name__ == "__main__":
    main()
