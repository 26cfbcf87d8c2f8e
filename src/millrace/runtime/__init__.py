"""Runtime of a subtask: operators, timers, watermarks and buffers, in plain Python."""
