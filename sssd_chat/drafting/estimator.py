"""Turns evidence into probabilities, and learns how from what the target really emitted.

A logistic model. Its inputs are, for each source, the log odds that candidates with the same
evidence had so far (counts per evidence bucket, smoothed by a prior); the weights of the sources
are the sum of a few small sets, each chosen by the state of one source; and biases belong to
single tokens after single tokens. All of it is learned online, one emitted token at a time.
"""

from __future__ import annotations

import math
from math import exp, log
from typing import Any

from sssd_chat.drafting import evidence as ev
from sssd_chat.drafting.evidence import Evidence
from sssd_chat.drafting.runnerups import KEPT
from sssd_chat.drafting.token_biases import NEGLIGIBLE_ERROR, TokenBiases

PRIOR_STRENGTH = 6.0
"""Observations that the prior of a bucket is worth."""
MEMORY = 1000.0
"""Observations after which a bucket forgets as fast as it learns."""
RATE = 0.01
"""Step of the gradient descent on the weights."""
LARGEST_WEIGHT = 10.0
"""No weight that was learned comes near this."""
LEAST = 0.0005
"""Probabilities stay this far from 0 and 1."""
SURE = 0.995
"""The candidates of one place share at most this."""
HOPE = 1.5
"""So much can biases be expected to add to the log odds of a candidate at most."""

_LEAST_ODDS = log(LEAST / (1.0 - LEAST))
_SHARED_RATE = RATE / 4
"""Each of the four weight sets that add up takes its share of a step."""

_ABSENT = [ev.MATCH_BUCKETS + length for length in range(ev.LONGEST + 1)]
"""Bucket of the candidates that a text source does not know, by its longest match."""
_LENGTH_SETS = ev.LONGEST
_COPY_SETS = ev.COPY_CLASSES + 1


def log_odds(probability: float) -> float:
    """The logarithm of the odds, with the probability kept off 0 and 1."""
    if probability < LEAST:
        return _LEAST_ODDS
    if probability > 1.0 - LEAST:
        return -_LEAST_ODDS
    return log(probability / (1.0 - probability))


class Buckets:
    """How often candidates with the same evidence were emitted."""

    def __init__(self, priors: list[float]) -> None:
        """`priors` are the probabilities to start from."""
        self.probabilities = list(priors)
        self.observations = [PRIOR_STRENGTH] * len(priors)
        self.log_odds = [log_odds(prior) for prior in priors]

    def learn(self, bucket: int, emitted: bool) -> None:
        """One more candidate of this bucket was emitted, or was not."""
        seen = self.observations[bucket]
        probability = self.probabilities[bucket]
        probability += (emitted - probability) / (seen + 1.0)
        self.probabilities[bucket] = probability
        self.log_odds[bucket] = log_odds(probability)
        if seen < MEMORY:
            self.observations[bucket] = seen + 1.0

    def dump(self) -> list[list[float]]:
        """Bucket, probability and observations of each bucket that learned something."""
        return [
            [bucket, round(self.probabilities[bucket], 5), seen]
            for bucket, seen in enumerate(self.observations)
            if seen > PRIOR_STRENGTH
        ]

    def load(self, dumped: list[list[float]]) -> None:
        """Takes over what dump gave. Raises an ordinary exception when it is something else."""
        for bucket, probability, seen in dumped:
            if not (0.0 <= probability <= 1.0 and PRIOR_STRENGTH <= seen <= MEMORY + 1.0):
                raise ValueError("not the experience of a bucket")
            self.probabilities[int(bucket)] = probability
            self.observations[int(bucket)] = seen
            self.log_odds[int(bucket)] = log_odds(probability)


