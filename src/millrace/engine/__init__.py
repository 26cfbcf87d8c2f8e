"""The job manager: the epoch loop, checkpoints, sources' enumerators, restarts."""
