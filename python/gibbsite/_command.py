"""The command `gibbsite`, as pip installs it."""

import signal
import sys

import gibbsite


def main():
    # Commands heed Ctrl-C themselves; before and after, it ends the program as it does any other.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(gibbsite.run_command(sys.argv[1:]))
