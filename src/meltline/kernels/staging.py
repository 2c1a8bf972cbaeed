"""Remote files on local disk, for the time of one task: where every byte of a file is read anyway,
it is faster to fetch it in one go."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from pyiceberg.io import FileIO

PIECE = 8 << 20


class Staging:
    """Files stay until `close`; the same file is fetched once."""

    def __init__(self, io: FileIO) -> None:
        self._io = io
        self._folder: Path | None = None
        self._copies: dict[str, str] = {}

    def fetch(self, location: str) -> str:
        """The path of a copy. Raises OSError."""
        if location not in self._copies:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="meltline-"))
            target = self._folder / f"{len(self._copies)}.parquet"
            with self._io.new_input(location).open() as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink, PIECE)
            self._copies[location] = str(target)
        return self._copies[location]

    def close(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._folder, self._copies = None, {}
