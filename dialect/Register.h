//===- Register.h - every dialect a heddle program may use ------*- C++ -*-===//
//
// All tools use the same registration.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REGISTER_H
#define HEDDLE_DIALECT_REGISTER_H

namespace mlir {
class DialectRegistry;
}

namespace heddle {
void registerAll(mlir::DialectRegistry &registry);
} // namespace heddle

#endif // HEDDLE_DIALECT_REGISTER_H
