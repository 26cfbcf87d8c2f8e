"""The job server: runs jobs in processes of their own, supervises them, and answers over HTTP."""
