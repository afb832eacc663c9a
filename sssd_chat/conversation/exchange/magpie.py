"""Magpie: an instruction with its response."""

from __future__ import annotations

from sssd_chat.conversation.exchange.fields import Record, is_record, seconds, text, text_or_empty
from sssd_chat.conversation.exchange.portable import PortableChat, PortableTurn, assembled, chain


def recognizes(value: object) -> bool:
    """Whether this is one instruction. Those of several turns have a list of messages too, which
    is read as such."""
    return is_record(value, "instruction", "response")


def read(value: Record) -> PortableChat:
    """The chat. Raises Damaged."""
    model = text_or_empty(value.get("model") or value.get("gen_response_configs"))
    turns = [
        PortableTurn(0, None, "user", text(value["instruction"], "the instruction")),
        PortableTurn(1, None, "assistant", text(value["response"], "the response"), model=model),
    ]
    return assembled(chain(turns), created=seconds(value.get("created")))
