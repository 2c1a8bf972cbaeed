from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pyarrow import fs

from meltline.errors import RunError, UserError
from meltline.sources.files.listing import find_files
from meltline.sources.files.storage import Storage, split_path

NOW = 1_700_000_000_000_000_000
SECOND = 1_000_000_000

NAMES = [
    "a.json",
    "b.json.gz",
    "b.json.tmp",
    ".hidden.json",
    "_SUCCESS",
    "d1/a.json",
    "d1/_tmp/x.json",
    "d2/deep/er/a.json",
    "d2/a b#c?.json",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in NAMES:
        path = tmp_path / "bucket" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        os.utime(path, ns=(NOW, NOW - 10 * SECOND))
    return tmp_path


@pytest.fixture(params=["local", "store"])
def place(request: pytest.FixtureRequest, root: Path) -> tuple[str, Storage]:
    """The same files on local disk and, as it were, in a bucket."""
    storage = Storage({})
    if request.param == "local":
        return f"{root}/bucket", storage
    bucket = fs.SubTreeFileSystem(str(root), fs.LocalFileSystem())
    storage._filesystems[("s3", "bucket")] = bucket
    return "s3://bucket", storage


def names(place: tuple[str, Storage], *patterns: str, **options: object) -> list[str]:
    base, storage = place
    options.setdefault("now_ns", NOW)
    found = find_files([f"{base}/{pattern}" for pattern in patterns], storage, **options)  # type: ignore[arg-type]
    assert all(file.path.startswith(base + "/") for file in found)
    assert all(file.size == len(file.path) - len(base) - 1 for file in found)
    return sorted(file.path[len(base) + 1 :] for file in found)


@pytest.mark.parametrize(
    ("patterns", "wanted"),
    [
        (["*"], ["a.json", "b.json.gz", "b.json.tmp"]),
        (["*.json"], ["a.json"]),
        (["*/*.json"], ["d1/a.json", "d2/a b#c?.json"]),
        (["*/a.json"], ["d1/a.json"]),
        (["**/a.json"], ["a.json", "d1/a.json", "d2/deep/er/a.json"]),
        (["d2/**"], ["d2/a b#c?.json", "d2/deep/er/a.json"]),
        (["d1/_tmp/*"], ["d1/_tmp/x.json"]),
        ([".hidden.json"], [".hidden.json"]),
        (["_*"], ["_SUCCESS"]),
        (["a.json", "*.json", "**/a.json"], ["a.json", "d1/a.json", "d2/deep/er/a.json"]),
        (["d2/a b#c[?].json"], ["d2/a b#c?.json"]),
        (["none.json", "none/*", "none/**", "none/x.json", "a.json/*"], []),
    ],
)
def test_patterns_find_files(
    place: tuple[str, Storage], patterns: list[str], wanted: list[str]
) -> None:
    assert names(place, *patterns) == wanted


def test_ignored_suffixes(place: tuple[str, Storage]) -> None:
    assert names(place, "*", ignore_suffixes=(".tmp", ".gz")) == ["a.json"]


def test_young_files_are_left_for_later(place: tuple[str, Storage]) -> None:
    for settle, count in ((9, 1), (10, 1), (11, 0)):
        assert len(names(place, "a.json", settle_time=timedelta(seconds=settle))) == count
    # a clock that is behind: only who asked for settled files has to wait
    assert names(place, "a.json", now_ns=NOW - 100 * SECOND) == ["a.json"]
    assert names(place, "a.json", now_ns=NOW - 100 * SECOND, settle_time=timedelta(seconds=1)) == []


@pytest.mark.parametrize("pattern", ["d1", "d1/"])
def test_a_directory_is_no_file(place: tuple[str, Storage], pattern: str) -> None:
    with pytest.raises(UserError, match=f"^{place[0]}/d1 is a directory") as error:
        names(place, pattern)
    assert "d1/*" in (error.value.hint or "")


def test_a_bucket_that_is_not_there_is_said(root: Path) -> None:
    storage = Storage({})
    store = fs.SubTreeFileSystem(str(root), fs.LocalFileSystem())
    storage._filesystems[("s3", "bukcet")] = store
    for pattern in ("s3://bukcet/*", "s3://bukcet/d/**", "s3://bukcet/a.json"):
        with pytest.raises(RunError, match="there is no bucket for s3://bukcet"):
            find_files([pattern], storage, now_ns=NOW)


def test_a_bucket_alone_is_refused() -> None:
    storage = Storage({})
    storage._filesystems[("s3", "b*")] = fs.LocalFileSystem()
    with pytest.raises(UserError, match="names no files"):
        find_files(["s3://b*"], storage, now_ns=NOW)


def test_relative_paths_and_urls(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root / "bucket")
    wanted = f"{root}/bucket/a.json"
    for pattern in ("a.json", "./*.json", f"file://{wanted}", f"file://{root}/bucket/*.json"):
        assert [f.path for f in find_files([pattern], Storage({}), now_ns=NOW)] == [wanted]


def test_links_are_followed_but_not_in_circles(root: Path) -> None:
    base = root / "bucket"
    (base / "d1" / "circle").symlink_to(base)
    (base / "linked").symlink_to(base / "d2")
    (base / "dangling.json").symlink_to(base / "nowhere")
    place = (str(base), Storage({}))
    found = [f.path for f in find_files([f"{base}/**/a.json"], place[1], now_ns=NOW)]
    assert sorted(found) == [f"{base}/{n}" for n in ("a.json", "d1/a.json", "d2/deep/er/a.json")]
    found = [f.path for f in find_files([f"{base}/linked/*.json"], place[1], now_ns=NOW)]
    assert found == [f"{base}/linked/a b#c?.json"]


def test_no_permission_is_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> Iterator[None]:
        raise PermissionError(13, "Permission denied", path)

    # a process of root may look everywhere, so the system's answer is made up
    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(RunError, match="no permission to read") as error:
        find_files([f"{root}/bucket/*"], Storage({}), now_ns=NOW)
    assert "list and read" in (error.value.hint or "")


def test_a_name_that_is_no_text_is_said(tmp_path: Path) -> None:
    Path(os.fsdecode(bytes(tmp_path) + b"/a\xff.json")).write_text("{}")
    with pytest.raises(RunError, match=r"a\\xff\.json"):
        find_files([f"{tmp_path}/*"], Storage({}), now_ns=NOW)


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/a/b", ("file", "", "/a/b")),
        ("a/b", ("file", "", "a/b")),
        ("file:///a/b", ("file", "", "/a/b")),
        ("s3://bucket/a?b#c", ("s3", "bucket", "/a?b#c")),
        ("s3://bucket", ("s3", "bucket", "")),
        ("hdfs://host:9000/a", ("hdfs", "host:9000", "/a")),
    ],
)
def test_parts_of_a_path(path: str, wanted: tuple[str, str, str]) -> None:
    assert split_path(path) == wanted


def test_storage_travels_without_its_connections() -> None:
    storage = Storage({"s3.access-key-id": "secret"})
    storage.filesystem("/x")
    copy = pickle.loads(pickle.dumps(storage))
    assert copy._properties == storage._properties
    assert copy._filesystems == {}
    assert "secret" not in repr(storage)


def test_a_store_of_ones_own_needs_no_region() -> None:
    storage = Storage(
        {"s3.endpoint": "http://127.0.0.1:1", "s3.access-key-id": "k", "s3.secret-access-key": "s"}
    )
    filesystem, inner, before = storage.filesystem("s3://bucket/key")
    assert filesystem.region == "us-east-1"
    assert (inner, before) == ("bucket/key", "s3://")
