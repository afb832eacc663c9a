"""Plain decoding, prompt lookup and sssd on the real model, interleaved question by question.

Writing speed is measured alike for all: the tokens after the first one over the wall-clock time
from the first token to the last. The order of the modes turns with each question, and ratios are
taken question by question, so that a machine whose speed drifts disturbs them little.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sssd_chat.bench.questions import Question
from sssd_chat.bench.recording import watch_best
from sssd_chat.bench.records import Record
from sssd_chat.drafting import PlainDrafter
from sssd_chat.generation.comparison import Comparison, compare
from sssd_chat.generation.engine import GenerationSettings
from sssd_chat.generation.loading import LoadedEngine

PLAIN = "plain"
SSSD = "sssd"
LIBRARY = "llama-cpp-python"
"""Plain decoding by llama-cpp-python's own create_completion."""
PROMPT_LOOKUP = "prompt-lookup"
"""create_completion with llama-cpp-python's LlamaPromptLookupDecoding."""


@dataclass(slots=True)
class LiveRun:
    """One answer of one mode."""

    tokens: list[int]
    seconds: float
    """From the first token to the last."""
    tokens_per_step: float | None = None
    acceptance_rate: float | None = None
    overhead_ms: float | None = None
    """Time a step that was neither spent in llama_decode nor in the sampler, milliseconds."""

    @property
    def tokens_per_second(self) -> float | None:
        """Writing speed; None for an answer of one token."""
        return (len(self.tokens) - 1) / self.seconds if len(self.tokens) > 1 else None


@dataclass(slots=True)
class LiveQuestion:
    """One question in all modes."""

    set: str
    id: int | str
    runs: dict[str, LiveRun] = field(default_factory=dict)
    record: Record | None = None
    """The plain answer, for a replay of the same."""
    comparison: Comparison | None = None
    """Where sssd's text differs from the plain one: why."""

    def ratio(self, mode: str) -> float | None:
        """Speed of a mode over plain decoding."""
        own, plain = self.runs.get(mode), self.runs.get(PLAIN)
        if own is None or plain is None or not own.tokens_per_second:
            return None
        return own.tokens_per_second / plain.tokens_per_second if plain.tokens_per_second else None

    def agrees(self, mode: str) -> bool:
        """Whether a mode wrote the tokens of plain decoding."""
        return self.runs[mode].tokens == self.runs[PLAIN].tokens


@dataclass(frozen=True, slots=True)
class Spread:
    """Ratios over questions."""

    mean: float
    least: float
    most: float
    deviation: float
    """Standard deviation."""


def spread(ratios: Sequence[float]) -> Spread | None:
    """Mean and spread; None without any."""
    if not ratios:
        return None
    return Spread(statistics.fmean(ratios), min(ratios), max(ratios), statistics.pstdev(ratios))


class Peer(Protocol):
    """Another way to complete a prompt."""

    def complete(self, prompt: Sequence[int], max_tokens: int) -> LiveRun:
        """Greedy answer to a prompt."""


class LibraryPeer:
    """llama-cpp-python's own decoding, plain or with its prompt lookup."""

    def __init__(self, path: str, context: int, threads: int, lookup_tokens: int | None) -> None:
        """Loads the model once more; `lookup_tokens` is the length of its drafts, None for none."""
        from llama_cpp import Llama
        from llama_cpp.llama_speculative import LlamaPromptLookupDecoding

        draft = None
        if lookup_tokens is not None:
            draft = LlamaPromptLookupDecoding(num_pred_tokens=lookup_tokens)
        self._model: Any = Llama(
            path,
            n_ctx=context,
            n_threads=threads,
            n_threads_batch=threads,
            n_gpu_layers=-1,
            draft_model=draft,
            verbose=False,
        )

    def complete(self, prompt: Sequence[int], max_tokens: int) -> LiveRun:
        """See Peer."""
        model = self._model
        tokens: list[int] = []
        began = ended = time.perf_counter()
        end_tokens = {model.token_eos()}
        # generate() is the loop inside create_completion, without the text around it.
        for token in model.generate(list(prompt), temp=0.0, repeat_penalty=1.0):
            ended = time.perf_counter()
            if not tokens:
                began = ended
            tokens.append(int(token))
            if token in end_tokens or len(tokens) >= max_tokens or self._is_end(token):
                break
        return LiveRun(tokens, ended - began)

    def _is_end(self, token: int) -> bool:
        import llama_cpp

        vocabulary = llama_cpp.llama_model_get_vocab(self._model.model)
        return bool(llama_cpp.llama_vocab_is_eog(vocabulary, token))

    def close(self) -> None:
        """Frees the model."""
        self._model.close()


class EnginePeer:
    """Our own engine, with or without drafts."""

    def __init__(self, loaded: LoadedEngine, drafting: bool) -> None:
        self._loaded = loaded
        self._drafting = drafting
        self.best: list[tuple[int, ...]] = []
        """Best tokens of each position of the last plain answer."""

    def complete(self, prompt: Sequence[int], max_tokens: int) -> LiveRun:
        """See Peer."""
        engine = self._loaded.engine
        drafter = self._loaded.new_drafter() if self._drafting else PlainDrafter()
        conversation = engine.open(drafter)
        settings = GenerationSettings(max_tokens=max_tokens, drafting=self._drafting)
        generation = engine.begin(conversation, prompt, settings)
        self.best = [] if self._drafting else watch_best(generation)
        engine.step([generation])
        began = time.perf_counter()
        while not generation.is_finished:
            engine.step([generation])
        seconds = time.perf_counter() - began
        engine.close(conversation)
        answer = generation.statistics
        outside = answer.draft_seconds + answer.other_seconds
        return LiveRun(
            generation.tokens,
            seconds,
            answer.tokens_per_step,
            answer.acceptance_rate,
            1e3 * outside / max(1, answer.steps),
        )


def run_live(
    loaded: LoadedEngine,
    questions: Sequence[Question],
    render: Callable[[str], list[int]],
    peers: dict[str, Peer],
    max_tokens: int,
    on_skip: Callable[[Question, str], None],
) -> Iterator[LiveQuestion]:
    """Asks each question (its first turn) in every mode of `peers`, and yields the outcome.
    `on_skip` is told why a question cannot be asked."""
    names = list(peers)
    for number, question in enumerate(questions):
        prompt = render(question.turns[0])
        room = loaded.target.context_length - len(prompt)
        if room < 2:
            on_skip(question, f"{len(prompt)} tokens do not fit into the context")
            continue
        limit = min(max_tokens, room)
        result = LiveQuestion(question.set, question.id)
        turned = names[number % len(names) :] + names[: number % len(names)]
        for name in turned:
            peer = peers[name]
            result.runs[name] = peer.complete(prompt, limit)
            if name == PLAIN and isinstance(peer, EnginePeer):
                result.record = Record(
                    question.set,
                    question.id,
                    0,
                    tuple(prompt),
                    tuple(result.runs[PLAIN].tokens),
                    tuple(peer.best),
                )
        if PLAIN in result.runs and SSSD in result.runs and not result.agrees(SSSD):
            settings = GenerationSettings(max_tokens=limit)
            result.comparison = compare(loaded.engine, prompt, settings, loaded.new_drafter)
        yield result


def measured_cost(loaded: LoadedEngine, context: int, largest: int) -> list[float]:
    """The step cost that the engine measured here, index n the seconds of a batch of n tokens."""
    return list(loaded.engine.cost.seconds(context)[: largest + 1])
