from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from meltline.config.catalog import CatalogBlock, default_catalog
from meltline.config.document import parse_document


def catalog(**entries: Any) -> CatalogBlock:
    return CatalogBlock.model_validate({key.replace("__", "."): v for key, v in entries.items()})


def test_every_property_is_passed_on_as_it_was_written() -> None:
    document = parse_document(
        "type: rest\n"
        "uri: http://h\n"
        "io-impl: org.apache.iceberg.aws.s3.S3FileIO\n"
        "s3.path-style-access: true\n"
        "clients: 5\n"
        "rate: 1.10\n"
        "account: 0123\n"
        'header.X: ""\n',
        Path("c.yaml"),
    )
    assert dict(CatalogBlock.model_validate(document.root).properties) == {
        "type": "rest",
        "uri": "http://h",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.path-style-access": "true",
        "clients": "5",
        "rate": "1.10",
        "account": "0123",
        "header.X": "",
    }


def test_a_class_serves_instead_of_a_type() -> None:
    block = CatalogBlock.model_validate({"catalog-impl": "com.example.Catalog", "x": "y"})
    assert dict(block.properties) == {"catalog-impl": "com.example.Catalog", "x": "y"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"type": "jdbc", "uri": "jdbc:sqlite:c.db", "warehouse": "wh"},
            {"uri": "jdbc:sqlite:/base/c.db", "warehouse": "/base/wh"},
        ),
        (
            {"type": "jdbc", "uri": "jdbc:sqlite:/x/c.db?a=b", "warehouse": "/wh"},
            {"uri": "jdbc:sqlite:/x/c.db?a=b", "warehouse": "/wh"},
        ),
        (
            {"type": "jdbc", "uri": "jdbc:sqlite::memory:", "warehouse": "file:///wh"},
            {"uri": "jdbc:sqlite::memory:", "warehouse": "file:///wh"},
        ),
        (
            {"type": "jdbc", "uri": "jdbc:postgresql://h/db", "warehouse": "s3://b/wh"},
            {"uri": "jdbc:postgresql://h/db", "warehouse": "s3://b/wh"},
        ),
        ({"type": "hadoop", "warehouse": "./wh"}, {"warehouse": "/base/wh"}),
        (
            {"type": "rest", "uri": "http://h", "warehouse": "prod"},
            {"uri": "http://h", "warehouse": "prod"},
        ),
        ({"catalog-impl": "a.B", "warehouse": "prod"}, {"warehouse": "prod"}),
        ({"type": "glue", "warehouse": "s3://b/wh"}, {"warehouse": "s3://b/wh"}),
    ],
)
def test_local_paths_become_absolute(given: dict[str, str], expected: dict[str, str]) -> None:
    block = CatalogBlock.model_validate(given)
    assert dict(block.resolved(Path("/base")).properties) == {**given, **expected}


def test_paths_are_below_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert catalog(type="hadoop", warehouse="wh").resolved().warehouse == str(tmp_path / "wh")


def test_the_embedded_catalog() -> None:
    assert dict(default_catalog(Path("/base")).properties) == {
        "type": "jdbc",
        "uri": "jdbc:sqlite:/base/.meltline/catalog.db",
        "warehouse": "/base/.meltline/warehouse",
    }


def test_repr_shows_keys_only() -> None:
    block = catalog(type="rest", uri="http://h", s3__region="eu")
    assert repr(block) == "CatalogBlock({type: ***, uri: ***, s3.region: ***})"
    assert str(block) == "{type: ***, uri: ***, s3.region: ***}"


def test_equal_properties_are_equal_catalogs() -> None:
    assert catalog(type="glue", a="b") == catalog(a="b", type="glue")
    assert catalog(type="glue", a="b") != catalog(type="glue", a="c")
