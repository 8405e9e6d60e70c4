//===- Json.h - Reading JSON ----------------------------------------------===//
//
// All JSON that comes from outside is read here, because LLVM's parser recurses
// into nested values without a limit.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_SUPPORT_JSON_H
#define HEDDLE_RUNTIME_SUPPORT_JSON_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace heddle::runtime {

/// The deepest nesting of arrays and objects. A plan has three levels for each
/// of the loops that contain each other, and a program at most 200 of those.
inline constexpr unsigned kDeepestJson = 640;

/// Parses a text that nests at most kDeepestJson deep. BadInput otherwise.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_SUPPORT_JSON_H
