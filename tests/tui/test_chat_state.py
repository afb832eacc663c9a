from __future__ import annotations

from sssd_chat.conversation.events import AnswerStatistics, AnswerStep, StepStatistics
from sssd_chat.generation.statistics import Count
from sssd_chat.tui.chat_state import ChatState


def test_the_starter_collections_share_one_bar() -> None:
    state = ChatState()
    answer = AnswerStatistics()
    answer.by_source = {
        "conversation": Count(5, 5, 2),
        "starter/code": Count(9, 3, 1),
        "chats": Count(4, 4, 4),
        "starter/english": Count(9, 3, 1),
    }
    state.apply(AnswerStep("text", StepStatistics(), answer))
    assert state.shares_by_source() == [("conversation", 0.25), ("starter", 0.25), ("chats", 0.5)]
