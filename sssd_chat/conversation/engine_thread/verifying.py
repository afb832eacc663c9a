"""Does drafting change the last answer?"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from sssd_chat.conversation.events import Event, VerifyDone, VerifyRunning
from sssd_chat.conversation.parameters import read_parameters
from sssd_chat.errors import UserError

if TYPE_CHECKING:
    from sssd_chat.conversation.engine_thread.commands import Verify
    from sssd_chat.conversation.engine_thread.open_chat import ScreenChat
    from sssd_chat.conversation.engine_thread.running import Running
    from sssd_chat.conversation.tree import Turn
    from sssd_chat.generation.comparison import Comparison

_SEED = 1
_RUNS = 2

log = logging.getLogger(__name__)


def verify(
    running: Running, chat: ScreenChat, command: Verify, emit: Callable[[Event], None]
) -> None:
    """Writes the last answer twice more, with drafts and without, and tells whether these are the
    same. An answer that was drawn at random is drawn with a seed. Exactly one VerifyDone comes."""
    try:
        done = _verified(running, chat, command.stop, emit)
    except UserError as error:
        done = VerifyDone(False, str(error))
    except Exception:
        log.exception("verifying failed")
        done = VerifyDone(False, "The answer could not be replayed; the log has the details.")
    command.finished.set()
    emit(done)


def _verified(
    running: Running, chat: ScreenChat, stop: threading.Event, emit: Callable[[Event], None]
) -> VerifyDone:
    from sssd_chat.conversation.verifying import describe_comparison

    branch = chat.tree.branch()
    if len(branch) < 2 or (branch[-2].role, branch[-1].role) != ("user", "assistant"):
        raise UserError("There is no answer to verify yet.")
    if not running.loaded.target.shape.can_draft:
        return VerifyDone(True, "Identical: this model is never drafted for.")
    result = _compared(running, chat, branch[-2], branch[-1], stop, emit)
    if result is None:
        return VerifyDone(False, "Stopped before the end.")
    summary = describe_comparison(result, running.loaded)
    return VerifyDone(result.is_explained, f"{summary[:1].upper()}{summary[1:]}.")


def _compared(
    running: Running,
    chat: ScreenChat,
    question: Turn,
    answer: Turn,
    stop: threading.Event,
    emit: Callable[[Event], None],
) -> Comparison | None:
    from sssd_chat.generation.comparison import compare

    loaded, session = running.loaded, running.session
    running.prepare(chat, True, read_parameters(answer.parameters), before=question.id)
    prompt = session.prompt(question.written)
    length = len(loaded.model.vocabulary.tokenize(answer.written))
    if answer.statistics is not None:
        length = answer.statistics.emitted
    length = max(1, min(length, loaded.target.context_length - len(prompt)))
    generation = session.settings.generation
    sampler = generation.sampler
    if sampler.seed is None:
        sampler = replace(sampler, seed=_SEED)
    settings = replace(generation, sampler=sampler, max_tokens=length)

    def progress(run: str, tokens: int) -> bool:
        done = tokens if run == "drafted" else length + tokens
        emit(VerifyRunning(done, _RUNS * length))
        return not stop.is_set()

    with session.aside():
        return compare(loaded.engine, prompt, settings, loaded.new_drafter, progress)
