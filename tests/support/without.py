"""Run gamewarden as on a computer where some libraries are not installed.

`python without.py sklearn,scipy -- rank …`; further commands may follow, each after another `--`.
"""

import sys
from importlib.abc import MetaPathFinder
from itertools import groupby


class Absent(MetaPathFinder):
    """Finds, before all others, that these libraries are not there."""

    def __init__(self, names):
        self._names = names

    def find_spec(self, name, path=None, target=None):
        del path, target
        if name.partition(".")[0] in self._names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def run_all(commands):
    from gamewarden.cli import main

    for words in commands:
        sys.argv = ["gamewarden", *words]
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                sys.exit(f"{' '.join(words)}: exit {ended.code}" if len(commands) > 1 else ended.code)


if __name__ == "__main__":
    sys.meta_path.insert(0, Absent(sys.argv[1].split(",")))
    run_all([list(words) for is_border, words in groupby(sys.argv[2:], "--".__eq__) if not is_border])
