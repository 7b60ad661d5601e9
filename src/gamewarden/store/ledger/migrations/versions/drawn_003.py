"""Whether chance put an account before its rater."""

from gamewarden.store.ledger.migrations.making import add_columns

revision = "003"
down_revision: str | None = "002"


def upgrade() -> None:
    """Of what was said before nobody knows."""
    add_columns("reviews: drawn flag?")
