"""What runs inside a subtask: operators, timers, watermarks, buffers. Plain Python."""
