"""The script that Alembic runs to migrate a registry, in the transaction of `migrate`."""

from __future__ import annotations

from alembic import context

from millrace.server.migrations.version_table import VERSION_TABLE


def upgrade() -> None:
    """Run the missing migrations on the connection that `migrate` has prepared."""
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, version_table=VERSION_TABLE)
    with context.begin_transaction():
        context.run_migrations()


if __name__ == "env_py":  # as Alembic calls it; whoever else imports this wants nothing to run
    upgrade()
