"""Walking: what is found in folders, what is skipped and why, and nothing that can hang it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from sssd_chat.documents import Found, Reason, Skipped, WalkSettings, walk
from sssd_chat.documents import walking as walking_module

TEXT = b"some text\n"


def put(folder: Path, *names: str, content: bytes = TEXT) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def walked(
    *paths: Path, settings: WalkSettings | None = None, base: Path
) -> tuple[list[str], dict[str, Reason]]:
    """Names of what is found and reasons of what is skipped, relative to `base`."""
    found, skipped = [], {}
    for item in walk(paths, settings):
        name = str(item.path.relative_to(base))
        if isinstance(item, Found):
            found.append(name)
        else:
            skipped[name] = item.reason
    return found, skipped


def test_files_are_found_in_order_with_their_sizes(tmp_path: Path) -> None:
    put(tmp_path, "b.txt", "a/z.md", "a/y/x.py", "c.unknown", "Makefile")
    found, skipped = walked(tmp_path, base=tmp_path)
    assert found == ["Makefile", "a/y/x.py", "a/z.md", "b.txt", "c.unknown"]
    assert not skipped
    first = next(iter(walk([tmp_path / "a"])))
    assert first == Found(tmp_path / "a/y/x.py", len(TEXT), tmp_path / "a")


def test_hidden_binary_empty_and_huge_files_are_skipped_with_their_reason(tmp_path: Path) -> None:
    put(tmp_path, "good.txt", ".hidden", ".git/config")
    put(tmp_path, "picture.png", content=b"\x89PNG\0\0")
    put(tmp_path, "controls", content=bytes(range(1, 9)) * 9)
    put(tmp_path, "paper.pdf", content=b"%PDF-\0")  # binary by right
    put(tmp_path, "__init__.py", content=b"")
    put(tmp_path, "huge.txt", content=b"x" * 101)
    found, skipped = walked(tmp_path, settings=WalkSettings(most_bytes=100), base=tmp_path)
    assert found == ["good.txt", "paper.pdf"]
    assert skipped == {
        ".hidden": Reason.HIDDEN,
        ".git": Reason.HIDDEN,
        "picture.png": Reason.BINARY,
        "controls": Reason.BINARY,
        "__init__.py": Reason.EMPTY,
        "huge.txt": Reason.HUGE,
    }
    huge = next(item for item in walk([tmp_path / "huge.txt"], WalkSettings(most_bytes=100)))
    assert huge == Skipped(
        tmp_path / "huge.txt", Reason.HUGE, "101 bytes, more than 100 bytes", named=True
    )


def test_settings_take_hidden_and_ignored_files(tmp_path: Path) -> None:
    put(tmp_path, ".hidden", "a.log")
    put(tmp_path, ".gitignore", content=b"*.log\n")
    settings = WalkSettings(hidden=True, ignored=True)
    found, skipped = walked(tmp_path, settings=settings, base=tmp_path)
    assert found == [".gitignore", ".hidden", "a.log"] and not skipped


def test_gitignore_is_followed_nested_and_with_exceptions(tmp_path: Path) -> None:
    put(tmp_path, "a.log", "keep.log", "build/x.txt", "src/build", "src/b.log", "src/c.txt")
    put(tmp_path, "src/deep/b.log", "src/deep/only_here.txt", "only_here.txt", "a b.tmp")
    put(
        tmp_path,
        ".gitignore",
        content=b"# logs\n*.log\n!keep.log\nbuild/\n/only_here.txt\na\\ b.*\n",
    )
    put(tmp_path, "src/.gitignore", content=b"!b.log\nc.txt\n")
    put(tmp_path, "src/deep/.gitignore", content=b"b.log\n")
    found, skipped = walked(tmp_path, base=tmp_path)
    assert found == ["keep.log", "src/b.log", "src/build", "src/deep/only_here.txt"]
    ignored = {name for name, reason in skipped.items() if reason is Reason.IGNORED}
    assert ignored == {
        *("a.log", "build", "only_here.txt", "a b.tmp"),
        *("src/c.txt", "src/deep/b.log"),
    }


def test_rules_of_the_repository_around_a_named_folder_hold(tmp_path: Path) -> None:
    put(tmp_path, ".gitignore", content=b"*.txt\n")  # of no repository
    put(tmp_path, "repo/.git/config", "repo/src/a.log", "repo/src/b.txt", "repo/out/c.txt")
    put(tmp_path, "repo/.gitignore", content=b"*.log\n/out/\n")
    assert walked(tmp_path / "repo/src", base=tmp_path)[0] == ["repo/src/b.txt"]
    assert walked(tmp_path / "repo/out", base=tmp_path)[0] == ["repo/out/c.txt"]


def test_pattern_that_makes_no_sense_does_not_void_the_others(tmp_path: Path) -> None:
    put(tmp_path, "a.log", "b.txt")
    put(tmp_path, ".gitignore", content=b"!\n[\xff\n*.log\n//\n\\\n")
    assert walked(tmp_path, base=tmp_path)[0] == ["b.txt"]


def test_what_is_named_is_taken_even_if_hidden_or_ignored_and_only_once(tmp_path: Path) -> None:
    put(tmp_path, ".hidden/x.txt", "a.log", "b.txt")
    put(tmp_path, ".gitignore", content=b"*.log\n")
    (tmp_path / "link").symlink_to("a.log")
    found, _ = walked(
        *(tmp_path / "a.log", tmp_path / ".hidden", tmp_path / "link", tmp_path / ".gitignore"),
        *(tmp_path, tmp_path / "b.txt", tmp_path),
        base=tmp_path,
    )
    assert found == ["a.log", ".hidden/x.txt", "link", ".gitignore", "b.txt"]


def test_missing_file_that_was_named_is_told(tmp_path: Path) -> None:
    missing, odd = tmp_path / "no", Path("\0")
    items = list(walk([missing, odd]))
    assert items[0] == Skipped(missing, Reason.MISSING, "does not exist, or no longer", named=True)
    assert isinstance(items[1], Skipped) and items[1].reason is Reason.UNREADABLE


def test_links_in_folders_are_skipped_or_followed_without_loops(tmp_path: Path) -> None:
    put(tmp_path, "outside/o.txt", "folder/sub/a.txt")
    (tmp_path / "folder/file_link").symlink_to("sub/a.txt")
    (tmp_path / "folder/sub/loop").symlink_to("..")
    (tmp_path / "folder/out").symlink_to(tmp_path / "outside")
    (tmp_path / "folder/dangling").symlink_to("nowhere")
    (tmp_path / "folder/self").symlink_to("self")
    found, skipped = walked(tmp_path / "folder", base=tmp_path)
    assert found == ["folder/sub/a.txt"]
    assert set(skipped.values()) == {Reason.LINK} and len(skipped) == 5
    settings = WalkSettings(links=True)
    found, skipped = walked(tmp_path / "folder", settings=settings, base=tmp_path)
    assert found == ["folder/file_link", "folder/out/o.txt", "folder/sub/a.txt"]
    assert skipped == {
        "folder/dangling": Reason.MISSING,
        "folder/self": Reason.UNREADABLE,
        "folder/sub/loop": Reason.LOOP,
    }


@pytest.mark.parametrize(
    "name", [b"with space.txt", b"new\nline.txt", b"odd \xff\xfe bytes.txt", "ünï🙂.txt".encode()]
)
def test_name_of_any_bytes_is_found(tmp_path: Path, name: bytes) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/sub " + name + b"/" + name))
    put(path.parent, path.name)
    put(tmp_path, ".gitignore", content=b"*.log\n")
    assert [item.path for item in walk([tmp_path]) if isinstance(item, Found)] == [path]


def test_special_files_are_skipped_without_being_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    monkeypatch.chdir(tmp_path)  # names of sockets must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.txt")

        def refuse(path: object, *_: object) -> int:
            raise AssertionError(f"{path} is opened")

        monkeypatch.setattr(os, "open", refuse)
        items = list(walk([tmp_path, tmp_path / "pipe.txt", Path(os.devnull)]))
    assert all(isinstance(item, Skipped) for item in items)
    assert [(item.reason, item.detail) for item in items if isinstance(item, Skipped)] == [
        (Reason.SPECIAL, "is a named pipe"),
        (Reason.SPECIAL, "is a socket"),
        (Reason.SPECIAL, "is a named pipe"),
        (Reason.SPECIAL, "is a device"),
    ]


def test_file_that_vanishes_meanwhile_is_skipped(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "b.txt", "c/d.txt")
    items = walk([tmp_path])
    next(items)
    (tmp_path / "b.txt").unlink()
    (tmp_path / "c/d.txt").unlink()
    (tmp_path / "c").rmdir()
    reasons = {item.path.name: item.reason for item in items if isinstance(item, Skipped)}
    assert reasons == {"b.txt": Reason.MISSING, "c": Reason.MISSING}


def test_file_and_folder_without_permission_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "a.txt", "locked.txt", "locked/b.txt")
    monkeypatch.setattr(os, "open", refusing(os.open))
    monkeypatch.setattr(walking_module.os, "scandir", refusing(os.scandir))
    found, skipped = walked(tmp_path, base=tmp_path)
    assert found == ["a.txt"]
    assert skipped == {"locked": Reason.UNREADABLE, "locked.txt": Reason.UNREADABLE}


def refusing(function: Callable[..., object]) -> Callable[..., object]:
    def call(path: Path, *arguments: object) -> object:
        if "locked" in Path(path).name:
            raise PermissionError(13, "Permission denied")
        return function(path, *arguments)

    return call


def test_tree_deeper_than_python_can_recur_is_walked(tmp_path: Path) -> None:
    depth = 1010
    start = Path.cwd()
    os.chdir(tmp_path)
    for _ in range(depth):
        os.mkdir("d")  # noqa: PTH102
        os.chdir("d")
    try:
        items = list(walk([tmp_path]))
    finally:
        # Neither Python nor pytest removes so deep a tree.
        for _ in range(depth):
            os.chdir("..")
            os.rmdir("d")  # noqa: PTH106
        os.chdir(start)
    # The path grows too long for some systems before the end.
    assert all(isinstance(item, Skipped) for item in items) and len(items) <= 1
