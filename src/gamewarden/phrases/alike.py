"""The words for likeness: whose doings are those of another account, to the order and the pace."""

from collections.abc import Mapping

from gamewarden.phrases import Phrase

COPIES = "Whom it is like"
_UNSEEN = "Too little play to compare it with others."
# Comparable are accounts that do the same kind of thing, of the same level range and zone where the log shows them.
_NO_WAY = "Too few positions to compare its way with those of others."

PHRASES: Mapping[str, Phrase] = {
    "alike": Phrase(
        "Does the same as another account, in the same order and at the same pace, more than {humans}",
        "Is about as like another account as usual",
        "Is less like any other account than {humans}",
        "likeness {value} of 1",
        _UNSEEN,
        3,
        striking="Does the very same as another account, in the same order and at the same pace",
        topic=COPIES,
    ),
    "alike_beyond": Phrase(
        "Likeness to another account, beyond that of comparable accounts, is higher than with {humans}",
        "Likeness to another account, beyond that of comparable accounts, is as usual",
        "Likeness to another account, beyond that of comparable accounts, is lower than with {humans}",
        "{value}",
        _UNSEEN,
        3,
        topic=COPIES,
    ),
    "alike_with": Phrase(
        "Is like more other accounts than {humans}",
        "Is like as many other accounts as usual",
        "Is like fewer other accounts than {humans}",
        "{value} at least",
        _UNSEEN,
        topic=COPIES,
    ),
    "same_way": Phrase(
        "Walks the same way as another account, from place to place, more than {humans}",
        "Shares its way with others about as much as usual",
        "Shares its way with others less than {humans}",
        "a share of {value}",
        _NO_WAY,
        3,
        striking="Walks the very same way as another account, from place to place",
        topic=COPIES,
    ),
    "same_way_with": Phrase(
        "Shares its way with more other accounts than {humans}",
        "Shares its way with as many other accounts as usual",
        "Shares its way with fewer other accounts than {humans}",
        "{value} at least",
        _NO_WAY,
        topic=COPIES,
    ),
    "together": Phrase(
        "Is online at the same times as the account most like it, more than {humans}",
        "Is online with the account most like it about as often as usual",
        "Is online at other times than the account most like it, more than {humans}",
        "correlation {value}",
        _UNSEEN,
        2,
        topic=COPIES,
    ),
}
