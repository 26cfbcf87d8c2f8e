"""Configuration: options, and the job settings that they set."""
