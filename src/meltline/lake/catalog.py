"""Catalogs of any type that Iceberg's Java library knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError

from meltline.errors import Retryable
from meltline.lake.jvm import Jvm, exception_names, java_errors, translate
from meltline.lake.table import Table

DEFAULT_NAME = "meltline"
"""A JDBC catalog keeps its tables under its name: other engines must use the same one."""
OPEN_TRIES = 4
"""Of those who open a new JDBC catalog at the same time one makes its tables. The others fail in
the middle of that, and then find them."""
_SETTINGS = {"jdbc": {"jdbc.schema-version": "V1"}}


class Catalog:
    """One catalog connection. Tables are named `namespace.table`, dots in the namespace allowed."""

    def __init__(self, jvm: Jvm, properties: Mapping[str, str]) -> None:
        self.jvm = jvm
        self.name = properties.get("name", DEFAULT_NAME)
        kind = properties.get("type", "")
        merged = {**_SETTINGS.get(kind, {}), **properties}
        for last in [False] * (OPEN_TRIES - 1) + [True]:
            try:
                with java_errors(f"cannot open the {kind or 'named'} catalog"):
                    self.java: Any = jvm.iceberg.CatalogUtil.buildIcebergCatalog(
                        self.name, jvm.map(merged), jvm.hadoop_configuration)
                return
            except Retryable:
                if last or kind != "jdbc":
                    raise

    def close(self) -> None:
        """Give up connections, where the catalog has any."""
        if hasattr(self.java, "close"):
            with java_errors("cannot close the catalog"):
                self.java.close()

    def load(self, identifier: str) -> Table | None:
        """The table, or None when there is none (nor its namespace)."""
        name = self._named(identifier)
        try:
            # asking first is cheaper than the exception, which PySpark takes 40 ms to look at
            if not self.java.tableExists(name):
                return None
            return Table(self.jvm, identifier, self.java.loadTable(name))
        except Py4JJavaError as error:
            if {"NoSuchTableException", "NoSuchNamespaceException"} & set(exception_names(error)):
                return None
            raise translate(error, f"cannot load table {identifier}") from None

    def create(
        self, identifier: str, schema_json: str, spec_json: str | None = None,
        properties: Mapping[str, str] | None = None, location: str | None = None,
    ) -> Table:
        """Create the table and its namespaces; when somebody else was faster, load theirs."""
        name = self._named(identifier)
        with java_errors(f"cannot create table {identifier}"):
            self._create_namespace(name.namespace())
            schema = self.jvm.iceberg.SchemaParser.fromJson(schema_json)
            builder = self.java.buildTable(name, schema)
            if spec_json:
                spec = self.jvm.iceberg.PartitionSpecParser.fromJson(schema, spec_json)
                builder = builder.withPartitionSpec(spec)
            if location:
                builder = builder.withLocation(location)
            builder = builder.withProperties(self.jvm.map(properties or {}))
            try:
                return Table(self.jvm, identifier, builder.create())
            except Py4JJavaError:
                if (table := self.load(identifier)) is None:
                    raise
                return table

    def tables(self, namespace: str) -> list[str]:
        """The tables in a namespace and in those inside of it; none when there is no such thing."""
        parsed = self._named(f"{namespace}.x").namespace()
        try:
            found = [str(name) for name in list(self.java.listTables(parsed))]
            inside = [str(name) for name in list(self.java.listNamespaces(parsed))]
        except Py4JJavaError as error:
            if "NoSuchNamespaceException" in exception_names(error):
                return []
            raise translate(error, f"cannot list the tables of {namespace}") from None
        return found + [name for one in inside for name in self.tables(one)]

    def drop(self, identifier: str, purge: bool = False) -> bool:
        with java_errors(f"cannot drop table {identifier}"):
            return bool(self.java.dropTable(self._named(identifier), purge))

    def _create_namespace(self, namespace: Any) -> None:
        """Every level: some catalogs want the parents first, others have no such thing."""
        levels = list(namespace.levels())
        for depth in range(1, len(levels) + 1):
            self._create_level(levels[:depth])

    def _create_level(self, levels: list[str]) -> None:
        namespace = self.jvm.iceberg.catalog.TableIdentifier.parse(
            ".".join([*levels, "x"])).namespace()
        try:
            if not self.java.namespaceExists(namespace):
                self.java.createNamespace(namespace)
        except Py4JJavaError:
            # somebody else was faster; not every catalog says so in the same words
            if not self.java.namespaceExists(namespace):
                raise

    def _named(self, identifier: str) -> Any:
        return self.jvm.iceberg.catalog.TableIdentifier.parse(identifier)
