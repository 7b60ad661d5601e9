"""The words for an account's place among those who give and take."""

from collections.abc import Mapping

from gamewarden.phrases import Phrase

HANDS_ON = "What it hands on"
RECEIVES = "What it receives"
AROUND = "Who is around it"
KNOWS = "Whom else it deals with"
_NO_GIFTS = "It gave nothing and got nothing in these days."


def _count(more: str, usual: str, less: str, shows: str, topic: str) -> Phrase:
    return Phrase(more, usual, less, shows, _NO_GIFTS, topic=topic)


def _share(more: str, usual: str, less: str, shows: str, topic: str, *, striking: str = "") -> Phrase:
    return Phrase(more, usual, less, shows, _NO_GIFTS, 2, striking=striking, topic=topic)


PHRASES: Mapping[str, Phrase] = {
    "play_hours": Phrase(
        "Plays more hours a week than {humans}",
        "Plays a usual number of hours a week",
        "Plays fewer hours a week than {humans}",
        "{value} hours",
        _NO_GIFTS,
        1,
        topic="How much it plays",
    ),
    "takers": _count(
        "Gives to more accounts that give nothing back than {humans}",
        "Gives to a usual number of accounts that give nothing back",
        "Gives to fewer accounts that give nothing back than {humans}",
        "{value} accounts",
        HANDS_ON,
    ),
    "givers": _count(
        "Gets from more accounts without giving anything back than {humans}",
        "Gets from a usual number of accounts without giving anything back",
        "Gets from fewer accounts without giving anything back than {humans}",
        "{value} accounts",
        RECEIVES,
    ),
    "gave_n": _count(
        "Hands something over one way more often than {humans}",
        "Hands something over one way as often as usual",
        "Hands something over one way less often than {humans}",
        "{value} times",
        HANDS_ON,
    ),
    "got_n": _count(
        "Is handed something one way more often than {humans}",
        "Is handed something one way as often as usual",
        "Is handed something one way less often than {humans}",
        "{value} times",
        RECEIVES,
    ),
    "to_one": _share(
        "More of what it gives goes to one account that gives nothing back than with {humans}",
        "A usual share of what it gives goes to one account",
        "Less of what it gives goes to one account than with {humans}",
        "a share of {value}",
        HANDS_ON,
        striking="Hands on nearly all it gives to one account that gives nothing back",
    ),
    "from_one": _share(
        "More of what it gets comes from one account than with {humans}",
        "A usual share of what it gets comes from one account",
        "Less of what it gets comes from one account than with {humans}",
        "a share of {value}",
        RECEIVES,
    ),
    "one_way": _share(
        "More of its gifts go one way than with {humans}",
        "A usual share of its gifts goes one way",
        "Fewer of its gifts go one way than with {humans}",
        "a share of {value}",
        HANDS_ON,
    ),
    "passed_on": _share(
        "Hands on more of what it got than {humans}",
        "Hands on a usual part of what it got",
        "Hands on less of what it got than {humans}",
        "{value} for each 1 it got",
        HANDS_ON,
    ),
    "loyal": _count(
        "More accounts give it nearly all they give, and get nothing back, than with {humans}",
        "A usual number of accounts give it nearly all they give",
        "Fewer accounts give it nearly all they give than with {humans}",
        "{value} accounts",
        RECEIVES,
    ),
    "loyal_share": _share(
        "More of those it deals with give it nearly all they give than with {humans}",
        "A usual share of those it deals with give it nearly all they give",
        "Fewer of those it deals with give it nearly all they give than with {humans}",
        "a share of {value}",
        RECEIVES,
    ),
    "star_n": _count(
        "Around the account that takes it all are more others who hand on all than with {humans}",
        "No unusual crowd around one account that takes",
        "Around the account that takes are fewer others than with {humans}",
        "{value} accounts",
        AROUND,
    ),
    "star_score": _share(
        "The accounts around it look more like a farm with one collector than with {humans}",
        "The accounts around it look as usual, not like a farm with one collector",
        "The accounts around it look less like a farm with one collector than with {humans}",
        "{value} of 1",
        AROUND,
        striking="The accounts around it are a farm with one collector in every respect",
    ),
    "chain_n": _count(
        "In a longer chain of accounts that each hand on all to the next than {humans}",
        "In no unusual chain of accounts that hand on all to the next",
        "In a shorter chain of accounts than {humans}",
        "{value} accounts",
        AROUND,
    ),
    "mesh": _share(
        "Those around it deal more with each other than with {humans}",
        "Those around it deal with each other as usual",
        "Those around it deal less with each other than with {humans}",
        "a share of {value} of all pairs",
        AROUND,
    ),
    "exchanges": _count(
        "Gives and takes with more accounts than {humans}",
        "Gives and takes with a usual number of accounts",
        "Gives and takes with fewer accounts than {humans}",
        "{value} accounts",
        KNOWS,
    ),
    "parties": Phrase(
        "In parties with more accounts than {humans}",
        "In parties with a usual number of accounts",
        "In parties with fewer accounts than {humans}",
        "{value} accounts",
        "This log does not show who joins whom.",
        topic=KNOWS,
    ),
    "market": Phrase(
        "Buys from and sells to more accounts than {humans}",
        "Buys from and sells to a usual number of accounts",
        "Buys from and sells to fewer accounts than {humans}",
        "{value} accounts",
        "This log does not show who buys from whom.",
        topic=KNOWS,
    ),
    "sharing": Phrase(
        "More other accounts at its address than with {humans}",
        "A usual number of other accounts at its address",
        "Fewer other accounts at its address than with {humans}",
        "{value} accounts",
        "This log does not show addresses.",
        topic="From where it plays",
    ),
}
