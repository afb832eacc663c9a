"""One chat ("hello", "good", "more", "yes") as each program writes it, by hand from its format."""

from __future__ import annotations

from typing import Any


def chatgpt() -> dict[str, Any]:
    """With a hidden system message, a tool between two parts of an answer, and a branch."""

    def node(key: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
        content = {"content_type": more.pop("kind", "text"), "parts": [text]}
        message = {"id": key, "author": {"role": role}, "content": content, **more}
        return {"id": key, "parent": parent, "children": [], "message": message}

    hidden = {"is_visually_hidden_from_conversation": True}
    nodes = [
        {"id": "root", "parent": None, "children": ["s"], "message": None},
        node("s", "root", "system", "", metadata=hidden),
        node("q1", "s", "user", "hello", create_time=1_700_000_001.5),
        node("a0", "q1", "assistant", "another answer"),
        node("c1", "q1", "assistant", "search()", kind="code", recipient="browser"),
        node("t1", "c1", "tool", "a page"),
        node("a1", "t1", "assistant", "good", metadata={"model_slug": "gpt-4"}),
        node("q2", "a1", "user", "more"),
        node("th", "q2", "assistant", "", kind="thoughts"),
        node("a2", "th", "assistant", "yes"),
    ]
    return {
        "title": "A title",
        "create_time": 1_700_000_000.0,
        "update_time": 1_700_000_100.0,
        "current_node": "a2",
        "mapping": {each["id"]: each for each in nodes},
    }


def claude() -> dict[str, Any]:
    def message(sender: str, text: str, **more: Any) -> dict[str, Any]:
        return {
            "uuid": text,
            "sender": sender,
            "text": text,
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}],
            "created_at": "2023-11-14T22:13:21.5Z",
            **more,
        }

    return {
        "uuid": "x",
        "name": "A title",
        "created_at": "2023-11-14T22:13:20Z",
        "updated_at": "2023-11-14T22:15:00+00:00",
        "chat_messages": [
            message("human", "hello"),
            message("assistant", "good"),
            message("human", "more"),
            message("assistant", "yes"),
        ],
    }


def sharegpt() -> dict[str, Any]:
    said = [("system", "be kind"), ("human", "hello"), ("gpt", "good")]
    said += [("human", "more"), ("gpt", "yes")]
    return {"id": "1", "conversations": [{"from": who, "value": what} for who, what in said]}


def messages() -> dict[str, Any]:
    return {
        "messages": [
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": [{"type": "text", "text": "hello"}, {"type": "image_url"}]},
            {"role": "assistant", "content": None, "tool_calls": [{}]},
            {"role": "tool", "content": "42"},
            {"role": "assistant", "content": "good"},
            {"role": "user", "content": "more"},
            {"role": "assistant", "content": "yes"},
        ]
    }


def ultrachat() -> dict[str, Any]:
    return {"id": "1", "data": ["hello", "good", "more", "yes"]}


def lm_studio() -> dict[str, Any]:
    """With a first version of an answer that was written anew."""

    def asked(text: str) -> dict[str, Any]:
        content = [{"type": "text", "text": text}]
        version = {"type": "singleStep", "role": "user", "content": content}
        return {"versions": [version], "currentlySelected": 0}

    def answered(*texts: str) -> dict[str, Any]:
        versions = [
            {
                "type": "multiStep",
                "role": "assistant",
                "steps": [
                    {
                        "type": "contentBlock",
                        "style": {"type": "thinking"},
                        "content": [{"type": "text", "text": "hm"}],
                    },
                    {
                        "type": "contentBlock",
                        "content": [{"type": "text", "text": text}],
                        "genInfo": {"identifier": "qwen"},
                    },
                    {"type": "debugInfoBlock", "debugInfo": "x"},
                ],
            }
            for text in texts
        ]
        return {"versions": versions, "currentlySelected": len(versions) - 1}

    return {
        "name": "A title",
        "createdAt": 1_700_000_000_000,
        "systemPrompt": "be kind",
        "messages": [asked("hello"), answered("another", "good"), asked("more"), answered("yes")],
    }


def llama_cpp() -> dict[str, Any]:
    """As of today: a tree with a root, identifiers that are text."""

    def message(key: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
        return {
            "id": key,
            "convId": "c",
            "type": "text",
            "timestamp": 1_700_000_001_500,
            "role": role,
            "content": text,
            "parent": parent,
            "children": [],
            **more,
        }

    return {
        "conv": {"id": "c", "name": "A title", "lastModified": 1_700_000_100_000, "currNode": "4"},
        "messages": [
            message("0", None, "system", "", type="root"),
            message("1", "0", "user", "hello"),
            message("2", "1", "assistant", "good", model="qwen"),
            message("9", "1", "assistant", "another"),
            message("3", "2", "user", "more"),
            message("4", "3", "assistant", "yes"),
        ],
    }


def llama_cpp_tables() -> list[dict[str, Any]]:
    """A copy of the whole database, as older versions write it: identifiers are numbers."""
    chat = llama_cpp()
    for message in chat["messages"]:
        message["id"] = int(message["id"])
        message["parent"] = -1 if message["parent"] is None else int(message["parent"])
    conversation = {**chat["conv"], "currNode": 4}
    return [
        {"table": "conversations", "rows": [conversation]},
        {"table": "messages", "rows": chat["messages"]},
    ]


WHOLE = {
    "chatgpt": chatgpt,
    "claude": claude,
    "sharegpt": sharegpt,
    "messages": messages,
    "ultrachat": ultrachat,
    "lm_studio": lm_studio,
    "llama_cpp": llama_cpp,
}
"""Each as one record."""
