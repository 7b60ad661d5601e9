"""Alembic's entry: migrations run on the connection that the ledger gives."""

from alembic import context

from gamewarden.store.ledger.schema import METADATA
from gamewarden.store.ledger.versions import VERSIONS

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table=VERSIONS,
    render_as_batch=True,
)
context.run_migrations()
