"""The study of maintenance: its verdict says what its numbers say, and its parts run on a few weeks."""

import polars as pl
import pytest

from gamewarden.lab.studies import maintenance
from gamewarden.lab.studies.watchers import other_watchers

pytestmark = pytest.mark.nightly

HAPPENINGS = {"new bot family": 14, "patch": 26}


def by_week(behind):
    rows = [
        {"policy": policy, "seed": 1, "week": week, "auc": 0.9 - less, "retrained": False}
        for policy, less in zip(maintenance.POLICIES, (0.1, 0.0, behind), strict=True)
        for week in range(4, 52)
    ]
    return pl.DataFrame(rows)


def costs(retrainings):
    numbers = zip(maintenance.POLICIES, (0, 48, retrainings), strict=True)
    return pl.DataFrame(
        [{"policy": name, "retrainings": n, "rows_learned_from": 1, "cpu_seconds": 1.0} for name, n in numbers]
    )


@pytest.mark.parametrize(
    ("behind", "retrainings", "verdict"),
    [(0.01, 9, "holds."), (0.021, 9, "does NOT hold."), (0.01, 10, "does NOT hold."), (-0.01, 2, "holds.")],
    ids=["near and seldom", "too far behind", "too often", "ahead"],
)
def test_the_verdict_follows_from_the_numbers(behind, retrainings, verdict):
    frame = maintenance._policies(by_week(behind), costs(retrainings))

    assert f"at most a fifth of the retrainings: {verdict}" in maintenance._remarks(frame)[1]


def test_the_watchers_say_in_which_weeks_they_signal():
    values = [0.95, 0.94, 0.96] * 3 + [0.95] + [0.6] * 38
    told = other_watchers(values, 1, HAPPENINGS)
    ewma = told.row(0, named=True)

    assert ewma["weeks until new bot family"] == 0
    assert ewma["before_anything"] == 0
    assert ewma["in_weeks"].startswith("14")


@pytest.fixture(scope="module")
def study():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(maintenance, "WEEKS", 14)
        yield maintenance.run(accounts=130, seeds=1)


def test_a_few_weeks_of_the_study_have_every_policy_and_a_chart(study, tmp_path):
    assert study.frame["policy"].to_list() == list(maintenance.POLICIES)
    assert study.frame["retrainings"].to_list()[:2] == [0, 10]
    assert study.charts[1].height == 10
    drawn = maintenance.draw(study, tmp_path)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)


def test_no_account_that_is_learned_from_is_among_those_that_say_how_good_a_policy_is():
    year = maintenance.Year(accounts=200, seed=1)
    played = maintenance._Played(year, None, None, {}, ())

    judged, unjudged = set(played.judged(51)["actor"]), set(played.unjudged["actor"])
    assert judged
    assert not judged & unjudged
