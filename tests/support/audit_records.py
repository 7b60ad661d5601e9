"""A ledger changed by hand, past its own functions."""

from sqlalchemy import text


def by_hand(ledger, *statements, **words):
    """What somebody with access to the database does."""
    with ledger.engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement.format(**words)))
