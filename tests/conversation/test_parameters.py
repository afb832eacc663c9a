"""What a chat wants, over what the settings say."""

from __future__ import annotations

import json
from dataclasses import asdict

from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.conversation.history.particulars import parameters_of, read_statistics, statistics_of
from sssd_chat.conversation.parameters import (
    parameters_in_use,
    read_parameters,
    with_parameters,
    written_parameters,
)
from sssd_chat.conversation.session import ChatSettings
from sssd_chat.conversation.shown import AnswerParameters
from sssd_chat.generation.engine import GenerationSettings
from sssd_chat.generation.statistics import AnswerStatistics, Count, Drafting
from sssd_chat.llama.sampler import SamplerSettings

NUMBERS = st.floats(0, 1)
PARAMETERS = st.builds(
    AnswerParameters,
    temperature=st.none() | NUMBERS,
    top_p=st.none() | NUMBERS,
    top_k=st.none() | st.integers(0, 100),
    min_p=st.none() | NUMBERS,
    repeat_penalty=st.none() | NUMBERS,
    max_tokens=st.none() | st.integers(1, 100),
    seed=st.none() | st.integers(0, 100),
    thinking=st.none() | st.booleans(),
)


@given(PARAMETERS)
def test_they_come_back_as_they_were_kept(parameters: AnswerParameters) -> None:
    assert read_parameters(written_parameters(parameters)) == parameters
    assert (written_parameters(parameters) == "") == (parameters == AnswerParameters())


@given(PARAMETERS, PARAMETERS)
def test_the_last_ones_go_before_all_others(
    chat: AnswerParameters, answer: AnswerParameters
) -> None:
    settings = ChatSettings(generation=GenerationSettings(SamplerSettings(0.3, seed=4), 9))
    used = asdict(parameters_in_use(with_parameters(settings, [chat, answer])))
    plain = asdict(parameters_in_use(settings))
    for name, value in used.items():
        wanted = [asdict(answer)[name], asdict(chat)[name], plain[name]]
        assert value == next((each for each in wanted if each is not None), None)


@given(PARAMETERS)
def test_what_an_answer_was_asked_with_is_read_from_the_history(
    parameters: AnswerParameters,
) -> None:
    settings = with_parameters(ChatSettings(), [parameters])
    kept = parameters_of(settings.generation, settings.thinking)
    assert read_parameters(kept) == parameters_in_use(settings)


@given(
    st.text()
    | st.dictionaries(st.sampled_from(["seed", "top_p", "sampler", "thinking"]), st.text()).map(
        json.dumps
    )
)
def test_anything_else_is_as_the_settings_say(text: str) -> None:
    assert read_parameters(text) == AnswerParameters()
    assert read_statistics(text) is None


def test_statistics_come_back_as_they_were_kept() -> None:
    statistics = AnswerStatistics(
        emitted=4,
        by_source={"chats": Count(3, 2, 1)},
        by_depth={2: Count(1, 1, 0)},
        plain_seconds=None,
        drafting=Drafting.OFF_BY_COST,
    )
    assert read_statistics(statistics_of(statistics, "end")) == statistics
