"""Runtime of a subtask: operators, timers, watermarks, buffers. Plain Python."""
