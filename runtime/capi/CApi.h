//===- CApi.h - For other parts of the C interface ------------------------===//
//
// Functions with C linkage outside of CApi.cpp report through the same thread's
// last error.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CAPI_CAPI_H
#define HEDDLE_RUNTIME_CAPI_CAPI_H

#include "runtime/heddle.h"

#include "llvm/Support/Error.h"

namespace heddle::runtime {

/// The status of `error`, whose text becomes heddle_last_error().
heddle_status finishCall(llvm::Error error);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_CAPI_CAPI_H
