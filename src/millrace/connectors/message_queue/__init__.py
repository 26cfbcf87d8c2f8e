"""Sources of systems without offsets: messages are acknowledged when a checkpoint covers them."""
