"""Checks how the emitted CUDA source changes with its program.

sources.py renamed HEDDLE PROGRAM...   every name changed: only names change in the source
sources.py line HEDDLE PROGRAM...      one operation or constant changed: only its line changes in the source
"""

import difflib
import os
import re
import subprocess
import sys
import tempfile


def emit(heddle, program, stage):
    result = subprocess.run([heddle, "emit", program, "--stage", stage], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{program}: {result.stderr}")
    return result.stdout


def emit_module(heddle, module, stage="cuda"):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.mlir")
        with open(path, "w") as file:
            file.write(module)
        return emit(heddle, path, stage)


IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def renamed(heddle, program):
    """Renames values, the function and the aliases of types."""
    module = emit(heddle, program, "foreach")
    fresh = {}

    def rename(match):
        sigil, name = match.group(1), match.group(2)
        return sigil + fresh.setdefault((sigil, name), f"z{len(fresh) * 7919 % 10007}{'quxo'[len(fresh) % 4]}")

    changed = re.sub(r"([%@])([A-Za-z_][A-Za-z_0-9]*)", rename, module)
    changed = re.sub(r"(!)([A-Za-z_][A-Za-z_0-9]*)(?![.A-Za-z_0-9])", rename, changed)
    names = {name for (sigil, name) in fresh if sigil != "!"}
    assert len(names) > 3 and not any(re.search(r"[%@]" + name + r"\b", changed) for name in names)
    before, after = emit(heddle, program, "cuda"), emit_module(heddle, changed)
    # Parameter lists wrap where a line is full, which depends on names.
    shapes = [IDENTIFIER.sub("_", source) for source in (before, after)]
    if shapes[0].split() != shapes[1].split():
        difference = difflib.unified_diff(shapes[0].splitlines(), shapes[1].splitlines(), lineterm="")
        sys.exit(f"{program}: the source differs in more than names\n" + "\n".join(difference))
    # Words in comments and fields (threadIdx.x) are not names. A name belongs to one function.
    plain = [re.sub(r"//.*|\.[A-Za-z_]\w*", "", source).split("\n}\n") for source in (before, after)]
    changes = 0
    for function, other in zip(*plain):
        forth, back = {}, {}
        for old, new in zip(IDENTIFIER.findall(function), IDENTIFIER.findall(other)):
            if forth.setdefault(old, new) != new or back.setdefault(new, old) != old:
                sys.exit(f"{program}: '{old}' became '{new}' and '{forth[old]}', or '{new}' was '{back.get(new)}', in\n"
                         + function)
        changes += sum(old != new for old, new in forth.items())
    print(f"renamed {program}: {changes} identifiers")


# No operation becomes a division: with more of them, all divisions may be computed without branches.
OTHER = {"addf": "subf", "subf": "addf", "mulf": "addf", "divf": "mulf", "maximumf": "minimumf"}


def line(heddle, program):
    """Replaces each operation over elements in turn by another one, and each constant by another number."""
    module = emit(heddle, program, "foreach")
    lines = module.splitlines(keepends=True)
    before = emit_module(heddle, module).splitlines()
    changes = 0
    element = False
    for number, text in enumerate(lines):
        if "foreach.map" in text:
            element = "tensor<?x" in text or "!list" in text
        match = re.search(r"= arith\.(\w+)(.*) : f(32|64)", text)
        if not element or not match:
            continue
        kind = match.group(1)
        if kind in OTHER:
            other = text.replace("arith." + kind, "arith." + OTHER[kind])
        elif kind == "constant":
            other = re.sub(r"constant [-0-9.e+]+", "constant 5.5", text)
        else:
            continue
        after = emit_module(heddle, "".join(lines[:number] + [other] + lines[number + 1:])).splitlines()
        # A division needs registers, so fewer blocks may have to fit.
        differing = [pair for pair in zip(before, after) if pair[0] != pair[1] and "__launch_bounds__" not in pair[0]]
        if len(before) != len(after) or len(differing) != 1:
            difference = "\n".join(difflib.unified_diff(before, after, lineterm="", n=0))
            sys.exit(f"{program}: '{text.strip()}' became '{other.strip()}' and changed more or less than one line beside the launch bounds\n"
                     + difference)
        changes += 1
    if not changes:
        sys.exit(f"{program}: nothing to change")
    print(f"line {program}: {changes} changes")


def main():
    command, heddle, *programs = sys.argv[1:]
    for program in programs:
        {"renamed": renamed, "line": line}[command](heddle, program)


main()
