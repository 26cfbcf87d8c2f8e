"""What ``millrace doctor`` looks at: a module for each check."""
