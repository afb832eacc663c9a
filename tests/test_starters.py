"""The starter collections: what the program installs is what their prompts asked for."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from sssd_chat.datastore.starter import starter_corpora

ROOT = Path(__file__).parent.parent / "datastores"
FOLDERS = sorted(path.parent for path in ROOT.glob("*/prompts.jsonl"))


def prompts(folder: Path) -> dict[str, list[str]]:
    lines = (folder / "prompts.jsonl").read_text("utf-8").splitlines()
    return {prompt["id"]: prompt["turns"] for prompt in map(json.loads, lines)}


def test_every_folder_is_a_collection_with_a_readme() -> None:
    assert {folder.name for folder in FOLDERS} >= {"english", "code", "italian"}
    assert [corpus.collection for corpus in starter_corpora()] == [
        f"starter/{folder.name}" for folder in FOLDERS
    ]
    assert all((folder / "README.md").is_file() for folder in FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_answer_belongs_to_a_prompt(folder: Path) -> None:
    asked = prompts(folder)
    assert all(1 <= len(turns) <= 2 and all(turns) for turns in asked.values())
    (corpus,) = [c for c in starter_corpora() if c.collection.endswith(f"/{folder.name}")]
    names = [text.name for text in corpus.texts()]
    assert len(set(names)) == len(names) > 0
    for name in names:
        prompt, _, turn = name.partition("/")
        assert int(turn) < len(asked[prompt])


@pytest.fixture
def record() -> ModuleType:
    spec = importlib.util.spec_from_file_location("record_starters", ROOT / "record.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_recording_goes_on_where_it_was(
    record: ModuleType, tmp_path: Path, chat_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    asked = [{"id": f"p{n}", "turns": ["why", "and then"][: 1 + n % 2]} for n in range(5)]
    (folder / "prompts.jsonl").write_text("\n".join(map(json.dumps, asked)))

    def run(*words: str) -> None:
        monkeypatch.setattr(sys, "argv", ["record.py", *words, str(folder)])
        assert record.main() == 0

    options = ("--model", str(chat_model), "--parallel", "3", "--threads", "1")
    run(*options, "--max-tokens", "8", "--context", "256")
    first = record.recorded(folder)
    assert [(a["id"], a["turn"]) for a in first] == [
        (f"p{n}", turn) for n in range(5) for turn in range(1 + n % 2)
    ]
    run("--pack")
    (folder / "answers.jsonl").unlink()
    assert record.recorded(folder) == first
    more = {"id": "p9", "turns": ["why"]}
    (folder / "prompts.jsonl").write_text("\n".join(map(json.dumps, [*asked, more])))
    run(*options, "--max-tokens", "8", "--context", "256")
    assert [line["id"] for line in record.read(folder / "answers.jsonl")] == ["p9"]
    assert record.recorded(folder)[-1]["id"] == "p9"
    # Many conversations in a batch answer as each alone does, but for near-ties in rounding.
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "prompts.jsonl").write_text(json.dumps(asked[1]))
    monkeypatch.setattr(
        sys,
        "argv",
        ["record.py", *options, "--max-tokens", "8", "--context", "256", str(alone)],
    )
    assert record.main() == 0
    together = [a["text"] for a in first if a["id"] == "p1"]
    assert [a["text"] for a in record.recorded(alone)] == together
