"""Resident tasks on Spark: one Spark job, whose tasks stay for many epochs."""
