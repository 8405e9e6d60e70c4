"""Output files: written whole or not at all.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import os
import stat
import tempfile


def _follow(path: str) -> tuple[str, int | None]:
    """The path after all links, and the number N if it is /dev/fd/N, a descriptor of this process."""
    folders = ("/dev/fd", "/proc/self/fd", f"/proc/{os.getpid()}/fd")
    for _ in range(40):  # as the kernel
        folder, name = os.path.split(path)
        if os.path.normpath(folder or ".") in folders and name.isdecimal():
            return path, int(name)
        if not os.path.islink(path):
            break
        path = os.path.join(folder, os.readlink(path))
    return path, None


def write_file(path: str, content: bytes) -> None:
    """Writes a file whole or not at all. Pipes, devices and open descriptors are written directly."""
    destination, descriptor = _follow(path)
    if descriptor is not None:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        return
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        mode = stat.S_IFREG | 0o666 & ~mask
    if not stat.S_ISREG(mode):
        with open(path, "wb") as file:
            file.write(content)
        return
    temporary = tempfile.NamedTemporaryFile(dir=os.path.dirname(destination) or ".", suffix=".tmp", delete=False)
    try:
        with temporary:
            temporary.write(content)
        os.chmod(temporary.name, stat.S_IMODE(mode))
        os.replace(temporary.name, destination)
    except BaseException:
        os.unlink(temporary.name)
        raise
