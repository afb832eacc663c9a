"""Chat with a local language model in the terminal, faster the more it is used."""

__version__ = "0.1.0"
