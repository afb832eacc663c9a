"""`python -m sssd_chat` is the same as `sssd-chat`."""

from sssd_chat.cli.main import run

if __name__ == "__main__":
    run()
