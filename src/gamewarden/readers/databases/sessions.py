"""Sessions told from log-ins and silence, for logs that do not say when somebody left.

A log-in begins a session. It ends at the last event before the next log-in, or before thirty minutes of silence
(spec/events.md). What comes after such a silence without a log-in begins one too: then a `session.login` stands at its
first event, since a session without a beginning would seem to have lasted since midnight.

A log that says itself who left is taken at its word, however long somebody was silent.
"""

from collections.abc import Mapping

import polars as pl

from gamewarden.core.durations import MINUTE
from gamewarden.tables import EVENTS

SILENCE = 30 * MINUTE
LOGIN, LOGOUT = "session.login", "session.logout"
CHOSEN = "character.select"  # by some servers the only trace of a log-in; just after one it is part of it
_SETTLING = 5 * MINUTE  # between log-in and choosing a character


def with_sessions(
    events: pl.DataFrame, playing: Mapping[str, tuple[str, int]], until: int
) -> tuple[pl.DataFrame, dict[str, tuple[str, int]]]:
    """Events in the order of time with the session of each, and the log-ins and log-outs that nobody wrote down.

    `playing` says who is in a session: its name and the moment of its last event. The new state comes with the events:
    who has not been silent for half an hour at `until`.
    """
    state = _state(playing)
    known_before = pl.col("at") < pl.col("_last")
    marked = events.join(state, on="actor", how="left", maintain_order="left")
    # What comes late, as of a table that could not be read before, lies in a session that is long told.
    late = marked.filter(known_before.fill_null(value=False)).drop("_open", "_last")
    named = _named(_begun(marked.filter(~known_before.fill_null(value=False))))
    spans = named.group_by("actor", "session", maintain_order=True).agg(
        first=pl.col("at").min(), last=pl.col("at").max(), kinds=pl.col("kind"), begun=pl.col("_begins").any(),
    )  # fmt: skip
    known = _joined(spans, state)
    latest = known.group_by("actor").agg(pl.col("session").sort_by("first").last().alias("latest"))
    told = known.join(latest, on="actor", how="left").with_columns(
        over=(pl.col("session") != pl.col("latest")) | (pl.col("last").dt.epoch("us") + SILENCE < until)
    )
    logins = told.filter(pl.col("begun") & ~pl.col("kinds").list.contains(LOGIN)).select(
        "actor", "session", at=pl.col("first"), kind=pl.lit(LOGIN)
    )
    logouts = told.filter("over").select("actor", "session", at=pl.col("last"), kind=pl.lit(LOGOUT))
    still = told.filter(~pl.col("over"))
    state_after = {
        actor: (session, last)
        for actor, session, last in still.select("actor", "session", pl.col("last").dt.epoch("us")).iter_rows()
    }
    # A log-in stands before, a log-out behind all else of its moment.
    whole = pl.concat(
        [
            named.drop("_begins").with_columns(_order=pl.lit(1)),
            logins.with_columns(_order=pl.lit(0)),
            logouts.with_columns(_order=pl.lit(2)),
            late.with_columns(_order=pl.lit(1)),
        ],
        how="diagonal",
    )
    return whole.sort("at", "_order", maintain_order=True).drop("_order"), state_after


def with_own_sessions(
    events: pl.DataFrame, playing: Mapping[str, tuple[str, int]]
) -> tuple[pl.DataFrame, dict[str, tuple[str, int]]]:
    """Events in the order of time with the session of each, from a log-in to the log-out that the log has.

    What comes outside of them is in none. Who logs in again without having left was lost with the server: a log-out
    stands at the last event before. `playing` and the new state are those of `with_sessions`.
    """
    state = _state(playing)
    named = _within_own(events, state)
    spans = named.drop_nulls("session").group_by("actor", "session", maintain_order=True).agg(
        first=pl.col("at").min(), last=pl.col("at").max(), kinds=pl.col("kind"), begun=pl.lit(value=False)
    )  # fmt: skip
    known = _joined(spans, state).with_columns(left=pl.col("kinds").list.contains(LOGOUT))
    latest = pl.col("session") == pl.col("session").sort_by("first").last().over("actor")
    lost = known.filter(~latest & ~pl.col("left")).select("actor", "session", at="last", kind=pl.lit(LOGOUT))
    still = known.filter(latest & ~pl.col("left")).select("actor", "session", pl.col("last").dt.epoch("us"))
    whole = pl.concat([named.with_columns(_order=0), lost.with_columns(_order=1)], how="diagonal")
    return whole.sort("at", "_order", maintain_order=True).drop("_order"), {
        actor: (session, last) for actor, session, last in still.iter_rows()
    }


def _within_own(events: pl.DataFrame, state: pl.DataFrame) -> pl.DataFrame:
    """Events with the name of the session that each is in, if any; what comes late is in none that is open."""
    ordered = events.sort("actor", "at", maintain_order=True).join(state, on="actor", how="left", maintain_order="left")
    outside = pl.col("kind").shift().over("actor") == LOGOUT
    begin = pl.format("{}-{}", "actor", pl.col("at").dt.epoch("s"))
    mark = pl.when(pl.col("kind") == LOGIN).then(begin).when(outside).then(pl.lit(""))
    still = pl.when((pl.col("at") >= pl.col("_last")).fill_null(value=False)).then("_open")
    session = mark.forward_fill().over("actor").fill_null(still)
    return ordered.with_columns(session=pl.when(session != "").then(session)).drop("_open", "_last")


def _state(playing: Mapping[str, tuple[str, int]]) -> pl.DataFrame:
    rows = [(actor, str(session), int(last)) for actor, (session, last) in playing.items()]
    frame = pl.DataFrame(rows, schema={"actor": pl.String, "_open": pl.String, "_last": pl.Int64}, orient="row")
    return frame.with_columns(
        pl.col("_last").cast(pl.Datetime("us")).dt.replace_time_zone("UTC").cast(EVENTS.columns["at"])
    )


def _begun(events: pl.DataFrame) -> pl.DataFrame:
    """Events with whether each begins a session."""
    ordered = events.sort("actor", "at", maintain_order=True)
    before = pl.col("at").shift().over("actor").fill_null(pl.col("_last"))
    login_before = pl.when(pl.col("kind") == LOGIN).then("at").forward_fill().over("actor").fill_null(pl.col("_last"))
    chosen = (pl.col("kind") == CHOSEN) & ((pl.col("at") - login_before).dt.total_microseconds() > _SETTLING).fill_null(
        True
    )
    silent = (pl.col("at") - before).dt.total_microseconds() > SILENCE
    return ordered.with_columns(_begins=(pl.col("kind") == LOGIN) | chosen | silent | before.is_null())


def _named(events: pl.DataFrame) -> pl.DataFrame:
    """Events with the name of the session that each is in: the actor's and when it began."""
    begin = pl.format("{}-{}", "actor", pl.col("at").dt.epoch("s"))
    session = pl.when("_begins").then(begin).forward_fill().over("actor").fill_null(pl.col("_open"))
    return events.with_columns(session=session).drop("_open", "_last")


def _joined(spans: pl.DataFrame, state: pl.DataFrame) -> pl.DataFrame:
    """The sessions of these events, and those that were open before and had none."""
    held = state.select(
        "actor", pl.col("_open").alias("session"), first=pl.col("_last"), last=pl.col("_last"),
        kinds=pl.lit([LOGIN], pl.List(pl.String)), begun=pl.lit(value=False)
    )  # fmt: skip
    missing = held.join(spans, on=["actor", "session"], how="anti")
    return pl.concat([spans, missing.select(spans.columns)])
