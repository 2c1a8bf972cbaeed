"""Content-file JSON to Iceberg's own files, many at once: a Py4J call costs more than a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from meltline.lake.table import Table


def parse_data_files(table: Table, contents: Sequence[str]) -> list[Any]:
    parser, specs, jvm = table.jvm.iceberg.ContentFileParser, table.java.specs(), table.jvm
    return [parser.fromJson(jvm.json_tree(content), specs) for content in contents]


def parse_delete_files(table: Table, contents: Sequence[str]) -> Any:
    """A Java list, by one call."""
    tree = table.jvm.json_tree(f'{{"delete-files":[{",".join(contents)}]}}')
    return table.jvm.iceberg.rest.TableScanResponseParser.parseDeleteFiles(
        tree, table.java.specs())


def java_list(table: Table, items: Sequence[Any]) -> Any:
    result = table.jvm.java.util.ArrayList()
    for item in items:
        result.add(item)
    return result


def call_each(table: Table, items: Any, receiver: Any, interface: str, method: str) -> None:
    """`receiver.method(item)` for each item of a Java list, in Java's own loop."""
    lang, invoke = table.jvm.java.lang, table.jvm.java.lang.invoke
    loader = receiver.getClass().getClassLoader()
    declared = lang.Class.forName(f"org.apache.iceberg.{interface}", True, loader).getMethods()
    found = next(one for one in declared if one.getName() == method)
    bound = invoke.MethodHandles.publicLookup().unreflect(found).bindTo(receiver)
    consumer = lang.Class.forName("java.util.function.Consumer")
    items.forEach(invoke.MethodHandleProxies.asInterfaceInstance(consumer, bound))
