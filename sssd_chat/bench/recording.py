"""Recording a model's answers, several conversations at once in one batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sssd_chat.bench.questions import Question
from sssd_chat.bench.records import Record
from sssd_chat.drafting import PlainDrafter
from sssd_chat.errors import UserError
from sssd_chat.generation.engine import Conversation, Generation, GenerationSettings, PromptTooLong
from sssd_chat.generation.loading import LoadedEngine, State
from sssd_chat.generation.looks import WatchedSampler
from sssd_chat.llama.sampler import best_tokens

BEST_KEPT = 4
"""Best tokens that a record holds for each position."""

RenderTurns = Callable[[Sequence[tuple[str, str]], str], list[int]]
"""Prompt tokens of a question after earlier (question, answer) pairs."""


def watch_best(generation: Generation[State]) -> list[tuple[int, ...]]:
    """Watches an answer from its beginning; the list grows by the best tokens of each position."""
    best: list[tuple[int, ...]] = []
    generation.sampler = WatchedSampler(
        generation.sampler, lambda logits: best.append(best_tokens(logits, BEST_KEPT))
    )
    return best


@dataclass(slots=True)
class _Running:
    """One question on its way through its turns."""

    question: Question
    conversation: Conversation[State]
    earlier: list[tuple[str, str]] = field(default_factory=list)
    generation: Generation[State] | None = None
    best: list[tuple[int, ...]] = field(default_factory=list)

    @property
    def turn(self) -> int:
        return len(self.earlier)


def record(
    loaded: LoadedEngine,
    questions: Sequence[Question],
    render: RenderTurns,
    settings: GenerationSettings,
    parallel: int,
    on_skip: Callable[[Question, str], None],
) -> Iterator[Record]:
    """Answers every turn of every question without drafts and yields a record for each, as they
    finish. `parallel` conversations share each batch; the engine must have room for as many.

    A turn that does not fit into the context ends its question; `on_skip` is told why.
    """
    waiting = list(reversed(questions))
    running: list[_Running] = []
    while waiting or running:
        while waiting and len(running) < parallel:
            running.append(_Running(waiting.pop(), loaded.engine.open(PlainDrafter())))
        for item in list(running):
            if item.generation is None and not _begin(loaded, item, render, settings, on_skip):
                running.remove(item)
        live = [item.generation for item in running if item.generation is not None]
        if any(not generation.is_finished for generation in live):
            loaded.engine.step([g for g in live if not g.is_finished])
        for item in list(running):
            if item.generation is not None and item.generation.is_finished:
                yield _finish(loaded, item)
                if item.turn == len(item.question.turns):
                    loaded.engine.close(item.conversation)
                    running.remove(item)


def _begin(
    loaded: LoadedEngine,
    item: _Running,
    render: RenderTurns,
    settings: GenerationSettings,
    on_skip: Callable[[Question, str], None],
) -> bool:
    """Starts the next turn; False when it cannot be asked."""
    try:
        prompt = render(item.earlier, item.question.turns[item.turn])
        generation = loaded.engine.begin(item.conversation, prompt, settings)
    except PromptTooLong as error:
        on_skip(item.question, str(error))
        loaded.engine.close(item.conversation)
        return False
    item.best = watch_best(generation)
    item.generation = generation
    # The logits of the prompt's last token are there until the next decode.
    loaded.engine.step([generation])
    return True


def _finish(loaded: LoadedEngine, item: _Running) -> Record:
    generation = item.generation
    assert generation is not None
    question = item.question
    result = Record(
        question.set,
        question.id,
        item.turn,
        tuple(generation.prompt),
        tuple(generation.tokens),
        tuple(item.best),
    )
    item.earlier.append((question.turns[item.turn], generation.text))
    item.generation = None
    return result


def as_line(result: Record) -> str:
    """A record as one line of JSON, the format that `read_records` reads."""
    return json.dumps(
        {
            "set": result.set,
            "id": result.id,
            "turn": result.turn,
            "prompt": result.prompt,
            "out": result.out,
            "top": result.top,
        },
        separators=(",", ":"),
    )


def done_already(path: Path) -> set[tuple[str, str, int]]:
    """(set, id, turn) of the records that a file holds, so that a stopped recording can go on.
    An incomplete last line, as a kill leaves it, is cut off."""
    if not path.exists():
        return set()
    try:
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            with path.open("r+b") as file:
                file.truncate(len(whole))
    except OSError as error:
        raise UserError(f"Cannot use {path}: {error.strerror}.") from error
    from sssd_chat.bench.records import read_records

    return {(r.set, str(r.id), r.turn) for r in read_records([path])}
