"""How people run jobs: the ``millrace`` command."""
