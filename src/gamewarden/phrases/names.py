"""The words for names: how many others are called as somebody is, but for a number."""

from collections.abc import Mapping

from gamewarden.phrases import Phrase

PHRASES: Mapping[str, Phrase] = {
    "name_series": Phrase(
        "More other accounts have its name with a number close to its own than with {humans}",
        "As many other accounts as usual have its name with a number close to its own",
        "Fewer other accounts have its name with a number close to its own than with {humans}",
        "{value}",
        "Its names do not tell: they are too short, or this game numbers them itself.",
        topic="What it is called",
    ),
}
