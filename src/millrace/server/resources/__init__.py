"""The resources of the REST API: what there is to ask and to do, in Flink's JSON."""
