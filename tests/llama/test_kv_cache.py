"""KV caches of other number formats: what is refused, what is kept, what it takes."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from sssd_chat.config import settings as config
from sssd_chat.drafting import ROOT, DraftTree
from sssd_chat.errors import UsageError, UserError
from sssd_chat.llama import kv_cache
from sssd_chat.llama.gguf import GgufHeader, MetadataValue, read_header
from sssd_chat.llama.kv_cache import CACHE_TYPES, CacheSettings, check_cache
from sssd_chat.llama.model import Model
from sssd_chat.llama.sequence_state import state_size
from sssd_chat.llama.target import Target, TargetSettings
from tests.tiny_models import TREE_ARCHITECTURES, Architecture, tiny_model
from tests.trees import random_tree

ROUNDING = 0.4
"""A number that rounds to another step of eight bits moves logits more than that of a float."""


def header(metadata: Mapping[str, MetadataValue], architecture: str = "llama") -> GgufHeader:
    usual = {"block_count": 2, "embedding_length": 128, "attention.head_count": 2}
    keys = {f"{architecture}.{key}": value for key, value in (usual | dict(metadata)).items()}
    return GgufHeader(Path("m.gguf"), architecture, keys, {}, 1, 1, 1, 1, 1, 1)


def test_the_settings_offer_what_a_cache_may_be() -> None:
    assert config.CACHE_TYPES == CACHE_TYPES
    assert config.FLASH_ATTENTION == kv_cache.FLASH_ATTENTION


@pytest.mark.parametrize(
    ("metadata", "architecture", "settings", "complaint"),
    [
        ({"attention.head_count": 0}, "mamba", CacheSettings("q8_0"), "(mamba) has no KV cache"),
        ({}, "llama", CacheSettings("f16", "q8_0", "off"), "in q8_0 needs flash attention"),
        ({}, "grok", CacheSettings("f16", "q4_0"), "cannot be computed with flash attention"),
        ({"attention.key_length": 80}, "llama", CacheSettings("q8_0"), "heads of 80 numbers"),
        ({"attention.key_length_swa": 40}, "llama", CacheSettings("q8_0"), "heads of 40 numbers"),
        ({"attention.value_length": 80}, "llama", CacheSettings("f16", "q5_1"), "multiple of 32"),
        (
            {"attention.key_length_mla": 64, "attention.value_length_mla": 64},
            "deepseek2",
            CacheSettings("q8_0"),
            "--cache-type-k q8_0 needs --cache-type-v q8_0",
        ),
    ],
)
def test_what_cannot_be_had_is_refused_in_a_sentence(
    metadata: dict[str, MetadataValue],
    architecture: str,
    settings: CacheSettings,
    complaint: str,
) -> None:
    with pytest.raises(UsageError) as refused:
        check_cache(header(metadata, architecture), settings)
    assert complaint in str(refused.value)
    assert refused.value.exit_code == 2
    check_cache(header(metadata, architecture), CacheSettings())


def test_llama_cpp_takes_what_is_not_refused_and_refuses_the_rest(models: Path) -> None:
    """Of all combinations, with heads of one block and of half a block."""
    reference = None
    for width in (32, 16):
        model = Model(tiny_model(models, head_width=width))
        for flash in ("off", "on", "auto"):
            for pair in zip(CACHE_TYPES, reversed(CACHE_TYPES), strict=True):
                settings = CacheSettings(*pair, flash)
                try:
                    check_cache(model.header, settings)
                except UsageError:
                    if flash == "on":
                        # Without it, some of these would end the process.
                        with pytest.raises(UserError):
                            Target(model, TargetSettings(64, 1, cache=settings))
                    continue
                target = Target(model, TargetSettings(64, 1, cache=settings))
                sequence = target.open_sequence()
                target.prefill(sequence, [5, 9, 7, 11, 40, 41])
                logits = target.logits(sequence).copy()
                if width == 32:
                    reference = logits if reference is None else reference
                    assert np.corrcoef(logits, reference)[0, 1] > 0.9, settings
                target.close()
        model.close()


@pytest.mark.parametrize("architecture", TREE_ARCHITECTURES)
def test_trees_in_a_quantized_cache_give_what_plain_decoding_gives(
    models: Path, architecture: Architecture
) -> None:
    model = Model(tiny_model(models, architecture, head_width=32))
    target = Target(model, TargetSettings(256, 1, cache=CacheSettings("q8_0", "q8_0")))
    sequence = target.open_sequence()
    rng = random.Random(3)
    prompt = [rng.randrange(3, model.vocabulary.size) for _ in range(30)]
    target.prefill(sequence, prompt)
    expected = [target.logits(sequence).copy()]
    truth = [int(expected[0].argmax())]
    while len(truth) < 150:
        target.verify([(sequence, truth[-1], DraftTree())])
        expected.append(target.logits(sequence).copy())
        truth.append(int(expected[-1].argmax()))
        target.commit(sequence, [])
    target.rewind(sequence, 0)
    target.prefill(sequence, prompt)
    done, differences = 1, []
    while done < 130:
        tree = random_tree(rng, rng.choice([1, 4, 12]), model.vocabulary.size, truth[done:][:12])
        target.verify([(sequence, truth[done - 1], tree)])
        path, node = [], ROOT
        for depth, token in enumerate(truth[done:]):
            seen = target.logits(sequence, node)
            differences.append(float(np.abs(seen - expected[done + depth]).max()))
            found = [
                child
                for child, parent in enumerate(tree.parents)
                if parent == node and tree.tokens[child] == token
            ]
            if not found:
                break
            node = found[0]
            path.append(node)
        target.commit(sequence, path)
        done += 1 + len(path)
    target.close()
    model.close()
    assert np.quantile(differences, 0.98) < ROUNDING
    assert len(differences) > 100


def test_a_cache_takes_the_bytes_that_are_told(models: Path) -> None:
    """The state of a text is its cache and little else."""
    path = tiny_model(models, head_width=32)
    model = Model(path)
    sizes = {}
    for cache_type in CACHE_TYPES:
        settings = CacheSettings(cache_type, cache_type, "on")
        target = Target(model, TargetSettings(256, 1, cache=settings))
        sequence = target.open_sequence()
        target.prefill(sequence, [7] * 200)
        told = model.context_bytes(200, settings)
        kept = state_size(target._api, target._context, sequence.id)
        assert told <= kept < told + 200 * 32, cache_type
        sizes[cache_type] = told
        target.close()
    model.close()
    assert sizes["q4_0"] < sizes["q8_0"] < sizes["f16"] == sizes["bf16"] < sizes["f32"]
    assert read_header(path).model_bytes == path.stat().st_size
