//===- DeviceFunctions.h - the device functions of a source -----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints device functions. A function takes only the parameters, and is a
// template over only the constants, that its body mentions.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_DEVICEFUNCTIONS_H
#define HEDDLE_CODEGEN_CUDA_DEVICEFUNCTIONS_H

#include "mlir/Support/IndentedOstream.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

namespace heddle::cuda {

class DeviceFunctions {
public:
  /// Prints functions to `os`, which writes to `source`.
  DeviceFunctions(std::string &source, mlir::raw_indented_ostream &os)
      : source(source), os(os) {}

  /// A parameter that a body may mention.
  struct Parameter {
    std::string type, name;
  };

  /// Begins a body, to which everything printed until `end` belongs.
  void begin();
  /// Ends the body, and prints the head of the function before it.
  void end(llvm::StringRef comment, llvm::StringRef type, llvm::StringRef name,
           llvm::ArrayRef<Parameter> parameters);

  /// Prints `head` and, between braces, the output of `body`; nothing if that
  /// output is empty.
  void block(llvm::StringRef head, llvm::function_ref<void()> body);
  /// Drops the body begun last, which must be empty.
  void drop() { os.unindent(); }
  /// Whether a function takes a parameter.
  bool takes(llvm::StringRef name, llvm::StringRef parameter) const;
  /// Makes calls of `name` call `other`.
  void alias(llvm::StringRef name, llvm::StringRef other) {
    signatures[name] = signatures.lookup(other);
  }

  /// A call of a function. The arguments have the names of the parameters,
  /// except those in `replaced`.
  std::string call(llvm::StringRef name,
                   llvm::ArrayRef<std::pair<llvm::StringRef, llvm::StringRef>>
                       replaced = {}) const;

  /// `head`, which ends in a parenthesis, `parameters` and `tail`: on one line
  /// if they fit, otherwise one parameter per line.
  static std::string wrapped(llvm::StringRef head,
                             llvm::ArrayRef<std::string> parameters,
                             llvm::StringRef tail);

  /// Whether C++ `text` mentions the identifier `word` outside of comments.
  static bool mentions(llvm::StringRef text, llvm::StringRef word);

private:
  struct Signature {
    std::string name;
    llvm::SmallVector<std::string> constants, parameters;
  };

  std::string &source;
  mlir::raw_indented_ostream &os;
  size_t bodyAt = 0;
  llvm::StringMap<Signature> signatures;
};

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_DEVICEFUNCTIONS_H
