"""Resources of the REST API, in Flink's JSON."""
