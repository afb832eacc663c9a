"""Chats: templates, the session that ties a chat to the engine, the engine thread, the history."""
