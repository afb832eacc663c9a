"""How answers are written: what a chat wants, over what the settings say."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

from sssd_chat.conversation.shown import AnswerParameters

if TYPE_CHECKING:
    from sssd_chat.conversation.session import ChatSettings

_SAMPLER = ("temperature", "top_p", "top_k", "min_p", "repeat_penalty", "seed")
_KINDS: dict[str, tuple[type, ...]] = {
    "temperature": (int, float),
    "top_p": (int, float),
    "top_k": (int,),
    "min_p": (int, float),
    "repeat_penalty": (int, float),
    "max_tokens": (int,),
    "seed": (int,),
    "thinking": (bool,),
}


def with_parameters(settings: ChatSettings, wanted: Iterable[AnswerParameters]) -> ChatSettings:
    """The settings with what is wanted in their place, the last ones going before all others."""
    chosen: dict[str, Any] = {}
    for parameters in wanted:
        chosen.update({name: v for name, v in asdict(parameters).items() if v is not None})
    sampler = {name: chosen[name] for name in _SAMPLER if name in chosen}
    generation = replace(
        settings.generation, sampler=replace(settings.generation.sampler, **sampler)
    )
    if "max_tokens" in chosen:
        generation = replace(generation, max_tokens=chosen["max_tokens"])
    return replace(
        settings, generation=generation, thinking=chosen.get("thinking", settings.thinking)
    )


def parameters_in_use(settings: ChatSettings) -> AnswerParameters:
    """What answers are written with by these settings."""
    sampler = settings.generation.sampler
    return AnswerParameters(
        **{name: getattr(sampler, name) for name in _SAMPLER},
        max_tokens=settings.generation.max_tokens,
        thinking=settings.thinking,
    )


def written_parameters(parameters: AnswerParameters) -> str:
    """As JSON; empty for none."""
    chosen = {name: value for name, value in asdict(parameters).items() if value is not None}
    return json.dumps(chosen) if chosen else ""


def read_parameters(text: str) -> AnswerParameters:
    """What `written_parameters` gave, or what an answer was asked with, as the history has it. What
    cannot be read is as the settings say."""
    try:
        content = json.loads(text) if text else {}
        values = {**content, **content.get("sampler", {})}
    except (ValueError, TypeError, AttributeError):
        return AnswerParameters()
    return AnswerParameters(
        **{
            field.name: values[field.name]
            for field in fields(AnswerParameters)
            if _is_right(field.name, values.get(field.name))
        }
    )


def _is_right(name: str, value: object) -> bool:
    is_flag = isinstance(value, bool)
    return isinstance(value, _KINDS[name]) and is_flag == (bool in _KINDS[name])
