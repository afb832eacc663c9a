"""Finding, fetching and describing GGUF files."""
