#!/usr/bin/env python3
"""Checks a wheel of heddle: its contents, size, exports and what it needs of the system; `tools/dev wheel` calls it.

    check_wheel.py WHEEL --readelf READELF

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import zipfile

MAX_BYTES = 30 * 1024 * 1024
MAX_GLIBC = (2, 34)
NAME = re.compile(r"heddle-([0-9.]+)-cp310-abi3-manylinux_2_(\d+)_x86_64\.whl")
FILES = ("heddle/__init__.py", "heddle/_version.py", "heddle/py.typed", "heddle/optim/__init__.pyi",
         "heddle/optim/functional.pyi", "heddle/libheddle.so", "heddle/_fast_native.abi3.so")
# The parts of glibc, and the unwinder that belongs to it. Every other library is linked statically.
LIBRARIES = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
EXPORTS = {
    # C functions, and the C++ names of heddle.hpp.
    "heddle/libheddle.so": re.compile(r"heddle_\w+|_ZN?K?T?[ISV]?N?6heddle\w+"),
    "heddle/_fast_native.abi3.so": re.compile(r"PyInit__fast_native"),
}


def needed(readelf, path):
    text = subprocess.run([readelf, "-dW", path], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.*?)\]", text))


def symbols(readelf, path):
    """The names that a library defines, and the versions of glibc that it needs, with the functions that need them."""
    text = subprocess.run([readelf, "--dyn-syms", "-W", path], capture_output=True, text=True, check=True).stdout
    defined, versions = set(), {}
    for line in text.splitlines():
        parts = line.split()
        if len(parts) < 8 or not re.fullmatch(r"\d+:", parts[0]) or parts[4] == "LOCAL":
            continue
        name, _, version = parts[7].partition("@")
        if parts[6] != "UND":
            defined.add(name)
        elif version.lstrip("@").startswith("GLIBC_"):
            numbers = tuple(int(part) for part in version.lstrip("@")[6:].split("."))
            versions.setdefault(numbers, []).append(name)
    return defined, versions


def check(wheel, readelf):
    """The mistakes of a wheel, and a line that describes it."""
    name, size = os.path.basename(wheel), os.path.getsize(wheel)
    mistakes = []
    found = NAME.fullmatch(name)
    if not found:
        mistakes.append(f"expected a name like heddle-1.2.3-cp310-abi3-manylinux_2_34_x86_64.whl, found {name}")
    elif int(found.group(2)) > MAX_GLIBC[1]:
        mistakes.append(f"expected a tag of glibc {MAX_GLIBC[0]}.{MAX_GLIBC[1]} or older, found {name}")
    if size > MAX_BYTES:
        mistakes.append(f"expected at most {MAX_BYTES} bytes, found {size}")
    newest = (0,)
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        members = [name for name in archive.namelist() if not name.endswith("/")]
        mistakes += [f"expected the file {file}, which is not in the wheel" for file in FILES if file not in members]
        if not any(member.endswith("LICENSE") for member in members):
            mistakes.append("expected the file LICENSE, which is not in the wheel")
        mistakes += [f"expected no file {member}" for member in members
                     if not re.match(r"heddle/.*\.(py|pyi|typed|so)$|heddle-[^/]*\.dist-info/", member)]
        for member in EXPORTS:
            if member not in members:
                continue
            path = archive.extract(member, folder)
            extra = needed(readelf, path) - LIBRARIES
            if extra:
                mistakes.append(f"{member}: expected no library but glibc, found {', '.join(sorted(extra))}")
            defined, versions = symbols(readelf, path)
            foreign = sorted(symbol for symbol in defined if not EXPORTS[member].fullmatch(symbol))
            if foreign or not defined:
                mistakes.append(f"{member}: expected only exports of heddle, found {', '.join(foreign[:5]) or 'none'}")
            newest = max([newest, *versions])
            for version, names in versions.items():
                if version > MAX_GLIBC:
                    mistakes.append(f"{member}: needs glibc {'.'.join(map(str, version))} for {', '.join(names[:5])}")
    return mistakes, f"{name}: {size / 1048576:.1f} MiB, needs glibc {'.'.join(map(str, newest))}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel")
    parser.add_argument("--readelf", default="readelf")
    options = parser.parse_args()
    mistakes, line = check(options.wheel, options.readelf)
    for mistake in mistakes:
        print(f"error: {mistake}", file=sys.stderr)
    print(line)
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
