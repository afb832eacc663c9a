#!/usr/bin/env python3
"""Records a model's answers to the prompts of the starter corpora.

    python datastores/record.py --model MODEL.gguf [--parallel 32] [--max-tokens 448] [FOLDER …]

Each FOLDER (default: all beside this file) has a `prompts.jsonl`; the answers are added to its
`answers.jsonl` as they are finished, so a recording that was stopped goes on where it was. `--pack`
adds them to `answers.jsonl.xz`, which is what the program installs.

Greedy decoding, many conversations in one batch, each in a stream of its own of the KV cache: on a
CPU that gives two to four times the tokens of one conversation at a time. Questions of all folders
are taken in turn, so that a recording stopped early is balanced.
"""

from __future__ import annotations

import argparse
import itertools
import json
import lzma
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import llama_cpp
import numpy as np

from sssd_chat.conversation.templates import ChatTemplate, Message
from sssd_chat.llama.model import Model

HERE = Path(__file__).parent
PACKED = "answers.jsonl.xz"
CHUNK = 256


@dataclass
class Prompt:
    """One line of a `prompts.jsonl`."""

    folder: Path
    id: str
    turns: list[str]
    answers: list[str] = field(default_factory=list)


@dataclass
class Running:
    """A conversation that holds a stream of the cache."""

    prompt: Prompt
    stream: int
    tokens: list[int]
    """The rendered prompt; its prefix of `read` tokens is in the cache."""
    read: int = 0
    answer: list[int] = field(default_factory=list)


class Streams:
    """A context of llama.cpp with one KV stream for each conversation."""

    def __init__(self, model: Model, parallel: int, length: int, threads: int) -> None:
        parameters = llama_cpp.llama_context_default_params()
        parameters.n_ctx = parallel * length
        parameters.n_batch = parameters.n_ubatch = 512
        parameters.n_seq_max = parallel
        parameters.kv_unified = False
        parameters.n_threads = parameters.n_threads_batch = threads
        parameters.flash_attn_type = 0
        self._context = llama_cpp.llama_init_from_model(model.pointer, parameters)
        self._batch = llama_cpp.llama_batch_init(512, 0, 1)
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._vocabulary_size = model.vocabulary.size

    def decode(self, entries: list[tuple[int, int, int, bool]]) -> list[int]:
        """Decodes (token, position, stream, wanted) and returns the likeliest next token of each
        wanted entry, in order."""
        batch = self._batch
        batch.n_tokens = len(entries)
        for place, (token, position, stream, wanted) in enumerate(entries):
            batch.token[place] = token
            batch.pos[place] = position
            batch.n_seq_id[place] = 1
            batch.seq_id[place][0] = stream
            batch.logits[place] = wanted
        if llama_cpp.llama_decode(self._context, batch):
            raise SystemExit("llama_decode failed")
        best = []
        for place, (_, _, _, wanted) in enumerate(entries):
            if wanted:
                row = llama_cpp.llama_get_logits_ith(self._context, place)
                best.append(int(np.ctypeslib.as_array(row, (self._vocabulary_size,)).argmax()))
        return best

    def cut(self, stream: int, length: int) -> None:
        """Keeps the first `length` tokens of a stream."""
        llama_cpp.llama_memory_seq_rm(self._memory, stream, length, -1)


def main() -> int:
    """Runs the script."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--parallel", type=int, default=32)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--max-tokens", type=int, default=448)
    parser.add_argument("--context", type=int, default=1536, help="tokens of one conversation")
    parser.add_argument("--pack", action="store_true", help="compress what was recorded")
    options = parser.parse_args()
    folders = options.folders or sorted(path.parent for path in HERE.glob("*/prompts.jsonl"))
    if options.pack:
        for folder in folders:
            pack(folder)
        return 0
    record(options, folders)
    return 0


def pack(folder: Path) -> None:
    """Sorts the answers by prompt and turn, and compresses them."""
    answers = recorded(folder)
    content = "".join(f"{json.dumps(answer, ensure_ascii=False)}\n" for answer in answers)
    (folder / PACKED).write_bytes(lzma.compress(content.encode(), preset=9))
    print(f"{folder.name}: {len(answers)} answers, {len(content)} bytes", file=sys.stderr)


def recorded(folder: Path) -> list[dict[str, object]]:
    """All answers of a folder, packed ones and new ones, by prompt and turn."""
    packed = folder / PACKED
    lines = lzma.decompress(packed.read_bytes()).decode().splitlines() if packed.exists() else []
    answers = [*map(json.loads, lines), *read(folder / "answers.jsonl")]
    return sorted(
        {(str(a["id"]), int(a["turn"])): a for a in answers}.values(),
        key=lambda answer: (answer["id"], answer["turn"]),
    )


def read(path: Path) -> list[dict[str, object]]:
    """The objects of a JSONL file; none when it does not exist."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]


