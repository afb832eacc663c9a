"""A batch whose engine fails: what was not answered stays to be answered."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

from sssd_chat.conversation.batch.lines import read_lines
from sssd_chat.conversation.batch.output import AnswerFile
from sssd_chat.conversation.batch.run import BatchRun
from sssd_chat.conversation.completions.prompting import PromptMaker
from sssd_chat.conversation.completions.request import Defaults
from sssd_chat.errors import UserError
from sssd_chat.generation.batching import EngineService
from sssd_chat.generation.engine import GenerationSettings
from sssd_chat.generation.loading import EngineSettings, load_engine

LINES = b"".join(b'{"prompt": "%d", "max_tokens": %d}\n' % (n, 5 + 40 * (n > 2)) for n in range(9))


def test_an_engine_that_fails_uses_up_no_line(
    chat_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = list(read_lines(io.BytesIO(LINES)))
    for fails in (True, False):
        loaded = load_engine(EngineSettings(chat_model, 256, threads=1, sequences=2))
        prompts = PromptMaker(loaded, 256)
        service = EngineService(loaded)
        out = AnswerFile(tmp_path / "out.jsonl", {line.id for line in lines}.__contains__)
        batch = BatchRun(
            service, prompts, Defaults(GenerationSettings()), "m", out, lambda choice: None
        )
        with contextlib.closing(service), contextlib.closing(out):
            running = batch.run(lines, 3, lambda: False)
            if fails:
                while not out.done:
                    next(running)

                def fail() -> None:
                    raise RuntimeError("for this test")

                monkeypatch.setattr(service._scheduler, "figures", fail)
                with pytest.raises(UserError, match="engine has failed"):
                    list(running)
                assert 0 < len(out.done) < len(lines)
            else:
                assert list(running)[-1].failed == 0
            assert out.failed == 0
    assert out.done == {line.id for line in lines}
