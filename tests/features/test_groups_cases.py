"""Six groups of people and six farms, with the sentences that a game master reads of them."""

import pytest

from gamewarden.groups.finding import CHAIN, STAR, find
from group_cases import FARMS, GUARDS
from paths import GOLDEN

GOLDEN = GOLDEN / "groups"


def story(case):
    """Each group with its sentence, and what is said of its members, those of one sentence together."""
    found = find(*case())
    lines = [f"# {case.__doc__}"]
    for group in found.groups.iter_rows(named=True):
        lines += ["", f"{group['type']} of {group['n']}, score {group['score']:.2f}: {group['says']}"]
        told = found.members.filter(group=group["id"]).group_by("role", "says", maintain_order=True).agg("actor")
        lines += [f"  {role}: {', '.join(actors)}: {says}" for role, says, actors in told.iter_rows()]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("case", [*GUARDS, *FARMS], ids=lambda case: case.__name__)
def test_a_case_is_told_as_it_was_agreed(case):
    assert story(case) == (GOLDEN / f"{case.__name__}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("case", GUARDS, ids=lambda case: case.__name__)
def test_no_guard_is_taken_for_a_farm(case):
    found = find(*case())

    assert not found.groups["flagged"].any()
    assert not found.groups["type"].is_in([STAR, CHAIN]).any()
    assert found.members["score"].sum() == 0
    assert (found.places["star_score"] < 0.5).all()


@pytest.mark.parametrize("case", FARMS, ids=lambda case: case.__name__)
def test_every_farm_is_found_whole(case):
    found = find(*case())
    flagged = found.groups.filter("flagged")
    farmers = [name for name in case()[1]["actor"] if not name.startswith(("customer", "somebody"))]

    acting = found.members.filter(found.members["group"].is_in(flagged["id"].implode()), found.members["score"] > 0)

    assert flagged.height == 1
    assert sorted(acting["actor"]) == sorted(farmers)
