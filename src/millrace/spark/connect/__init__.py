"""Jobs on a Spark Connect server, whose Spark driver is in another process."""
