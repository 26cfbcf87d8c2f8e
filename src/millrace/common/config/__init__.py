"""Configuration: options, and what of a job they set."""
