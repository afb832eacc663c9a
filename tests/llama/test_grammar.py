"""Answers that must keep to a grammar, with a tiny model whose text is noise otherwise."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from sssd_chat.drafting import Drafter, PlainDrafter, ReferenceDrafter
from sssd_chat.errors import UserError
from sssd_chat.generation.engine import Generation, GenerationSettings
from sssd_chat.generation.loading import LoadedEngine, State
from sssd_chat.generation.statistics import StoppedBy
from sssd_chat.llama.grammar import Grammar, grammar_of_schema
from sssd_chat.llama.sampler import SamplerChain, SamplerSettings
from tests.conftest import LoadTiny

LETTERS = 'root ::= ("ab" | "cd")+ "."'
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "enum": ["the cat", "the dog"]},
        "count": {"type": "integer"},
        "known": {"type": "boolean"},
    },
    "required": ["name", "count", "known"],
}


def write(loaded: LoadedEngine, sampler: SamplerSettings, drafter: Drafter) -> Generation[State]:
    engine = loaded.engine
    conversation = engine.open(drafter)
    prompt = loaded.model.vocabulary.tokenize("abcdababcdab. abcdababcdcdab. " * 6)
    settings = GenerationSettings(sampler, max_tokens=120)
    generation = engine.begin(conversation, prompt, settings)
    while not generation.is_finished:
        engine.step([generation])
    engine.close(conversation)
    return generation


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_an_answer_keeps_to_its_grammar_with_drafts_and_without(
    load_tiny: LoadTiny, temperature: float
) -> None:
    loaded = load_tiny(can_end=True)
    ended = 0
    for seed in range(6):
        sampler = SamplerSettings(temperature, seed=seed, top_k=0, grammar=LETTERS)
        sampler = replace(sampler, repeat_penalty=1.0 + 0.1 * (seed % 2))
        plain = write(loaded, sampler, PlainDrafter())
        assert re.fullmatch(r"(ab|cd|a$|c$)*\.?", plain.text)
        assert write(loaded, sampler, ReferenceDrafter()).text == plain.text
        if plain.stopped_by is StoppedBy.END:
            assert plain.text.endswith(".")
            ended += 1
    assert ended or temperature == 0.0


def test_an_answer_fits_its_schema(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(can_end=True)
    grammar = grammar_of_schema(json.dumps(SCHEMA))
    for seed in range(5):
        sampler = SamplerSettings(1.0, seed=seed, grammar=grammar)
        generation = write(loaded, sampler, ReferenceDrafter())
        assert generation.stopped_by is StoppedBy.END
        answer = json.loads(generation.text)
        assert answer["name"] in SCHEMA["properties"]["name"]["enum"]  # type: ignore[index]
        assert isinstance(answer["count"], int)
        assert answer["known"] in (True, False)


def test_a_token_that_is_not_allowed_is_told_from_one_that_is(load_tiny: LoadTiny) -> None:
    vocabulary = load_tiny().model.vocabulary
    grammar = Grammar('root ::= "a" "b"', vocabulary.pointer)
    (a,), (b,) = vocabulary.tokenize("a")[-1:], vocabulary.tokenize("b")[-1:]
    assert grammar.allows(a)
    assert not grammar.allows(b)
    grammar.accept(a)
    assert grammar.allows(b)
    assert not grammar.allows(a)
    grammar.close()


@pytest.mark.parametrize(
    "grammar",
    ["", "root ::= (", "answer ::= [a]", 'root ::= root "a"', "\0", "root ::= \0", "ä::="],
)
def test_a_broken_grammar_is_a_clear_error(load_tiny: LoadTiny, grammar: str) -> None:
    vocabulary = load_tiny().model.vocabulary
    with pytest.raises(UserError, match=r"^The grammar cannot be used: .*\.$"):
        Grammar(grammar, vocabulary.pointer)


@pytest.mark.parametrize(
    "schema",
    ["", "{", "[]", '"text"', '{"type": "nothing"}', '{"$ref": "#/nowhere"}', '{"allOf": 3}'],
)
def test_a_broken_schema_is_a_clear_error(schema: str) -> None:
    with pytest.raises(UserError, match=r"^The JSON schema .*\.$"):
        grammar_of_schema(schema)


def test_what_is_too_long_is_not_even_looked_at(load_tiny: LoadTiny) -> None:
    vocabulary = load_tiny().model.vocabulary
    with pytest.raises(UserError, match="200000 characters"):
        Grammar("a" * 300_000, vocabulary.pointer)
    with pytest.raises(UserError, match="200000 characters"):
        grammar_of_schema("a" * 300_000)


def test_where_the_grammar_leaves_no_token_it_is_said(load_tiny: LoadTiny) -> None:
    """The grammar allows nothing but the end, and the end is forbidden."""
    vocabulary = load_tiny().model.vocabulary
    ends = [t for t in range(vocabulary.size) if vocabulary.is_end_of_generation(t)]
    never = tuple((token, -np.inf) for token in ends)
    settings = SamplerSettings(grammar='root ::= "a"', logit_bias=never)
    chain = SamplerChain(settings, vocabulary.size, vocabulary.pointer)
    logits = np.zeros(vocabulary.size, np.float32)
    assert vocabulary.piece(chain.sample(logits)) == b"a"
    with pytest.raises(UserError, match="allows no token"):
        chain.sample(logits)
    chain.close()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "integer"}, "maxItems": 10**9},
        {"type": "array", "items": {"type": "integer"}, "minItems": 10**9},
        {"type": "string", "minLength": 10**12},
        {
            "type": "object",
            "properties": {"a": {"anyOf": [{"type": "string", "maxLength": 2**60}]}},
        },
        {"type": "string", "pattern": "^a{1000000000}$"},
        {"type": "string", "pattern": "^a{1,%s}$" % ("9" * 6000)},
        {"type": "string", "pattern": "^(((a{100}){100}){100}){100}$"},
        {"type": "array", "prefixItems": [{"type": "string", "maxLength": 101}] * 100},
    ],
)
def test_a_schema_that_would_fill_the_memory_is_refused(schema: dict[str, object]) -> None:
    with pytest.raises(UserError, match="lengths in it come to more than 10000"):
        grammar_of_schema(json.dumps(schema))


def test_lengths_of_a_usual_size_and_words_that_look_like_them_are_taken() -> None:
    string = {"type": "string", "maxLength": 100}
    schema = {
        "type": "object",
        "properties": {
            "maxItems": {"const": {"maxItems": 10**9}},
            "day": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
            "list": {"type": "array", "items": string, "maxItems": 20},
        },
    }
    assert "root ::=" in grammar_of_schema(json.dumps(schema))


@pytest.mark.parametrize(
    "grammar",
    [
        "root ::= " + "(" * 50_000 + '"a"' + ")" * 50_000,
        "root ::= " + "(" * 50_000,
        'root ::= "' + "a" * 90_000 + '"{2000}',
        'root ::= "a"{%s}' % ("9" * 6000),
        'root ::= "a"{1,%s}' % ("9" * 30),
    ],
)
def test_a_grammar_that_would_end_the_process_or_fill_the_memory_is_refused(
    load_tiny: LoadTiny, grammar: str
) -> None:
    with pytest.raises(UserError, match=r"nested too deeply|too much is repeated"):
        Grammar(grammar, load_tiny().model.vocabulary.pointer)


def test_grammars_as_deep_and_as_long_as_allowed_can_be_read(load_tiny: LoadTiny) -> None:
    vocabulary = load_tiny().model.vocabulary
    for grammar in (
        "root ::= " + "(" * 4000 + '"a"' + ")" * 4000,
        'root ::= "' + "a" * 2400 + '"{2000}',
        "root ::= r0\n" + "".join(f"r{n} ::= r{n + 1}\n" for n in range(9000)) + 'r9000 ::= "a"',
    ):
        follows = Grammar(grammar, vocabulary.pointer)
        assert follows.allows(vocabulary.tokenize("a")[-1])
        follows.close()
