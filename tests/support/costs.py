"""A pytest plugin: the CPU-seconds of each test with its child processes, and which tests cost too much for their tier.

Shared directories and compiled kernels belong to no single test: what they cost is counted apart.
"""

import os
from collections import Counter
from contextlib import contextmanager

import pytest

LIMIT = 5.0  # CPU-seconds of a test of the first tier; whatever costs more is listed
# Above this a run with CI set fails: a busy machine needs twice the CPU time for the same work, and a kernel that
# `warm` has not compiled costs up to 50 seconds.
FAILS = 12 * LIMIT
LISTED = 10  # files
_SHARED = "shared directories"
_CPU = pytest.StashKey[tuple[float, float]]()
_built = {"seconds": 0.0, "depth": 0}


@contextmanager
def counted_apart():
    """Count the CPU-seconds inside for no test; what is built inside another building counts once."""
    started = cpu_seconds()
    _built["depth"] += 1
    try:
        yield
    finally:
        _built["depth"] -= 1
        if not _built["depth"]:
            _built["seconds"] += cpu_seconds() - started


def cpu_seconds():
    """CPU-seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Costs:
    """Adds costs up by test, and lists the most expensive files and all tests above the limit."""

    def __init__(self):
        self.tests = Counter()
        self.shared = 0.0
        self._later_tier = set()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        item.stash[_CPU] = (cpu_seconds(), _built["seconds"])
        return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item):
        started, built = item.stash[_CPU]
        shared = _built["seconds"] - built
        item.user_properties += [("cpu", cpu_seconds() - started - shared), ("shared", shared)]

    def pytest_runtest_logreport(self, report):
        if report.when == "teardown":
            costs = dict(report.user_properties)
            self.tests[report.nodeid] += costs.get("cpu", 0.0)
            self.shared += costs.get("shared", 0.0)
            if {"integration", "nightly"}.intersection(report.keywords):
                self._later_tier.add(report.nodeid)

    def pytest_sessionfinish(self, session):
        is_worker = hasattr(session.config, "workerinput")
        if os.environ.get("CI") and not is_worker and any(cost > FAILS for _, cost in self._too_expensive()):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        if not self.tests:
            return
        files = Counter({_SHARED: self.shared})
        for test, seconds in self.tests.items():
            files[test.split("::")[0]] += seconds
        terminalreporter.section(f"{files.total():,.0f} CPU-seconds in {len(self.tests):,} tests")
        for name, seconds in files.most_common(LISTED):
            terminalreporter.line(f"{seconds:8.1f}  {name}")
        for test, seconds in self._too_expensive():
            terminalreporter.line(
                f"{test}: {seconds:.1f} CPU-seconds, the first tier allows {LIMIT:g} (CI fails above {FAILS:g}); "
                "mark it pytest.mark.integration"
            )

    def _too_expensive(self):
        return [
            (test, seconds)
            for test, seconds in self.tests.most_common()
            if seconds > LIMIT and test not in self._later_tier
        ]
