"""The engine in its thread, with a tiny model in the real llama.cpp."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sssd_chat.errors import UserError
from sssd_chat.generation.batching import EngineService, Progress, Request
from sssd_chat.generation.batching.composing import Composer
from sssd_chat.generation.engine import GenerationSettings, PromptTooLong
from sssd_chat.generation.loading import EngineSettings, load_engine
from sssd_chat.generation.statistics import StoppedBy
from tests.tiny_models import tiny_model

SETTINGS = GenerationSettings(max_tokens=40)


class Listener:
    """Collects the progress of one request."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.last: Progress | None = None
        self.began = threading.Event()
        self.ended = threading.Event()

    def __call__(self, progress: Progress) -> None:
        self.tokens += progress.tokens
        if progress.tokens:
            self.began.set()
        if progress.is_last:
            assert self.last is None
            self.last = progress
            self.ended.set()

    def wait(self) -> Progress:
        assert self.ended.wait(60)
        assert self.last is not None
        return self.last


@pytest.fixture
def service(models: Path) -> Iterator[EngineService]:
    service = EngineService(
        load_engine(EngineSettings(tiny_model(models), 512, threads=1, sequences=4))
    )
    yield service
    service.close()
    assert not service.is_alive


def prompt(number: int) -> tuple[int, ...]:
    return tuple(5 + (7 * n + number) % 200 for n in range(40))


def test_answers_come_to_those_who_asked(service: EngineService) -> None:
    listeners = [Listener() for _ in range(9)]
    threads = [
        threading.Thread(target=service.submit, args=(Request(prompt(n), SETTINGS), listener))
        for n, listener in enumerate(listeners)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for listener in listeners:
        last = listener.wait()
        assert last.finished is StoppedBy.LENGTH
        assert len(listener.tokens) == 40
        assert last.statistics is not None and last.statistics.emitted == 40
    again = Listener()
    service.submit(Request(prompt(3), SETTINGS), again)
    again.wait()
    figures = service.figures()
    assert (figures.queued, figures.reading, figures.writing) == (0, 0, 0)


def test_a_request_is_cancelled_by_its_handle(service: EngineService) -> None:
    listener = Listener()
    handle = service.submit(Request(prompt(1)), listener)
    assert listener.began.wait(60)
    handle.cancel()
    assert listener.wait().finished is StoppedBy.CANCELLED
    handle.cancel()
    assert service.figures().failed == 0


def test_a_listener_that_fails_ends_its_own_request_alone(service: EngineService) -> None:
    def fails(progress: Progress) -> None:
        raise RuntimeError("gone")

    service.submit(Request(prompt(1)), fails)
    listener = Listener()
    service.submit(Request(prompt(2), SETTINGS), listener)
    assert listener.wait().finished is StoppedBy.LENGTH


def test_many_threads_that_ask_and_cancel_all_hear_the_end(service: EngineService) -> None:
    def client(number: int) -> None:
        rng = random.Random(number)
        for turn in range(4):
            listener = Listener()
            handle = service.submit(Request(prompt(10 * number + turn), SETTINGS), listener)
            if rng.random() < 0.5:
                listener.began.wait(rng.choice([0.0, 0.01]))
                handle.cancel()
            listener.wait()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    listener = Listener()
    service.submit(Request(prompt(1), SETTINGS), listener)
    listener.wait()
    figures = service.figures()
    assert (figures.queued, figures.failed) == (0, 0)


def test_a_step_that_breaks_is_told_to_everyone_and_the_engine_goes_on(
    service: EngineService, monkeypatch: pytest.MonkeyPatch
) -> None:
    listeners = [Listener() for _ in range(3)]
    for number, listener in enumerate(listeners):
        service.submit(Request(prompt(number)), listener)
    assert listeners[0].began.wait(60)
    monkeypatch.setattr(Composer, "compose", lambda *_: 1 / 0)
    for listener in listeners:
        assert "see the log" in str(listener.wait().error)
    monkeypatch.undo()
    again = Listener()
    service.submit(Request(prompt(1), SETTINGS), again)
    assert again.wait().finished is StoppedBy.LENGTH


def test_what_cannot_be_written_is_refused_to_the_one_who_asked(service: EngineService) -> None:
    with pytest.raises(PromptTooLong):
        service.submit(Request((5,) * 513), Listener())


def test_closing_lets_answers_end_until_the_deadline(service: EngineService) -> None:
    short, long = Listener(), Listener()
    service.submit(Request(prompt(1), SETTINGS), short)
    service.submit(Request(prompt(2)), long)
    assert long.began.wait(60)
    service.close(deadline=60)
    assert short.wait().finished is StoppedBy.LENGTH
    assert long.wait().finished is StoppedBy.CONTEXT
    with pytest.raises(UserError, match="shut down"):
        service.submit(Request(prompt(3)), Listener())


def test_closing_at_once_cancels_what_runs(service: EngineService) -> None:
    listener = Listener()
    service.submit(Request(prompt(1)), listener)
    assert listener.began.wait(60)
    service.close()
    assert listener.wait().finished in (StoppedBy.CANCELLED, StoppedBy.CONTEXT)


def test_nobody_waits_for_a_thread_that_failed(
    service: EngineService, monkeypatch: pytest.MonkeyPatch
) -> None:
    listeners = [Listener() for _ in range(6)]
    for number, listener in enumerate(listeners):
        service.submit(Request(prompt(number), GenerationSettings(max_tokens=400)), listener)
    assert listeners[0].began.wait(60)

    def fail() -> None:
        raise RuntimeError("for this test")

    monkeypatch.setattr(service._scheduler, "figures", fail)
    for listener in listeners:
        assert "failed" in (listener.wait().error or "")
        assert not service.is_open
    with pytest.raises(UserError):
        service.submit(Request(prompt(0), SETTINGS), Listener())
