"""The job manager: the epoch loop, checkpoints, enumerators of sources, and restarts."""
