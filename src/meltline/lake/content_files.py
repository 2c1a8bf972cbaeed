"""Content-file JSON to Iceberg's own files, many at once: a Py4J call costs more than a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from meltline.lake.table import Table


def parse_data_files(table: Table, contents: Sequence[str]) -> Any:
    """A Java list, by a few calls. Iceberg parses many data files as the tasks of a scan."""
    jvm = table.jvm.iceberg
    tasks = ",".join(f'{{"data-file":{content},"residual-filter":true}}' for content in contents)
    parsed = jvm.rest.TableScanResponseParser.parseFileScanTasks(
        table.jvm.json_tree(f'{{"file-scan-tasks":[{tasks}]}}'), java_list(table, ()),
        table.java.specs(), True)
    lists = jvm.relocated.com.google.common.collect.Lists
    function = "org.apache.iceberg.relocated.com.google.common.base.Function"
    files = lists.transform(parsed, _function(table, function, "FileScanTask", "file"))
    return table.jvm.java.util.ArrayList(files)


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
    consumer = "java.util.function.Consumer"
    items.forEach(_function(table, consumer, interface, method, receiver))


def _function(
    table: Table, kind: str, interface: str, method: str, receiver: Any = None
) -> Any:
    """A method of Iceberg's, of the receiver or of the argument, as a Java function of a kind."""
    lang, invoke = table.jvm.java.lang, table.jvm.java.lang.invoke
    loader = table.java.getClass().getClassLoader()
    declared = lang.Class.forName(f"org.apache.iceberg.{interface}", True, loader).getMethods()
    found = next(one for one in declared if one.getName() == method)
    handle = invoke.MethodHandles.publicLookup().unreflect(found)
    if receiver is not None:
        handle = handle.bindTo(receiver)
    return invoke.MethodHandleProxies.asInterfaceInstance(
        lang.Class.forName(kind, True, loader), handle)
