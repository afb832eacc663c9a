"""Batches in the real llama.cpp: answers beside others are those alone, up to near-ties."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sssd_chat.drafting import Drafter, PlainDrafter
from sssd_chat.generation.answer import Answer
from sssd_chat.generation.batching import Figures, Request, Scheduler, Ticket
from sssd_chat.generation.batching.looking import Looking
from sssd_chat.generation.comparison import Comparison, Positions, compared
from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.engine import GenerationSettings
from sssd_chat.generation.loading import EngineSettings, LoadedEngine, State, load_engine
from sssd_chat.llama.kv_cache import OFF, ON
from sssd_chat.llama.sampler import SamplerSettings
from tests.generation.toy import RandomDrafter
from tests.tiny_models import Architecture, tiny_model

LONGEST = 300


@pytest.fixture(autouse=True)
def flat_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the clock says, drafts are sent."""
    monkeypatch.setattr(StepCost, "observe", lambda *_: None)
    monkeypatch.setattr(Looking, "choose", lambda _, guards, __: [True] * len(guards))


def load(models: Path, architecture: Architecture, **options: Any) -> LoadedEngine:
    path = tiny_model(models, architecture)
    return load_engine(EngineSettings(path, LONGEST, threads=1, **options))


def requests(loaded: LoadedEngine, count: int, common: int = 20) -> list[Request]:
    """Prompts of many lengths of which the first `common` tokens are the same."""
    rng = random.Random(count)
    found = []
    for number in range(count):
        size = rng.randrange(5, LONGEST - 80 - common)
        prompt = [5 + n % 50 for n in range(common)] + [rng.randrange(5, 300) for _ in range(size)]
        sampler = SamplerSettings() if number % 3 else SamplerSettings(temperature=0.8, seed=number)
        settings = GenerationSettings(sampler, max_tokens=rng.randrange(20, 60))
        found.append(Request(tuple(prompt), settings))
    return found


class Alone:
    """What each request gives without others and without drafts."""

    def __init__(self, loaded: LoadedEngine, asked: Sequence[Request]) -> None:
        self.answers = [self._write(loaded, request) for request in asked]
        self._seeds = iter(range(1000))
        self._size = loaded.model.vocabulary.size

    def _write(self, loaded: LoadedEngine, request: Request) -> tuple[Answer, Positions]:
        engine = loaded.engine
        conversation = engine.open(PlainDrafter())
        generation = engine.begin(conversation, request.prompt, request.settings)
        positions = Positions()
        generation.sampler = positions.watch(generation.sampler)
        while not generation.is_finished:
            engine.step([generation])
        engine.close(conversation)
        return generation, positions

    def drafter(self) -> Drafter:
        """Drafts what comes, among other things."""
        return RandomDrafter(next(self._seeds), self._size, self._continuation)

    def _continuation(self, text: list[int]) -> list[int]:
        for answer, _ in self.answers:
            whole = answer.prompt + answer.tokens
            if whole[: len(text)] == text:
                return whole[len(text) :][:8]
        return []


def together(
    loaded: LoadedEngine, asked: Sequence[Request], alone: Alone
) -> tuple[list[Comparison], Scheduler[State]]:
    """All at once but for the last few, which come in while the others write; each compared with
    what it is alone."""
    scheduler: Scheduler[State] = Scheduler(loaded.engine, alone.drafter)
    watched: list[tuple[Ticket, Positions]] = []
    waiting = list(asked)
    while waiting or not scheduler.is_idle:
        if waiting and (len(waiting) > 4 or len(watched[-1][0].answer.tokens) > 3):
            ticket = scheduler.add(waiting.pop(0))
            positions = Positions()
            ticket.answer.sampler = positions.watch(ticket.answer.sampler)
            watched.append((ticket, positions))
        else:
            assert all(report.error is None for report in scheduler.step())
    found = [
        compared(ticket.answer, positions, *plain)
        for (ticket, positions), plain in zip(watched, alone.answers, strict=True)
    ]
    return found, scheduler


def run(
    models: Path,
    architecture: Architecture,
    asked: int,
    flash: str = OFF,
    common: int = 20,
    **options: Any,
) -> Figures:
    """Writes answers together; every one is that alone, and every cell and id comes back."""
    # Flash attention rounds differently, so both sides use it or neither.
    loaded = load(models, architecture, flash_attention=flash, **options)
    single = load(models, architecture, flash_attention=flash)
    work = requests(loaded, asked, common)
    comparisons, scheduler = together(loaded, work, Alone(single, work))
    for comparison in comparisons:
        assert comparison.is_explained, comparison
    # Near-ties are rare: most answers are the same to the last token.
    assert sum(comparison.is_identical for comparison in comparisons) > 0.7 * asked
    figures = scheduler.figures()
    assert (figures.cells_used, figures.failed, figures.finished) == (0, 0, asked)
    scheduler.close()
    assert scheduler.figures().cells_kept == 0
    opened = [loaded.target.open_sequence() for _ in range(options["sequences"])]
    assert all(sequence.tokens == [] for sequence in opened)
    loaded.close()
    single.close()
    return figures


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    "architecture", [Architecture.LLAMA, Architecture.GEMMA3, Architecture.LFM2]
)
def test_answers_beside_others_are_those_alone(
    models: Path, architecture: Architecture, streamed: bool
) -> None:
    """Trees or chains, prompts read in the same batches, places that change hands."""
    figures = run(models, architecture, 12, sequences=5, is_streamed=streamed)
    assert figures.accepted > 100
    assert figures.steps < figures.emitted / 3


def test_answers_that_lost_their_place_go_on_as_if_nothing_had_been(models: Path) -> None:
    figures = run(models, Architecture.LLAMA, 12, sequences=6, cells=300)
    assert figures.preemptions > 2
    assert figures.accepted > 100


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("architecture", [Architecture.LLAMA, Architecture.GEMMA3])
def test_answers_to_prompts_that_share_what_they_begin_with_are_those_alone(
    models: Path, architecture: Architecture, streamed: bool
) -> None:
    """They come at once, so that one of them reads for the others, and while it is in use."""
    common = 120
    figures = run(models, architecture, 12, common=common, sequences=6, is_streamed=streamed)
    # Read once, and shared by all others, as long as an attention window has it all.
    assert figures.reused >= common * (11 if architecture is Architecture.LLAMA else 5)
    assert figures.accepted > 100


def test_a_shared_beginning_lives_on_where_cells_run_out(models: Path) -> None:
    figures = run(models, Architecture.LLAMA, 16, common=100, sequences=6, cells=500)
    assert figures.preemptions > 0
    assert figures.reused > 500


def test_many_sequences_share_the_few_ids_there_are(models: Path) -> None:
    figures = run(models, Architecture.LLAMA, 34, ON, sequences=33, is_streamed=False)
    assert figures.accepted > 300
