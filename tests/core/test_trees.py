"""Trees over three answers: data, drawn for people, never against the evidence."""

from itertools import product

import pytest

from gamewarden.core.trees import MONOTONE, NAMED, TESTS, Tree, cell
from gamewarden.errors import ConfigError

ANSWERS = [dict(zip(TESTS, answers, strict=True)) for answers in product((False, True), repeat=3)]


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("majority", lambda c, b, a: (c and b) or (c != b and a)),
        ("strong_or_pair", lambda c, b, a: c or (b and a)),
        ("duality", lambda c, b, _: c or b),
        ("any", lambda c, b, a: c or b or a),
        ("strong_and_any", lambda c, b, a: c and (b or a)),
        ("all", lambda c, b, a: c and b and a),
    ],
)
def test_a_named_tree_says_what_its_rule_says(name, rule):
    tree = Tree.named(name)

    for answers in ANSWERS:
        assert tree.verdict(cell(**answers)) is rule(*(answers[test] for test in TESTS))
    assert str(tree) == name


def test_there_are_18_trees_in_which_a_bot_like_answer_never_helps():
    trees = [Tree(bits) for bits in MONOTONE]

    assert len(trees) == 18
    assert set(NAMED.values()) <= set(trees)
    for tree in trees:
        for answers in ANSWERS:
            for test in TESTS:
                more = cell(**answers | {test: True})
                assert tree.verdict(more) or not tree.verdict(cell(**answers))


def test_a_tree_comes_back_from_its_questions_and_its_names_differ():
    trees = [Tree(bits) for bits in MONOTONE]

    assert [Tree.from_dict(tree.to_dict()) for tree in trees] == trees
    assert len({str(tree) for tree in trees}) == 18


@pytest.mark.parametrize("bits", [0, 255, 256, -1, 0b0000_0001, 0b0111_1111, 0b0100_0000])
def test_other_verdicts_are_refused(bits):
    with pytest.raises(ConfigError, match="more human"):
        Tree(bits)


DEEP = {"ask": "lengths", "bot": "bot", "human": "human"}
for _ in range(9):
    DEEP = {"ask": "lengths", "bot": DEEP, "human": DEEP}


@pytest.mark.parametrize(
    "values",
    [
        *("oak", "bot", 3, None, [], DEEP),
        {"ask": "lengths"},
        {"ask": "age", "bot": "bot", "human": "human"},
        {"ask": "lengths", "bot": "human", "human": "bot"},
        {"ask": "lengths", "bot": "bot", "human": 0},
    ],
)
def test_what_is_no_tree_is_refused(values):
    with pytest.raises(ConfigError, match="tree"):
        Tree.from_dict(values)


def test_a_tree_is_drawn_for_people():
    assert Tree.named("strong_or_pair").text() == (
        "lengths?\n"
        "├─ bot: BOT\n"
        "└─ human: interarrival?\n"
        "   ├─ bot: autocorrelation?\n"
        "   │  ├─ bot: BOT\n"
        "   │  └─ human: HUMAN\n"
        "   └─ human: HUMAN"
    )
