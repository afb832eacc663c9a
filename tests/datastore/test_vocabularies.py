from __future__ import annotations

from pathlib import Path

from sssd_chat.datastore.vocabularies import note_model, vocabulary_folders


def test_each_vocabulary_remembers_its_models_the_last_one_last(tmp_path: Path) -> None:
    assert vocabulary_folders(tmp_path / "none") == []
    for model in ("/m/a.gguf", "/m/b.gguf", "/m/a.gguf"):
        note_model(tmp_path, "f1", model)
    note_model(tmp_path, "f2", "/m/c.gguf")
    (tmp_path / "a file").touch()
    found = vocabulary_folders(tmp_path)
    assert [(v.fingerprint, v.models) for v in found] == [
        ("f1", ("/m/b.gguf", "/m/a.gguf")),
        ("f2", ("/m/c.gguf",)),
    ]


def test_damage_is_no_matter(tmp_path: Path) -> None:
    (tmp_path / "f1").mkdir()
    for content in (b"", b"3", b"\xff"):
        (tmp_path / "f1" / "models.json").write_bytes(content)
        assert vocabulary_folders(tmp_path)[0].models == ()
    note_model(tmp_path, "f1", "/m/a.gguf")
    assert vocabulary_folders(tmp_path)[0].models == ("/m/a.gguf",)
    # A folder that cannot be made is only not noted.
    (tmp_path / "blocked").touch()
    note_model(tmp_path / "blocked", "f1", "/m/a.gguf")
