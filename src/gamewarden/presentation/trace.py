"""What a client said, in words: a line a message, a paragraph a session."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gamewarden.core.text import counted

if TYPE_CHECKING:
    from datetime import datetime

    import polars as pl
    import pyarrow as pa

    from gamewarden.contracts import MessageStream

_ACTIONS = {0: "attack (once) {target}", 7: "attack (continuous) {target}", 2: "sit down", 3: "stand up"}
_WORDS = {
    "wanttoconnection": "connect",
    "walktoxy": "walk to ({x}, {y})",
    "takeitem": "take item {target}",
    "changedir": "turn round",
    "loadendack": "map loaded",
    "ticksend": "tick",
    "useitem": "use item #{item}",
    "equipitem": "put on item #{item}",
    "dropitem": "drop {amount} of item #{item}",
    "movetokafra": "store {amount} of item #{item}",
    "movefromkafra": "fetch {amount} of item #{item} from storage",
    "tradeadditem": "offer {amount} of item #{item}",
    "traderequest": "ask {target} for a trade",
    "useskilltoid": "skill {skill} on {target}",
    "useskilltopos": "skill {skill} at ({x}, {y})",
    "npcclicked": "talk to {target}",
    "getcharnamerequest": "ask who {target} is",
}
_UNTIMED = "--:--:--.---"


def trace_lines(batches: "Iterable[pa.RecordBatch]", names: Mapping[str, str]) -> Iterator[str]:
    """A line a message, and one before whenever another session speaks."""
    speaking = None
    for batch in batches:
        for row in batch.to_pylist():
            if row["session"] != speaking:
                speaking = row["session"]
                yield f"-- {who(row['actor'], row['character'], names)}"
            yield f"{_clock(row['at'])} {_words(row)}"


def _clock(at: "datetime | None") -> str:
    return _UNTIMED if at is None else f"{at:%H:%M:%S}.{at.microsecond // 1000:03}"


def _words(row: Mapping[str, Any]) -> str:
    told = {name: "?" if value is None else value for name, value in row.items()}
    function = row["function"]
    if function is None:
        return f"message 0x{row['id']:04x} of {row['size']} bytes"
    if function == "tradeadditem" and row["item"] == 0:
        text = "offer {amount} zeny"
    elif function == "actionrequest":
        text = _ACTIONS.get(row["action"], "action {action} on {target}")
    else:
        text = _WORDS.get(function, str(function).replace("{", "{{").replace("}", "}}"))
    return text.format(**told)


def who(actor: str | None, character: str | None, names: Mapping[str, str]) -> str:
    """A player as people know it: the character's name where it is known, its number and account."""
    if actor is None:
        return "a client that was there before the first connect message"
    known = names.get(character or "")
    number = f"character {character} of account {actor}"
    return f"{known} ({number})" if known else number


def decoded_frame(messages: "MessageStream") -> "pl.DataFrame":
    """All messages as a table, for machines."""
    import polars as pl
    import pyarrow as pa

    from gamewarden.tables import MESSAGES, check

    batches = list(messages.batches(tuple(MESSAGES.columns)))
    frame = (
        pl.DataFrame(pl.from_arrow(pa.Table.from_batches(batches)))
        if batches
        else pl.DataFrame(schema=MESSAGES.columns)
    )
    return check(frame, MESSAGES, "packets")


def session_sentences(sessions: "pl.DataFrame", names: Mapping[str, str]) -> list[str]:
    """A paragraph a session."""
    return [_paragraph(row, names) for row in sessions.iter_rows(named=True)]


def _paragraph(row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    sentences = [
        f"{who(row['actor'], row['character'], names)}: {counted(row['events'], 'message')}{_duration(row)}.",
        *(text.format(**row) for needed, text in _SAYS if all(row[name] is not None for name in needed)),
        _judgement(row),
    ]
    return " ".join(sentences)


_SAYS = (
    (("move_distance",), "A move goes {move_distance:.2f} cells."),
    (("move_gap_ms",), "Moves follow each other after {move_gap_ms:,.0f} ms."),
    (("take_gap_ms",), "Pick-ups follow each other after {take_gap_ms:,.0f} ms."),
    (("turn_to_take_ms",), "A pick-up comes {turn_to_take_ms:,.0f} ms after turning round."),
    (("attack_to_take_ms",), "The first pick-up comes {attack_to_take_ms:,.0f} ms after the last attack."),
    (
        ("continuous_attacks_per_s", "once_attacks_per_s"),
        "Attacks a second: {continuous_attacks_per_s:.3f} continued, {once_attacks_per_s:.3f} once.",
    ),
    (
        ("turn_mean_deg",),
        "It turns by {turn_mean_deg:.0f}° on average, and back in {turn_back_share:.0%} of its turns.",
    ),
)


def _duration(row: Mapping[str, Any]) -> str:
    if row["since"] is None or row["until"] is None:
        return " at times nobody wrote down"
    minutes, seconds = divmod(int((row["until"] - row["since"]).total_seconds()), 60)
    rate = "" if row["packets_per_s"] is None else f", {row['packets_per_s']:.2f} a second"
    return f" from {row['since']:%Y-%m-%d %H:%M:%S} UTC in {minutes} min {seconds} s{rate}"


def _judgement(row: Mapping[str, Any]) -> str:
    if not row["valid"]:
        return "Too short to judge: ten minutes have to be passed."
    return "Long enough, and enough was done to judge it." if row["enough"] else "Too little was done to judge it."
