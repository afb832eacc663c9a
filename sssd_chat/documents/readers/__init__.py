"""The readers: one module a format, each a `Reader`."""
