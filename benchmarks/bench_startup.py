"""How much processor time `gamewarden --help` costs, beside an empty Python and beside the heavy libraries.

Bar: under 0.5 CPU-seconds.
"""

import resource
import subprocess
import sys
from statistics import median

RUNS = 7
CASES = {
    "python -c pass": ["-c", "pass"],
    "gamewarden --help": ["-m", "gamewarden", "--help"],
    "import polars, pyarrow": ["-c", "import polars, pyarrow"],
    "import numba": ["-c", "import numba"],
    "import sklearn.linear_model": ["-c", "import sklearn.linear_model"],
}


def cpu_seconds(arguments: list[str]) -> float:
    """User and system time of one run in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Print the medians and their ratios to an empty Python."""
    seconds = {name: median(cpu_seconds(arguments) for _ in range(RUNS)) for name, arguments in CASES.items()}
    empty = seconds["python -c pass"]
    for name, value in seconds.items():
        print(f"{name:30} {value:7.3f} CPU-s   {value / empty:6.1f} x python")


if __name__ == "__main__":
    main()