def waiting_prompts(folders: list[Path]) -> list[Prompt]:
    """What is not recorded yet, one of each folder in turn."""
    queues = []
    for folder in folders:
        done: dict[str, list[str]] = {}
        for answer in recorded(folder):
            done.setdefault(str(answer["id"]), []).append(str(answer["text"]))
        prompts = [
            Prompt(folder, str(p["id"]), list(p["turns"]), done.get(str(p["id"]), []))  # type: ignore[call-overload]
            for p in read(folder / "prompts.jsonl")
        ]
        queues.append([p for p in prompts if len(p.answers) < len(p.turns)])
    return [p for row in itertools.zip_longest(*queues) for p in row if p is not None]


def record(options: argparse.Namespace, folders: list[Path]) -> None:
    """Answers all waiting prompts."""
    model = Model(options.model)
    template = ChatTemplate(model.chat_template, model.vocabulary)
    streams = Streams(model, options.parallel, options.context, options.threads)
    waiting = waiting_prompts(folders)[::-1]
    free = list(range(options.parallel))
    running: list[Running] = []
    written, started = 0, time.monotonic()

    def begin(prompt: Prompt, stream: int, known: list[int]) -> Running:
        """The next turn; `known` are the tokens that the stream holds."""
        messages = []
        for question, answer in zip(prompt.turns, prompt.answers, strict=False):
            messages += [Message("user", question), Message("assistant", answer)]
        messages.append(Message("user", prompt.turns[len(prompt.answers)]))
        tokens = template.tokenize(template.render_text(messages), start=True)
        same = 0
        while same < min(len(known), len(tokens) - 1) and known[same] == tokens[same]:
            same += 1
        streams.cut(stream, same)
        return Running(prompt, stream, tokens, same)

    while waiting or running:
        while waiting and free:
            running.append(begin(waiting.pop(), free.pop(), []))
        entries, wanting = [], []
        for item in running:
            if item.answer:
                place = len(item.tokens) + len(item.answer) - 1
                entries.append((item.answer[-1], place, item.stream, True))
                wanting.append(item)
        for item in running:
            if item.answer or len(entries) >= CHUNK:
                continue
            end = min(len(item.tokens), item.read + CHUNK - len(entries))
            for place in range(item.read, end):
                last = place == len(item.tokens) - 1
                entries.append((item.tokens[place], place, item.stream, last))
                if last:
                    wanting.append(item)
            item.read = end
        best = streams.decode(entries)
        for item, token in zip(wanting, best, strict=True):
            item.answer.append(token)
            ended = model.vocabulary.is_end_of_generation(token)
            room = options.context - len(item.tokens) - len(item.answer)
            if not ended and len(item.answer) < options.max_tokens and room > 1:
                continue
            tokens = item.answer[:-1] if ended else item.answer
            text = b"".join(map(model.vocabulary.piece, tokens)).decode("utf-8", "ignore")
            turn = len(item.prompt.answers)
            line = {"id": item.prompt.id, "turn": turn, "text": text}
            with (item.prompt.folder / "answers.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
            item.prompt.answers.append(text)
            written += len(item.answer)
            running.remove(item)
            if len(item.prompt.answers) < len(item.prompt.turns):
                known = item.tokens + item.answer[:-1]
                running.append(begin(item.prompt, item.stream, known))
            else:
                free.append(item.stream)
            rate = written / (time.monotonic() - started)
            print(f"{written} tokens, {rate:.1f}/s, {len(waiting)} waiting", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