class Estimator:
    """The model; see the module."""

    def __init__(self) -> None:
        """No experience: priors."""
        self._conversation = Buckets(_text_priors(1.0))
        self._store = Buckets(_text_priors(0.9))
        self._runner_ups = Buckets(_runner_up_priors())
        self._copy = Buckets(_copy_priors())
        self._buckets = (self._conversation, self._store, self._runner_ups, self._copy)
        start = [0.1, 0.075, 0.1, 0.075, 0.0375]
        self._weights = [
            [list(start) for _ in range(sets)]
            for sets in (_LENGTH_SETS + 1, _LENGTH_SETS + 1, _COPY_SETS, ev.RUNNER_UP_BUCKETS)
        ]
        """Four families of sets, chosen by conversation, datastore, copy and runner-ups; a set
        holds a weight for each source in that order, and a constant."""
        self._sums: dict[tuple[int, int, int, int], list[float]] = {}
        """Sums of chosen sets since they changed last."""
        self._biases = TokenBiases()

    def probabilities(self, evidence: Evidence, least: float) -> list[tuple[float, int]]:
        """Probability and token of the candidates with a probability of at least `least`, the
        likeliest first."""
        scores = self._scores(evidence)
        constant, tables = self._biases.after(evidence.bias_context)
        hopeless = log_odds(least) - HOPE
        total = 0.0
        found: list[tuple[float, int]] = []
        for token, score in scores.items():
            if score < hopeless:
                total += 1.0 / (1.0 + exp(-score))
                continue
            score += constant
            for biases in tables:
                if token in biases:
                    score += biases[token]
            probability = 1.0 / (1.0 + exp(-score))
            total += probability
            if probability >= least:
                found.append((probability, token))
        if total > SURE:
            # The candidates exclude each other.
            share = SURE / total
            found = [(p * share, token) for p, token in found if p * share >= least]
        found.sort(reverse=True)
        return found

    def copy_probability(self, copy_class: int) -> float:
        """The chance that a copy goes on, judged by nothing but its length."""
        return min(self._copy.probabilities[copy_class], SURE)

    def _scores(self, evidence: Evidence) -> dict[int, float]:
        """Log odds of all candidates without the biases of tokens."""
        conversation, store, runner_ups, copy, base = self._mixed(evidence)
        odds = self._conversation.log_odds
        absent = conversation * odds[_ABSENT[evidence.conversation_length]]
        from_conversation = [
            (token, conversation * odds[bucket] - absent)
            for token, bucket in evidence.conversation.items()
        ]
        base += absent
        odds = self._store.log_odds
        absent_store = store * odds[_ABSENT[evidence.store_length]]
        base += absent_store
        odds_ranked = self._runner_ups.log_odds
        absent_ranked = runner_ups * odds_ranked[evidence.unranked]
        base += absent_ranked
        copy_token = evidence.copy_token
        if copy_token >= 0:
            odds_copy = self._copy.log_odds
            other = copy * odds_copy[ev.COPY_CLASSES + evidence.copy_class]
            base += other
        scores = {token: base + score for token, score in from_conversation}
        known = scores.get
        for token, bucket in evidence.store.items():
            scores[token] = known(token, base) + store * odds[bucket] - absent_store
        for token, bucket in evidence.runner_ups.items():
            scores[token] = known(token, base) + runner_ups * odds_ranked[bucket] - absent_ranked
        if copy_token >= 0:
            scores[copy_token] = (
                known(copy_token, base) + copy * odds_copy[evidence.copy_class] - other
            )
        return scores

    def learn(self, evidence: Evidence, emitted: int) -> None:
        """The token after `evidence` was `emitted`."""
        conversation, store, runner_ups = self._conversation, self._store, self._runner_ups
        known, known_store, ranked = evidence.conversation, evidence.store, evidence.runner_ups
        absent = _ABSENT[evidence.conversation_length]
        absent_store = _ABSENT[evidence.store_length]
        unranked = evidence.unranked
        weight, weight_store, weight_ranked, weight_copy, constant = self._mixed(evidence)
        copy_token = evidence.copy_token
        constant_bias, tables = self._biases.after(evidence.bias_context)
        constant += constant_bias
        candidates = known | known_store | ranked
        if copy_token >= 0:
            candidates[copy_token] = 0
        slope = slope_store = slope_ranked = slope_copy = slope_constant = 0.0
        errors = []
        # One loop with everything at hand: this runs for each emitted token.
        for token in candidates:
            place = known.get(token, absent)
            place_store = known_store.get(token, absent_store)
            place_ranked = ranked.get(token, unranked)
            odds = conversation.log_odds[place]
            odds_store = store.log_odds[place_store]
            odds_ranked = runner_ups.log_odds[place_ranked]
            score = (
                constant + weight * odds + weight_store * odds_store + weight_ranked * odds_ranked
            )
            hit = token == emitted
            if copy_token >= 0:
                place_copy = evidence.copy_class + (0 if token == copy_token else ev.COPY_CLASSES)
                odds_copy = self._copy.log_odds[place_copy]
                score += weight_copy * odds_copy
            for biases in tables:
                if token in biases:
                    score += biases[token]
            score = 30.0 if score > 30.0 else -30.0 if score < -30.0 else score
            error = hit - 1.0 / (1.0 + exp(-score))
            slope += error * odds
            slope_store += error * odds_store
            slope_ranked += error * odds_ranked
            slope_constant += error * 0.5
            conversation.learn(place, hit)
            store.learn(place_store, hit)
            runner_ups.learn(place_ranked, hit)
            if copy_token >= 0:
                slope_copy += error * odds_copy
                self._copy.learn(place_copy, hit)
            if not -NEGLIGIBLE_ERROR < error < NEGLIGIBLE_ERROR:
                errors.append((token, error))
        self._biases.learn(evidence.bias_context, errors)
        gradient = (slope, slope_store, slope_ranked, slope_copy, slope_constant)
        for chosen in self._sets(evidence):
            for source, value in enumerate(gradient):
                chosen[source] += value * _SHARED_RATE
        self._sums.clear()

    def _sets(self, evidence: Evidence) -> list[list[float]]:
        """The weight sets that the state of each source chooses."""
        by_conversation, by_store, by_copy, by_runner_ups = self._weights
        return [
            by_conversation[evidence.conversation_length],
            by_store[evidence.store_length],
            by_copy[evidence.copy_class if evidence.copy_token >= 0 else ev.COPY_CLASSES],
            by_runner_ups[evidence.unranked],
        ]

    def _mixed(self, evidence: Evidence) -> list[float]:
        key = (
            evidence.conversation_length,
            evidence.store_length,
            evidence.copy_class if evidence.copy_token >= 0 else -1,
            evidence.unranked,
        )
        weights = self._sums.get(key)
        if weights is None:
            weights = [math.fsum(same) for same in zip(*self._sets(evidence), strict=True)]
            self._sums[key] = weights
        return weights

    def forget_tokens(self) -> None:
        """Forgets what it learned about single tokens."""
        self._biases = TokenBiases()

    def dump(self) -> dict[str, Any]:
        """All that was learned, as JSON can hold it."""
        return {
            "buckets": [buckets.dump() for buckets in self._buckets],
            "weights": [[[round(w, 5) for w in one] for one in sets] for sets in self._weights],
            "biases": self._biases.dump(),
        }

    def load(self, dumped: dict[str, Any]) -> None:
        """Takes over what dump gave. Raises an ordinary exception when it is something else."""
        for buckets, learned in zip(self._buckets, dumped["buckets"], strict=True):
            buckets.load(learned)
        for family, sets in zip(self._weights, dumped["weights"], strict=True):
            for chosen, learned in zip(family, sets, strict=True):
                for source, weight in zip(range(len(chosen)), learned, strict=True):
                    if not -LARGEST_WEIGHT <= weight <= LARGEST_WEIGHT:
                        raise ValueError("not a weight")
                    chosen[source] = float(weight)
        self._sums.clear()
        self._biases.load(dumped["biases"])


