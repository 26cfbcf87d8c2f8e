"""Tables of the leader and its fencing token, and the machine of each process."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the tables of leadership, each with its one row, and the columns of attempts."""
    op.add_column(
        "millrace_attempts", sa.Column("host", sa.Text, nullable=False, server_default="")
    )
    op.add_column(
        "millrace_attempts", sa.Column("space", sa.Text, nullable=False, server_default="")
    )
    op.add_column(
        "millrace_attempts", sa.Column("token", sa.BigInteger, nullable=False, server_default="0")
    )
    fence = op.create_table(
        "millrace_fence",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("token", sa.BigInteger, nullable=False),
    )
    op.bulk_insert(fence, [{"id": 1, "token": 0}])
    lease = op.create_table(
        "millrace_lease",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
        sa.Column("holder", sa.Text, nullable=False),
    )
    op.bulk_insert(lease, [{"id": 1, "token": 0, "until": 0, "holder": ""}])
