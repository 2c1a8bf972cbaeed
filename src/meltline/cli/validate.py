"""`meltline validate`: checks a file and says what it would run."""

from __future__ import annotations

import argparse
import sys

from meltline.config.file import load_file


def validate(options: argparse.Namespace) -> int:
    file = load_file(options.file)
    chosen = file.select(options.pipeline)
    for warning in file.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    for name, block in chosen.items():
        tables = ", ".join(sink.iceberg.label for sink in block.sink if sink.iceberg)
        print(f"{name}: {block.source.kind} -> {tables}")
    print(f"{options.file}: {len(chosen)} pipeline{'s' if len(chosen) != 1 else ''}, no mistakes")
    return 0
