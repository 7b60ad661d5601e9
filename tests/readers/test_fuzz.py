"""Hostile inputs of every format: a fixed sample, all that was ever found, and whether the harness sees what it must.

`make fuzz` runs the same harness for an hour; `python tests/fuzz --replay csv:12345` runs one case again.
"""

import json
from pathlib import Path

import pytest

from fuzz import corpus, driver
from fuzz.formats import FORMATS, make, nth
from fuzz.judge import Outcome, fault_of
from fuzz.kit import Kit
from fuzz.plants import PLANTS

pytestmark = pytest.mark.integration

SAMPLE = 2000
ENDLESS = ("burn", "sleep")


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    place = tmp_path_factory.mktemp("fuzz")
    driver.make_ready(place)
    return Kit(place / "kit")


def found(report):
    """Causes by the case they were found with."""
    return {name: cause for cause, said in report.causes.items() for name in said["ids"]}


def planted(kit, *names):
    """The causes of faults planted on purpose, by case."""
    return found(driver.tried(driver.named(names), kit=kit.place, warm=False))


@pytest.fixture(scope="module")
def tried(kit):
    """All seeds and the sample, in one run: most of its time goes into the worker's first second."""
    batches = [*driver.named(f"{driver.SEED}:{name}" for name in corpus.seeds()), *driver.numbered(0, SAMPLE, None)]
    return driver.tried(batches, kit=kit.place)


def test_a_fixed_sample_of_hostile_inputs_ends_well(tried):
    sampled = {name: cause for name, cause in found(tried).items() if not name.startswith(driver.SEED)}

    assert sum(sum(counts[:4]) for name, counts in tried.counts.items() if name in FORMATS) == SAMPLE
    assert {name for name in tried.counts if name in FORMATS} == set(FORMATS)
    assert not sampled, "\n".join(tried.lines())


@pytest.mark.parametrize("name", list(corpus.seeds()))
def test_what_was_found_once_ends_well(name, tried):
    assert f"{driver.SEED}:{name}" not in found(tried), found(tried)[f"{driver.SEED}:{name}"]


def test_every_planted_fault_is_found_and_the_next_case_is_run(kit):
    plants = [f"plant:{name}" for name in PLANTS if name not in ENDLESS]
    causes = planted(kit, *plants, "settings:1")

    assert set(plants) == set(causes) - {"settings:1"}
    assert causes["plant:raise"] == "raised: KeyError < plants.py:_raise"
    assert "SIGSEGV" in causes["plant:die"]
    assert "MemoryError" in causes["plant:fill"]
    assert "panicked" in causes["plant:write-past-us"]


def test_a_case_that_burns_the_processor_is_ended_and_found(kit, monkeypatch):
    monkeypatch.setenv("FUZZ_CPU", "1")

    assert "of CPU < plants.py:_burn" in planted(kit, "plant:burn")["plant:burn"]


def test_a_case_that_waits_for_ever_is_ended_and_found(kit, monkeypatch):
    monkeypatch.setattr(driver, "WALL", 1)

    assert "plants.py:_sleep" in planted(kit, "plant:sleep")["plant:sleep"]


def test_a_number_makes_the_same_case_again_and_another_number_another_case(kit):
    for name in FORMATS:
        cases = [make(name, number, kit) for number in (1, 1, 2, 3, 4)]

        assert cases[0] == cases[1]
        assert any(other != cases[0] for other in cases[2:])


def test_the_cases_of_a_run_are_all_different_and_hold_every_format():
    cases = [nth(number) for number in range(5000)]

    assert len(set(cases)) == 5000
    assert {name for name, _ in cases[:SAMPLE]} == set(FORMATS)


def test_a_kept_case_comes_back_as_it_was(kit, tmp_path):
    case = make("lake", 3, kit)
    corpus.keep(tmp_path, "lake:3", case)
    back = corpus.kept("lake/3", tmp_path)

    assert (list(back.words), dict(back.files)) == (list(case.words), dict(case.files))
    assert list(corpus.seeds(tmp_path)) == ["lake/3"]


