"""What a snapshot changed, by the rules of the table spec."""

from __future__ import annotations

from typing import Any

from meltline.sources.iceberg.bounds import may_match
from meltline.sources.iceberg.manifests import Written
from meltline.sources.iceberg.planner import appended
from tests.unit.sources.iceberg.states import changed, data, delete, stats

A, B, C = data("a"), data("b"), data("c", 2)


def test_an_append_adds_files() -> None:
    assert changed([[A]], [[A], [C]]) == {"c": (None, [])}


def test_the_first_snapshot_has_nothing_before_it() -> None:
    assert changed([], [[A, B]]) == {"a": (None, []), "b": (None, [])}


def test_a_merged_manifest_adds_only_what_is_new() -> None:
    assert changed([[A], [B]], [[A, B, C]]) == {"c": (None, [])}


def test_an_overwrite_removes_and_adds() -> None:
    assert changed([[A, B]], [[B], [C]]) == {"a": ([], None), "c": (None, [])}


def test_a_metadata_only_delete_removes_files() -> None:
    assert changed([[A, B]], [[B]]) == {"a": ([], None)}


def test_rewritten_manifests_change_nothing() -> None:
    assert changed([[A], [B]], [[A, B]]) == {}


def test_a_rollback_is_a_difference_like_any_other() -> None:
    assert changed([[A], [C]], [[A]]) == {"c": ([], None)}


def test_a_position_delete_of_one_file_touches_that_file() -> None:
    gone = delete("position", "d", 2, referenced="a")
    assert changed([[A, B]], [[A, B], [gone]]) == {"a": ([], ["d"])}


def test_a_position_delete_of_a_partition_may_touch_all_its_files() -> None:
    us, eu = data("us", group=(1, ("us",))), data("eu", group=(1, ("eu",)))
    gone = delete("position", "d", 2, group=(1, ("us",)))
    assert changed([[us, eu]], [[us, eu], [gone]], ()) == {"us": ([], ["d"])}


def test_a_position_delete_of_another_spec_does_not_count() -> None:
    gone = delete("position", "d", 2, group=(1, ()))
    assert changed([[A]], [[A], [gone]]) == {}


def test_position_deletes_reach_data_of_their_own_commit() -> None:
    gone = delete("position", "d", 2, referenced="c")
    assert changed([], [[C], [gone]]) == {"c": (None, ["d"])}


def test_position_deletes_do_not_reach_later_data() -> None:
    older = delete("position", "d", 1)
    assert changed([[A], [older]], [[A], [older], [C]]) == {"c": (None, [])}


def test_equality_deletes_reach_older_data_only() -> None:
    gone = delete("equality", "d", 2, equality_ids=(1,))
    assert changed([[A]], [[A], [C], [gone]]) == {"a": ([], ["d"]), "c": (None, [])}


def test_an_equality_delete_reaches_its_own_partition() -> None:
    us, eu = data("us", group=(1, ("us",))), data("eu", group=(1, ("eu",)))
    gone = delete("equality", "d", 2, group=(1, ("us",)), equality_ids=(1,))
    assert changed([[us, eu]], [[us, eu], [gone]], ()) == {"us": ([], ["d"])}


def test_an_equality_delete_without_partition_reaches_every_spec() -> None:
    us, old = data("us", group=(1, ("us",))), data("old", group=(2, (7,)))
    gone = delete("equality", "d", 2, group=(0, ()), equality_ids=(1,))
    assert changed([[us, old]], [[us, old], [gone]], (0,)) == {
        "us": ([], ["d"]), "old": ([], ["d"])}


def test_equality_deletes_are_left_out_by_bounds() -> None:
    near, far = data("near", stats=stats(1, 10)), data("far", stats=stats(100, 200))
    gone = delete("equality", "d", 2, equality_ids=(1,), stats=stats(5, 7))
    assert changed([[near, far]], [[near, far], [gone]], may_match=may_match({1: "long"})) == {
        "near": ([], ["d"])}


def test_bounds_say_nothing_about_nulls_and_unknown_types() -> None:
    far = data("far", stats=stats(100, 200, nulls=1))
    gone = delete("equality", "d", 2, equality_ids=(1,), stats=stats(5, 7, nulls=1))
    touched: dict[str, Any] = {"far": ([], ["d"])}
    assert changed([[far]], [[far], [gone]], may_match=may_match({1: "long"})) == touched
    plain = data("far", stats=stats(100, 200))
    some = delete("equality", "d", 2, equality_ids=(1,), stats=stats(5, 7))
    assert changed([[plain]], [[plain], [some]], may_match=may_match({1: "decimal(9,2)"})
                   ) == touched


def test_a_removed_file_keeps_the_deletes_it_had() -> None:
    gone = delete("position", "d", 2, referenced="a")
    assert changed([[A, B], [gone]], [[B], [C]]) == {"a": (["d"], None), "c": (None, [])}


def test_a_vector_hides_position_deletes_of_its_file() -> None:
    gone = delete("position", "d", 2, referenced="a")
    vector = delete("vector", "v", 3, referenced="a", offset=4, length=40)
    assert changed([[A], [gone]], [[A], [vector]]) == {"a": (["d"], ["v"])}
    assert changed([[A], [gone]], [[A], [gone], [vector]]) == {"a": (["d"], ["v"])}


def test_a_vector_is_replaced_by_a_larger_one() -> None:
    one = delete("vector", "v", 2, referenced="a", offset=4, length=40)
    two = delete("vector", "w", 3, referenced="a", offset=4, length=44)
    assert changed([[A, B], [one]], [[A, B], [two]]) == {"a": (["v"], ["w"])}


def test_vectors_of_one_puffin_file_are_told_apart() -> None:
    one = delete("vector", "v", 2, referenced="a", offset=4, length=40)
    two = delete("vector", "v", 3, referenced="b", offset=44, length=40)
    assert changed([[A, B], [one]], [[A, B], [one, two]]) == {"b": ([], ["v"])}


def test_a_dropped_delete_file_brings_rows_back() -> None:
    gone = delete("position", "d", 2, referenced="a")
    assert changed([[A], [gone]], [[A]]) == {"a": (["d"], [])}


def test_a_delete_that_touches_no_file_changes_nothing() -> None:
    dangling = delete("position", "d", 2, referenced="nowhere")
    assert changed([[A]], [[A], [dangling]]) == {}


def test_untouched_deletes_stay_out_of_it() -> None:
    old = delete("equality", "old", 2, equality_ids=(1,))
    new = delete("position", "new", 3, referenced="b")
    assert changed([[A, B], [old]], [[A, B], [old], [new]]) == {
        "b": (["old"], ["new", "old"])}


def test_an_append_tells_by_itself_what_it_added() -> None:
    found = appended([Written((A, B)), Written(), Written((C,))])
    assert found is not None
    assert [(one.file.path, one.before, one.after) for one in found] == [
        ("a", None, ()), ("b", None, ()), ("c", None, ())]


def test_what_removes_files_or_adds_deletes_is_no_append() -> None:
    gone = delete("position", "d", 2, referenced="a")
    assert appended([Written((A,)), Written((gone,))]) is None
    assert appended([Written((A,), other=1)]) is None
