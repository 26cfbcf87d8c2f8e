"""Checks of ``millrace doctor``, one module each."""
