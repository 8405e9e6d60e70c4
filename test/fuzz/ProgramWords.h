//===- ProgramWords.h - Words of the text of programs -----------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_FUZZ_PROGRAMWORDS_H
#define HEDDLE_TEST_FUZZ_PROGRAMWORDS_H

#include <string_view>
#include <vector>

namespace heddle::fuzz {

inline const std::vector<std::string_view> programWords = {
    // operations
    "module", "func.func", "func.call", "private", "return", "foreach.map",
    "foreach.reduce", "foreach.while", "foreach.if", "foreach.yield",
    "foreach.sign", "foreach.random", "foreach.high", "foreach.low",
    "foreach.join", "foreach.round", "foreach.iteration", "foreach.extent",
    "foreach.index", "fused.program", "fused.sweep", "fused.loop",
    "fused.reduce", "fused.yield", "fused.iteration", "fused.precompute",
    "arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.negf",
    "arith.maximumf", "arith.minimumf", "arith.cmpf", "arith.cmpi",
    "arith.select", "arith.constant", "arith.extf", "arith.truncf",
    "arith.addi", "arith.muli", "arith.andi", "arith.xori", "arith.sitofp",
    "arith.uitofp", "arith.fptosi", "math.sqrt", "math.rsqrt", "math.exp",
    "arith.divsi", "arith.remui", "arith.shli", "arith.shrsi", "arith.bitcast",
    "arith.remf", "arith.fptoui", "math.roundeven", "math.atan2", "math.log",
    "math.absf", "math.powf", "math.fma", "math.tanh",
    // types
    "f16", "bf16", "f32", "f64", "i1", "i8", "i16", "i32", "i64", "index",
    "tensor<f32>", "tensor<f64>", "tensor<i32>", "tensor<i1>", "tensor<?xf32>",
    "tensor<?x?xf32>", "tensor<4xf32>", "!foreach.list<tensor<?xf32>>",
    "!foreach.list<tensor<?x?xf32>>", "!foreach.list<tensor<f32>>",
    "!foreach.list<tensor<?xbf16>>", "!foreach.list<tensor<i1>>",
    "!foreach.list<tensor<*xf32>>", "tuple<f32>", "none", "complex<f32>",
    "vector<4xf32>", "!unknown.type", "() -> ()",
    // keywords
    "along", "upto", "while", "epilogue", "attributes", "ogt", "add",
    "logsumexp", "max", "min", "argmax", "argmin", "mean", "list", "member",
    "row", "column", "[i]", "[j]", "[i, j]", "[j, i]", "loc", "unit", "true",
    "false", "dense", "affine_map<(d0) -> (d0)>", "#alias", "!alias", "->", ":",
    "=", "@f", "inf", "0xFF800000",
    // attributes
    "foreach.donate = 0 : i64", "foreach.default = 1.0 : f64", "foreach.name",
    "{}", "fused.traffic = []", "fused.schedule", "fused.buffer", "sym_name",
    "fastmath<contract>", "kind = 7 : i32",
    "operandSegmentSizes = array<i32: 1, 0, 0>"};

} // namespace heddle::fuzz

#endif // HEDDLE_TEST_FUZZ_PROGRAMWORDS_H
