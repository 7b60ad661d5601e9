"""Whole cases that papers and people must agree on: a command, its input and its output, each in tests/golden."""

import csv
import shlex

import pytest

from commands import done
from paths import GOLDEN

CASES = sorted(path.parent for path in (GOLDEN).glob("*/expected.csv"))


def rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def alike(one, other):
    """Equal texts, or floats equal but for the last bits of rounding."""
    if "." not in one or "Z" in one:
        return one == other
    return float(one) == pytest.approx(float(other), abs=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_command_in_its_readme_gives_the_expected_table(case, tmp_path):
    command = next(
        line.strip("`") for line in (case / "README.md").read_text().splitlines() if line.startswith("`game")
    )
    *words, _, out = shlex.split(command)[1:]
    done(*words, "--out", tmp_path / out, cwd=case)

    measured, expected = rows(tmp_path / out), rows(case / "expected.csv")
    assert measured[0] == expected[0]
    assert len(measured) == len(expected)
    for row, wanted in zip(measured, expected, strict=True):
        assert all(alike(one, other) for one, other in zip(row, wanted, strict=True)), (row, wanted)
