"""Whether the point to act can be reached at all, and what it takes."""

import pytest

from gamewarden.verdicts.points import OperatingPoints
from gamewarden.verdicts.reach import Reach, Voice


def test_one_family_of_few_humans_can_never_reach_it_and_that_is_said_with_what_it_takes():
    told = Reach(OperatingPoints(), [Voice("self-similarity", 105)]).sentence(["actions-interval"])

    assert "2 families of features must agree and only self-similarity can speak" in told
    assert "the FPR must be 0.001 and is never below 0.0094 (105 held-out humans)" in told
    assert "It takes `gamewarden fit actions-interval`, 999 reviewed humans and `gamewarden fit fusion`" in told
    assert "\n" not in told


def test_nothing_is_said_where_somebody_can():
    both = [Voice("self-similarity", 3000), Voice("actions", 2500)]

    assert Reach(OperatingPoints(), both).sentence() is None
    assert Reach(OperatingPoints(agree=1), both[:1]).sentence() is None


def test_what_is_said_to_suffice_does():
    needed = Reach(OperatingPoints(), [Voice("self-similarity", 105)]).humans_needed()
    families = [Voice("self-similarity", 50), Voice("actions", 50)]

    assert Reach(OperatingPoints(), families, Voice("fusion", needed)).sentence() is None
    assert Reach(OperatingPoints(), families, Voice("fusion", needed - 1)).sentence() is not None
    assert Reach(OperatingPoints(agree=1), [Voice("self-similarity", needed)]).sentence() is None


def test_without_a_fusion_two_families_need_twice_as_many_humans():
    def families(humans):
        return [Voice("self-similarity", humans), Voice("actions", humans)]

    assert Reach(OperatingPoints(), families(1999)).sentence() is None
    assert "never below 0.001" in Reach(OperatingPoints(), families(1998)).sentence()


def test_of_three_families_the_second_best_known_decides_and_is_the_one_named():
    families = [Voice("self-similarity", 5000), Voice("actions", 12), Voice("traffic", 200)]

    told = Reach(OperatingPoints(), families).sentence()

    assert "is never below 0.0075 (200 held-out humans)" in told


def test_a_point_that_was_closed_is_called_closed():
    assert "closed ([verdict] act = 0.0)" in Reach(OperatingPoints(act=0.0), [Voice("actions", 9)]).sentence()


@pytest.mark.parametrize("humans", [0, 1, 47])
def test_the_lowest_fpr_counts_the_actor_as_one_more(humans):
    assert Reach(OperatingPoints(), [Voice("actions", humans)]).least == 1 / (humans + 1)
