//===- Scalar.cpp - One value in the storage of a dtype -------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Scalar.h"

#include "llvm/ADT/APFloat.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

using namespace llvm;

namespace heddle::runtime {

static uint16_t roundTo(const fltSemantics &semantics, double value) {
  APFloat number(value);
  bool losesInfo = false;
  number.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  return static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue());
}

static double widenFrom(const fltSemantics &semantics, const void *bytes) {
  uint16_t bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  APFloat number(semantics, APInt(16, bits));
  bool losesInfo = false;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.convertToDouble();
}

template <typename T> static void store(ScalarBytes &bytes, T value) {
  std::memcpy(bytes.data(), &value, sizeof(T));
}

/// The shortest text that stands for `value`.
static std::string textOf(double value) {
  char text[32];
  return {text, std::to_chars(text, std::end(text), value).ptr};
}

template <typename T>
static Error storeInteger(DType dtype, ScalarBytes &bytes, double value) {
  // Compare with the power of two above: 2^63 is a double, INT64_MAX is not.
  double bound = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (!(value >= -bound && value < bound) || value != std::trunc(value))
    return makeError(StatusCode::BadInput,
                     "expected an integer of {0}, from {1} to {2}, found {3}",
                     dtypeName(dtype), int64_t(std::numeric_limits<T>::min()),
                     int64_t(std::numeric_limits<T>::max()), textOf(value));
  store(bytes, static_cast<T>(value));
  return Error::success();
}

Error encodeScalar(DType dtype, double value, ScalarBytes &bytes) {
  bytes.fill(0);
  switch (dtype) {
  case DType::F64:
    store(bytes, value);
    return Error::success();
  case DType::F32:
    store(bytes, static_cast<float>(value));
    return Error::success();
  case DType::F16:
    store(bytes, roundTo(APFloat::IEEEhalf(), value));
    return Error::success();
  case DType::BF16:
    store(bytes, roundTo(APFloat::BFloat(), value));
    return Error::success();
  case DType::I1:
    if (value != 0 && value != 1)
      return makeError(StatusCode::BadInput,
                       "expected 0 or 1 for i1, found {0}", textOf(value));
    bytes[0] = value != 0;
    return Error::success();
  case DType::I8:
    return storeInteger<int8_t>(dtype, bytes, value);
  case DType::I16:
    return storeInteger<int16_t>(dtype, bytes, value);
  case DType::I32:
    return storeInteger<int32_t>(dtype, bytes, value);
  case DType::I64:
    return storeInteger<int64_t>(dtype, bytes, value);
  }
  return Error::success();
}

Error encodeScalar(const PlanBuffer &buffer, double value, ScalarBytes &bytes) {
  if (Error error = encodeScalar(buffer.dtype, value, bytes))
    return error;
  double stored =
      buffer.positive ? decodeScalar(buffer.dtype, bytes.data()) : 1;
  if (stored > 0 && std::isfinite(stored))
    return Error::success();
  return makeError(StatusCode::BadInput,
                   "expected a finite {0} above 0, found {1}",
                   dtypeName(buffer.dtype), textOf(value));
}

uint64_t fillPattern(DType dtype, double value) {
  ScalarBytes element;
  cantFail(encodeScalar(dtype, value, element)); // checked with the plan
  uint64_t pattern;
  for (unsigned at = dtypeSize(dtype); at < element.size(); ++at)
    element[at] = element[at - dtypeSize(dtype)];
  std::memcpy(&pattern, element.data(), sizeof(pattern));
  return pattern;
}

template <typename T> static double load(const void *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return static_cast<double>(value);
}

double decodeScalar(DType dtype, const void *bytes) {
  switch (dtype) {
  case DType::F64:
    return load<double>(bytes);
  case DType::F32:
    return load<float>(bytes);
  case DType::F16:
    return widenFrom(APFloat::IEEEhalf(), bytes);
  case DType::BF16:
    return widenFrom(APFloat::BFloat(), bytes);
  case DType::I1:
    return load<uint8_t>(bytes) != 0;
  case DType::I8:
    return load<int8_t>(bytes);
  case DType::I16:
    return load<int16_t>(bytes);
  case DType::I32:
    return load<int32_t>(bytes);
  case DType::I64:
    return load<int64_t>(bytes);
  }
  return 0;
}

} // namespace heddle::runtime
