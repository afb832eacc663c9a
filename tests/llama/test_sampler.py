from __future__ import annotations

import numpy as np
import pytest

from sssd_chat.errors import UserError
from sssd_chat.llama.logprobs import token_logprob
from sssd_chat.llama.sampler import SamplerChain, SamplerSettings, best_tokens

RNG = np.random.default_rng(4)


def logits(size: int = 50) -> np.ndarray:
    return RNG.normal(0, 2, size).astype(np.float32)


def draws(settings: SamplerSettings, values: np.ndarray, count: int) -> np.ndarray:
    chain = SamplerChain(settings, len(values))
    counts = np.bincount([chain.sample(values) for _ in range(count)], minlength=len(values))
    chain.close()
    return counts


def softmax(values: np.ndarray) -> np.ndarray:
    weights = np.exp(values - values.max())
    return weights / weights.sum()


def test_greedy_takes_the_best_token_first_of_equals() -> None:
    chain = SamplerChain(SamplerSettings(), 6)
    assert chain.sample(np.array([0, 3, 1, 3, 2, 0], np.float32)) == 1


def test_draws_follow_the_temperature() -> None:
    values = logits(6)
    settings = SamplerSettings(temperature=0.7, seed=1, top_k=0, top_p=1.0, min_p=0.0)
    counts = draws(settings, values, 20_000)
    assert counts / 20_000 == pytest.approx(softmax(values / 0.7), abs=0.015)


def test_top_k_min_p_and_top_p_cut_the_tail() -> None:
    values = logits()
    order = np.argsort(-values)
    p = softmax(values)

    def drawn(**options: float) -> set[int]:
        off: dict[str, float] = {"top_k": 0, "top_p": 1.0, "min_p": 0.0}
        settings = SamplerSettings(temperature=1.0, seed=2, **(off | options))  # type: ignore[arg-type]
        return set(np.flatnonzero(draws(settings, values, 3000)).tolist())

    assert drawn(top_k=3) == set(order[:3].tolist())
    assert drawn(min_p=0.3) == set(np.flatnonzero(p >= 0.3 * p.max()).tolist())
    nucleus = int(np.searchsorted(np.cumsum(p[order]), 0.6)) + 1
    assert drawn(top_p=0.6) == set(order[:nucleus].tolist())


def test_the_same_seed_draws_the_same() -> None:
    settings = SamplerSettings(temperature=1.0, seed=7)
    values = [logits() for _ in range(50)]

    def run(settings: SamplerSettings) -> list[int]:
        chain = SamplerChain(settings, 50)
        return [chain.sample(v) for v in values]

    assert run(settings) == run(settings)
    assert run(settings) != run(SamplerSettings(temperature=1.0, seed=8))
    random = SamplerSettings(temperature=1.0)
    assert run(random) != run(random)


def test_penalties_see_each_emitted_token_once() -> None:
    """Frequency penalty by hand: greedy with the counts of what was emitted."""
    values = logits(8)
    chain = SamplerChain(SamplerSettings(frequency_penalty=0.5, presence_penalty=0.2), 8)
    counts = np.zeros(8)
    for _ in range(40):
        expected = int((values - 0.5 * counts - 0.2 * (counts > 0)).argmax())
        assert chain.sample(values) == expected
        counts[expected] += 1


def test_the_given_logits_are_left_alone() -> None:
    values = logits()
    before = values.copy()
    SamplerChain(SamplerSettings(temperature=1.0, repeat_penalty=1.5, seed=1), 50).sample(values)
    assert (values == before).all()


@pytest.mark.parametrize("size", [5, 300, 1024, 5000, 151_936])
@pytest.mark.parametrize("count", [0, 1, 4, 64])
def test_best_tokens_are_the_best_in_order(size: int, count: int) -> None:
    for _ in range(5):
        values = RNG.permutation(size).astype(np.float32)
        best = best_tokens(values, count)
        assert best == tuple(np.argsort(-values)[:count].tolist())


def test_biases_are_added_before_anything_else() -> None:
    values = logits()
    best = int(values.argmax())
    for options in ({}, {"temperature": 1.0, "seed": 3}, {"repeat_penalty": 1.2}):
        forbidden = SamplerSettings(logit_bias=((best, -100.0),), **options)  # type: ignore[arg-type]
        forced = SamplerSettings(logit_bias=((7, 60.0), (7, 40.0)), **options)  # type: ignore[arg-type]
        assert best not in np.flatnonzero(draws(forbidden, values, 200))
        assert np.flatnonzero(draws(forced, values, 20)).tolist() == [7]
    assert not SamplerChain(forbidden, 50).takes_best
    with pytest.raises(UserError, match="no token 50"):
        SamplerChain(SamplerSettings(logit_bias=((50, 1.0),)), 50)


def test_logprobs_are_those_of_the_logits_themselves() -> None:
    values = logits(3000)
    expected = np.log(softmax(values.astype(np.float64)))
    found = token_logprob(values, 17, 4)
    assert found.token == 17
    assert found.logprob == pytest.approx(expected[17], abs=1e-5)
    assert [token for token, _ in found.top] == np.argsort(-expected)[:4].tolist()
    assert [p for _, p in found.top] == pytest.approx(np.sort(expected)[::-1][:4].tolist())
    assert token_logprob(values, 17, 0).top == ()
