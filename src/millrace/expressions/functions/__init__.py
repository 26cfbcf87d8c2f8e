"""Built-in functions by category (Flink docs, "System (Built-in) Functions")."""
