//===- LibrarySymbols.cpp - what compiled code may call -------------------===//
//
// The functions of libm behind the scalar operations, those that the code
// generator takes instead (sincos for a sine and a cosine of one value), and
// the memory functions it may use for copies.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/Jit.h"

#include <cmath>
#include <cstring>

namespace heddle::cpu {

using OfFloat = float (*)(float);
using OfDouble = double (*)(double);
using OfFloats = float (*)(float, float);
using OfDoubles = double (*)(double, double);

static void sinCos(double x, double *sine, double *cosine) {
  *sine = std::sin(x);
  *cosine = std::cos(x);
}
static void sinCosFloat(float x, float *sine, float *cosine) {
  *sine = std::sin(x);
  *cosine = std::cos(x);
}

template <class Function> static void *address(Function function) {
  return reinterpret_cast<void *>(function);
}

llvm::ArrayRef<std::pair<llvm::StringLiteral, void *>> librarySymbols() {
#define HEDDLE_UNARY(NAME)                                                     \
  {#NAME, address<OfDouble>(std::NAME)},                                       \
      {#NAME "f", address<OfFloat>(std::NAME)}
#define HEDDLE_BINARY(NAME)                                                    \
  {#NAME, address<OfDoubles>(std::NAME)}, {                                    \
    #NAME "f", address<OfFloats>(std::NAME)                                    \
  }
  static const std::pair<llvm::StringLiteral, void *> symbols[] = {
      HEDDLE_UNARY(exp),
      HEDDLE_UNARY(exp2),
      HEDDLE_UNARY(expm1),
      HEDDLE_UNARY(log),
      HEDDLE_UNARY(log2),
      HEDDLE_UNARY(log1p),
      HEDDLE_UNARY(tanh),
      HEDDLE_UNARY(sin),
      HEDDLE_UNARY(cos),
      HEDDLE_UNARY(erf),
      HEDDLE_UNARY(floor),
      HEDDLE_UNARY(ceil),
      HEDDLE_UNARY(trunc),
      HEDDLE_BINARY(pow),
      HEDDLE_BINARY(fmax),
      HEDDLE_BINARY(fmin),
      {"fma", address<double (*)(double, double, double)>(std::fma)},
      {"fmaf", address<float (*)(float, float, float)>(std::fma)},
      {"sincos", address(sinCos)},
      {"sincosf", address(sinCosFloat)},
      {"memset", address(std::memset)},
      {"memcpy", address(std::memcpy)},
      {"memmove", address(std::memmove)},
  };
#undef HEDDLE_UNARY
#undef HEDDLE_BINARY
  return symbols;
}

} // namespace heddle::cpu
