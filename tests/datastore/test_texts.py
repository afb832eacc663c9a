from __future__ import annotations

import contextlib
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sssd_chat.datastore.texts import StoredText, TextStore, part_name
from sssd_chat.errors import UserError

any_text = st.text(st.characters(codec=None), max_size=200)


@given(name=st.text(max_size=40), text=any_text)
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_comes_back_as_it_was(tmp_path: Path, name: str, text: str) -> None:
    with contextlib.closing(TextStore(tmp_path / "texts.db")) as texts:
        kept = StoredText(name, text, "digest", "title", 5.0)
        texts.put("notes", [kept])
        assert texts.read("notes", name) == kept


def test_documents_are_replaced_by_name_and_found_by_part(tmp_path: Path) -> None:
    with contextlib.closing(TextStore(tmp_path / "texts.db")) as texts:
        names = [part_name("a", number) for number in (1, 2, 10)] + ["ab", "b"]
        texts.put("notes", [StoredText(name, "old", "1") for name in names])
        texts.put("notes", [StoredText("a", "new", "2")])
        texts.put("other", [StoredText("a", "elsewhere", "1")])
        assert texts.collections() == ["notes", "other"]
        assert texts.digests("notes")["a"] == "2"
        assert sorted(texts.parts("notes", "a")) == sorted(names[:3])
        texts.remove("notes", texts.parts("notes", "a"))
        assert sorted(texts.digests("notes")) == ["ab", "b"]
        texts.remove_collection("notes")
        assert texts.collections() == ["other"]
        texts.remove_everything()
        assert texts.collections() == []


def test_what_fails_in_the_middle_is_not_kept(tmp_path: Path) -> None:
    with contextlib.closing(TextStore(tmp_path / "texts.db")) as texts:
        with pytest.raises(ZeroDivisionError), texts.transaction():
            texts.put("notes", [StoredText("a", "text", "1")])
            raise ZeroDivisionError
        assert texts.collections() == []


def test_erased_text_is_gone_from_all_files(tmp_path: Path) -> None:
    marker = "a very particular sentence "
    with contextlib.closing(TextStore(tmp_path / "texts.db")) as texts:
        for number in range(50):
            texts.put("notes", [StoredText(f"{number}", marker * (number + 1), "1")])
        texts.put("other", [StoredText("stays", "an ordinary sentence", "1")])
        texts.remove_collection("notes")
        texts.erase()
        content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert marker.encode() not in content
    assert b"an ordinary sentence" in content


def test_a_reader_in_the_way_is_said(tmp_path: Path) -> None:
    with (
        contextlib.closing(TextStore(tmp_path / "texts.db")) as texts,
        contextlib.closing(TextStore(tmp_path / "texts.db")) as other,
    ):
        texts.put("notes", [StoredText("a", "text", "1"), StoredText("b", "text", "1")])
        reading = other._connection.execute("SELECT name FROM texts")
        next(reading)
        texts.remove("notes", ["a"])
        texts._connection.execute("PRAGMA busy_timeout = 50")
        with pytest.raises(UserError, match=r"texts\.db"):
            texts.erase()
        reading.close()
        texts.erase()


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    with contextlib.closing(TextStore(tmp_path / "new" / "texts.db")):
        pass
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new" / "texts.db").stat().st_mode) == 0o600


def test_a_file_that_is_no_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "texts.db").write_bytes(b"nonsense" * 1000)
    with pytest.raises(UserError, match=r"texts\.db"):
        TextStore(tmp_path / "texts.db")
    assert (tmp_path / "texts.db").read_bytes() == b"nonsense" * 1000
