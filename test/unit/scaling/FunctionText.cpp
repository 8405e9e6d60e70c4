//===- FunctionText.cpp - the text of a function --------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionText.h"

using llvm::StringRef;
using llvm::Twine;

namespace heddle::test {

void appendItem(std::string &list, const Twine &item) {
  if (!list.empty())
    list += ", ";
  list += item.str();
}

void FunctionText::argument(const Twine &name, StringRef type,
                            const Twine &attributes) {
  appendItem(arguments, "%" + name + ": " + type + attributes);
}

void FunctionText::donated(const Twine &name, StringRef type) {
  argument(name, type, " {foreach.donate = " + Twine(donations++) + " : i64}");
}

void FunctionText::result(const Twine &value, StringRef type) {
  appendItem(results, "%" + value);
  appendItem(types, type);
}

void FunctionText::map(const Twine &to, const Twine &from) {
  line("%" + to + " = foreach.map (%x = %" + from + " : !list) -> !list {");
  line("  %one = arith.constant 1.0 : f32");
  line("  %y = arith.addf %x, %one : f32");
  line("  foreach.yield %y : f32");
  line("}");
}

void FunctionText::sum(const Twine &to, const Twine &from) {
  line("%" + to + " = foreach.reduce add along list (%x = %" + from +
       " as f64 : !list) -> !num {");
  line("  foreach.yield %x : f64");
  line("}");
}

std::string FunctionText::str() const {
  return "!list = !foreach.list<tensor<?xf32>>\n"
         "!half = !foreach.list<tensor<?xbf16>>\n"
         "!mats = !foreach.list<tensor<?x?xf32>>\n"
         "!each = !foreach.list<tensor<f32>>\n"
         "!flags = !foreach.list<tensor<i1>>\n"
         "!counts = !foreach.list<tensor<i32>>\n"
         "!num = tensor<f64>\n"
         "func.func @scaled(" +
         arguments + ") -> (" + types + ") {\n" + body + "return " + results +
         " : " + types + "\n}\n";
}

} // namespace heddle::test
