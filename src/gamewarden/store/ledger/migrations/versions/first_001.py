"""The first tables of the ledger."""

from alembic import op

from gamewarden.store.ledger.migrations.making import make_tables

revision = "001"
down_revision: str | None = None

_TABLES = """
observations: id text!, actor text, at time, kind text, ref text, llr real, fpr real?, agree whole, covered real?,
    far text?, since time?, until time?, played real?, because_of text?, excluded text? | actor, because_of
suspicions: actor text!, score real, rung whole, as_of time, entered time, observations whole, on_call flag | rung
decisions: id text!, actor text, at time, step text, rung whole, until time?, because json, evidence json, ladder text,
    by text, rehearsal flag, approved_by text?, waits_for text?, undone_at time?, undone_by text?,
    undone_because text? | actor, at
not_taken: actor text!, step text!, because text!, at time, ladder text | at
actions: id text!, decision text, actor text, verb text, step text, adapter text, state text, due time, until time?,
    attempts whole, before json?, receipt json?, error text?, changed time? | actor, decision, state
challenges: id text!, actor text, session text, kind text, issued time, expires time, answer text, state text,
    attempts whole, ended time?, decision text?, score real? | actor, state
appeals: id text!, actor text, decision text?, opened time, opened_by text, text text, outcome text?, decided time?,
    decided_by text?, because text? | actor
exonerated: actor text!, appeal text!, since time?, until time?, verdicts json, at time |
protected: actor text!, until time, by text, because text, at time |
labels: actor text!, source text!, at time!, bot flag, by text, since time?, until time?, votes json, because text? |
verdicts: verdict text!, actor text, since time, until time, day text, bundle text, probability real?, fpr real?,
    point text? | actor, bundle
audit: number number!, at time, who text, what text, subject text, old json?, new json?, salt text?, seal text,
    before text, hash text |
facts: name text!, value text |
"""


def upgrade() -> None:
    """Make them."""
    make_tables(_TABLES)
    # The head of the audit is there from the beginning: whoever writes holds this row.
    op.execute("INSERT INTO facts (name, value) VALUES ('audit', '0 ')")
