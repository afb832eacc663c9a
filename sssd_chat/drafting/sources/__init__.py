"""Where candidate tokens come from."""
