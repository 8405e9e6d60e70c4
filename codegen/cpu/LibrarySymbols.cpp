//===- LibrarySymbols.cpp - the functions that compiled code may call -----===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of libm that dialect/ScalarOps.def names, the functions that
// LLVM's code generator calls instead of them (sincos for the sine and the
// cosine of one value), and the memory functions that it calls for copies.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/Jit.h"

#include <cmath>
#include <cstring>

namespace heddle::cpu {

using Symbol = std::pair<llvm::StringLiteral, void *>;

template <class Function> static void *address(Function function) {
  return reinterpret_cast<void *>(function);
}

/// A function of libm with one, two or three arguments, in double and in float;
/// overload resolution selects the number of arguments.
struct Libm {
  void *ofDouble, *ofFloat;
};
static Libm libm(double (*d)(double), float (*f)(float)) {
  return {address(d), address(f)};
}
static Libm libm(double (*d)(double, double), float (*f)(float, float)) {
  return {address(d), address(f)};
}
static Libm libm(double (*d)(double, double, double),
                 float (*f)(float, float, float)) {
  return {address(d), address(f)};
}

static void sinCos(double x, double *sine, double *cosine) {
  *sine = std::sin(x);
  *cosine = std::cos(x);
}
static void sinCosFloat(float x, float *sine, float *cosine) {
  *sine = std::sin(x);
  *cosine = std::cos(x);
}

llvm::ArrayRef<Symbol> librarySymbols() {
#define UNARY(INSTRUCTION)
#define BINARY(INSTRUCTION)
#define TERNARY(INSTRUCTION)
#define CONVERSION(INSTRUCTION)
#define INTRINSIC(ID)
#define CODE
#define LIBM(FUNCTION)                                                         \
  {#FUNCTION, libm(std::FUNCTION, std::FUNCTION).ofDouble},                    \
      {#FUNCTION "f", libm(std::FUNCTION, std::FUNCTION).ofFloat},
#define INTRINSIC_OR_LIBM(ID, FUNCTION) LIBM(FUNCTION)
#define HEDDLE_SCALAR(OP, COST, ACCURACY, RANGE, REFERENCE, CUDA, LLVM) LLVM
  static const Symbol symbols[] = {
#include "dialect/ScalarOps.def"
      {"sincos", address(sinCos)},        {"sincosf", address(sinCosFloat)},
      {"memset", address(std::memset)},   {"memcpy", address(std::memcpy)},
      {"memmove", address(std::memmove)},
  };
#undef UNARY
#undef BINARY
#undef TERNARY
#undef CONVERSION
#undef INTRINSIC
#undef CODE
#undef LIBM
#undef INTRINSIC_OR_LIBM
  return symbols;
}

} // namespace heddle::cpu
