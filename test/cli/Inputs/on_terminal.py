"""Runs a command on a pseudo-terminal and prints what it showed there, escape sequences as \\e."""
import os
import pty
import sys

shown = []


def read(descriptor):
    data = os.read(descriptor, 4096)
    shown.append(data)
    return data.replace(b"\x1b", b"\\e").replace(b"\r", b"\\r")


code = os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], read))
sys.exit(code)
