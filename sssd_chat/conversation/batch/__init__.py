"""Many requests from a file, answered into another file, each exactly once."""
