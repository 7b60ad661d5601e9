"""The tables of the desk."""

from gamewarden.store.ledger.migrations.making import make_tables

revision = "002"
down_revision: str | None = "001"

_TABLES = """
users: name text!, role text, password text?, must_change flag, disabled flag, created time, language text, theme text,
    subject text?, zone text, shortcuts flag, expires time? | subject
login_sessions: id text!, user text, csrf text, created time, seen time, expires time, address text | user
tokens: id text!, name text, digest text, scopes json, owner text, created time, expires time?, revoked time? | owner
login_failures: id text!, failures whole, at time |
saved_views: id text!, owner text, name text, path text, query text, shared flag, created time | owner
reviews: id text!, actor text, rater text, at time, says text, score_seen flag, note text?, undone_at time?,
    milliseconds whole? | actor, rater
act_batches: id text!, by text, at time, step text, because text, actors whole, decisions json, undo_until time,
    undone_at time?, query text? | at
notes: id text!, actor text, by text, at time, text text | actor
marks: id text!, at time, kind text, text text, by text, created time |
"""


def upgrade() -> None:
    """Make them."""
    make_tables(_TABLES)
