//===- ReduceKinds.td - the kinds of reductions, one record each ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-tblgen generates the enum ReduceKind from these records, and llvm-tblgen
// the tables of ReduceKinds.h and reference/Reduction.cpp. A kind has two more
// definitions: a struct of its name in codegen/device/reduce.cuh, which emitted
// source calls, and its lowering to LLVM IR in codegen/cpu/Reduction.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REDUCEKINDS_TD
#define HEDDLE_DIALECT_REDUCEKINDS_TD

include "llvm/TableGen/SearchableTable.td"
include "mlir/IR/EnumAttr.td"

class Foreach_ReduceKindCase<string name, int number> : I32EnumAttrCase<name, number> {
  string kind = "ReduceKind::" # name;
  /// Element types that the kind combines: numbers, floats or flags.
  string elements = "ReduceElements::numbers";
  /// The one or two parts of the running state: type, neutral element, and value for one element.
  string first = ?;
  string second = "{}";
  /// The state in CUDA C++; `$T` stands for the type of the elements.
  string cudaState = "$T";
  /// The functions of the interpreter that combine floats, and two sign-extended integers. `floats` names a constant
  /// of reference/Reduction.cpp.
  string floats = "none";
  string integers = "nullptr";
}

// Sums and products are taken pairwise.
def Foreach_ReduceAdd : Foreach_ReduceKindCase<"add", 0> {
  let first = "{StateType::element, Neutral::zero, Lift::value}";
  let floats = "pairwise<[](double a, double b) { return a + b; }>";
  let integers = "[](int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }";
}
def Foreach_ReduceMul : Foreach_ReduceKindCase<"mul", 1> {
  let first = "{StateType::element, Neutral::one, Lift::value}";
  let floats = "pairwise<[](double a, double b) { return a * b; }>";
  let integers = "[](int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }";
}

// The result is NaN if a value is NaN. -0 is smaller than +0.
def Foreach_ReduceMin : Foreach_ReduceKindCase<"min", 2> {
  let first = "{StateType::element, Neutral::highest, Lift::value}";
  let floats = "extreme<isSmaller>";
  let integers = "[](int64_t a, int64_t b) { return std::min(a, b); }";
}
def Foreach_ReduceMax : Foreach_ReduceKindCase<"max", 3> {
  let first = "{StateType::element, Neutral::lowest, Lift::value}";
  let floats = "extreme<isLarger>";
  let integers = "[](int64_t a, int64_t b) { return std::max(a, b); }";
}

// The state of a flag is a word, so that warps can shuffle it.
def Foreach_ReduceAny : Foreach_ReduceKindCase<"any", 4> {
  let elements = "ReduceElements::flags";
  let first = "{StateType::word, Neutral::zero, Lift::value}";
  let cudaState = "int";
  let integers = "[](int64_t a, int64_t b) { return a | b; }";
}
def Foreach_ReduceAll : Foreach_ReduceKindCase<"all", 5> {
  let elements = "ReduceElements::flags";
  let first = "{StateType::word, Neutral::one, Lift::value}";
  let cudaState = "int";
  let integers = "[](int64_t a, int64_t b) { return a & b; }";
}

// log(sum(exp(x))). The state is the maximum, and the sum of the exponentials of the differences from it.
def Foreach_ReduceLogsumexp : Foreach_ReduceKindCase<"logsumexp", 6> {
  let elements = "ReduceElements::floats";
  let first = "{StateType::element, Neutral::lowest, Lift::value}";
  let second = "{StateType::element, Neutral::zero, Lift::count}";
  let cudaState = "heddle::log_sum<$T>";
  let floats = "exponentials";
}

// The maximum and its first position.
def Foreach_ReduceArgmax : Foreach_ReduceKindCase<"argmax", 7> {
  let elements = "ReduceElements::floats";
  let first = "{StateType::element, Neutral::lowest, Lift::value}";
  let second = "{StateType::position, Neutral::none, Lift::position}";
  let cudaState = "heddle::at_most<$T>";
  let floats = "extreme<[](double x, double best) { return !(x <= best); }>";
}

// The minimum and its first position.
def Foreach_ReduceArgmin : Foreach_ReduceKindCase<"argmin", 8> {
  let elements = "ReduceElements::floats";
  let first = "{StateType::element, Neutral::highest, Lift::value}";
  let second = "{StateType::position, Neutral::none, Lift::position}";
  let cudaState = "heddle::at_most<$T>";
  let floats = "extreme<[](double x, double best) { return !(x >= best); }>";
}

// foreach-outline-sweeps divides a sum by an extent, so no target has this kind.
def Foreach_ReduceMean : Foreach_ReduceKindCase<"mean", 9> {
  let elements = "ReduceElements::floats";
  let first = "{StateType::element, Neutral::zero, Lift::value}";
  let floats = "counted";
}

def Foreach_ReduceKind : I32EnumAttr<"ReduceKind", "how elements combine", [
    Foreach_ReduceAdd, Foreach_ReduceMul, Foreach_ReduceMin, Foreach_ReduceMax, Foreach_ReduceAny, Foreach_ReduceAll,
    Foreach_ReduceLogsumexp, Foreach_ReduceArgmax, Foreach_ReduceArgmin, Foreach_ReduceMean]> {
  let cppNamespace = "::heddle::foreach";
}

def ReduceKindTable : GenericTable {
  let FilterClass = "Foreach_ReduceKindCase";
  let CppTypeName = "ReduceKindInfo";
  let Fields = ["kind", "elements", "first", "second", "cudaState"];
  string TypeOf_kind = "code";
  string TypeOf_elements = "code";
  string TypeOf_first = "code";
  string TypeOf_second = "code";
}

def ReduceFunctionTable : GenericTable {
  let FilterClass = "Foreach_ReduceKindCase";
  let CppTypeName = "ReduceFunctions";
  let Fields = ["kind", "floats", "integers"];
  string TypeOf_kind = "code";
  string TypeOf_floats = "code";
  string TypeOf_integers = "code";
}

#endif // HEDDLE_DIALECT_REDUCEKINDS_TD
