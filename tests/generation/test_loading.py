from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sssd_chat.datastore.document import CHATS, Document
from sssd_chat.datastore.vocabularies import vocabulary_folders
from sssd_chat.drafting import ROOT, DraftTree, ObservedStep
from sssd_chat.generation.forgetting import forget_learned_texts
from sssd_chat.generation.loading import EngineSettings, LoadedEngine, load_engine
from tests.tiny_models import DEFAULT_WORDS, Architecture, tiny_model


@contextlib.contextmanager
def loaded(model: Path, folder: Path) -> Iterator[LoadedEngine]:
    settings = EngineSettings(
        model,
        256,
        threads=1,
        experience_folder=folder / "experience",
        datastore_folder=folder / "datastore",
    )
    engine = load_engine(settings)
    try:
        yield engine
    finally:
        engine.close()


def indexed(engine: LoadedEngine) -> dict[str, list[int]]:
    assert engine.datastore is not None
    return {d.label.key: d.tokens.tolist() for d in engine.datastore.documents(CHATS)}


def test_models_of_one_vocabulary_share_a_datastore_and_others_do_not(
    models: Path, tmp_path: Path
) -> None:
    one = tiny_model(models)
    sibling = tiny_model(models, seed=5, context_length=2048)
    stranger = tiny_model(models, words=[*DEFAULT_WORDS, "▁stranger"])
    with loaded(one, tmp_path) as engine:
        assert engine.datastore is not None
        engine.datastore.add(CHATS, Document.of("1/2", [5, 6, 7]))
    with loaded(sibling, tmp_path) as engine:
        assert indexed(engine) == {"1/2": [5, 6, 7]}
    with loaded(stranger, tmp_path) as engine:
        assert indexed(engine) == {}
    folders = vocabulary_folders(tmp_path / "datastore")
    assert sorted(len(folder.models) for folder in folders) == [1, 2]
    (shared,) = [folder for folder in folders if len(folder.models) == 2]
    assert shared.models == (str(one), str(sibling))


def test_a_model_that_cannot_be_drafted_for_has_no_datastore(models: Path, tmp_path: Path) -> None:
    with loaded(tiny_model(models, Architecture.MAMBA), tmp_path) as engine:
        assert engine.datastore is None
    assert not (tmp_path / "datastore").exists()


def test_a_running_program_forgets_what_another_was_told_to_forget(
    models: Path, tmp_path: Path
) -> None:
    model = tiny_model(models)
    with loaded(model, tmp_path) as engine:
        drafter = engine.new_drafter()
        drafter.begin([1, 2, 3])
        drafter.observe(ObservedStep(DraftTree(), [], [9, 8, 7], [(ROOT, (9, 4))]))
        assert any(engine.experience.runner_ups.tables)
        engine.save()
        forget_learned_texts(tmp_path / "experience")
        # It was told on the disk alone; what is in memory must not come back there.
        drafter.observe(ObservedStep(DraftTree(), [], [9], [(ROOT, (9, 4))]))
    with loaded(model, tmp_path) as engine:
        assert not any(engine.experience.runner_ups.tables)


@pytest.mark.parametrize("folder", ["a file", ""])
def test_a_datastore_that_cannot_be_used_does_not_stop_the_chat(
    models: Path, tmp_path: Path, folder: str
) -> None:
    (tmp_path / "a file").touch()
    settings = EngineSettings(tiny_model(models), 256, threads=1)
    place = tmp_path / folder / "x" if folder else None
    engine = load_engine(replace(settings, datastore_folder=place))
    try:
        assert engine.new_drafter().draft(4) is not None
        assert (engine.datastore is None) == (place is None)
        if engine.datastore is not None:
            assert "cannot" in engine.datastore.problem
    finally:
        engine.close()
