"""Runs a command on a pseudo-terminal and prints its output, with \\e for an escape and \\r for a carriage return."""
import os
import pty
import sys


def read(descriptor):
    data = os.read(descriptor, 4096)
    return data.replace(b"\x1b", b"\\e").replace(b"\r", b"\\r")


code = os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], read))
sys.exit(code)
