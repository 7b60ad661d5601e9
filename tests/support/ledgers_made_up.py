"""Ledgers on both databases (fixtures `place` and `ledger` of conftest.py), and records of every kind."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any, get_args, get_type_hints

from hypothesis import strategies as st

from gamewarden import cases
from gamewarden.cases import Action, Appeal, Challenge, Decision, Observation
from gamewarden.store.ledger.schema import TABLES

AT = datetime(2026, 3, 1, tzinfo=UTC)
KINDS = [kind for kind in TABLES if kind is not cases.AuditLine]
_LARGEST = (1 << 31) - 1


def decision(number=1, actor="anna", **changed):
    """A decision to watch somebody for a week."""
    values = {
        "id": f"d{number}",
        "actor": actor,
        "at": AT,
        "step": "watch",
        "rung": 1,
        "until": AT + timedelta(days=7),
        "because": (f"{actor} fished for 23 hours",),
        "evidence": (f"o{number}",),
        "ladder": "abcdef012345",
        "by": cases.LADDER,
        "rehearsal": True,
    }
    return Decision(**values | changed)


def action(number=1, actor="anna", **changed):
    """What carries a decision out."""
    values = {
        "id": f"a{number}",
        "decision": f"d{number}",
        "actor": actor,
        "verb": cases.DO,
        "step": "watch",
        "adapter": "log",
        "state": cases.REHEARSED,
        "due": AT,
    }
    return Action(**values | changed)


def observation(number=1, actor="anna", **changed):
    values = {"id": f"o{number}", "actor": actor, "at": AT, "kind": cases.VERDICT, "ref": f"v{number}", "llr": 1.5}
    return Observation(**values | changed)


def challenge(number=1, actor="anna", **changed):
    values = {
        "id": f"c{number}",
        "actor": actor,
        "session": f"session of {actor}",
        "kind": "image",
        "issued": AT,
        "expires": AT + timedelta(minutes=5),
        "answer": "0" * 64,
        "state": cases.PASSED,
    }
    return Challenge(**values | changed)


def appeal(number=1, actor="anna", **changed):
    values = {
        "id": f"p{number}",
        "actor": actor,
        "decision": f"d{number}",
        "opened": AT,
        "opened_by": actor,
        "text": f"I am {actor} and I was ill",
    }
    return Appeal(**values | changed)


def rows_in(ledger, kind=None):
    """How many records of a kind there are, or of all kinds but the audit."""
    return sum(len(ledger.find(one)) for one in (KINDS if kind is None else [kind]))


def records(kind):
    """Any record of a kind that a ledger may be given."""
    hints = get_type_hints(kind)
    return st.builds(kind, **{one.name: _values(hints[one.name]) for one in fields(kind)})


_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
_NUMBER = st.floats(allow_nan=False, allow_infinity=False)
_WHOLE = st.integers(-_LARGEST, _LARGEST)
_JSON = st.recursive(
    st.none() | st.booleans() | _WHOLE | _NUMBER | _TEXT,
    lambda inner: st.dictionaries(_TEXT, inner, max_size=3) | st.lists(st.booleans() | _TEXT, max_size=3),
    max_leaves=6,
)
_BY_TYPE = {
    str: _TEXT,
    int: _WHOLE,
    float: _NUMBER,
    bool: st.booleans(),
    datetime: st.datetimes(timezones=st.just(UTC)),
    tuple[str, ...]: st.lists(_TEXT, max_size=4).map(tuple),
    Mapping[str, bool]: st.dictionaries(_TEXT, st.booleans(), max_size=3),
    Mapping[str, Any]: st.dictionaries(_TEXT, _JSON, max_size=3),
}


def _values(hint):
    several = get_args(hint) if type(None) in get_args(hint) else (hint,)
    return st.one_of(*(st.none() if one is type(None) else _BY_TYPE[one] for one in several))
