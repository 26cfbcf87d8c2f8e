"""A job from a ``module.yaml``: its ingresses and egresses as sources and sinks."""
