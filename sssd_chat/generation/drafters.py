"""Which drafter a conversation gets."""

from __future__ import annotations

from sssd_chat.drafting import Drafter, ReferenceDrafter


def make_drafter() -> Drafter:
    """The drafter of a new conversation."""
    return ReferenceDrafter()
