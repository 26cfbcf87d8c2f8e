"""``millrace sql``: statements from a terminal, a file or standard input."""
