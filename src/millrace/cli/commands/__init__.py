"""The commands of ``millrace``, one module each.

A command has ``register(commands)``, which adds its parser and sets ``handler``, the function
(namespace, argv) -> exit code that carries it out. Modules are imported at every start: what is
heavy is imported by the handler.
"""
