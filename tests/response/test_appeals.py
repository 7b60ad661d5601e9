"""An appeal is opened, decided once by somebody else, and what was wrong is healed: pure rules."""

import pytest

from appeals_made_up import DAY, NOW, appeal, decision, observation
from gamewarden.cases import OVERTURNED, UPHELD
from gamewarden.errors import ResponseError
from gamewarden.response.appeals import LONGEST, exonerate, kept_out, opened, settled


def test_an_appeal_says_who_objects_to_what_and_why():
    made = opened("kim", "decided-kim", "  It was me.\n", by="kim", at=NOW, earlier=())

    assert (made.actor, made.decision, made.text, made.opened, made.opened_by) == (
        "kim",
        "decided-kim",
        "It was me.",
        NOW,
        "kim",
    )
    assert made.outcome is None


@pytest.mark.parametrize("text", ["", " \n", "x" * (LONGEST + 1)], ids=["empty", "blank", "long"])
def test_an_appeal_needs_a_text_of_bounded_length(text):
    with pytest.raises(ResponseError, match="text of"):
        opened("kim", None, text, by="kim", at=NOW, earlier=())


def test_while_one_appeal_is_open_there_is_no_second():
    with pytest.raises(ResponseError, match="appealed-kim is open"):
        opened("kim", None, "Something else.", by="kim", at=NOW, earlier=[appeal()])


def test_after_a_decision_only_a_new_text_opens_another_appeal():
    before = appeal(outcome=UPHELD, decided=NOW - DAY, decided_by="gm", because="it is a bot")

    with pytest.raises(ResponseError, match="says the same"):
        opened("kim", None, f" {before.text.upper()} ", by="kim", at=NOW, earlier=[before])
    assert opened("kim", None, "Here is a film of me.", by="kim", at=NOW, earlier=[before]).id != before.id


def test_a_person_decides_an_appeal_with_a_reason():
    made = settled(appeal(), UPHELD, by="gm", because="it is a bot", at=NOW, decisions=[decision()], four_eyes=True)

    assert (made.outcome, made.decided_by, made.because, made.decided) == (UPHELD, "gm", "it is a bot", NOW)


@pytest.mark.parametrize(
    ("changes", "asked", "needed"),
    [
        ({"outcome": UPHELD}, {}, "was decided"),
        ({}, {"because": " "}, "reason has 0"),
        ({}, {"by": " "}, "nobody is named"),
        ({}, {"by": "ladder"}, "a person"),
        ({}, {"outcome": "perhaps"}, "upheld or overturned"),
    ],
    ids=["twice", "without a reason", "nameless", "by the machine", "neither"],
)
def test_what_is_no_decision_on_an_appeal_is_refused(changes, asked, needed):
    words = {"outcome": OVERTURNED, "by": "gm", "because": "he was there", **asked}

    with pytest.raises(ResponseError, match=needed):
        settled(appeal(**changes), words.pop("outcome"), at=NOW, decisions=[decision()], four_eyes=True, **words)


@pytest.mark.parametrize("role", ["by", "approved_by"])
def test_whoever_took_or_approved_the_decision_does_not_decide_the_appeal(role):
    mine = [decision(**{role: "gm"})]

    with pytest.raises(ResponseError, match="somebody else"):
        settled(appeal(), UPHELD, by="gm", because="I know", at=NOW, decisions=mine, four_eyes=True)
    assert settled(appeal(), UPHELD, by="gm", because="I know", at=NOW, decisions=mine, four_eyes=False).outcome


def test_the_case_of_an_overturned_appeal_names_what_was_wrong_and_when():
    seen = [observation(1), observation(2), observation(3, llr=-1.5), observation(4, excluded="older")]
    made = settled(appeal(), OVERTURNED, by="gm", because="he was there", at=NOW, decisions=[], four_eyes=True)

    healed = exonerate(made, seen, [observation(5, actor="lee", because_of="kim", llr=-0.5)])

    assert [(one.id, one.excluded) for _, one in healed.excluded] == [
        ("seen1-kim", made.id),
        ("seen2-kim", made.id),
        ("seen5-lee", made.id),
    ]
    assert healed.exonerated.verdicts == (seen[0].ref, seen[1].ref)
    assert (healed.exonerated.since, healed.exonerated.until) == (seen[0].since, seen[1].until)
    label = healed.label
    assert (label.actor, label.bot, label.source, label.by, label.votes) == (
        "kim",
        False,
        "appeal",
        "gm",
        {"gm": False},
    )
    assert (label.since, label.until, label.because) == (seen[0].since, seen[1].until, "he was there")


def test_evidence_of_an_exonerated_time_that_comes_again_does_not_count():
    made = settled(appeal(), OVERTURNED, by="gm", because="he was there", at=NOW, decisions=[], four_eyes=True)
    exonerated = exonerate(made, [observation(1), observation(2)], []).exonerated
    again = observation(2, id="judged again", ref="verdict@other")
    later, human, other = observation(7), observation(2, llr=-1.0, id="human"), observation(2, actor="lee")
    tied = observation(2, actor="park", because_of="kim")

    found = kept_out([again, later, human, other, tied], [exonerated])

    assert [one.excluded for one in found] == [made.id, None, None, None, made.id]
