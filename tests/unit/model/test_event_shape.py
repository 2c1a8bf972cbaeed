"""The shape of events."""

from __future__ import annotations

import pickle

from meltline.model.event import Shape, json_shape


def test_the_column_of_the_event_itself() -> None:
    assert json_shape().content == "body"
    assert Shape("typed", {}, {"a": "BIGINT"}).content == "row"


def test_metadata_is_kept_in_order() -> None:
    shape = json_shape(file="VARCHAR", line="BIGINT")
    assert list(shape.metadata.items()) == [("file", "VARCHAR"), ("line", "BIGINT")]
    assert shape.kind == "json"


def test_equal_shapes_have_equal_texts() -> None:
    """Tasks keep what they compiled under the text of the shape."""
    one, other = (Shape("typed", {"m": "VARCHAR"}, {"a": "BIGINT"}) for _ in range(2))
    assert one == other
    assert repr(one) == repr(other)
    assert repr(one) != repr(Shape("typed", {"m": "VARCHAR"}, {"a": "INTEGER"}))


def test_a_shape_travels_to_workers() -> None:
    shape = Shape("typed", {"m": "VARCHAR"}, {"a": "BIGINT"})
    assert pickle.loads(pickle.dumps(shape)) == shape
