//===- FloatingPoint.h - The floating-point environment -------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread of the caller may round upward, flush denormals to zero, or trap on
// a division by zero. Results must not depend on these settings.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_SUPPORT_FLOATINGPOINT_H
#define HEDDLE_RUNTIME_SUPPORT_FLOATINGPOINT_H

#include <cfenv>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace heddle::runtime {

/// Gives this thread the default floating-point environment while it lives:
/// rounding to nearest, denormals, no traps. Then the caller's is restored.
class DefaultFloatingPoint {
public:
  DefaultFloatingPoint() : changed(!isDefault()) {
    if (changed && std::fegetenv(&before) == 0)
      std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatingPoint() {
    if (changed)
      std::fesetenv(&before);
  }
  DefaultFloatingPoint(const DefaultFloatingPoint &) = delete;
  DefaultFloatingPoint &operator=(const DefaultFloatingPoint &) = delete;

private:
  /// fegetenv() and fesetenv() take longer than a replay can spare.
  static bool isDefault() {
#if defined(__SSE__)
    constexpr unsigned flags = 0x3f, byDefault = 0x1f80;
    return (_mm_getcsr() & ~flags) == byDefault;
#else
    return false;
#endif
  }

  bool changed;
  std::fenv_t before;
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_SUPPORT_FLOATINGPOINT_H
