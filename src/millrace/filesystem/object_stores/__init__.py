"""Object stores as file systems: Amazon S3 and stores with its protocol."""
