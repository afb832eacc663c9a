"""What this machine can do, for `sssd-chat doctor` and for bug reports."""
