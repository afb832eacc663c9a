"""The terminal interface: a Textual app that shows a chat and what drafting gains in it."""
