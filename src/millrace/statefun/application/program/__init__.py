"""The job file of modules, in a directory of its own: the directory of a job file is an import path
of its workers, and modules of a user may have any name."""
