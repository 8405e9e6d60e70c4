//===- NpyArray.cpp - an array in the format of NumPy ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file has the magic string, two bytes of a version, the size of the header,
// the header, and the elements. The header is a literal of Python:
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//
//===----------------------------------------------------------------------===//

#include "NpyArray.h"

#include "runtime/support/Status.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::cli {

namespace {
struct Header {
  std::optional<StringRef> descr;
  std::optional<bool> fortranOrder;
  std::optional<Extents> shape;
};

/// Parses a header. Types with fields have a list as `descr`, which is refused
/// like every other value that is not expected.
class HeaderParser {
public:
  explicit HeaderParser(StringRef text) : rest(text) {}

  /// False if the header has another form.
  bool parse(Header &header) {
    if (!consume("{"))
      return false;
    while (!consume("}")) {
      std::optional<StringRef> key = string();
      if (!key || !consume(":") || !value(*key, header))
        return false;
      if (!consume(",")) {
        if (!consume("}"))
          return false;
        break;
      }
    }
    return rest.trim().empty() && header.descr && header.fortranOrder &&
           header.shape;
  }

private:
  bool consume(StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }

  std::optional<StringRef> string() {
    rest = rest.ltrim();
    if (rest.empty() || (rest[0] != '\'' && rest[0] != '"'))
      return std::nullopt;
    size_t end = rest.find(rest[0], 1);
    if (end == StringRef::npos)
      return std::nullopt;
    StringRef text = rest.slice(1, end);
    rest = rest.drop_front(end + 1);
    return text;
  }

  bool value(StringRef key, Header &header) {
    if (key == "descr" && !header.descr) {
      header.descr = string();
      return header.descr.has_value();
    }
    if (key == "fortran_order" && !header.fortranOrder) {
      if (consume("True"))
        header.fortranOrder = true;
      else if (consume("False"))
        header.fortranOrder = false;
      return header.fortranOrder.has_value();
    }
    return key == "shape" && !header.shape && shape(header.shape.emplace());
  }

  bool shape(Extents &extents) {
    if (!consume("("))
      return false;
    while (!consume(")")) {
      rest = rest.ltrim();
      uint64_t extent = 0;
      if (rest.consumeInteger(10, extent) || extent > INT64_MAX)
        return false;
      extents.push_back(static_cast<int64_t>(extent));
      if (!consume(","))
        return consume(")");
    }
    return true;
  }

  StringRef rest;
};
} // namespace

static std::optional<DType> dtypeOf(StringRef descr) {
  return StringSwitch<std::optional<DType>>(descr)
      .Case("<f8", DType::F64)
      .Case("<f4", DType::F32)
      .Case("<f2", DType::F16)
      .Case("|b1", DType::I1)
      .Case("|i1", DType::I8)
      .Case("<i2", DType::I16)
      .Case("<i4", DType::I32)
      .Case("<i8", DType::I64)
      .Default(std::nullopt);
}

/// Why `descr` is refused.
static std::string refusal(StringRef descr) {
  if (descr.ends_with("O"))
    return "it holds Python objects, which are refused: write it with a "
           "numerical dtype";
  if (descr.starts_with(">"))
    return "its bytes are in big-endian order: convert it with "
           "array.astype(array.dtype.newbyteorder('<'))";
  return formatv("expected float64, float32, float16, bfloat16, bool, int8, "
                 "int16, int32 or int64, found the NumPy type '{0}'",
                 descr);
}

Expected<NpyArray> readNpy(StringRef contents, StringRef where) {
  auto error = [&](const Twine &text) {
    return makeError(StatusCode::BadInput, "{0}: {1}", where, text.str());
  };
  StringRef rest = contents;
  if (!rest.consume_front("\x93NUMPY") || rest.size() < 6)
    return error("expected an array in the format of NumPy (.npy)");
  int version = rest[0];
  if (version < 1 || version > 3)
    return error("expected version 1, 2 or 3 of the format of NumPy, found " +
                 Twine(version));
  // The size of the header has two bytes in version 1, four in the others.
  size_t sizeBytes = version == 1 ? 2 : 4;
  uint64_t size = version == 1 ? support::endian::read16le(rest.data() + 2)
                               : support::endian::read32le(rest.data() + 2);
  rest = rest.drop_front(2 + sizeBytes);
  if (size > rest.size())
    return error("expected a header of " + Twine(size) +
                 " bytes, found the end of the array");
  Header header;
  if (!HeaderParser(rest.take_front(size)).parse(header))
    return error("expected a header with one numerical type, the order and the "
                 "shape, found another one (types with fields are refused)");
  rest = rest.drop_front(size);
  NpyArray array;
  array.dtype = dtypeOf(*header.descr);
  if (!array.dtype && *header.descr != "|V2" && *header.descr != "<V2")
    return error(refusal(*header.descr));
  array.extents = *header.shape;
  if (*header.fortranOrder && array.extents.size() > 1)
    return error("its order is column-major: convert it with "
                 "numpy.ascontiguousarray");
  // Without zeros: a vector of columns can have elements if there is no row.
  uint64_t most = 1, elementSize = array.dtype ? dtypeSize(*array.dtype) : 2;
  for (int64_t extent : array.extents) {
    most = SaturatingMultiply<uint64_t>(most, std::max<int64_t>(extent, 1));
    if (most > uint64_t(1) << 48)
      return error("expected a shape of at most 2^48 elements, found more");
  }
  uint64_t count = is_contained(array.extents, 0) ? 0 : most;
  if (count * elementSize != rest.size())
    return error(formatv("expected {0} bytes for the elements of its shape, "
                         "found {1}",
                         count * elementSize, rest.size())
                     .str());
  array.elements = rest;
  return array;
}

} // namespace heddle::cli
