#!/usr/bin/env python3
"""Lets exceptions pass every function of a shared library.

    repair_unwind_table.py [--check] LIBRARY

Clang compiles a function whose body is unreachable to no bytes at all. Such a function begins where the next one does,
and has an unwind entry (FDE) of length 0. LLVM's archives have about 90 of them. The table that the unwinder searches
(.eh_frame_hdr) has one entry for each address, and LLD may keep the empty one. Then no exception can pass the function
that is there: the process ends. This program lets such an entry of the table name the FDE that has a length.

--check changes nothing, and exits with 1 if an entry is wrong. Only for x86-64, where both sections have the form that
LLD writes.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import struct
import sys


def sections(data):
    """The address, offset and size of each section, by name."""
    offset, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
    text = headers[names][4]
    return {
        bytes(data[text + name:data.index(b"\0", text + name)]).decode(): (address, begin, length)
        for name, _, _, address, begin, length in headers
    }


def entries_of_functions(data, address, offset, size):
    """The address of the entry of each function in .eh_frame that has a length, by the function's address."""
    found, at, end = {}, offset, offset + size
    while at < end:
        length, parent = struct.unpack_from("<II", data, at)
        if length == 0:
            break
        if length == 0xFFFFFFFF:
            sys.exit("error: .eh_frame has an entry of more than 4 GiB")
        if parent:  # 0 marks the parent of such entries
            distance, extent = struct.unpack_from("<iI", data, at + 8)
            if extent:
                function = address + at + 8 - offset + distance
                found[function] = address + at - offset
        at += 4 + length
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("library")
    options = parser.parse_args()
    with open(options.library, "rb") as file:
        data = bytearray(file.read())
    if data[:5] != b"\x7fELF\x02":
        sys.exit(f"error: {options.library} is no 64-bit ELF file")
    parts = sections(data)
    address, offset, _ = parts[".eh_frame_hdr"]
    if data[offset:offset + 4] != b"\x01\x1b\x03\x3b":
        print(f"{'error' if options.check else 'warning'}: {options.library}: .eh_frame_hdr has another form than LLD writes")
        return int(options.check)
    whole = entries_of_functions(data, *parts[".eh_frame"])
    count, = struct.unpack_from("<I", data, offset + 8)
    wrong = 0
    for at in range(offset + 12, offset + 12 + 8 * count, 8):
        function, entry = struct.unpack_from("<ii", data, at)
        right = whole.get(address + function)
        if right is not None and right != address + entry:
            wrong += 1
            struct.pack_into("<i", data, at + 4, right - address)
    if options.check:
        print(f"{options.library}: {wrong} of {count} entries are wrong")
        return wrong > 0
    if wrong:
        with open(options.library, "r+b") as file:
            file.seek(offset)
            file.write(data[offset:offset + 12 + 8 * count])
    return 0


if __name__ == "__main__":
    sys.exit(main())
