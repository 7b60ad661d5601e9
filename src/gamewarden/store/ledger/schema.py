"""The tables of the ledger: one per kind of record, its columns named as the record's fields are."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Float,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
)

from gamewarden.cases import (
    Action,
    Appeal,
    AuditLine,
    Challenge,
    Decision,
    Exonerated,
    IndexedVerdict,
    Label,
    NotTaken,
    Observation,
    Protected,
    Suspicion,
)
from gamewarden.contracts import canonical_json
from gamewarden.core.durations import to_micros
from gamewarden.desk_records import (
    ActBatch,
    LoginFailure,
    LoginSession,
    Mark,
    Note,
    Review,
    SavedView,
    Token,
    User,
)
from gamewarden.store.ledger.values import JsonText, flag_of, json_value, moment_of


class Moment(TypeDecorator[datetime]):
    """A time as UTC microseconds since 1970: the same in every database."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:  # noqa: D102  as inherited
        del dialect
        return None if value is None else to_micros(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:  # noqa: ANN401, D102
        del dialect
        return None if value is None else moment_of(value)


class Flag(TypeDecorator[bool]):
    """Yes or no; of what SQLite gives back, only what was written is taken."""

    impl = Boolean
    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], bool | None]:  # noqa: D102
        del dialect, coltype
        return flag_of


