"""Processors: what happens to events between a source and the sinks, as DuckDB SQL."""

from meltline.processors.chain import compile_processors
from meltline.processors.step import Step

__all__ = ["Step", "compile_processors"]
