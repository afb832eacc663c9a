"""What an import takes, replaces, leaves and removes."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sssd_chat import paths
from sssd_chat.conversation.corpus import (
    Importer,
    ImportProgress,
    ImportReport,
    ImportSettings,
    Stage,
    check_collection_name,
    document_name,
    importing,
    writing,
)
from sssd_chat.datastore.document import Document
from sssd_chat.datastore.store import Datastore
from sssd_chat.datastore.texts import TextStore, part_name, whole_name
from sssd_chat.documents import Document as ReadDocument
from sssd_chat.documents import Piece, WalkSettings
from sssd_chat.errors import UserError
from tests.conversation.corpus.reading import read_here


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "read_files", read_here)


@pytest.fixture
def texts(home: Path) -> Iterator[TextStore]:
    with contextlib.closing(TextStore(paths.texts_file())) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    return folder


def run(texts: TextStore, *places: Path, sync: bool = False, **others: object) -> ImportReport:
    settings = ImportSettings(places, "own", sync=sync)
    return Importer(texts, settings, **others).run()  # type: ignore[arg-type]


def held(texts: TextStore) -> dict[str, str]:
    """File names, and parts after a slash, with their texts."""
    found = {}
    for name in texts.digests("own"):
        text = texts.read("own", name)
        assert text is not None
        part = name.removeprefix(whole_name(name)).strip("\x1f")
        found[Path(whole_name(name)).name + (f"/{part}" if part else "")] = text.text.strip()
    return found


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text)


def test_files_become_documents(texts: TextStore, folder: Path) -> None:
    write(folder, a="first", b="second")
    (folder / "empty.txt").touch()
    (folder / ".hidden.txt").write_text("no")
    (folder / "picture.txt").write_bytes(b"\0\0\0\1\2\3" * 9)
    report = run(texts, folder)
    assert held(texts) == {"a.txt": "first", "b.txt": "second"}
    assert [path.name for path in report.new] == ["a.txt", "b.txt"]
    assert report.read == report.documents == 2
    assert report.skipped == {"empty": 1, "hidden": 1, "binary": 1}
    assert report.text_bytes == report.file_bytes == 11
    assert not report.failed and not report.stopped


def test_only_new_and_changed_files_are_read(
    texts: TextStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, a="first", b="second")
    run(texts, folder)
    read: list[str] = []

    def keep(self: Importer, piece: Piece, *rest: object) -> None:
        read.append(piece.path.name)
        original(self, piece, *rest)  # type: ignore[arg-type]

    original = Importer._keep
    monkeypatch.setattr(Importer, "_keep", keep)
    write(folder, b="changed", c="third")
    os.utime(folder / "a.txt", (0, 0))
    report = run(texts, folder)
    assert read == ["b.txt", "c.txt"]
    assert (report.unchanged, len(report.changed), len(report.new)) == (1, 1, 1)
    assert held(texts) == {"a.txt": "first", "b.txt": "changed", "c.txt": "third"}
    assert run(texts, folder).unchanged == 3


def test_the_same_content_is_kept_once(texts: TextStore, folder: Path) -> None:
    write(folder, a="same", b="same", c="other")
    report = run(texts, folder)
    assert (report.read, report.same) == (2, 1)
    assert sorted(held(texts).values()) == ["other", "same"]
    assert run(texts, folder).same == 1


def test_a_copy_stays_when_the_original_changes(texts: TextStore, folder: Path) -> None:
    write(folder, a="same", b="same")
    run(texts, folder)
    write(folder, a="new")
    report = run(texts, folder)
    assert held(texts) == {"a.txt": "new", "b.txt": "same"}
    assert (report.same, report.read) == (0, 2)


def test_two_files_that_change_places(texts: TextStore, folder: Path) -> None:
    write(folder, a="one", b="two")
    run(texts, folder)
    write(folder, a="two", b="one")
    run(texts, folder)
    assert held(texts) == {"a.txt": "two", "b.txt": "one"}
    assert run(texts, folder).unchanged == 2


def test_a_file_that_becomes_a_copy_leaves_nothing_behind(texts: TextStore, folder: Path) -> None:
    write(folder, a="one", b="two")
    run(texts, folder)
    write(folder, b="one")
    assert run(texts, folder).same == 1
    assert held(texts) == {"a.txt": "one"}


def test_copies_of_a_broken_file_fail_each(texts: TextStore, folder: Path) -> None:
    for name in "abc":
        (folder / f"{name}.pdf").write_bytes(b"%PDF-1.4 and no more")
    report = run(texts, folder)
    assert len(report.failed) == 3
    assert {note.text.partition(" ")[0] for note in report.failed} == {
        str(folder / f"{name}.pdf") for name in "abc"
    }


def test_vanished_files_stay_unless_synced(texts: TextStore, folder: Path) -> None:
    write(folder, a="one", b="two")
    run(texts, folder)
    (folder / "a.txt").unlink()
    assert run(texts, folder).removed == 0
    assert run(texts, folder, sync=True).removed == 1
    assert held(texts) == {"b.txt": "two"}
    assert run(texts, folder, sync=True).removed == 0


def test_syncing_takes_the_text_off_the_disk_and_out_of_every_index(
    texts: TextStore, folder: Path
) -> None:
    secret = "Rhododendron secretissimum"
    write(folder, a=f"{secret} " * 50, b="two")
    run(texts, folder)
    index = paths.datastore_folder() / "0123456789abcdef"
    name = document_name(folder / "a.txt")
    with contextlib.closing(Datastore(index)) as store:
        store.add("own", Document.of(name, [1, 2, 3]))
    (folder / "a.txt").unlink()
    run(texts, folder, sync=True)
    files = [path.read_bytes() for path in paths.data_folder().rglob("*") if path.is_file()]
    assert not any(secret.encode() in content for content in files)
    with contextlib.closing(Datastore(index)) as store:
        assert store.labels("own") == {}


def test_syncing_looks_only_at_what_was_named(texts: TextStore, folder: Path) -> None:
    (folder / "one").mkdir()
    (folder / "two").mkdir()
    write(folder / "one", a="first")
    write(folder / "two", b="second")
    run(texts, folder)
    (folder / "one" / "a.txt").unlink()
    assert run(texts, folder / "two", sync=True).removed == 0
    assert run(texts, folder / "one", sync=True).removed == 1
    assert held(texts) == {"b.txt": "second"}


def test_syncing_a_place_that_is_not_there_removes_nothing(texts: TextStore, folder: Path) -> None:
    write(folder, a="first")
    run(texts, folder)
    folder.rename(folder.with_name("elsewhere"))
    report = run(texts, folder, sync=True)
    assert (report.removed, len(report.failed)) == (0, 1)
    assert held(texts) == {"a.txt": "first"}


@pytest.mark.skipif(os.name != "posix", reason="permissions of folders")
def test_syncing_keeps_what_cannot_be_looked_into(
    texts: TextStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "locked").mkdir()
    write(folder / "locked", a="first")
    write(folder, b="second")
    run(texts, folder)
    real = os.scandir

    def refusing(path: object) -> object:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return real(path)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", refusing)
    (folder / "b.txt").unlink()
    assert run(texts, folder, sync=True).removed == 1
    assert held(texts) == {"a.txt": "first"}


def test_a_renamed_file_is_kept_when_synced(texts: TextStore, folder: Path) -> None:
    write(folder, a="first")
    run(texts, folder)
    (folder / "a.txt").rename(folder / "z.txt")
    report = run(texts, folder, sync=True)
    assert (report.removed, report.read) == (1, 1)
    assert held(texts) == {"z.txt": "first"}


def test_files_with_several_documents(texts: TextStore, folder: Path) -> None:
    box = folder / "mail.mbox"

    def messages(*bodies: str) -> None:
        box.write_text("\n".join(f"From me\nSubject: about\n\n{body}\n" for body in bodies))

    messages("one", "two", "three")
    report = run(texts, folder)
    assert report.documents == 3
    assert set(held(texts)) == {"mail.mbox", "mail.mbox/2", "mail.mbox/3"}
    messages("one", "changed")
    run(texts, folder)
    assert set(held(texts)) == {"mail.mbox", "mail.mbox/2"}
    assert "changed" in held(texts)["mail.mbox/2"]
    box.unlink()
    run(texts, folder, sync=True)
    assert held(texts) == {}


def test_a_file_that_fails_keeps_its_older_text(texts: TextStore, folder: Path) -> None:
    path = folder / "a.json"
    path.write_text('{"text": "a sentence that is long enough to be one, I think."}')
    run(texts, folder)
    before = held(texts)
    path.write_text("{broken")
    report = run(texts, folder)
    assert len(report.failed) == 1 and not report.changed
    assert held(texts) == before


def test_large_files_are_kept_whole_or_not_at_all(
    texts: TextStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_MOST_CHARACTERS", 40)
    before = "small one"
    write(folder, a=before)
    run(texts, folder)

    def events(*_: object, wanted: object, **__: object) -> Iterator[object]:
        for path, fails in ((folder / "b.txt", True), (folder / "c.txt", False)):
            assert wanted(path, path.name)  # type: ignore[operator]
            for number in range(5):
                yield Piece(path, ReadDocument("title", f"{path.name} piece {number}" * 3))
            if fails:
                yield importing.FileFailed(path, "broke off", path.name)
            else:
                yield importing.FileRead(path, path.name, 9, 5, ())

    write(folder, b="b", c="c")
    monkeypatch.setattr(importing, "read_files", events)
    report = run(texts, folder)
    assert len(report.failed) == 1
    assert set(held(texts)) == {"a.txt", "c.txt", "c.txt/2", "c.txt/3", "c.txt/4", "c.txt/5"}


def test_stopping_keeps_what_is_done(texts: TextStore, folder: Path) -> None:
    write(folder, **{f"f{n}": f"text {n}" for n in range(10)})
    cancelled = threading.Event()

    def stop(progress: ImportProgress) -> None:
        if progress.stage is Stage.READING and progress.done == 4:
            cancelled.set()

    report = run(texts, folder, cancelled=cancelled, on_progress=stop)
    assert report.stopped and report.read == 4
    assert len(held(texts)) == 4
    report = run(texts, folder)
    assert (report.unchanged, report.read) == (4, 6)


def test_an_error_in_the_middle_keeps_what_is_done(
    texts: TextStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, a="one", b="two")

    def broken(*args: object, **options: object) -> Iterator[object]:
        for event in read_here(*args, **options):  # type: ignore[arg-type]
            yield event
            if isinstance(event, importing.FileRead):
                raise KeyboardInterrupt

    monkeypatch.setattr(importing, "read_files", broken)
    with pytest.raises(KeyboardInterrupt):
        run(texts, folder)
    assert held(texts) == {"a.txt": "one"}


def test_a_full_disk_is_told_in_a_sentence(
    texts: TextStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, a="one")

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(TextStore, "put", full)
    with pytest.raises(UserError, match=r"disk is full.*import again"):
        run(texts, folder)
    monkeypatch.undo()
    monkeypatch.setattr(importing, "read_files", read_here)
    monkeypatch.setenv("SSSD_CHAT_HOME", str(paths.data_folder().parent))
    assert run(texts, folder).read == 1


def test_what_was_named_and_is_not_there_has_failed(texts: TextStore, folder: Path) -> None:
    (folder / "empty.txt").touch()
    report = run(texts, folder / "nothing.txt", folder / "empty.txt")
    assert [note.text for note in report.failed] == [
        f"{folder / 'nothing.txt'} does not exist, or no longer.",
        f"{folder / 'empty.txt'} is empty.",
    ]


def test_huge_files_are_left_out(texts: TextStore, folder: Path) -> None:
    write(folder, a="x" * 2000, b="small")
    settings = ImportSettings((folder,), "own", WalkSettings(most_bytes=1000))
    report = Importer(texts, settings).run()
    assert report.skipped == {"too large": 1}
    settings = ImportSettings((folder / "a.txt",), "own", WalkSettings(most_bytes=1000))
    (note,) = Importer(texts, settings).run().failed
    assert note.text.endswith("a.txt is too large: 2 kB, more than 1 kB.")


@pytest.mark.skipif(os.name != "posix", reason="names of any bytes")
def test_names_of_any_bytes(texts: TextStore, folder: Path) -> None:
    names = [b"caf\xe9.txt", b"new\nline.txt", b"part\x1f2.txt", b"part.txt", " ü—.txt".encode()]
    for name in names:
        (Path(os.fsdecode(bytes(folder) + b"/" + name))).write_text(repr(name))
    report = run(texts, folder)
    assert report.read == len(names)
    assert sorted(held(texts).values()) == sorted(map(repr, names))
    assert run(texts, folder).unchanged == len(names)
    for path in folder.iterdir():
        path.unlink()
    assert run(texts, folder, sync=True).removed == len(names)


def test_progress_ends_at_the_end(texts: TextStore, folder: Path) -> None:
    write(folder, a="one", b="two and more")
    seen: list[ImportProgress] = []
    run(texts, folder, on_progress=seen.append)
    reading = [progress for progress in seen if progress.stage is Stage.READING]
    assert [progress.stage for progress in seen[:2]] == [Stage.FINDING] * 2
    assert [progress.done for progress in reading] == [0, 1, 1, 2]
    assert [progress.share for progress in reading] == [0.2, 0.2, 1.0, 1.0]
    assert reading[-1].total == 2 and reading[-1].seconds_left == 0
    assert seen[0].seconds_left is None


def test_a_preview_changes_nothing(texts: TextStore, folder: Path) -> None:
    write(folder, a="one", b="two", gone="away")
    run(texts, folder)
    before = texts.digests("own")
    write(folder, b="changed", c="new", d="new")
    (folder / "gone.txt").unlink()
    report = Importer(texts, ImportSettings((folder,), "own", sync=True)).preview()
    assert [path.name for path in report.new] == ["c.txt"]
    assert [path.name for path in report.changed] == ["b.txt"]
    assert (report.unchanged, report.same, report.removed) == (1, 1, 1)
    assert texts.digests("own") == before


def test_after_any_course_of_events_the_collection_is_what_the_files_hold(
    texts: TextStore, folder: Path
) -> None:
    rng = random.Random(7)
    for _ in range(40):
        for _ in range(rng.randrange(1, 6)):
            path = folder / f"{rng.choice('abcdef')}.txt"
            if rng.random() < 0.3:
                path.unlink(missing_ok=True)
            else:
                path.write_text(rng.choice(["one", "two", "three", "four"]))
        run(texts, folder, sync=True)
        kept = held(texts)
        assert all((folder / name).read_text() == text for name, text in kept.items())
        assert sorted(kept.values()) == sorted({p.read_text() for p in folder.iterdir()})


@pytest.mark.parametrize("name", ["", " ", "chats", "starter", "starter/x", "a\nb", "x" * 81])
def test_names_that_no_collection_may_have(name: str) -> None:
    with pytest.raises(UserError, match="collection"):
        check_collection_name(name)


def test_names_of_parts() -> None:
    assert check_collection_name("  my papers ") == "my papers"
    assert whole_name(part_name("/a/b", 1)) == whole_name(part_name("/a/b", 7)) == "/a/b"
