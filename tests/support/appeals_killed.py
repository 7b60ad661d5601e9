"""Heal a case in processes that die before one statement after the other: for the tests of crashes."""

import os
import signal
import sys
from itertools import count
from pathlib import Path

from sqlalchemy import event

from appeals_made_up import NOW, dump
from gamewarden.contracts import digest
from gamewarden.workspace.appealing import Appealing
from gamewarden.workspace.place import Workspace


def heal(root, last):
    """Decide the appeal, and die before the statement of this number; the commit is one."""
    workspace = Workspace.at(root)
    engine = workspace.ledger.engine
    left = iter(range(last - 1, -1, -1))

    def before_statement(*_):
        if not next(left, 0):
            os.kill(os.getpid(), signal.SIGKILL)

    for name in ("before_cursor_execute", "commit"):
        event.listen(engine, name, before_statement)
    Appealing(workspace, NOW).decide("appealed-kim", "overturned", by="gm", because="he was there")
    engine.dispose()


def content(root):
    """What names all that the ledger holds."""
    workspace = Workspace.at(root)
    try:
        return digest(repr(dump(workspace)))
    finally:
        workspace.ledger.close()


def main():
    """Try again until nobody dies any more, and say each time what the ledger holds then."""
    root = Path(sys.argv[1])
    for number in count(1):
        child = os.fork()
        if not child:
            heal(root, number)
            return
        ended = os.waitpid(child, 0)[1]
        sys.stdout.write(f"{content(root)}\n")
        if not os.WIFSIGNALED(ended):
            sys.exit(os.waitstatus_to_exitcode(ended))


if __name__ == "__main__":
    main()
