"""Work beside pages: done once, told while it runs, and its result kept with its time."""

from threading import Event

from desk_jobs import finished
from desks_made_up import NOON, make_desk
from gamewarden.desk.jobs import FAILED, READY, RUNNING, jobs
from gamewarden.errors import ReadError


def test_work_is_told_while_it_runs_and_its_result_is_kept_with_its_time(tmp_path):
    desk, go = make_desk(tmp_path / "ws"), Event()

    begun = jobs(desk).begin(desk, "work", "k", lambda: go.wait(5) and 42)
    again = jobs(desk).begin(desk, "work", "k", lambda: 43)
    go.set()
    done = finished(desk)

    assert begun.state == again.state == RUNNING
    assert (done.state, done.value, done.ended) == (READY, 42, NOON)


def test_what_fails_says_why(tmp_path):
    desk = make_desk(tmp_path / "ws")

    def fail():
        raise ReadError("no day was judged yet")

    jobs(desk).begin(desk, "work", "k", fail)

    assert (finished(desk).state, finished(desk).error) == (FAILED, "no day was judged yet")
    jobs(desk).begin(desk, "work", "other", lambda: 1 // 0)
    assert finished(desk, key="other").error == "it failed (ZeroDivisionError)"


def test_nobody_asked_is_nothing(tmp_path):
    assert jobs(make_desk(tmp_path / "ws")).last("work", "k") is None