GOOD = {
    "done": Outcome(["lint"], 0, b"all read\n"),
    "done with a remark": Outcome(["lint"], 0, b"", b"2 rows are there twice\n"),
    "refused": Outcome(["lint"], 1, b"", b"gamewarden: log.csv: is empty\n"),
    "remarked and refused": Outcome(["lint"], 1, b"", b"a remark\ngamewarden: log.csv: is empty\n"),
    "steps that failed": Outcome(["run"], 1, b"", b"gamewarden: score: one\ngamewarden: judge: two\n"),
    "usage": Outcome(["lint"], 2, b"", b"Usage: gamewarden lint\n\nError: Missing argument\n"),
    "does not hold": Outcome(["verify", "v.json"], 1, b"| v.json | no |\n"),
    "json": Outcome(["lint", "--json"], 0, b'[{"a": null}]\n'),
    "settings": Outcome(["config"], 0, b"[read]\nmax_bad_share = 0.01\n"),
    "json lines": Outcome(["watch", "p.csv"], 0, b'{"a": 1}\n{"a": 2}\n'),
}
BAD = {
    "silence": Outcome(["lint"], 1),
    "two lines": Outcome(["lint"], 1, b"", b"gamewarden: one\ngamewarden: two\n"),
    "a word after the line": Outcome(["lint"], 1, b"", b"gamewarden: one\nand another\n"),
    "an empty line": Outcome(["lint"], 1, b"", b"gamewarden: \n"),
    "failure that ends with 0": Outcome(["lint"], 0, b"", b"gamewarden: one\n"),
    "a signal's number": Outcome(["lint"], 139),
    "an escape": Outcome(["lint"], 0, b"\x1b[31m"),
    "a direction": Outcome(["lint"], 1, b"", "gamewarden: \u202ex\n".encode()),
    "bytes": Outcome(["lint"], 0, b"\xff"),
    "a library's remark": Outcome(["lint"], 0, b"", b"Remark by numpy: divide by zero\n"),
    "a library's words": Outcome(["lint"], 0, past_us=b"free(): invalid pointer\n"),
    "memory": Outcome(["lint"], 1, b"", b"gamewarden: memory ran out; read a shorter time\n"),
    "NaN in JSON": Outcome(["lint", "--json"], 0, b"[NaN]\n"),
    "half a line of JSON": Outcome(["watch", "p.csv"], 0, b'{"a": 1}\n{"a"\n'),
    "a book in a line": Outcome(["lint"], 1, b"", b"gamewarden: " + b"x" * 10_000 + b"\n"),
    "a setting that is no number": Outcome(["config"], 0, b"[read]\nmax_bad_share = nan\n"),
    "settings that cannot be read": Outcome(["config"], 0, b'[read]\nzone = "a"b"\n'),
    "no word on usage": Outcome(["lint"], 2),
}


@pytest.mark.parametrize("name", GOOD)
def test_what_a_command_may_do_is_no_fault(name):
    assert fault_of(GOOD[name]) is None


@pytest.mark.parametrize("name", BAD)
def test_what_no_command_may_do_is_a_fault(name):
    assert fault_of(BAD[name]) is not None


def test_a_report_says_inputs_outcomes_and_causes_to_people_and_programs(kit, tmp_path):
    driver.tried(driver.named(["settings:1", "plant:leave", "plant:raise"]), corpus=tmp_path, kit=kit.place, warm=False)
    report = json.loads((tmp_path / "report.json").read_text())

    assert report["inputs"] == 3
    assert report["findings"]["exit: exit 3"]["ids"] == ["plant:leave"]
    assert "raised: KeyError < plants.py:_raise" in (tmp_path / "report.txt").read_text()
    assert json.loads((Path(tmp_path) / "plant/leave/words.json").read_text()) == ["plant", "leave"]
