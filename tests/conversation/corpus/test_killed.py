"""An import that is killed anywhere leaves nothing half, and the next one completes it."""

from __future__ import annotations

import contextlib
import io
import os
import random
import sqlite3
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sssd_chat import paths
from sssd_chat.conversation import indexing
from sssd_chat.conversation.corpus import Importer, ImportSettings, importing, index_collection
from sssd_chat.conversation.corpus import writing as writing_module
from sssd_chat.datastore import store as store_module
from sssd_chat.datastore.store import Datastore
from sssd_chat.datastore.texts import TextStore, whole_name
from sssd_chat.documents import EXTENSIONS, Limits
from tests.conversation.corpus.reading import read_here
from tests.conversation.spelling import Spelling
from tests.datastore.children import Parent, start

_LIMITS = Limits(seconds=20, unpacked_bytes=20_000_000, memory_bytes=600_000_000)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Much happens in little time."""
    monkeypatch.setattr(importing, "read_files", read_here)
    monkeypatch.setattr(writing_module, "_MOST_CHARACTERS", 400)
    monkeypatch.setattr(indexing, "SEAL_TOKENS", 500)
    monkeypatch.setattr(indexing, "_BATCH_CHARACTERS", 200)
    monkeypatch.setattr(store_module, "BULK_TOKENS", 1500)


def index_folder() -> Path:
    return paths.datastore_folder() / Spelling().fingerprint


def import_and_index(folder: Path, *, sync: bool = True) -> None:
    with contextlib.closing(TextStore(paths.texts_file())) as texts:
        Importer(texts, ImportSettings((folder,), "own", limits=_LIMITS, sync=sync)).run()
        index_collection(texts, "own", index_folder(), Spelling(), threads=2)


def check_consistent() -> dict[str, dict[str, str]]:
    """Files of the collection, with the texts of their parts. Fails where something is half."""
    with contextlib.closing(Datastore(index_folder())) as store:
        assert store.is_writer
        assert store.check_integrity() == []
    with contextlib.closing(sqlite3.connect(paths.texts_file())) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    files: dict[str, dict[str, str]] = {}
    with contextlib.closing(TextStore(paths.texts_file())) as texts:
        digests = texts.digests("own")
        for part, digest in digests.items():
            text = texts.read("own", part)
            assert text is not None and digest == digests[whole_name(part)]
            files.setdefault(whole_name(part), {})[part] = text.text
    return files


def mailbox(bodies: list[str]) -> str:
    return "\n".join(f"From me\nSubject: s\n\n{body}\n" for body in bodies)


def change(folder: Path, rng: random.Random) -> None:
    """A few files come, change or go; mailboxes are larger than what is held in memory."""
    for _ in range(12):
        path = folder / f"{rng.randrange(14)}.{rng.choice(['txt', 'mbox'])}"
        words = " ".join(
            rng.choice(["alpha", "beta", "gamma"]) for _ in range(rng.randrange(1, 60))
        )
        if rng.random() < 0.2:
            path.unlink(missing_ok=True)
        elif path.suffix == ".txt":
            path.write_text(words)
        else:
            path.write_text(mailbox([f"{words} {n}" for n in range(rng.randrange(1, 9))]))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_any_moment(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    rng = random.Random(5)
    killed = 0
    for _ in range(16):
        change(folder, rng)

        def run(parent: Parent) -> None:
            parent.tell(b"!")
            import_and_index(folder)

        child = start(run)
        child.wait_for_word()
        time.sleep(rng.uniform(0, 0.25))
        child.kill()
        code, _ = child.end()
        killed += code != 0
        for name, parts in check_consistent().items():
            if Path(name).suffix == ".mbox":
                # The messages of a mailbox say which they are: all are there, of one version.
                numbers = sorted(int(text.split()[-1]) for text in parts.values())
                assert numbers == list(range(len(parts)))
    assert killed > 3
    import_and_index(folder)
    files = check_consistent()
    expected = {
        path.read_text().strip(): str(path) for path in sorted(folder.glob("*.txt"), reverse=True)
    }
    kept = {name: next(iter(parts.values())).strip() for name, parts in files.items()}
    assert set(expected) == {text for name, text in kept.items() if name.endswith(".txt")}
    with contextlib.closing(Datastore(index_folder())) as store:
        documents = {d.label.key: bytes((d.tokens - 10).tolist()) for d in store.documents("own")}
    texts = {part: text.encode() for parts in files.values() for part, text in parts.items()}
    assert documents == texts


def zipped(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("inner.txt", content)
    return file.getvalue()


_STARTS = (b"", b"%PDF-1.4\n", b"PK\x03\x04", b'{"messages": [', b"From x\nSubject: ", b"\xff\xfe")
_bytes = st.builds(bytes.__add__, st.sampled_from(_STARTS), st.binary(max_size=200))
_text = st.text(max_size=80).map(lambda text: text.encode("utf-8", "replace"))
_files = st.dictionaries(
    st.tuples(st.sampled_from("abcde"), st.sampled_from(sorted(EXTENSIONS))),
    st.one_of(_bytes, _text, _text.map(zipped)),
    max_size=5,
)


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(_files)
def test_any_bytes_leave_the_collection_consistent(
    home: Path, tmp_path: Path, files: dict[tuple[str, str], bytes]
) -> None:
    folder = tmp_path / "files"
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for (stem, extension), content in files.items():
        (folder / f"{stem}{extension}").write_bytes(content)
    import_and_index(folder)
    kept = check_consistent()
    assert set(kept) <= {str(path) for path in folder.iterdir()}
    with contextlib.closing(Datastore(index_folder())) as store:
        assert set(store.labels("own")) == {part for parts in kept.values() for part in parts}
