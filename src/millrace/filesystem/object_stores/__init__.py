"""Object stores as file systems: Amazon S3 and what speaks its protocol."""
