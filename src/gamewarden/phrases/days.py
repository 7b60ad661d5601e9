"""The words for the numbers of a day: how alike its windows are, and what was done in it."""

from collections.abc import Mapping

from gamewarden.phrases import Phrase

REPEATS = "How it repeats itself"
PLAYS = "How much it plays"
HUNTS = "What it hunts"
TRADES = "What it trades and stores"

PHRASES: Mapping[str, Phrase] = {
    "self_sim": Phrase(
        "The {window}s resemble one another more than those of {humans}",
        "The {window}s vary as usual",
        "The {window}s vary more than those of {humans}",
        "self-similarity {value}",
        "Too little play to judge: self-similarity was not measured.",
        4,
        striking="Every {window} looks almost like every other",
        topic=REPEATS,
    ),
    "cosim_count": Phrase(
        "Active in more {window}s than {humans}",
        "A usual number of active {window}s",
        "Active in fewer {window}s than {humans}",
        "{value}",
        "Active {window}s were not counted.",
        topic=PLAYS,
    ),
    "cosim_uniq_count": Phrase(
        "More different {window}s than {humans}",
        "A usual number of different {window}s",
        "Fewer different {window}s than {humans}",
        "{value}",
        "Different {window}s were not counted.",
        topic=PLAYS,
    ),
    "cosim_zero_count": Phrase(
        "More idle {window}s online than {humans}",
        "A usual number of idle {window}s online",
        "Fewer idle {window}s online than {humans}",
        "{value}",
        "Idle {window}s were not counted.",
        topic=PLAYS,
    ),
    "cosim_mode": Phrase(
        "One and the same {window} comes back more often than with {humans}",
        "{Window}s repeat exactly about as often as usual",
        "{Window}s repeat exactly less often than with {humans}",
        "the most frequent one counts {value}",
        "Repeated {window}s were not counted.",
        topic=REPEATS,
    ),
    "total_log_count": Phrase(
        "More actions than {humans}",
        "A usual number of actions",
        "Fewer actions than {humans}",
        "{value} log entries",
        "Log entries were not counted.",
        topic=PLAYS,
    ),
    "main_char_level": Phrase(
        "A higher main character than {humans}",
        "A main character of a usual level",
        "A lower main character than {humans}",
        "level {value}",
        "This log does not show levels.",
        topic=HUNTS,
    ),
    "total_use_time_min": Phrase(
        "Online longer than {humans}",
        "Online for a usual time",
        "Online for a shorter time than {humans}",
        "{value} of {period} minutes",
        "Play time was not measured.",
        has="a typical human plays",
        topic=PLAYS,
    ),
    "npc_kill_count": Phrase(
        "Kills more monsters than {humans}",
        "Kills a usual number of monsters",
        "Kills fewer monsters than {humans}",
        "{value}",
        "This log does not show monster kills.",
        topic=HUNTS,
    ),
    "trade_get_count": Phrase(
        "Receives in more trades than {humans}",
        "Receives in a usual number of trades",
        "Receives in fewer trades than {humans}",
        "{value}",
        "This log does not show what is received in trades.",
        topic=TRADES,
    ),
    "trade_give_count": Phrase(
        "Gives in more trades than {humans}",
        "Gives in a usual number of trades",
        "Gives in fewer trades than {humans}",
        "{value}",
        "This log does not show what is given in trades.",
        topic=TRADES,
    ),
    "retrieve_count": Phrase(
        "Takes out of storage more often than {humans}",
        "Takes out of storage as often as usual",
        "Takes out of storage less often than {humans}",
        "{value}",
        "This log does not show visits to storage to take something out.",
        topic=TRADES,
    ),
    "deposit_count": Phrase(
        "Puts into storage more often than {humans}",
        "Puts into storage as often as usual",
        "Puts into storage less often than {humans}",
        "{value}",
        "This log does not show visits to storage to put something in.",
        topic=TRADES,
    ),
    "log_count_per_min": Phrase(
        "Acts faster than {humans}",
        "Acts at a usual pace",
        "Acts more slowly than {humans}",
        "{value} log entries a minute",
        "No play time was measured, so there is no pace.",
        1,
        topic=PLAYS,
    ),
}
