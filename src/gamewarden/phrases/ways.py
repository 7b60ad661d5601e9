"""The words for ways: where somebody turns, and how often it had walked the same way before."""

from collections.abc import Mapping

from gamewarden.phrases import Phrase

WALKS = "How it walks"
_UNSEEN = "Too few positions to follow its way."

PHRASES: Mapping[str, Phrase] = {
    "way_points": Phrase(
        "Turns on its way more often than {humans}",
        "Turns on its way as often as usual",
        "Turns on its way less often than {humans}",
        "{value} way-points",
        "This log does not show where it was.",
        topic=WALKS,
    ),
    "way_length": Phrase(
        "Walks further than {humans}",
        "Walks as far as usual",
        "Walks less far than {humans}",
        "{value} paces",
        "This log does not show where it was.",
        topic=WALKS,
    ),
    "repeated_way": Phrase(
        "Walks the same way again and again, within a few paces, more than {humans}",
        "Repeats its way about as much as usual",
        "Repeats its way less than {humans}",
        "a share of {value} of its way-points",
        _UNSEEN,
        2,
        striking="Walks the same way again and again, within a few paces",
        topic=WALKS,
    ),
    "repeated_run": Phrase(
        "Follows a way it had walked before for longer at a stretch than {humans}",
        "Follows a way it had walked before about as long as usual",
        "Leaves a way it had walked before sooner than {humans}",
        "up to {value} way-points in a row",
        _UNSEEN,
        has="a typical human up to",
        topic=WALKS,
    ),
    "laps": Phrase(
        "Walks its most frequent stretch more often than {humans}",
        "Walks its most frequent stretch as often as usual",
        "Walks its most frequent stretch less often than {humans}",
        "{value} times",
        _UNSEEN,
        topic=WALKS,
    ),
    "same_places": Phrase(
        "Turns at the very places where it had turned before, more than {humans}",
        "Comes back to the same places about as much as usual",
        "Comes back to the same places less than {humans}",
        "a share of {value} of its way-points",
        _UNSEEN,
        2,
        topic=WALKS,
    ),
}
