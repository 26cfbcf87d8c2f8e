"""The ``millrace`` command, with which people run and operate jobs."""
