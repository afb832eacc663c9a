"""What is known of recurrent models before they are loaded is what llama.cpp makes of them."""

from __future__ import annotations

import pytest

from sssd_chat.llama.recurrent import recurrent_bytes, shape_of, states_kept
from tests.conftest import LoadTiny
from tests.tiny_models import Architecture


@pytest.mark.parametrize("architecture", Architecture)
def test_shape_and_states_are_those_of_the_loaded_model(
    load_tiny: LoadTiny, architecture: Architecture
) -> None:
    loaded = load_tiny(architecture)
    header, target = loaded.model.header, loaded.target
    assert shape_of(header) is target.shape
    assert (states_kept(header, 1) > 0) is architecture.keeps_states
    if architecture.keeps_states:
        assert states_kept(header, 1) == target.max_draft


@pytest.mark.parametrize("architecture", Architecture)
def test_the_state_is_as_large_as_told(load_tiny: LoadTiny, architecture: Architecture) -> None:
    """Every layer is counted, and at least one in three is recurrent in these models."""
    loaded = load_tiny(architecture)
    header, target = loaded.model.header, loaded.target
    told = recurrent_bytes(header, 1) // (1 + states_kept(header, 1))
    if architecture.can_roll_back:
        assert told == 0
        return
    sequence = target.open_sequence()
    target.prefill(sequence, list(range(5, 60)))
    target.prefill(sequence, list(range(5, 90)))
    assert sequence.checkpoint is not None
    found = len(sequence.checkpoint.state)
    assert found <= told + 1000
    assert told <= 3 * found


def test_states_of_many_texts_share_the_room(load_tiny: LoadTiny) -> None:
    header = load_tiny(Architecture.QWEN35).model.header
    few, many = states_kept(header, 1), states_kept(header, 100_000)
    assert few > many == 1
