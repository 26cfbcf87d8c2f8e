"""Hadoop's distributed file system (HDFS), through the client hdfs-native: no Java."""
