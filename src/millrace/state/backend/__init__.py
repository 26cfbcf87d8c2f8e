"""State backends: where tables keep their entries while a job runs."""
