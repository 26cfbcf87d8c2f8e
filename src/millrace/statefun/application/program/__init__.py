"""The job file of modules. It is in a directory of its own, because the directory of a job file
is an import path of its workers, and modules of a user may have any name."""
