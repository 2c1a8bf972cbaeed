"""The catalogs a pipeline file names, each opened once."""

from __future__ import annotations

from pathlib import Path

from meltline.config.catalog import CatalogBlock, default_catalog
from meltline.config.pipeline import PipelineBlock
from meltline.lake.catalog import Catalog
from meltline.lake.jvm import Jvm


class Catalogs:
    """Opens catalogs on first use. Blocks that say the same share a connection."""

    def __init__(self, jvm: Jvm, base: Path) -> None:
        self._jvm = jvm
        self._base = base
        self._open: dict[CatalogBlock, Catalog] = {}

    def find(self, block: CatalogBlock | None) -> Catalog:
        chosen = resolve(block, self._base)
        if chosen not in self._open:
            _make_room(chosen)
            self._open[chosen] = Catalog(self._jvm, chosen.properties)
        return self._open[chosen]


def resolve(block: CatalogBlock | None, base: Path) -> CatalogBlock:
    return default_catalog(base) if block is None else block.resolved(base)


def catalogs_of(pipeline: PipelineBlock, base: Path) -> list[CatalogBlock]:
    """Every catalog a pipeline uses, resolved."""
    blocks: list[CatalogBlock | None] = []
    if pipeline.source.iceberg is not None:
        source = pipeline.source.iceberg
        blocks += [table.catalog or source.catalog for table in source.tables]
    for sink in pipeline.sink:
        if sink.iceberg is not None:
            blocks.append(sink.iceberg.catalog)
            dlq = pipeline.dlq_of(sink.iceberg)
            if dlq and dlq.iceberg and dlq.iceberg.catalog:
                blocks.append(dlq.iceberg.catalog)
    return [resolve(block, base) for block in blocks]


def connectors_of(catalog: CatalogBlock) -> set[str]:
    """The jar sets that a catalog needs beyond the core."""
    properties = catalog.properties
    found = set()
    if (catalog.uri or "").startswith("jdbc:postgresql:"):
        found.add("postgresql")
    remote_rest = catalog.type == "rest" and not any(
        host in (catalog.uri or "") for host in ("127.0.0.1", "localhost"))
    on_s3 = (catalog.warehouse or "").startswith("s3") or any(
        key.startswith(("s3.", "client.", "glue.")) for key in properties)
    if catalog.type == "glue" or on_s3 or remote_rest:
        found.add("aws")
    return found


def _make_room(catalog: CatalogBlock) -> None:
    """SQLite creates its file, not the folder it is in."""
    uri = catalog.uri or ""
    if uri.startswith("jdbc:sqlite:"):
        path = uri.removeprefix("jdbc:sqlite:").partition("?")[0]
        Path(path).parent.mkdir(parents=True, exist_ok=True)
