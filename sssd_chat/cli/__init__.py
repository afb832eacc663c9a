"""The command line: one module a command, argument handling and printing."""
