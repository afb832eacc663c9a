"""The engine thread, as the screen sees it, with a tiny model in the real llama.cpp."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sssd_chat.conversation.events import (
    AnswerDone,
    AnswerFailed,
    AnswerStep,
    ChatOpened,
    ContextFilled,
    Drafting,
    ModelFailed,
    ModelLoading,
    ModelReady,
    Notice,
    PromptRead,
    StoppedBy,
    TurnsLeftOut,
)
from sssd_chat.conversation.history import History
from tests.conversation.engine_thread.screen import Start
from tests.tiny_models import CHATML_TEMPLATE, Architecture


def test_a_question_gets_its_answer_in_steps(start: Start) -> None:
    screen = start()
    screen.backend.send("hello")
    done = screen.wait_for(AnswerDone)
    assert isinstance(done, AnswerDone)
    assert done.stopped_by is StoppedBy.LENGTH
    assert screen.of(ModelLoading) and screen.of(ModelReady) and screen.of(PromptRead)
    steps = screen.of(AnswerStep)
    assert "".join(step.text for step in steps) == done.text
    assert sum(step.step.emitted for step in steps) == done.answer.emitted == 30
    # Each event owns its sums.
    assert [step.answer.steps for step in steps] == list(range(1, len(steps) + 1))
    read = screen.of(PromptRead)
    assert read[0].done == read[0].reused == 0
    assert read[-1].done == read[-1].total == done.answer.prompt_tokens


def test_the_second_question_reuses_the_first_turn(start: Start) -> None:
    screen = start()
    screen.backend.send("hello")
    screen.wait_for(AnswerDone)
    screen.seen.clear()
    screen.backend.send("more")
    done = screen.wait_for(AnswerDone)
    assert isinstance(done, AnswerDone)
    assert screen.of(PromptRead)[0].reused == done.answer.reused_tokens > 30


def test_cancelling_keeps_the_partial_answer(start: Start, home: Path) -> None:
    screen = start(max_tokens=None)
    screen.backend.send("hello")
    screen.wait_for(AnswerStep)
    screen.backend.cancel()
    done = screen.wait_for(AnswerDone)
    assert isinstance(done, AnswerDone)
    assert done.stopped_by is StoppedBy.CANCELLED
    assert "".join(step.text for step in screen.of(AnswerStep)) == done.text
    screen.backend.close()
    history = History(home / "data" / "history.db")
    (_, question), (_, answer) = history.turns(history.last_chat() or 0)
    assert (question.text, answer.text, answer.status) == ("hello", done.text, "stopped")
    history.close()


def test_cancelling_before_the_model_is_there(start: Start) -> None:
    screen = start()
    screen.backend.send("hello")
    screen.backend.cancel()
    done = screen.wait_for(AnswerDone)
    assert isinstance(done, AnswerDone)
    assert done.stopped_by is StoppedBy.CANCELLED


def test_cancelling_while_the_prompt_is_read(start: Start) -> None:
    screen = start(context=4096)
    screen.wait_for(ModelReady)
    screen.backend.send("word " * 700)
    screen.wait_for(PromptRead)
    screen.backend.cancel()
    done = screen.wait_for(AnswerDone)
    assert isinstance(done, AnswerDone)
    assert done.stopped_by is StoppedBy.CANCELLED
    screen.backend.send("short")
    assert screen.wait_for(AnswerDone, AnswerFailed)


def test_a_second_question_while_one_is_answered_is_ignored(start: Start) -> None:
    screen = start()
    screen.backend.send("hello")
    screen.backend.send("again")
    screen.wait_for(AnswerDone)
    time.sleep(0.05)
    later = screen.coming + screen.backend.events()
    assert not [event for event in later if isinstance(event, AnswerStep)]


def test_a_new_chat_stops_the_answer_and_forgets(start: Start) -> None:
    screen = start(max_tokens=None)
    screen.backend.send("hello")
    screen.wait_for(AnswerStep)
    screen.backend.new_chat()
    screen.wait_for(AnswerDone)
    screen.backend.send("hello")
    screen.seen.clear()
    read = screen.wait_for(PromptRead)
    assert isinstance(read, PromptRead)
    assert read.reused == 0


def test_drafts_can_be_switched_while_an_answer_is_written(start: Start) -> None:
    screen = start(max_tokens=None)
    screen.backend.send("hello")
    screen.wait_for(AnswerStep)
    screen.backend.set_drafting(False)
    until = time.monotonic() + 10
    while time.monotonic() < until:
        step = screen.wait_for(AnswerStep)
        assert isinstance(step, AnswerStep)
        if step.step.drafting is Drafting.OFF_BY_USER:
            break
    assert step.step.drafting is Drafting.OFF_BY_USER


def test_a_switch_between_answers_holds_for_the_next(start: Start) -> None:
    screen = start()
    screen.wait_for(ModelReady)
    screen.backend.set_drafting(False)
    screen.backend.send("hello")
    done = screen.wait_for(AnswerDone)
    assert isinstance(done, AnswerDone)
    assert done.answer.drafted == 0
    assert done.answer.drafting is Drafting.OFF_BY_USER


def test_a_file_that_is_no_model_is_told_and_questions_fail(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + b"\x00" * 100)
    screen = start(path=path)
    failed = screen.wait_for(ModelFailed)
    assert isinstance(failed, ModelFailed)
    assert "broken.gguf" in failed.message
    screen.backend.send("hello")
    assert screen.wait_for(AnswerFailed)


def test_a_question_too_long_fails_and_the_next_is_answered(start: Start) -> None:
    screen = start(context=128)
    screen.backend.send("word " * 500)
    failed = screen.wait_for(AnswerFailed)
    assert isinstance(failed, AnswerFailed)
    assert "context" in failed.message
    screen.backend.send("hi")
    assert screen.wait_for(AnswerDone)


def test_a_default_template_is_told(start: Start) -> None:
    screen = start(template=None)
    notice = screen.wait_for(Notice)
    assert isinstance(notice, Notice)
    assert "template" in notice.message


def test_a_recurrent_model_says_why_it_is_not_drafted_for(start: Start) -> None:
    screen = start(architecture=Architecture.MAMBA)
    ready = screen.wait_for(ModelReady)
    assert isinstance(ready, ModelReady)
    assert ready.info.drafting is Drafting.IMPOSSIBLE


def test_closing_while_an_answer_is_written_ends_at_once(start: Start) -> None:
    screen = start(max_tokens=None, context=4096)
    screen.backend.send("hello")
    screen.wait_for(AnswerStep)
    began = time.monotonic()
    screen.backend.close()
    assert time.monotonic() - began < 5


def test_a_screen_that_reads_nothing_does_not_hang_the_end(start: Start) -> None:
    screen = start(max_tokens=None, context=4096)
    screen.backend.send("hello")
    time.sleep(0.5)
    screen.backend.close()


def test_a_chat_goes_on_after_the_program_ended(start: Start) -> None:
    screen = start()
    screen.backend.send("hello")
    done = screen.wait_for(AnswerDone)
    screen.backend.close()
    assert isinstance(done, AnswerDone)
    again = start(resume=True)
    restored = again.wait_for(ChatOpened)
    assert isinstance(restored, ChatOpened)
    assert [(t.role, t.text, t.complete) for t in restored.turns] == [
        ("user", "hello", True),
        ("assistant", done.text, True),
    ]
    again.backend.send("more")
    answer = again.wait_for(AnswerDone)
    assert isinstance(answer, AnswerDone)
    assert answer.answer.prompt_tokens > done.answer.prompt_tokens + 20


def test_a_history_that_cannot_be_read_is_told(start: Start, home: Path) -> None:
    (home / "data").mkdir(parents=True)
    (home / "data" / "history.db").write_bytes(b"no database" * 100)
    screen = start(resume=True)
    notice = screen.wait_for(Notice)
    assert isinstance(notice, Notice)
    assert "not being kept" in notice.message
    for question in ("hello", "again"):
        screen.backend.send(question)
        assert screen.wait_for(AnswerDone)
    assert len([n for n in screen.of(Notice) if "not being kept" in n.message]) == 1


# While nothing is asked


def test_a_draft_is_read_ahead_and_the_question_goes_on_from_there(start: Start) -> None:
    screen = start(context=2048)
    screen.wait_for(ModelReady)
    question = "the cat and the dog " * 60
    screen.backend.draft(question[:900])
    filled = screen.wait_for(ContextFilled)
    assert isinstance(filled, ContextFilled)
    assert filled.tokens > 256
    screen.backend.draft(question)
    screen.backend.send(question)
    done = screen.wait_for(AnswerDone)
    assert isinstance(done, AnswerDone)
    assert done.answer.reused_tokens >= filled.tokens


def test_a_new_chat_gives_up_what_was_read_ahead(start: Start) -> None:
    screen = start(context=2048)
    screen.backend.draft("the cat and the dog " * 60)
    screen.wait_for(ContextFilled)
    screen.backend.new_chat()
    screen.backend.send("hello")
    done = screen.wait_for(AnswerDone)
    assert isinstance(done, AnswerDone)
    assert done.answer.reused_tokens == 0


def test_reading_ahead_can_be_switched_off(start: Start) -> None:
    screen = start(context=2048, settings={"read_ahead": False})
    screen.backend.draft("the cat and the dog " * 60)
    screen.backend.send("the cat and the dog " * 60)
    done = screen.wait_for(AnswerDone)
    assert isinstance(done, AnswerDone)
    assert done.answer.reused_tokens == 0
    assert not screen.of(ContextFilled)


@pytest.mark.parametrize("allowed", [False, True])
def test_on_battery_only_when_allowed(
    start: Start, monkeypatch: pytest.MonkeyPatch, allowed: bool
) -> None:
    monkeypatch.setattr("sssd_chat.conversation.read_ahead.on_battery", lambda: True)
    screen = start(context=2048, settings={"read_ahead_on_battery": allowed})
    screen.wait_for(ModelReady)
    screen.backend.draft("the cat and the dog " * 60)
    time.sleep(0.5)
    screen.backend.send("the cat and the dog " * 60)
    screen.wait_for(AnswerDone)
    assert bool(screen.of(ContextFilled)) is allowed


def test_turns_that_no_longer_fit_are_told(start: Start) -> None:
    screen = start(context=512)
    for _ in range(8):
        screen.backend.send("the cat and the dog " * 10)
        screen.wait_for(AnswerDone)
    told = [event.turns for event in screen.of(TurnsLeftOut)]
    assert told and told == sorted(set(told))
    screen.backend.new_chat()
    screen.seen.clear()
    screen.backend.send("hello")
    screen.wait_for(AnswerDone)
    assert not screen.of(TurnsLeftOut)


def test_a_long_chat_opens_again_without_being_read(start: Start, home: Path) -> None:
    screen = start(context=2048)
    screen.backend.send("the cat and the dog " * 60)
    screen.wait_for(AnswerDone)
    screen.backend.close()
    (kept,) = (home / "data" / "states").iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    again = start(context=2048, resume=True)
    filled = again.wait_for(ContextFilled)
    assert isinstance(filled, ContextFilled)
    assert filled.tokens > 300
    again.backend.send("more")
    done = again.wait_for(AnswerDone)
    assert isinstance(done, AnswerDone)
    assert done.answer.reused_tokens == filled.tokens


def test_a_damaged_state_costs_only_time(start: Start, home: Path) -> None:
    screen = start(context=2048)
    screen.backend.send("the cat and the dog " * 60)
    screen.wait_for(AnswerDone)
    screen.backend.new_chat()
    screen.backend.send("hello")
    screen.wait_for(AnswerDone)
    screen.backend.close()
    (kept,) = (home / "data" / "states").iterdir()
    content = kept.read_bytes()
    kept.write_bytes(content[: len(content) // 2])
    again = start(context=2048, chat=1)
    again.backend.send("more")
    done = again.wait_for(AnswerDone)
    assert isinstance(done, AnswerDone)
    assert done.answer.reused_tokens == 0 < done.answer.prompt_tokens


def test_no_state_is_kept_where_none_is_wanted(start: Start, home: Path) -> None:
    screen = start(context=2048, settings={"state_cache_megabytes": 0})
    screen.backend.send("the cat and the dog " * 60)
    screen.wait_for(AnswerDone)
    screen.backend.close()
    assert not (home / "data" / "states").exists()


def test_thinking_comes_apart_and_is_kept_whole(start: Start) -> None:
    template = CHATML_TEMPLATE.replace("assistant\n{% endif %}", "assistant\n<think>\n{% endif %}")
    screen = start(template=template)
    screen.backend.send("hello")
    done = screen.wait_for(AnswerDone)
    assert isinstance(done, AnswerDone)
    assert done.thinking and not done.text
    assert "".join(step.thinking for step in screen.of(AnswerStep)) == done.thinking
    screen.backend.close()
    again = start(template=template, resume=True)
    restored = again.wait_for(ChatOpened)
    assert isinstance(restored, ChatOpened)
    assert (restored.turns[1].thinking, restored.turns[1].text) == (done.thinking, "")
