//===- DeviceFunctions.cpp - the device functions of a source -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The body is printed first and then searched for the names of parameters.
// Names.cpp reserves these names, so no other identifier has one of them.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/DeviceFunctions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace heddle::cuda {

/// The preferred width of a line.
static constexpr size_t kColumns = 100;

bool DeviceFunctions::mentions(StringRef text, StringRef word) {
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    line = line.take_front(line.find("//"));
    for (size_t at = 0; (at = line.find(word, at)) != StringRef::npos; ++at) {
      // A field of another object is not the parameter.
      bool begins = at == 0 || (!isPart(line[at - 1]) && line[at - 1] != '.');
      size_t end = at + word.size();
      if (begins && (end == line.size() || !isPart(line[end])))
        return true;
    }
  }
  return false;
}

void DeviceFunctions::begin() {
  bodyAt = source.size();
  os.indent();
}

void DeviceFunctions::end(StringRef comment, StringRef type, StringRef name,
                          llvm::ArrayRef<Parameter> parameters) {
  os.unindent();
  std::string body = source.substr(bodyAt);
  source.resize(bodyAt);
  Signature &signature = signatures[name];
  signature = {name.str(), {}, {}};
  llvm::SmallVector<std::string> declared, constants;
  for (StringRef constant :
       {"bool EvictFirst", "bool Clusters", "bool Vectors", "bool Adjacent",
        "int Held", "int Items", "int Rows", "int Sure", "int Lanes"})
    if (StringRef word = constant.split(' ').second; mentions(body, word)) {
      constants.push_back(constant.str());
      signature.constants.push_back(word.str());
    }
  bool byValue = mentions(body, "ByValue");
  for (const Parameter &parameter : parameters)
    if (!parameter.name.empty() && mentions(body, parameter.name)) {
      declared.push_back(parameter.type +
                         (StringRef(parameter.type).ends_with('&') ? "" : " ") +
                         parameter.name);
      byValue |= mentions(parameter.type, "ByValue");
      signature.parameters.push_back(parameter.name);
    }
  if (byValue)
    constants.push_back("bool ByValue");

  if (!comment.empty())
    os << "// " << comment << "\n";
  if (!constants.empty())
    os << "template <" << llvm::join(constants, ", ") << ">\n";
  std::string head = ("__device__ __forceinline__ " + type + " ").str(),
              line = wrapped((head + name + "(").str(), declared, ") {");
  if (StringRef(line).contains('\n')) // the type has a line of its own
    line = StringRef(head).rtrim().str() + "\n" +
           wrapped((name + "(").str(), declared, ") {");
  os << line << "\n";
  source += body; // indented already
  os << "}\n\n";
}

std::string DeviceFunctions::wrapped(StringRef head,
                                     llvm::ArrayRef<std::string> parameters,
                                     StringRef tail) {
  std::string line = (head + llvm::join(parameters, ", ") + tail).str();
  if (line.size() <= kColumns)
    return line;
  std::string separator = ",\n" + std::string(head.size(), ' ');
  return (head + llvm::join(parameters, separator) + tail).str();
}

void DeviceFunctions::block(StringRef head, llvm::function_ref<void()> body) {
  size_t before = source.size();
  os << head << " {\n";
  os.indent();
  size_t begun = source.size();
  body();
  bool isEmpty = source.size() == begun;
  os.unindent() << "}\n";
  if (isEmpty)
    source.resize(before);
}

bool DeviceFunctions::takes(StringRef name, StringRef parameter) const {
  Signature signature = signatures.lookup(name);
  return llvm::is_contained(signature.parameters, parameter) ||
         llvm::is_contained(signature.constants, parameter);
}

std::string DeviceFunctions::call(
    StringRef name,
    llvm::ArrayRef<std::pair<StringRef, StringRef>> replaced) const {
  auto argument = [&](const std::string &parameter) {
    for (auto [from, to] : replaced)
      if (parameter == from)
        return to.str();
    return parameter;
  };
  Signature signature = signatures.lookup(name);
  std::string text = signature.name;
  auto all = [&](llvm::ArrayRef<std::string> parameters) {
    return llvm::join(llvm::map_range(parameters, argument), ", ");
  };
  if (!signature.constants.empty())
    text += "<" + all(signature.constants) + ">";
  return text + "(" + all(signature.parameters) + ")";
}

} // namespace heddle::cuda
