"""Programs whose names attempt to inject code.

hostile.py HEDDLE   emits and, with NVRTC, compiles a program whose function and values have hostile names
"""

import os
import subprocess
import sys
import tempfile

ATTACK = r"*/ \22; } asm volatile(\22trap;\22); system(\22id\22); #include <stdio.h> \0A#error planted \5C\0A ??/ "
# MLIR allows no such characters in names of values, so these are words with a meaning in C++ or the emitter.
WORDS = ["threadIdx", "round", "there", "whole", "heddle", "asm", "__asm__", "float", "tile", "main", "printf", "L_" * 200,
         "_Z3foo", "a$b", "x.y-z", "more", "first_tile", "at", "k", "x_tile", "x_process"]

heddle = sys.argv[1]
maps, last = [], "grad"
for word in WORDS:
    maps.append(f"""  %{word} = foreach.map (%{word} = %{last} : !list) -> !list {{
    %{word}1 = arith.addf %{word}, %{word} : f32
    foreach.yield %{word}1 : f32
  }}""")
    last = word
module = "\n".join(["!list = !foreach.list<tensor<?xf32>>", f'func.func @"{ATTACK}"(%grad: !list) -> !list {{', *maps,
                    f"  return %{last} : !list", "}", ""])
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "hostile.mlir")
    with open(path, "w") as file:
        file.write(module)
    emitted = subprocess.run([heddle, "emit", path, "--stage", "cuda"], capture_output=True, text=True, check=True)
    source = emitted.stdout
    for planted in ("system(", "#error", "<stdio", "trap;", "asm volatile", "??/", "__asm__", "$", "*/", "\\"):
        if planted in source:
            sys.exit(f"'{planted}' reached the source:\n{source}")
    compiled = subprocess.run([heddle, "emit", path, "--stage", "cubin", "--arch", "sm_90", "-o",
                               os.path.join(folder, "k.cubin")], capture_output=True, text=True)
    # 1: NVRTC is missing here or the source does not compile; the message says which.
    if compiled.returncode and "NVRTC was not found" not in compiled.stderr and "libnvrtc" not in compiled.stderr:
        sys.exit(compiled.stderr)
    subprocess.run([heddle, "run", path, "--target", "cpu", "--check"], capture_output=True, check=True)
print("hostile names: nothing reached the source")
