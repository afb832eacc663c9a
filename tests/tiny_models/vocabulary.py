"""The vocabulary of the tiny models, and the chat template that fits it."""

from collections.abc import Sequence

import gguf

CHATML_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""The ChatML template, whose marks are control tokens of the tiny vocabulary."""

UNKNOWN, BEGIN, END, TURN_START, TURN_END = 0, 1, 2, 259, 260
"""Ids of `<unk>`, `<s>`, `</s>`, `<|im_start|>` and `<|im_end|>`."""

FIRST_BYTE = 3
"""Id of the token for byte 0; byte b has the id FIRST_BYTE + b."""

LONGEST_SPACES = 64
"""Length in bytes of the longest token, a run of spaces."""

# Every piece of three letters or more can be reached by joining two others: that is how the
# tokenizer of llama.cpp builds them.
DEFAULT_WORDS = (
    *("th", "he", "in", "er", "an", "re", "▁t", "▁a", "the", "▁the", "ing", "and"),
    *("é", "世"),
)
"""The word pieces at the end of the vocabulary; other words make another vocabulary."""

_SPACE_RUNS = tuple("▁" * 2**power for power in range(LONGEST_SPACES.bit_length()))
_CHARACTERS = tuple("abcdefghijklmnopqrstuvwxyz.,!?-:;()\"'=")


def vocabulary(words: Sequence[str] = DEFAULT_WORDS) -> list[str]:
    """The pieces of the vocabulary in the order of their ids, "▁" standing for a space."""
    bytes_ = [f"<0x{value:02X}>" for value in range(256)]
    marks = ["<|im_start|>", "<|im_end|>"]
    return ["<unk>", "<s>", "</s>", *bytes_, *marks, *_SPACE_RUNS, *_CHARACTERS, *words]


def add_vocabulary(
    writer: gguf.GGUFWriter, words: Sequence[str], chat_template: str | None
) -> None:
    """Writes the vocabulary into a file, and the template if there is one."""
    pieces = vocabulary(words)
    types = [gguf.TokenType.NORMAL] * len(pieces)
    types[UNKNOWN] = gguf.TokenType.UNKNOWN
    types[FIRST_BYTE : FIRST_BYTE + 256] = [gguf.TokenType.BYTE] * 256
    for control in (BEGIN, END, TURN_START, TURN_END):
        types[control] = gguf.TokenType.CONTROL
    writer.add_tokenizer_model("llama")
    writer.add_token_list(pieces)
    # Later pieces are longer, and the tokenizer joins the pair with the highest score first.
    writer.add_token_scores([float(rank) for rank in range(len(pieces))])
    writer.add_token_types(types)
    writer.add_unk_token_id(UNKNOWN)
    writer.add_bos_token_id(BEGIN)
    writer.add_eos_token_id(END)
    writer.add_eot_token_id(TURN_END)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    if chat_template is not None:
        writer.add_chat_template(chat_template)
