"""`python -m sssd_chat` is the same as `sssd-chat`."""

import sys

from sssd_chat.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
