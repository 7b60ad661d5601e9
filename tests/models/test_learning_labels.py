"""Which periods a label speaks of."""

import polars as pl

from gamewarden.learning.labels import label_periods
from made_up import DAY, START, account_days, labels_of


def test_an_actor_without_a_group_is_a_group_of_its_own_that_no_named_group_can_meet():
    labels = labels_of(1, 1).with_columns(group=pl.Series([None, "bot000"]))

    rows = label_periods(account_days(1, 1, 1), labels, "test").rows

    assert dict(rows.select("actor", "group").iter_rows()) == {"bot000": "actor:bot000", "human000": "group:bot000"}


def test_one_vote_of_three_is_uncertain_and_left_out():
    labelled = label_periods(
        account_days(2, 2, 1), labels_of(2, 2).with_columns(votes=pl.Series([3, 1, 0, None])), "test"
    )

    assert labelled.rows["actor"].to_list() == ["bot000", "human000", "human001"]
    assert labelled.left_out == {"labels that reviewers do not agree on": 1}


def test_a_label_ends_before_its_until():
    labels = labels_of(1, 0).with_columns(since=pl.lit(START), until=pl.lit(START + DAY))

    assert label_periods(account_days(1, 1, 3), labels, "test").rows["since"].to_list() == [START]


def test_a_label_for_another_time_is_counted():
    labels = labels_of(1, 0).with_columns(since=pl.lit(START - 2 * DAY), until=pl.lit(START))

    labelled = label_periods(account_days(1, 1, 3), labels, "test")

    assert labelled.rows.is_empty()
    assert labelled.left_out == {"labelled actors without a period in their label's time": 1}


def test_two_labels_that_agree_are_one_label_from_two_sources():
    twice = pl.concat([labels_of(1, 1, source="ban"), labels_of(1, 1, source="rater")])

    rows = label_periods(account_days(1, 1, 1), twice, "test").rows

    assert rows.select("bot", "source").rows() == [(True, "ban+rater"), (False, "rater")]


def test_not_banned_is_not_human():
    labelled = label_periods(account_days(1, 1, 1), labels_of(1, 1, source="ban"), "test")

    assert labelled.rows.select("actor", "bot").rows() == [("bot000", True)]
    assert labelled.left_out == {"labels of accounts that nobody reviewed (not banned is not human)": 1}


def test_an_appeal_holds_against_the_ban_it_decides():
    ban = pl.DataFrame({"actor": ["bot000", "bot001"], "bot": True, "source": "ban"})
    appeal = pl.DataFrame({"actor": ["bot000"], "bot": False, "source": "appeal"})

    labelled = label_periods(account_days(2, 0, 1), pl.concat([ban, appeal]), "test")

    assert labelled.rows.select("actor", "bot", "source").rows() == [
        ("bot000", False, "appeal"),
        ("bot001", True, "ban"),
    ]
    assert labelled.left_out == {"bans that an appeal decided anew": 1}


def test_an_appeal_of_another_time_leaves_a_ban_alone():
    ban = pl.DataFrame({"actor": ["bot000"], "bot": True, "source": "ban", "since": [START], "until": [START + DAY]})
    appeal = ban.with_columns(bot=False, source=pl.lit("appeal"), since="until", until=pl.lit(START + 2 * DAY))

    rows = label_periods(account_days(1, 0, 2), pl.concat([ban, appeal]), "test").rows

    assert rows["bot"].to_list() == [True, False]


def test_a_label_judges_no_period_that_ends_after_it_was_given():
    labels = labels_of(1, 1, at=START + 2 * DAY)

    labelled = label_periods(account_days(1, 1, 3), labels, "test")

    assert labelled.rows["since"].unique().to_list() == [START, START + DAY]
    assert labelled.left_out == {"periods that end after their label was given": 2}


def test_rows_come_sorted_whatever_their_order():
    table = account_days(3, 3, 2)

    forward = label_periods(table, labels_of(3, 3), "test").rows

    assert forward.equals(label_periods(table.reverse(), labels_of(3, 3).reverse(), "test").rows)
    assert forward.select("actor", "since").rows() == sorted(forward.select("actor", "since").rows())


def test_an_actor_with_two_groups_is_in_one_of_them_at_all_times():
    first = labels_of(1, 0, group="x").with_columns(since=pl.lit(START), until=pl.lit(START + DAY))
    second = labels_of(1, 0, group="a").with_columns(since=pl.lit(START + DAY), until=pl.lit(START + 2 * DAY))

    rows = label_periods(account_days(1, 0, 2), pl.concat([first, second]), "test").rows

    assert rows["group"].to_list() == ["group:a", "group:a"]
