"""What the screen may ask of the engine thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sssd_chat.conversation.events import Event
    from sssd_chat.conversation.shown import AnswerParameters


class ChatBackend(Protocol):
    """A chat as the screen sees it. No method blocks; answers come as events.

    Turns are named by their numbers, as `ShownTurn`, `QuestionKept` and `AnswerDone` gave them.

    One answer is written at a time: what asks for another one (`send`, `ask_instead`, `regenerate`,
    `continue_answer`) is ignored meanwhile. Each that is not ignored ends with exactly one
    AnswerDone or AnswerFailed. What changes the chat or the model stops the answer first, and a
    question sent after that is not ignored.
    """

    def start(self) -> None:
        """Starts the engine thread, which opens the chat and begins to load the model."""

    def close(self) -> None:
        """Stops the engine thread and frees the model. Waits for the current step at most."""

    def events(self) -> list[Event]:
        """The events since the last call, oldest first, at once."""

    # Answers

    def send(self, text: str) -> None:
        """Asks a question. Sent while the model loads, it waits for it."""

    def ask_instead(self, turn: int, text: str) -> None:
        """Asks a question in place of the question `turn`: a branch. ChatOpened comes, with the
        turns before it, then QuestionKept."""

    def regenerate(self, turn: int, parameters: AnswerParameters | None = None) -> None:
        """Asks for another answer in place of the answer `turn`: a branch. `turn` may be a question
        too, which is answered again then. `parameters` are for this answer alone; those that are
        None are the chat's. ChatOpened comes, with the turns up to the question."""

    def continue_answer(self, turn: int) -> None:
        """Goes on writing the answer `turn`, which has to be the last turn. Its steps add to its
        text; AnswerDone has all of it."""

    def cancel(self) -> None:
        """Stops the answer being written; its text so far is kept. Stops `verify` as well."""

    def verify(self) -> None:
        """Replays the last answer without drafts. VerifyRunning and one VerifyDone come."""

    def set_drafting(self, on: bool) -> None:
        """Switches drafts on or off from the next step."""

    # The chat

    def new_chat(self) -> None:
        """Leaves the chat and begins an empty one. ChatOpened comes."""

    def open_chat(self, chat: int) -> None:
        """Leaves the chat and opens another one. ChatOpened comes, or a Notice when there is no
        such chat."""

    def choose_sibling(self, turn: int, step: int) -> None:
        """The chat goes on with the newest branch of the turn that is `step` places after `turn`
        among its siblings (before it when negative). ChatOpened comes; nothing happens when there
        is none."""

    def delete_turn(self, turn: int) -> None:
        """Takes a turn, and all that follow it, out of the history and out of what drafts come
        from. TurnDeleted comes."""

    def set_system(self, text: str) -> None:
        """The system prompt of this chat from the next question on, kept with it."""

    def set_parameters(self, parameters: AnswerParameters) -> None:
        """How the next answers of this chat are written, kept with it."""

    def load_model(self, path: str) -> None:
        """Goes on with another target model. ModelLoading comes, then ModelReady or ModelFailed; a
        model that cannot be loaded leaves the one before, with a Notice."""

    # The prompt

    def draft(self, text: str) -> None:
        """What stands in the prompt now. It is read ahead when the engine has nothing else to do,
        and given up by the next call of any kind."""

    def save_prompt(self, text: str) -> None:
        """Keeps what stands in the prompt with the chat, for the next time that it is opened."""

    def count_tokens(self, text: str) -> None:
        """TokensCounted comes, for the newest text alone, and again when the context before it has
        changed. Nothing else is held up by it."""

    def attach(self, path: str) -> None:
        """Lets a document go along with the next question. AttachmentsChanged comes when it is
        read, or a Notice says why it cannot."""

    def detach(self) -> None:
        """No document goes along with the next question."""
