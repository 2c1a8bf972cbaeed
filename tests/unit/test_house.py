"""The rules of the house: which way imports point, and how big things may become."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import meltline

ROOT = Path(meltline.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "redact": set(),
    "model": {"errors"},
    "expressions": {"model", "errors"},
    "config": {"model", "errors", "redact", "expressions"},
    "codecs": {"model", "errors"},
    "kernels": {"model", "errors", "expressions"},
    "processors": {"model", "errors", "expressions", "config"},
    "engine": {"model", "errors", "redact", "expressions", "config", "codecs", "kernels",
               "processors"},
    "lake": {"model", "errors", "redact", "kernels"},
    "sources": {"model", "errors", "redact", "expressions", "config", "codecs", "kernels",
                "engine", "lake"},
    "sinks": {"model", "errors", "redact", "expressions", "config", "codecs", "kernels", "engine",
              "lake"},
    "spark": {"model", "errors", "redact", "engine"},
    "observe": {"model", "errors", "redact", "engine"},
    "testing": {"model", "errors", "expressions", "kernels", "engine"},
    "assembly": {"model", "errors", "redact", "expressions", "config", "codecs", "kernels",
                 "processors", "engine", "lake", "sources", "sinks", "spark", "observe"},
    "cli": {"model", "errors", "redact", "config", "engine", "spark", "observe", "assembly"},
}  # fmt: skip
"""Whatever is not named here may not be imported: not cli, not testing, nor one connector by
another. The version is everybody's."""

OUTSIDE: dict[str, set[str]] = {
    "pyspark": {"spark", "lake/jvm", "assembly"},
    "py4j": {"spark", "lake"},
    "pydantic": {"config"},
    "yaml": {"config"},
    "pyarrow": {"model", "kernels", "codecs", "engine", "sources", "sinks", "testing"},
    "duckdb": {"expressions", "processors", "kernels", "codecs", "engine", "sources", "sinks",
               "testing"},
    "pyiceberg": {"model", "kernels", "sources", "sinks"},
    "prometheus_client": {"observe"},
}  # fmt: skip
"""Who may import a library: a package, or one module of it."""

LONGEST_MODULE = 600
LONG_MODULE = 400
LONGEST_FUNCTION = 40
NO_NAMES = {"utils", "util", "helper", "helpers", "manager", "managers", "misc"}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def place(path: Path) -> str:
    """`lake/jvm` of src/meltline/lake/jvm.py."""
    return path.relative_to(ROOT).with_suffix("").as_posix()


def imports(path: Path) -> Iterator[str]:
    """Dotted names, also of imports inside of functions."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{place(path)}: imports are absolute"
            if node.module == "meltline":
                yield from (f"meltline.{alias.name}" for alias in node.names)
            elif node.module:
                yield node.module


def packages(path: Path) -> set[str]:
    """The packages of ours that a module imports."""
    names = {name.split(".")[1] for name in imports(path) if name.startswith("meltline.")}
    return names - {"__version__"}


def modules(package: str) -> list[Path]:
    return [path for path in SOURCES if place(path).split("/")[0] == package]


def test_every_package_has_its_rule() -> None:
    found = {place(path).split("/")[0] for path in SOURCES} - {"__init__", "__main__"}
    assert found == set(MAY_IMPORT)


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_point_inward(package: str) -> None:
    allowed = MAY_IMPORT[package] | {package}
    wrong = {place(path): packages(path) - allowed for path in modules(package)}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_the_rules_have_no_circle() -> None:
    """Packages can be put in an order in which each imports only earlier ones."""
    placed: set[str] = set()
    while len(placed) < len(MAY_IMPORT):
        ready = {name for name, wants in MAY_IMPORT.items() if wants <= placed} - placed
        assert ready, f"a circle among {sorted(set(MAY_IMPORT) - placed)}"
        placed |= ready


@pytest.mark.parametrize("library", OUTSIDE)
def test_libraries_stay_where_they_belong(library: str) -> None:
    allowed = OUTSIDE[library]
    wrong = [place(path) for path in SOURCES
             if any(name.split(".")[0] == library for name in imports(path))
             and not {place(path), place(path).split("/")[0]} & allowed]
    assert wrong == []


def files(name: str) -> Iterator[Path]:
    """The module of a dotted name of ours, and the doors of the packages on the way to it."""
    path = ROOT
    for part in name.split(".")[1:]:
        path = path / part
        yield from (found for found in (path / "__init__.py", path.with_suffix(".py"))
                    if found.exists())


def test_checking_a_file_needs_no_spark() -> None:
    """Nothing that the configuration leads to, however far, imports Spark or Arrow."""
    seen: set[Path] = set()
    left = modules("config")
    while left:
        path = left.pop()
        if path not in seen:
            seen.add(path)
            left += [found for name in imports(path) if name.startswith("meltline.")
                     for found in files(name)]
    libraries = {name.split(".")[0] for path in seen for name in imports(path)}
    assert not libraries & {"pyspark", "py4j", "pyarrow", "pyiceberg"}


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_modules_stay_small() -> None:
    long = {place(path): lines(path) for path in SOURCES if lines(path) > LONG_MODULE}
    too_long = {name: count for name, count in long.items() if count > LONGEST_MODULE}
    assert not too_long, f"split them; on the way there (over {LONG_MODULE} lines): {long}"


def test_functions_stay_small() -> None:
    long = {
        f"{place(path)}.{node.name}": length
        for path in SOURCES for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > LONGEST_FUNCTION}
    assert long == {}


def test_names_say_what_is_inside() -> None:
    assert [place(path) for path in SOURCES if set(place(path).split("/")) & NO_NAMES] == []


def test_every_module_says_what_it_is() -> None:
    silent = [place(path) for path in SOURCES
              if tree(path).body and ast.get_docstring(tree(path)) is None]
    assert silent == []


def test_package_doors_only_export() -> None:
    """An `__init__.py` has a docstring, imports and `__all__`, or nothing."""
    allowed = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr)
    wrong = [place(path) for path in SOURCES if path.name == "__init__.py"
             if not all(isinstance(node, allowed) for node in tree(path).body)]
    assert wrong == []