def _text_priors(trust: float) -> list[float]:
    """A ratio of counts, smoothed, and trusted the more the longer the match is."""
    trusted_lengths = (0.30, 0.50, 0.62, 0.70, 0.76, 0.82, 0.85, 0.88)
    priors: list[float] = []
    for length, certainty in enumerate(trusted_lengths, 1):
        for gap_factor in (1.0, 0.35, 0.15):
            for recent_factor in (0.8, 1.0):
                for count in ev.COUNTS:
                    for other in ev.OTHERS:
                        ratio = count / (count + other + 0.3 + 1.6 / length)
                        sure = certainty + (1.0 - certainty) * min(1.0, (count - 1.0) / 10.0)
                        prior = ratio * sure * gap_factor * recent_factor * trust
                        priors.append(min(0.97, prior))
    return priors + [0.04 - 0.003 * longest for longest in range(ev.LONGEST + 1)]


def _runner_up_priors() -> list[float]:
    after_one = (0.0, 0.30, 0.12, 0.07, 0.05, 0.0)
    after_more = (0.03, 0.60, 0.15, 0.08, 0.05)
    priors: list[float] = []
    for _ in range(2):
        for longer in range(ev.RANKS):
            for single in range(ev.RANKS):
                if 1 <= longer <= KEPT:
                    priors.append(after_more[longer])
                elif 1 <= single <= KEPT:
                    priors.append(after_one[single] * (0.5 if longer == 0 else 1.0))
                else:
                    priors.append(0.02 if 0 in (longer, single) else 0.1)
    return priors


def _copy_priors() -> list[float]:
    by_length = (0.50, 0.60, 0.70, 0.78, 0.85, 0.92, 0.96, 0.98, 0.985)
    goes_on = [
        chance * factor * trust
        for trust in (1.0, 0.95)
        for factor in (1.0, 0.85, 0.7)
        for chance in by_length
    ]
    return goes_on + [(1.0 - chance) * 0.15 for chance in goes_on] + [0.1]
