"""The reserved top-level key `spark`: where and how the work is spread."""

from __future__ import annotations

from pydantic import Field, model_validator
from typing_extensions import Self

from meltline.config.properties import Properties, PropertyMap
from meltline.config.refused import Refused
from meltline.config.scalars import Text
from meltline.config.size import ByteSize
from meltline.config.strict import Strict

_OWN_KEYS = {"spark.master": "master", "spark.driver.memory": "driver_memory"}


class SparkBlock(Strict):
    """Settings of the Spark application that all pipelines of the file share."""

    master: Text = Field(
        default="local[*]",
        description="Spark's master: `local[*]` for this machine, or the address of a cluster.",
    )
    driver_memory: ByteSize | None = Field(
        default=None,
        description="The memory of the driver's Java process, such as `2gb`. "
        "Without it, it follows the memory of the machine.",
    )
    config: PropertyMap = Field(
        default=Properties(), description="Any other Spark setting, by its full name `spark.…`."
    )

    @model_validator(mode="after")
    def _spark_settings(self) -> Self:
        for key in self.config:
            if not key.startswith("spark."):
                what = f'"{key}" is not the name of a Spark setting'
                raise Refused(what, hint=f'did you mean "spark.{key}"?', at=("config", key))
            if key in _OWN_KEYS:
                hint = f"use the key {_OWN_KEYS[key]} of the spark block"
                raise Refused(f'"{key}" does not belong here', hint=hint, at=("config", key))
        return self
