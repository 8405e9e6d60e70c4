//===- DeviceFunctions.h - the device functions of a source -----*- C++ -*-===//
//
// Prints device functions that take those parameters, and are templates over
// those constants, that their bodies mention.
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
  /// Functions of the source that `os` writes to `source`.
  DeviceFunctions(std::string &source, mlir::raw_indented_ostream &os)
      : source(source), os(os) {}

  /// Something that a body may mention, declared as `type` and `name`.
  struct Parameter {
    std::string type, name;
  };

  /// Begins a body; all that is printed until `end` belongs to it.
  void begin();
  /// Ends the body, and prints in front of it the function's head.
  void end(llvm::StringRef comment, llvm::StringRef type, llvm::StringRef name,
           llvm::ArrayRef<Parameter> parameters);

  /// Prints `head` and what `body` prints between braces, unless that is
  /// nothing.
  void block(llvm::StringRef head, llvm::function_ref<void()> body);
  /// Forgets the body begun last, in which nothing is printed yet.
  void drop() { os.unindent(); }
  /// Whether a function takes a parameter.
  bool takes(llvm::StringRef name, llvm::StringRef parameter) const;
  /// Lets calls of `name` call `other`.
  void alias(llvm::StringRef name, llvm::StringRef other) {
    signatures[name] = signatures.lookup(other);
  }

  /// A call of a function, whose arguments have the names of its parameters but
  /// for those that are `replaced`.
  std::string call(llvm::StringRef name,
                   llvm::ArrayRef<std::pair<llvm::StringRef, llvm::StringRef>>
                       replaced = {}) const;

  /// `head`, which ends in a parenthesis, `parameters` and `tail`: in one line
  /// if it fits, or else with a parameter in each.
  static std::string wrapped(llvm::StringRef head,
                             llvm::ArrayRef<std::string> parameters,
                             llvm::StringRef tail);

  /// Whether C++ `text` mentions the identifier `word` outside of comments.
  static bool mentions(llvm::StringRef text, llvm::StringRef word);

private:
  struct Signature {
    std::string name;
    bool evictFirst = false;
    llvm::SmallVector<std::string> parameters;
  };

  std::string &source;
  mlir::raw_indented_ostream &os;
  size_t bodyAt = 0;
  llvm::StringMap<Signature> signatures;
};

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_DEVICEFUNCTIONS_H
