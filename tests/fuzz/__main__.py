"""`python tests/fuzz`: hostile inputs by the thousand.

--seconds S or --inputs N (or FUZZ_SECONDS, FUZZ_INPUTS) say how long; --replay ID runs one case again and shows it.
"""

import argparse
import os
import signal
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:1] = [str(TESTS), str(TESTS / "support"), str(TESTS / "contract")]

from fuzz import corpus, driver  # noqa: E402 - the tests must be on the path first

_HOUR = 3600.0


def main() -> int:
    """Run, and end with 1 where something fell."""
    asked = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaves nothing behind
    if asked.replay:
        batches = driver.named(asked.replay)
    elif asked.seeds:
        batches = driver.named(f"{driver.SEED}:{name}" for name in corpus.seeds())
    else:
        seconds = None if asked.inputs and not asked.seconds else asked.seconds or _HOUR
        batches = driver.numbered(asked.first, asked.inputs, seconds)
    report = driver.tried(batches, asked.workers, None if asked.replay and not asked.corpus_given else asked.corpus)
    sys.stdout.write("\n".join(report.lines()) + "\n")
    return 1 if report.causes else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=int(os.environ.get("FUZZ_INPUTS", "0")) or None)
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("FUZZ_SECONDS", "0")) or None)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--corpus", type=Path, default=Path("fuzz-corpus"), help="where findings are kept")
    parser.add_argument("--replay", nargs="+", metavar="ID", help="run these cases alone, such as csv:12345")
    parser.add_argument("--seeds", action="store_true", help="run what was found once")
    asked = parser.parse_args()
    asked.corpus_given = "--corpus" in sys.argv
    asked.workers = 1 if asked.replay else asked.workers
    return asked


if __name__ == "__main__":
    sys.exit(main())
