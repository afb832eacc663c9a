"""Answers in OpenAI's form, however the text came."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.conversation.completions.choice import Choice, Piece, choices_for
from sssd_chat.conversation.completions.prompting import Prompt
from sssd_chat.conversation.completions.replies import Reply
from sssd_chat.conversation.thinking import split_thinking
from sssd_chat.generation.batching import Progress, TokenLogprob
from sssd_chat.generation.engine import GenerationSettings
from sssd_chat.generation.statistics import AnswerStatistics, StoppedBy

PROMPT = Prompt((1, 2, 3), GenerationSettings())


def reply_of(is_chat: bool, choices: int = 1) -> Reply:
    return Reply("id", 1, "m", is_chat, True, choices, lambda token: bytes([token]))


def progress(text: str, last: StoppedBy | None = None, **fields: object) -> Progress:
    statistics = AnswerStatistics(prompt_tokens=3, emitted=5, tested=4, accepted=3)
    done = {"finished": last, "statistics": statistics} if last else {}
    return Progress(None, text=text, **done, **fields)  # type: ignore[arg-type]


texts = st.text(st.sampled_from("ab <>/think\n"), max_size=12)


@given(texts, texts, st.booleans(), st.data())
def test_chunks_are_the_whole_answer(
    thought: str, said: str, thinks: bool, data: st.DataObject
) -> None:
    text = f"<think>{thought}</think>{said}" if thinks else said
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    choice = Choice(0, PROMPT, divides_thinking=True)
    reply = reply_of(is_chat=True)
    pieces = [choice.add(progress(part)) for part in parts]
    pieces.append(choice.add(progress("", StoppedBy.END)))
    deltas = [
        reply.chunk(choice, piece, 0)["choices"][0]["delta"]  # type: ignore[index]
        for piece in pieces
    ]
    message = reply.whole([choice])["choices"][0]["message"]  # type: ignore[index]
    expected = split_thinking(text)
    assert "".join(delta.get("content", "") for delta in deltas) == message["content"]
    thinking = "".join(delta.get("reasoning_content", "") for delta in deltas)
    assert thinking == message.get("reasoning_content", "")
    assert (message["content"], thinking) == (expected.text, expected.thinking)
    joined = sum(pieces, Piece())
    assert (joined.text, joined.thinking, joined.finish_reason) == (
        expected.text,
        expected.thinking,
        "stop",
    )


def test_usage_counts_each_prompt_once() -> None:
    choices = choices_for([PROMPT] * 6, divides_thinking=False)
    for choice in choices:
        choice.add(progress("a", StoppedBy.LENGTH))
    usage = reply_of(is_chat=False, choices=3).usage(choices)
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (6, 30)
    assert usage["total_tokens"] == 36
    assert usage["completion_tokens_details"] == {
        "accepted_prediction_tokens": 18,
        "rejected_prediction_tokens": 6,
    }


def test_the_token_that_ends_an_answer_has_no_log_probability() -> None:
    choice = Choice(0, PROMPT, divides_thinking=False)
    logprobs = (TokenLogprob(65, -1.0, ((66, float("-inf")),)), TokenLogprob(2, -0.5))
    choice.add(progress("A", StoppedBy.END, tokens=(65, 2), logprobs=logprobs))
    told = reply_of(is_chat=True).whole([choice])["choices"][0]["logprobs"]  # type: ignore[index]
    assert [one["token"] for one in told["content"]] == ["A"]
    # JSON has no infinity.
    json.dumps(told, allow_nan=False)
    flat = reply_of(is_chat=False).chunk(choice, Piece("A", "", logprobs[:1]), 7)
    assert flat["choices"][0]["logprobs"]["text_offset"] == [7]  # type: ignore[index]


def test_an_answer_that_was_cancelled_is_not_complete() -> None:
    choice = Choice(0, PROMPT, divides_thinking=False)
    piece = choice.add(progress("a", StoppedBy.CANCELLED))
    assert choice.is_finished and not choice.is_complete
    assert piece.finish_reason is None
