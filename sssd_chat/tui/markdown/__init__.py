"""Markdown as lines of the screen. No widgets: a long text is laid out once, and where it grows
only its last part is laid out anew."""
