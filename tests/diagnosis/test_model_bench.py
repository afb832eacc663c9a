"""Batches of a real model are timed in contexts of several kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

from sssd_chat.diagnosis.model_bench import ModelBench
from sssd_chat.diagnosis.trials import Candidate
from sssd_chat.llama.kv_cache import CacheSettings
from sssd_chat.llama.model import Model
from tests.tiny_models import Architecture, tiny_model

CANDIDATES = [
    Candidate(1, 1, CacheSettings()),
    Candidate(1, 1, CacheSettings(flash_attention="on")),
]


@pytest.mark.parametrize("architecture", Architecture)
@pytest.mark.parametrize("context", [16, 40, 4096])
def test_any_number_of_batches_is_measured(
    models: Path, architecture: Architecture, context: int
) -> None:
    """Whatever the model can take back, and however short its context is."""
    model = Model(tiny_model(models, architecture, context_length=context))
    bench = ModelBench(model)
    try:
        bench.open(CANDIDATES[0])
        assert 1 <= bench.largest <= min(64, context)
        assert bench.can_draft or bench.largest == 1
        assert 1 <= bench.text_tokens <= context
        for _ in range(30):
            for candidate in CANDIDATES:
                assert bench.seconds(candidate, bench.largest) > 0
    finally:
        bench.close()
        model.close()
