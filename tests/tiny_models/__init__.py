"""Small random models that real llama.cpp loads, so that every test can run the real thing.

`tiny_model` writes a GGUF file of about half a megabyte in a few milliseconds: two to four layers
of width 64, weights drawn from a seed, 320 tokens. The text it writes is noise, but noise that
depends on every token of the context (an old token moves the logits by ten times what rounding
does), so that a wrong entry in the KV cache shows in the output. Batched and single decoding differ
by rounding alone: at most about 0.05 in a logit.

The vocabulary is SentencePiece-like with byte fallback: control tokens, 256 byte tokens, runs of
spaces up to 64 (a token longer than a small buffer), lower-case letters, some punctuation, a few
word pieces. "é" and "世" are pieces of their own; any other character outside ASCII takes one byte
token a byte, as do digits and capitals.
"""

from tests.tiny_models.architectures import (
    CHAIN_ARCHITECTURES,
    DRAFTED_ARCHITECTURES,
    PLAIN_ARCHITECTURES,
    RECURRENT_ARCHITECTURES,
    TREE_ARCHITECTURES,
    Architecture,
)
from tests.tiny_models.attention import SLIDING_WINDOW
from tests.tiny_models.vocabulary import (
    BEGIN,
    CHATML_TEMPLATE,
    DEFAULT_WORDS,
    END,
    FIRST_BYTE,
    LONGEST_SPACES,
    TURN_END,
    TURN_START,
    UNKNOWN,
    vocabulary,
)
from tests.tiny_models.writing import tiny_model

__all__ = [
    "BEGIN",
    "CHAIN_ARCHITECTURES",
    "CHATML_TEMPLATE",
    "DEFAULT_WORDS",
    "DRAFTED_ARCHITECTURES",
    "END",
    "FIRST_BYTE",
    "LONGEST_SPACES",
    "PLAIN_ARCHITECTURES",
    "RECURRENT_ARCHITECTURES",
    "SLIDING_WINDOW",
    "TREE_ARCHITECTURES",
    "TURN_END",
    "TURN_START",
    "UNKNOWN",
    "Architecture",
    "tiny_model",
    "vocabulary",
]
