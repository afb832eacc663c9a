"""Many answers at once against a toy target: each is what it is alone, and nothing leaks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from sssd_chat.drafting import Drafter, PlainDrafter
from sssd_chat.errors import UserError
from sssd_chat.generation.batching import Phase, Progress, Request, Scheduler, Ticket
from sssd_chat.generation.engine import Engine, GenerationSettings, PromptTooLong
from sssd_chat.generation.statistics import StoppedBy
from sssd_chat.llama.sampler import SamplerSettings
from sssd_chat.llama.target import CacheFull, DecodeError
from tests.generation.toy import (
    RandomDrafter,
    ToyState,
    ToyTarget,
    ToyVocabulary,
    greedy_oracle,
)

SIZE = 12


def make_engine(
    sequences: int = 4,
    context: int = 100,
    cells: int | None = None,
    branches: int = 1000,
    can_end: bool = True,
    least_shared: int | None = None,
    most_reads: int | None = None,
) -> Engine[ToyState]:
    target = ToyTarget(
        SIZE,
        context,
        seed=3,
        sequences=sequences,
        cells=cells,
        branches=branches,
        least_shared=least_shared,
        most_reads=most_reads,
    )
    return Engine(target, ToyVocabulary(SIZE, can_end))  # type: ignore[arg-type]


def make_scheduler(engine: Engine[ToyState], seed: int | None = None) -> Scheduler[ToyState]:
    target = toy(engine)
    numbers = iter(range(10**6))

    def new_drafter() -> Drafter:
        if seed is None:
            return PlainDrafter()
        return RandomDrafter(seed + next(numbers), SIZE, greedy_oracle(target))

    return Scheduler(engine, new_drafter)


def toy(engine: Engine[ToyState]) -> ToyTarget:
    assert isinstance(engine.target, ToyTarget)
    return engine.target


@dataclass
class Received:
    """What the progress of one request came to."""

    tokens: list[int] = field(default_factory=list)
    text: str = ""
    last: Progress | None = None

    def add(self, progress: Progress) -> None:
        assert self.last is None, "nothing comes after the last one"
        count = progress.ticket.request.logprobs
        assert len(progress.logprobs) == (0 if count is None else len(progress.tokens))
        for one, token in zip(progress.logprobs, progress.tokens, strict=False):
            assert one.token == token
            assert one.logprob <= 0.0
            assert len(one.top) == count
        self.tokens += progress.tokens
        self.text += progress.text
        self.last = progress if progress.is_last else None


def receive(received: dict[Ticket, Received], reports: Sequence[Progress]) -> None:
    for progress in reports:
        received.setdefault(progress.ticket, Received()).add(progress)


def run(scheduler: Scheduler[ToyState], requests: Sequence[Request]) -> list[Received]:
    """All requests at once, to the end."""
    tickets = [scheduler.add(request) for request in requests]
    received: dict[Ticket, Received] = {}
    while not scheduler.is_idle:
        receive(received, scheduler.step())
    return [received[ticket] for ticket in tickets]


def alone(
    request: Request, can_end: bool = True, context: int = 100
) -> tuple[list[int], str, StoppedBy | None]:
    """What the engine of a single chat writes, without drafts."""
    engine = make_engine(1, context, can_end=can_end)
    conversation = engine.open(PlainDrafter())
    generation = engine.begin(conversation, request.prompt, request.settings)
    while not generation.is_finished:
        engine.step([generation])
    return generation.tokens, generation.text, generation.stopped_by


SAMPLERS = [
    SamplerSettings(),
    SamplerSettings(repeat_penalty=1.3, frequency_penalty=0.4, presence_penalty=0.3),
    SamplerSettings(temperature=1.0, seed=5, top_k=0, top_p=1.0, min_p=0.0),
    SamplerSettings(temperature=1.2, seed=7, repeat_penalty=1.2, presence_penalty=0.5),
]


def random_request(rng: random.Random, longest: int = 50) -> Request:
    # Many prompts begin alike.
    prompt = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] * rng.choice([0, 1, 2])
    prompt += [rng.randrange(SIZE) for _ in range(rng.randrange(1, longest))]
    settings = GenerationSettings(
        rng.choice(SAMPLERS),
        rng.choice([None, None, None, 1, 40]),
        rng.choice([(), (), (), ("ab",), ("cde", "f")]),
        rng.random() < 0.8,
    )
    return Request(tuple(prompt), settings, rng.choice([None, 0, 3]))


def check_clean(engine: Engine[ToyState], scheduler: Scheduler[ToyState]) -> None:
    """Nothing is left behind."""
    figures = scheduler.figures()
    assert (figures.queued, figures.reading, figures.writing, figures.cells_used) == (0, 0, 0, 0)
    assert figures.cells_kept <= figures.cells
    scheduler.close()
    assert toy(engine).open == []
    assert scheduler.figures().cells_kept == 0


@pytest.mark.parametrize("block", range(3))
def test_each_answer_is_what_it_is_alone_whatever_happens_to_the_others(block: int) -> None:
    """Random arrivals, lengths, cancels, places, cells and branches; with texts that share what
    they begin with, and without."""
    preemptions = cancels = 0
    for seed in range(block * 18, block * 18 + 18):
        rng = random.Random(seed)
        engine = make_engine(
            rng.choice([1, 2, 5, 12]),
            cells=rng.choice([None, 100, 120, 150]),
            branches=rng.choice([0, 3, 1000]),
            can_end=seed % 2 == 0,
            least_shared=rng.choice([None, 1, 4, 12]),
            most_reads=rng.choice([None, 1, 2]),
        )
        scheduler = make_scheduler(engine, seed)
        waiting = [random_request(rng) for _ in range(rng.randrange(1, 14))]
        received: dict[Ticket, Received] = {}
        cancelled: set[Ticket] = set()
        while waiting or not scheduler.is_idle:
            while waiting and rng.random() < 0.4:
                received[scheduler.add(waiting.pop())] = Received()
            if received and rng.random() < 0.06:
                ticket = rng.choice(list(received))
                cancelled.add(ticket)
                scheduler.cancel(ticket)
            receive(received, scheduler.step())
            figures = scheduler.figures()
            assert figures.cells_used + figures.cells_kept <= figures.cells
        for ticket, got in received.items():
            tokens, text, stopped_by = alone(ticket.request, can_end=seed % 2 == 0)
            assert got.last is not None and got.last.error is None
            assert got.last.finished is ticket.answer.stopped_by
            assert (got.tokens, got.text) == (ticket.answer.tokens, ticket.answer.text)
            if ticket in cancelled and got.last.finished is StoppedBy.CANCELLED:
                assert got.tokens == tokens[: len(got.tokens)]
                assert text.startswith(got.text)
                cancels += 1
            else:
                assert (got.tokens, got.text) == (tokens, text)
                assert got.last.finished is stopped_by
        preemptions += scheduler.figures().preemptions
        check_clean(engine, scheduler)
    assert preemptions > 0
    assert cancels > 0


def test_a_fault_ends_the_answers_of_its_batch_and_nothing_else() -> None:
    engine = make_engine(3)
    scheduler = make_scheduler(engine, 1)
    requests = [Request((1, 2, n)) for n in range(6)]
    tickets = [scheduler.add(request) for request in requests]
    received: dict[Ticket, Received] = {}
    for _ in range(3):
        receive(received, scheduler.step())
    live = [ticket for ticket in tickets if ticket.phase in (Phase.READING, Phase.WRITING)]
    assert live
    toy(engine).faults.append(DecodeError("llama.cpp could not decode a batch."))
    receive(received, scheduler.step())
    while not scheduler.is_idle:
        receive(received, scheduler.step())
    failed = [ticket for ticket in tickets if received[ticket].last.error is not None]
    # A place that was free was taken by another one in the step that failed.
    assert set(live) <= set(failed) and len(failed) <= 3
    for ticket in tickets:
        tokens, text, stopped_by = alone(ticket.request)
        last = received[ticket].last
        if ticket in failed:
            assert last.error == "llama.cpp could not decode a batch."
            assert tokens[: len(received[ticket].tokens)] == received[ticket].tokens
        else:
            assert (received[ticket].tokens, received[ticket].text) == (tokens, text)
            assert last.finished is stopped_by
    assert scheduler.figures().failed == len(failed)
    check_clean(engine, scheduler)


def test_a_cache_that_is_full_too_early_costs_time_but_no_token() -> None:
    engine = make_engine(3)
    scheduler = make_scheduler(engine, 1)
    toy(engine).faults += [CacheFull("The context is full.")] * 2
    requests = [Request((1, 2, n)) for n in range(3)]
    for request, got in zip(requests, run(scheduler, requests), strict=True):
        assert (got.tokens, got.text) == alone(request)[:2]
    assert scheduler.figures().preemptions == 2
    # Kept texts go before anybody is sent away, and the last one ends only when nothing is left.
    kept = scheduler.figures().cells_kept
    toy(engine).faults += [CacheFull("The context is full.")] * 2
    (got,) = run(scheduler, [Request((5, 6, 7))])
    assert kept > 0 and scheduler.figures().cells_kept == 0
    assert got.last is not None and got.last.error == "The context is full."
    check_clean(engine, scheduler)


def test_a_prompt_that_cannot_be_is_refused_at_once() -> None:
    scheduler = make_scheduler(make_engine())
    with pytest.raises(PromptTooLong, match="101 tokens and the context holds 100"):
        scheduler.add(Request((1,) * 101))
    with pytest.raises(UserError, match="empty"):
        scheduler.add(Request(()))
    assert scheduler.is_idle


def test_nothing_is_written_where_nothing_may_be() -> None:
    scheduler = make_scheduler(make_engine())
    (got,) = run(scheduler, [Request((1, 2), GenerationSettings(max_tokens=0))])
    assert got.last is not None and got.last.finished is StoppedBy.LENGTH
    assert got.tokens == []


def test_what_prompts_begin_with_is_read_once() -> None:
    engine = make_engine(4)
    scheduler = make_scheduler(engine)
    common = tuple(n % SIZE for n in range(50))
    short = GenerationSettings(max_tokens=3)
    for n in range(5):
        run(scheduler, [Request((*common, n, 5), short)])
    figures = scheduler.figures()
    assert figures.read == 52 + 4 * 2
    assert figures.reused == 4 * 50
    check_clean(engine, scheduler)


def test_a_text_of_which_little_would_stay_is_kept_while_there_are_empty_places() -> None:
    engine = make_engine(3)
    scheduler = make_scheduler(engine)
    short = GenerationSettings(max_tokens=2)
    first = (*(1,) * 10, *(2,) * 60)
    run(scheduler, [Request(first, short)])
    run(scheduler, [Request((*(1,) * 10, *(3,) * 60), short)])
    before = scheduler.figures().reused
    run(scheduler, [Request((*first, 4), short)])
    assert scheduler.figures().reused == before + 70
    check_clean(engine, scheduler)


def test_every_sequence_moves_in_every_step_and_requests_are_let_in_in_their_order() -> None:
    """However long the other prompts are."""
    engine = make_engine(3, context=1000, can_end=False)
    scheduler = make_scheduler(engine)
    settings = GenerationSettings(max_tokens=30)
    tickets = [
        scheduler.add(Request((1,) * length, settings)) for length in (5, 900, 10, 700, 20, 3)
    ]
    admitted: list[Ticket] = []
    while not scheduler.is_idle:
        live = [t for t in tickets if t.phase in (Phase.READING, Phase.WRITING)]
        reports = scheduler.step()
        assert {report.ticket for report in reports} >= set(live)
        assert all(report.tokens or report.read for report in reports)
        admitted += [t for t in tickets if t.times.admitted is not None and t not in admitted]
    assert admitted == tickets


def test_prompts_that_are_read_one_at_a_time_take_turns() -> None:
    engine = make_engine(5, 9000, cells=20000, can_end=False, most_reads=1)
    scheduler = make_scheduler(engine)
    settings = GenerationSettings(max_tokens=5)
    writer = scheduler.add(Request((1,), GenerationSettings(max_tokens=3000)))
    scheduler.step()
    lengths = (4000, 60, 3000, 61)
    tickets = [scheduler.add(Request((2 + n,) * m, settings)) for n, m in enumerate(lengths)]
    turns: list[tuple[int, int]] = []
    while any(ticket.times.first_token is None for ticket in tickets):
        before = len(writer.answer.tokens)
        for progress in scheduler.step():
            if progress.ticket in tickets and progress.read and not progress.tokens:
                number = tickets.index(progress.ticket)
                if not turns or turns[-1][0] != number:
                    turns.append((number, 0))
                turns[-1] = (number, progress.read)
        # Whoever reads, the others go on.
        assert len(writer.answer.tokens) == before + 1
    # In the order of arrival; long ones make way again and again, until they are alone.
    assert [number for number, _ in turns[:8]] == [0, 1, 2, 3, 0, 2, 0, 2]
    assert tickets[1].times.first_token < tickets[0].times.first_token  # type: ignore[operator]
    assert tickets[3].times.first_token < tickets[2].times.first_token  # type: ignore[operator]
    read = [0, 0, 0, 0]
    for number, done in turns[:8]:
        assert number in (1, 3) or 512 <= done - read[number] < 2 * 512
        read[number] = done


def test_reading_a_long_prompt_makes_the_others_slower_by_a_factor_only() -> None:
    engine = make_engine(2, context=1000, can_end=False)
    target = toy(engine)
    scheduler = make_scheduler(engine)
    run(scheduler, [Request((1,) * 200, GenerationSettings(max_tokens=20))])
    scheduler.add(Request((1, 2), GenerationSettings(max_tokens=100)))
    for _ in range(5):
        scheduler.step()
    target.batches.clear()
    scheduler.add(Request((3,) * 900, GenerationSettings(max_tokens=2)))
    for _ in range(30):
        scheduler.step()
    plain = 1.0 + 0.05
    assert max(target.batches) > 1
    assert max(1.0 + 0.05 * size for size in target.batches) < 3 * plain
