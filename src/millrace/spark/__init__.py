"""The only room that knows PySpark: sessions, the execution of epochs, DataFrames."""
