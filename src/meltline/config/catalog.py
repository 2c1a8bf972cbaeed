"""Iceberg catalogs: a map of Iceberg's own properties, passed on as they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator
from typing_extensions import Self

from meltline.config.properties import Properties, property_text
from meltline.config.refused import Refused
from meltline.config.scalars import Text
from meltline.config.strict import Strict
from meltline.config.suggest import closest

CatalogType = Literal["rest", "glue", "hive", "jdbc", "nessie", "hadoop"]

_NEEDS = {
    "rest": ("uri",),
    "nessie": ("uri",),
    "jdbc": ("uri", "warehouse"),
    "hadoop": ("warehouse",),
}
_SQLITE = "jdbc:sqlite:"
_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
# a REST catalog's warehouse is a name, and what another implementation makes of it is not known
_WAREHOUSE_IS_PATH = frozenset({"hadoop", "hive", "jdbc", "nessie"})


class CatalogBlock(Strict):
    """An Iceberg catalog by Iceberg's own properties, also those of its file storage.

    `properties` is what Iceberg gets. `repr` shows keys only.
    """

    model_config = ConfigDict(extra="allow")

    type: CatalogType | None = Field(
        default=None, description="The kind of catalog. Needed unless `catalog-impl` is given."
    )
    catalog_impl: Text | None = Field(
        default=None,
        alias="catalog-impl",
        description="The Java class of a catalog that is none of the types.",
    )
    uri: Text | None = Field(
        default=None,
        description="Where the catalog answers. Needed by rest, nessie and jdbc "
        "(`jdbc:sqlite:path` or `jdbc:postgresql://host/database`).",
    )
    warehouse: Text | None = Field(
        default=None,
        description="Where tables are stored, or for rest the warehouse's name. "
        "Needed by jdbc and hadoop.",
    )
    name: Text | None = Field(
        default=None,
        description="The catalog's name; `meltline` unless given. A JDBC catalog keeps its tables "
        "under its name, so other engines must use the same one.",
    )
    __pydantic_extra__: dict[str, str] = Field(init=False)

    @model_validator(mode="before")
    @classmethod
    def _as_text(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        return {str(key): property_text(str(key), entry) for key, entry in value.items()}

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.type is None and self.catalog_impl is None:
            raise Refused(
                "the kind of catalog is not named",
                hint="set type to one of: rest, glue, hive, jdbc, nessie, hadoop",
            )
        if self.type is not None and self.catalog_impl is not None:
            raise Refused("type and catalog-impl are given together", hint="remove one of the two")
        for key in _NEEDS.get(self.type or "", ()):
            if getattr(self, key) is None:
                near = closest(key, self.__pydantic_extra__)
                hint = f'is "{near}" meant to be "{key}"?' if near else None
                raise Refused(f'a {self.type} catalog needs the key "{key}"', hint=hint)
        return self

    @property
    def properties(self) -> Properties:
        """Every key as it was written."""
        named = {
            "type": self.type,
            "catalog-impl": self.catalog_impl,
            "uri": self.uri,
            "warehouse": self.warehouse,
            "name": self.name,
        }
        given = {key: value for key, value in named.items() if value is not None}
        return Properties({**given, **self.__pydantic_extra__})

    def resolved(self, base: Path | None = None) -> CatalogBlock:
        """The same catalog with local relative paths made absolute, below `base`.

        `base` is the working directory unless given. Only the file of an SQLite catalog and a
        local warehouse are paths.
        """
        root = (base or Path.cwd()).absolute()
        entries = dict(self.properties)
        if self.uri and self.uri.startswith(_SQLITE):
            entries["uri"] = _SQLITE + _below(root, self.uri.removeprefix(_SQLITE))
        if self.warehouse and self.type in _WAREHOUSE_IS_PATH:
            entries["warehouse"] = _below(root, self.warehouse)
        return CatalogBlock.model_validate(entries)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        return [(None, self.properties)]


def _below(root: Path, path: str) -> str:
    if not path or path.startswith(":") or _HAS_SCHEME.match(path):
        return path
    return str(root / path)


def default_catalog(base: Path) -> CatalogBlock:
    """The embedded catalog of a pipeline that names none: SQLite and files below `base`."""
    home = base.absolute() / ".meltline"
    return CatalogBlock.model_validate(
        {"type": "jdbc", "uri": f"{_SQLITE}{home}/catalog.db", "warehouse": f"{home}/warehouse"}
    )
