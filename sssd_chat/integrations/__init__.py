"""sssd-chat's drafting in other programs."""
