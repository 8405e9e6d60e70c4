"""Writes docs/reference/scalars.md: the scalar operations of bodies, from the table dialect/ScalarOps.def.

    python3 tools/scalar_reference.py dialect/ScalarOps.def PAGE

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import re
import sys

#: The operands and the result of each form of the column REFERENCE.
FORMS = {
    "FLOAT1": "float -> float",
    "FLOAT2": "float, float -> float",
    "FLOAT3": "float, float, float -> float",
    "PREDICATE": "float -> i1",
    "INTEGER1": "integer -> integer",
    "INTEGER2": "integer, integer -> integer",
}

#: Those of the operations whose form does not determine them.
OWN = {
    "math.fpowi": "float, integer -> float",
    "arith.cmpf": "float, float -> i1",
    "arith.cmpi": "integer, integer -> i1",
    "arith.select": "i1, any, any -> any",
    "arith.extf": "f32 -> f64; f16 or bf16 -> wider",
    "arith.truncf": "f64 -> f32; float -> f16 or bf16",
    "arith.extsi": "integer -> wider integer",
    "arith.extui": "integer -> wider integer",
    "arith.trunci": "integer -> narrower integer",
    "arith.sitofp": "integer -> float",
    "arith.uitofp": "integer -> float",
    "arith.fptosi": "float -> integer",
    "arith.fptoui": "float -> integer",
    "arith.bitcast": "any -> any of the same width",
    "foreach.high": "f32 -> f32",
    "foreach.low": "f32 -> i16",
    "foreach.join": "f32, i16 -> f32",
    "foreach.random": "i64, i64, i64, i64 -> i16 or i32",
    "foreach.round": "f32, i16 -> f32",
}

LEAVES = {
    "arith.constant": "-> any",
    "foreach.iteration": "-> i32",
    "foreach.extent": "-> i64",
    "foreach.index": "-> i64",
}

HEAD = """# Scalar operations

<!-- Written by tools/scalar_reference.py from dialect/ScalarOps.def. -->

The operations that the bodies of `foreach.map` and `foreach.reduce` may have. Outside of bodies, those of `arith` and
`math` also compute device scalars, such as `tensor<f64>`.

*float* is f32 or f64; lists of f16 and bf16 are bound `as f32`. *integer* is i1, i8, i16, i32 or i64; integers wrap, and
the one bit of i1 is the sign. All operands have one type unless the table says otherwise. MLIR's pages of
[arith](https://mlir.llvm.org/docs/Dialects/ArithOps/) and [math](https://mlir.llvm.org/docs/Dialects/MathOps/) define
the values; [numerics.md](../numerics.md#arithmetic) defines divisions by 0, shifts beyond the width and conversions out
of range; [foreach.md](foreach.md) has the operations of `foreach`.

| accuracy | a result is |
|---|---|
| exact | the same on every target |
| rounded | the nearest value, or part of a fused multiply-add; the same on every target |
| N ulp | within N units in the last place; targets may differ |

"""


def camel_to_mlir(name):
    dialect, operation = name.split("::")
    return f"{dialect}.{operation.removesuffix('Op').lower()}"


def rows(table):
    for leaf in re.findall(r"^HEDDLE_SCALAR_LEAF\(([\w:]+)\)", table, re.M):
        name = camel_to_mlir(leaf)
        yield name, LEAVES[name], "exact"
    entry = re.compile(r"^HEDDLE_SCALAR\(([\w:]+),\s*\w+,\s*(exact|nearest|ulps\((\d+)\)),\s*\w+,\s*(\w+)", re.M)
    found = entry.findall(table)
    if len(found) != len(re.findall(r"^HEDDLE_SCALAR\(", table, re.M)):
        raise SystemExit("dialect/ScalarOps.def has an entry that tools/scalar_reference.py cannot read")
    for operation, accuracy, ulps, form in found:
        name = camel_to_mlir(operation)
        types = OWN.get(name) or FORMS.get(form)
        if types is None:
            raise SystemExit(f"tools/scalar_reference.py: expected the types of '{name}' in the table OWN, found none")
        # A power is a product of rounded factors.
        yield name, types, ("rounded" if accuracy == "nearest" else "exact" if not ulps else f"{ulps} ulp")


def main(source, page):
    with open(source, encoding="utf-8") as file:
        found = list(rows(file.read()))
    with open(page, "w", encoding="utf-8") as out:
        out.write(HEAD)
        for dialect in ("arith", "math", "foreach"):
            out.write(f"## {dialect}\n\n| operation | types | accuracy |\n|---|---|---|\n")
            for name, types, accuracy in sorted(row for row in found if row[0].startswith(dialect + ".")):
                if name == "math.fpowi":
                    accuracy = "rounded after each multiplication"
                if name == "math.rsqrt":
                    accuracy = "2 ulp; 1 divided by the rounded root"
                out.write(f"| `{name}` | {types} | {accuracy} |\n")
            out.write("\n" if dialect != "foreach" else "")


if __name__ == "__main__":
    main(*sys.argv[1:])