class Json(TypeDecorator[Any]):
    """A list or an object as canonical JSON text; lists come back as tuples."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any | None, dialect: Dialect) -> str | None:  # noqa: ANN401, D102
        del dialect
        return value if value is None or isinstance(value, JsonText) else canonical_json(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any:  # noqa: ANN401, D102
        del dialect
        return None if value is None else json_value(value)


METADATA = MetaData()
_HIDDEN = "hidden"  # of a column: no line of the audit has its value


def _table(name: str, *columns: Column[Any], keys: tuple[str, ...] = ("actor",)) -> Table:
    made = Table(name, METADATA, *columns)
    for key in keys:
        Index(f"{name}_{key}", made.c[key])
    return made


def _time(name: str, *, nullable: bool = False) -> Column[Any]:
    return Column(name, Moment, nullable=nullable)


def _text(name: str, *, nullable: bool = False, key: bool = False, secret: bool = False) -> Column[Any]:
    return Column(name, Text, nullable=nullable, primary_key=key, info={_HIDDEN: secret})


OBSERVATIONS = _table(
    "observations",
    _text("id", key=True),
    _text("actor"),
    _time("at"),
    _text("kind"),
    _text("ref"),
    Column("llr", Float, nullable=False),
    Column("fpr", Float),
    Column("agree", Integer, nullable=False),
    Column("covered", Float),
    _text("far", nullable=True),
    _time("since", nullable=True),
    _time("until", nullable=True),
    Column("played", Float),
    _text("because_of", nullable=True),
    _text("excluded", nullable=True),
    keys=("actor", "because_of"),
)
SUSPICIONS = _table(
    "suspicions",
    _text("actor", key=True),
    Column("score", Float, nullable=False),
    Column("rung", Integer, nullable=False),
    _time("as_of"),
    _time("entered"),
    Column("observations", Integer, nullable=False),
    Column("on_call", Flag, nullable=False),
    keys=("rung",),
)
DECISIONS = _table(
    "decisions",
    _text("id", key=True),
    _text("actor"),
    _time("at"),
    _text("step"),
    Column("rung", Integer, nullable=False),
    _time("until", nullable=True),
    Column("because", Json, nullable=False),
    Column("evidence", Json, nullable=False),
    _text("ladder"),
    _text("by"),
    Column("rehearsal", Flag, nullable=False),
    _text("approved_by", nullable=True),
    _text("waits_for", nullable=True),
    _time("undone_at", nullable=True),
    _text("undone_by", nullable=True),
    _text("undone_because", nullable=True),
    keys=("actor", "at"),
)
NOT_TAKEN = _table(
    "not_taken",
    _text("actor", key=True),
    _text("step", key=True),
    _text("because", key=True),
    _time("at"),
    _text("ladder"),
    keys=("at",),
)
ACTIONS = _table(
    "actions",
    _text("id", key=True),
    _text("decision"),
    _text("actor"),
    _text("verb"),
    _text("step"),
    _text("adapter"),
    _text("state"),
    _time("due"),
    _time("until", nullable=True),
    Column("attempts", Integer, nullable=False),
    Column("before", Json),
    Column("receipt", Json),
    _text("error", nullable=True),
    _time("changed", nullable=True),
    keys=("actor", "decision", "state"),
)
CHALLENGES = _table(
    "challenges",
    _text("id", key=True),
    _text("actor"),
    _text("session"),
    _text("kind"),
    _time("issued"),
    _time("expires"),
    _text("answer"),
    _text("state"),
    Column("attempts", Integer, nullable=False),
    _time("ended", nullable=True),
    _text("decision", nullable=True),
    Column("score", Float),
    keys=("actor", "state"),
)
APPEALS = _table(
    "appeals",
    _text("id", key=True),
    _text("actor"),
    _text("decision", nullable=True),
    _time("opened"),
    _text("opened_by"),
    _text("text"),
    _text("outcome", nullable=True),
    _time("decided", nullable=True),
    _text("decided_by", nullable=True),
    _text("because", nullable=True),
)
EXONERATED = _table(
    "exonerated",
    _text("actor", key=True),
    _text("appeal", key=True),
    _time("since", nullable=True),
    _time("until", nullable=True),
    Column("verdicts", Json, nullable=False),
    _time("at"),
    keys=(),
)
PROTECTED = _table(
    "protected",
    _text("actor", key=True),
    _time("until"),
    _text("by"),
    _text("because"),
    _time("at"),
    keys=(),
)
LABELS = _table(
    "labels",
    _text("actor", key=True),
    _text("source", key=True),
    Column("at", Moment, primary_key=True),
    Column("bot", Flag, nullable=False),
    _text("by"),
    _time("since", nullable=True),
    _time("until", nullable=True),
    Column("votes", Json, nullable=False),
    _text("because", nullable=True),
    keys=(),
)
VERDICTS = _table(
    "verdicts",
    _text("verdict", key=True),
    _text("actor"),
    _time("since"),
    _time("until"),
    _text("day"),
    _text("bundle"),
    Column("probability", Float),
    Column("fpr", Float),
    _text("point", nullable=True),
    keys=("actor", "bundle"),
)
USERS = _table(
    "users",
    _text("name", key=True),
    _text("role"),
    _text("password", nullable=True, secret=True),
    Column("must_change", Flag, nullable=False),
    Column("disabled", Flag, nullable=False),
    _time("created"),
    _text("language"),
    _text("theme"),
    _text("subject", nullable=True),
    _text("zone"),
    Column("shortcuts", Flag, nullable=False),
    _time("expires", nullable=True),
    keys=("subject",),
)
LOGIN_SESSIONS = _table(
    "login_sessions",
    _text("id", key=True, secret=True),
    _text("user"),
    _text("csrf", secret=True),
    _time("created"),
    _time("seen"),
    _time("expires"),
    _text("address"),
    keys=("user",),
)
TOKENS = _table(
    "tokens",
    _text("id", key=True),
    _text("name"),
    _text("digest", secret=True),
    Column("scopes", Json, nullable=False),
    _text("owner"),
    _time("created"),
    _time("expires", nullable=True),
    _time("revoked", nullable=True),
    keys=("owner",),
)
LOGIN_FAILURES = _table(
    "login_failures",
    _text("id", key=True),
    Column("failures", Integer, nullable=False),
    _time("at"),
    keys=(),
)
SAVED_VIEWS = _table(
    "saved_views",
    _text("id", key=True),
    _text("owner"),
    _text("name"),
    _text("path"),
    _text("query"),
    Column("shared", Flag, nullable=False),
    _time("created"),
    keys=("owner",),
)
REVIEWS = _table(
    "reviews",
    _text("id", key=True),
    _text("actor"),
    _text("rater"),
    _time("at"),
    _text("says"),
    Column("score_seen", Flag, nullable=False),
    _text("note", nullable=True),
    _time("undone_at", nullable=True),
    Column("milliseconds", Integer),
    Column("drawn", Flag),
    keys=("actor", "rater"),
)
ACT_BATCHES = _table(
    "act_batches",
    _text("id", key=True),
    _text("by"),
    _time("at"),
    _text("step"),
    _text("because"),
    Column("actors", Integer, nullable=False),
    Column("decisions", Json, nullable=False),
    _time("undo_until"),
    _time("undone_at", nullable=True),
    _text("query", nullable=True),
    keys=("at",),
)
NOTES = _table("notes", _text("id", key=True), _text("actor"), _text("by"), _time("at"), _text("text"))
MARKS = _table(
    "marks",
    _text("id", key=True),
    _time("at"),
    _text("kind"),
    _text("text"),
    _text("by"),
    _time("created"),
    keys=(),
)
AUDIT = Table(
    "audit",
    METADATA,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    _time("at"),
    _text("who"),
    _text("what"),
    _text("subject"),
    Column("old", Json),
    Column("new", Json),
    _text("salt", nullable=True),
    _text("seal"),
    _text("before"),
    _text("hash"),
)
# What the ledger remembers of itself: the head of the audit, which days were decided on, its own secret.
FACTS = Table("facts", METADATA, _text("name", key=True), _text("value"))

TABLES: Mapping[type, Table] = {
    Observation: OBSERVATIONS,
    Suspicion: SUSPICIONS,
    Decision: DECISIONS,
    NotTaken: NOT_TAKEN,
    Action: ACTIONS,
    Challenge: CHALLENGES,
    Appeal: APPEALS,
    Exonerated: EXONERATED,
    Protected: PROTECTED,
    Label: LABELS,
    IndexedVerdict: VERDICTS,
    User: USERS,
    LoginSession: LOGIN_SESSIONS,
    Token: TOKENS,
    LoginFailure: LOGIN_FAILURES,
    SavedView: SAVED_VIEWS,
    Review: REVIEWS,
    ActBatch: ACT_BATCHES,
    Note: NOTES,
    Mark: MARKS,
    AuditLine: AUDIT,
}
# Evidence and what is computed from it come again from verdicts and challenges, and who is logged in says nothing of
# what they do; all else is a deed that is audited.
UNAUDITED = frozenset({Observation, Suspicion, NotTaken, IndexedVerdict, AuditLine, LoginSession, LoginFailure})


def secrets_in(table: Table) -> frozenset[str]:
    """The columns whose values no line of the audit has."""
    return frozenset(column.name for column in table.columns if column.info.get(_HIDDEN))
