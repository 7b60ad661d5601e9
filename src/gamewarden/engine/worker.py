"""A process that does tasks: a line of JSON in, the length of an answer and the answer out, until nothing comes."""

import json
import os
import sys
from typing import BinaryIO

from gamewarden.engine.answers import ended

LENGTH = 8  # bytes in which the length of an answer stands


def main() -> None:
    """Serve whoever started this process; what a task prints by mistake goes where errors go."""
    entry = sys.argv[1]
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with open(0, "rb", closefd=False) as tasks:
        serve(entry, tasks, answers)


def serve(entry: str, tasks: BinaryIO, answers: BinaryIO) -> None:
    """Answer every line."""
    for line in tasks:
        answer = ended(entry, json.loads(line))
        answers.write(len(answer).to_bytes(LENGTH, "little"))
        answers.write(answer)
        answers.flush()


if __name__ == "__main__":
    main()
