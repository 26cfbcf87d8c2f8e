"""Tables of jobs, their processes and their triggers. A released revision is never changed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "millrace_jobs",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("submission", sa.Text, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("goal", sa.String(8), nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("ended", sa.BigInteger),
        sa.Column("error", sa.Text, nullable=False),
    )
    op.create_index("ix_millrace_jobs_created", "millrace_jobs", ["created"])
    op.create_table(
        "millrace_attempts",
        sa.Column("job", sa.String(32), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("started", sa.BigInteger, nullable=False),
        sa.Column("ended", sa.BigInteger),
        sa.Column("outcome", sa.Text, nullable=False),
    )
    op.create_table(
        "millrace_triggers",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("job", sa.String(32), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("run_id", sa.String(64), nullable=False),
        sa.Column("message", sa.String(32), nullable=False),
        sa.Column("result", sa.Text),
        sa.Column("error", sa.Text),
    )
