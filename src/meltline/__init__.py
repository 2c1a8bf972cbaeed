"""Meltline moves change data into and out of Apache Iceberg, exactly once, on Spark."""

__version__ = "0.1.0"
