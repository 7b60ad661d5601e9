"""The words for names: how many others are called as somebody is, but for a number."""

from collections.abc import Mapping

from gamewarden.phrases import Phrase

PHRASES: Mapping[str, Phrase] = {
    "name_series": Phrase(
        "Its name is one of a numbered series, with more accounts in it than with {humans}",
        "As few others as usual have its name with another number",
        "Fewer others than with {humans} have its name with another number",
        "{value} other accounts",
        "Its names do not tell: they are too short, or this game numbers them itself.",
        striking="Its name is one of a numbered series",
        topic="What it is called",
    ),
}
