"""The only room that imports PySpark: sessions, the execution of epochs, DataFrames."""
