//===- Plan.cpp - Plan queries --------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON form is in PlanJson.cpp, the validation in PlanValidation.cpp.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Plan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace heddle::runtime {

unsigned dtypeSize(DType dtype) {
  switch (dtype) {
  case DType::F64:
  case DType::I64:
    return 8;
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::F16:
  case DType::BF16:
  case DType::I16:
    return 2;
  case DType::I1:
  case DType::I8:
    return 1;
  }
  return 0;
}

StringRef dtypeName(DType dtype) {
  static constexpr StringLiteral names[] = {"f64", "f32", "f16", "bf16", "i1",
                                            "i8",  "i16", "i32", "i64"};
  return names[static_cast<unsigned>(dtype)];
}

std::optional<DType> parseDType(StringRef name) {
  return StringSwitch<std::optional<DType>>(name)
      .Case("f64", DType::F64)
      .Case("f32", DType::F32)
      .Case("f16", DType::F16)
      .Case("bf16", DType::BF16)
      .Case("i1", DType::I1)
      .Case("i8", DType::I8)
      .Case("i16", DType::I16)
      .Case("i32", DType::I32)
      .Case("i64", DType::I64)
      .Default(std::nullopt);
}

int Plan::findArgument(StringRef name) const {
  for (auto [index, buffer] : enumerate(buffers))
    if (buffer.role == BufferRole::Argument && buffer.name == name)
      return static_cast<int>(index);
  return -1;
}

int Plan::findResult(StringRef name) const {
  for (const PlanResult &result : results)
    if (result.name == name)
      return result.buffer;
  return -1;
}

int Plan::tableOfSweep(const PlanNode &node, StringRef sweep) const {
  for (auto [index, table] : enumerate(tables))
    if (table.name == sweep)
      return static_cast<int>(index);
  return node.table;
}

std::vector<int> Plan::derivedLists() const {
  // Lists without unresolved sources first, then those that waited for them.
  std::vector<std::vector<int>> waiting(buffers.size());
  std::vector<size_t> missing(buffers.size(), 0);
  std::vector<int> order;
  for (auto [index, buffer] : enumerate(buffers)) {
    if (!buffer.isDerived())
      continue;
    auto dependsOn = [&, list = static_cast<int>(index)](int source) {
      if (buffers[source].isDerived()) {
        waiting[source].push_back(list);
        ++missing[list];
      }
    };
    dependsOn(buffer.members);
    for (const ExtentRef &extent : buffer.extents)
      dependsOn(extent.buffer);
    if (missing[index] == 0)
      order.push_back(static_cast<int>(index));
  }
  for (size_t done = 0; done < order.size(); ++done)
    for (int list : waiting[order[done]])
      if (--missing[list] == 0)
        order.push_back(list);
  return order;
}

void forEachNode(const PlanGraph &graph,
                 function_ref<void(const PlanNode &)> visit) {
  for (const PlanNode &node : graph.nodes) {
    visit(node);
    if (node.kind == NodeKind::While)
      forEachNode(node.body, visit);
  }
}

bool PlanNode::hasByValueScalars() const {
  return any_of(arguments, [](const PlanArgument &argument) {
    return argument.kind == ArgumentKind::Scalar;
  });
}

} // namespace heddle::runtime
