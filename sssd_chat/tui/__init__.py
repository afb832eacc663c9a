"""The terminal interface: a Textual app that shows a chat and what drafting gains in it."""

import os

# What changed is drawn so many times a second at most, by default 60: a key waits for the next
# time. Textual reads it when it is imported.
os.environ.setdefault("TEXTUAL_FPS", "120")
