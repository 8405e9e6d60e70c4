//===- CudaReductionPrograms.cpp - reductions of every kind ---------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaWrittenPrograms.h"

namespace heddle::test {

/// One reduction of every kind along one axis.
static std::string reductions(const char *axis, const char *from,
                              const char *value, const char *position,
                              const char *flags, bool exactKinds) {
  std::string text, results, types;
  std::string body;
  auto add = [&](const std::string &name, const std::string &type) {
    results += (results.empty() ? "%" : ", %") + name;
    types += (types.empty() ? "" : ", ") + type;
  };
  std::vector<const char *> kinds = {"add", "mul", "min", "max", "mean"};
  if (!exactKinds)
    kinds = {"logsumexp"};
  for (const char *kind : kinds) {
    body += std::string("  %") + kind + " = foreach.reduce " + kind +
            " along " + axis + " (%x = %x : " + from + ") -> " + value + " {\n";
    if (std::string(kind) == "mul")
      body += "    %one = arith.constant 1.0 : f32\n"
              "    %tiny = arith.constant 0.001 : f32\n"
              "    %t = arith.mulf %x, %tiny : f32\n"
              "    %y = arith.addf %one, %t : f32\n"
              "    foreach.yield %y : f32\n  }\n";
    else
      body += "    foreach.yield %x : f32\n  }\n";
    add(kind, value);
  }
  if (exactKinds) {
    for (const char *kind : {"any", "all"}) {
      body += std::string("  %") + kind + " = foreach.reduce " + kind +
              " along " + axis + " (%x = %x : " + from + ") -> " + flags +
              " {\n    %bound = arith.constant " +
              (kind[1] == 'n' ? "2.5" : "-2.5") +
              " : f32\n    %c = arith.cmpf ogt, %x, %bound : f32\n"
              "    foreach.yield %c : i1\n  }\n";
      add(kind, flags);
    }
    // A position in a list is the position of a member.
    bool positions =
        std::string(axis) != "list" || std::string(from) == "!each";
    if (!positions)
      return text + "func.func @reductions(%x: " + from + ") -> (" + types +
             ") {\n" + body + "  return " + results + " : " + types + "\n}\n";
    body += std::string("  %most, %at = foreach.reduce argmax along ") + axis +
            " (%x = %x : " + from + ") -> (" + value + ", " + position +
            ") {\n    foreach.yield %x : f32\n  }\n";
    add("most", value);
    add("at", position);
    body += std::string("  %least, %low = foreach.reduce argmin along ") +
            axis + " (%x = %x : " + from + ") -> (" + value + ", " + position +
            ") {\n    foreach.yield %x : f32\n  }\n";
    add("least", value);
    add("low", position);
  }
  return text + "func.func @reductions(%x: " + from + ") -> (" + types +
         ") {\n" + body + "  return " + results + " : " + types + "\n}\n";
}

static void addReductionsAlong(WrittenPrograms &programs,
                               const std::string &name, const char *axis,
                               const char *from, const char *value,
                               const char *position, const char *flags) {
  for (bool exact : {true, false})
    programs.add(name + (exact ? "" : "Logsumexp"),
                 reductions(axis, from, value, position, flags, exact), exact);
}

void addReductions(WrittenPrograms &programs) {
  addReductionsAlong(programs, "ReduceMember", "member", "!list", "!each",
                     "!eachlong", "!flag");
  addReductionsAlong(programs, "ReduceList", "list", "!list", "!single",
                     "tensor<i64>", "tensor<i1>");
  addReductionsAlong(programs, "ReduceVectorAlongI", "i", "!list", "!each",
                     "!eachlong", "!flag");
  addReductionsAlong(programs, "ReduceRows", "j", "!mats", "!list", "!longs",
                     "!foreach.list<tensor<?xi1>>");
  addReductionsAlong(programs, "ReduceColumns", "i", "!mats", "!list", "!longs",
                     "!foreach.list<tensor<?xi1>>");
  addReductionsAlong(programs, "ReduceMatrixMember", "member", "!mats", "!each",
                     "!eachlong", "!flag");
  addReductionsAlong(programs, "ReduceMatrixList", "list", "!mats", "!single",
                     "tensor<i64>", "tensor<i1>");
  // Segments with states of several sizes, which share memory.
  programs.add("ColumnsOfSeveralTypes", R"mlir(
!dmats = !foreach.list<tensor<?x?xf64>>
!lmats = !foreach.list<tensor<?x?xi64>>
!dvecs = !foreach.list<tensor<?xf64>>
!lvecs = !foreach.list<tensor<?xi64>>
func.func @columns_of_several_types(%x: !mats, %y: !dmats, %z: !lmats) -> (!list, !list, !dvecs, !lvecs) {
  %sum = foreach.reduce add along i (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  %least = foreach.reduce min along i (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  %dsum = foreach.reduce add along i (%y = %y[i, j] : !dmats) -> !dvecs {
    foreach.yield %y : f64
  }
  %lsum = foreach.reduce add along i (%z = %z[i, j] : !lmats) -> !lvecs {
    foreach.yield %z : i64
  }
  return %sum, %least, %dsum, %lsum : !list, !list, !dvecs, !lvecs
})mlir");
  // Segments with reductions of two kinds, whose parts share memory.
  programs.add("RowsOfTwoKinds", R"mlir(
!imats = !foreach.list<tensor<?x?xi32>>
!ivecs = !foreach.list<tensor<?xi32>>
func.func @rows_of_two_kinds(%x: !mats, %y: !mats, %z: !imats) -> (!list, !ivecs) {
  %most = foreach.reduce max along j (%x = %x[i, j], %y = %y[i, j] : !mats) -> !list {
    %p = arith.mulf %x, %y : f32
    foreach.yield %p : f32
  }
  %sum = foreach.reduce add along j (%z = %z[i, j] : !imats) -> !ivecs {
    foreach.yield %z : i32
  }
  return %most, %sum : !list, !ivecs
})mlir");
  addReductionsAlong(programs, "ReduceEachList", "list", "!each", "!single",
                     "tensor<i64>", "tensor<i1>");
}

} // namespace heddle::test
