//===- DataFile.cpp - arrays of the user for a program --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors name the file, the array, the expected and the found form.
//
//===----------------------------------------------------------------------===//

#include "DataFile.h"

#include "../CommandLine.h"
#include "../RunData.h"
#include "ZipFile.h"

#include "runtime/support/Status.h"
#include "runtime/support/Text.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::cli {

static constexpr uint64_t kMaxFileBytes = uint64_t(16) << 30;
/// Members have one array each, so more would take long to write and to match.
static constexpr size_t kMaxMembers = 1 << 20;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The contents of a regular file. They are copied, because a file that becomes
/// shorter must not end the process.
static Expected<std::unique_ptr<MemoryBuffer>> readData(StringRef path) {
  auto fail = [&](const Twine &text, StatusCode status = StatusCode::BadInput) {
    return makeError(status, "cannot read data file '{0}': {1}", path,
                     text.str());
  };
  sys::fs::file_status status;
  if (std::error_code code = sys::fs::status(path, status))
    return fail(code.message());
  if (status.type() != sys::fs::file_type::regular_file)
    return fail("expected a regular file");
  if (status.getSize() > kMaxFileBytes)
    return fail("expected at most 16 GiB, found " + Twine(status.getSize()) +
                " bytes");
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false,
                                      /*IsVolatile=*/true);
  if (!buffer)
    return fail(buffer.getError().message(),
                buffer.getError() == std::errc::not_enough_memory
                    ? StatusCode::Failed
                    : StatusCode::BadInput);
  return std::move(*buffer);
}

Error DataFile::error(const Twine &text) const {
  return makeError(StatusCode::BadInput, "data file '{0}': {1}", path,
                   text.str());
}

Expected<DataFile> DataFile::read(StringRef path, const Plan &plan) {
  DataFile file;
  file.path = path.str();
  auto buffer = readData(path);
  if (!buffer)
    return buffer.takeError();
  file.memory = std::move(*buffer);
  auto members =
      readZip(file.memory->getBuffer(), formatv("data file '{0}'", path).str());
  if (!members)
    return members.takeError();
  std::vector<NpyArray> arrays;
  for (const ZipMember &member : *members) {
    StringRef name = member.name;
    if (!name.consume_back(".npy"))
      return file.error("expected arrays only (.npy), found '" +
                        shortened(name) + "'");
    auto array = readNpy(
        member.contents,
        formatv("data file '{0}', array '{1}'", path, shortened(name)).str());
    if (!array)
      return array.takeError();
    array->name = name.str();
    arrays.push_back(std::move(*array));
  }
  if (Error error = file.match(plan, std::move(arrays)))
    return std::move(error);
  return file;
}

//===----------------------------------------------------------------------===//
// Matching arrays and arguments
//===----------------------------------------------------------------------===//

static std::string textOf(ArrayRef<int64_t> extents) {
  std::string text = "(";
  for (auto [k, extent] : enumerate(extents))
    text += (k ? ", " : "") + std::to_string(extent);
  return text + (extents.size() == 1 ? ",)" : ")");
}

static StringRef typeOf(const NpyArray &array) {
  return array.dtype ? dtypeName(*array.dtype) : "bf16";
}

/// Whether `array` has elements of `dtype`. NumPy has no bf16: files hold its
/// two bytes, or numbers in f32, which are rounded.
static bool holds(const NpyArray &array, DType dtype) {
  if (dtype == DType::BF16)
    return !array.dtype || *array.dtype == DType::F32;
  return array.dtype == dtype;
}

/// Checks that doubles hold the integers, as the rest of the tool needs.
Error DataFile::checkIntegers(const NpyArray &array) const {
  if (array.dtype != DType::I64)
    return Error::success();
  for (size_t k = 0; k < array.elements.size(); k += 8) {
    int64_t value = 0;
    std::memcpy(&value, array.elements.data() + k, 8);
    APInt size = APInt(64, value, /*isSigned=*/true).abs();
    if (size.getActiveBits() > 53 + size.countr_zero())
      return error(
          "array '" + array.name +
          "': expected integers that double precision can hold, found " +
          Twine(value) +
          (array.extents.empty() ? "" : " as element " + Twine(k / 8)));
  }
  return Error::success();
}

Error DataFile::addMember(const PlanBuffer &buffer, List &list, NpyArray array,
                          std::optional<size_t> member) {
  if (!holds(array, buffer.dtype))
    return error("array '" + array.name + "': expected " +
                 dtypeName(buffer.dtype) + " as in list '" + buffer.name +
                 "', found " + typeOf(array) +
                 (buffer.dtype == DType::BF16
                      ? ": store bf16 as float32, or as bfloat16 of ml_dtypes"
                      : ": convert it with array.astype"));
  if (Error error = checkIntegers(array))
    return error;
  bool inOneArray = !member && buffer.rank == 0 && array.extents.size() == 1;
  if (buffer.rank == 0 && !inOneArray && !array.extents.empty())
    return error("array '" + array.name + "': expected " +
                 (member ? "one value, shape ()"
                         : "one value for each member, shape (members,)") +
                 ", as list '" + buffer.name + "' is of rank 0, found shape " +
                 textOf(array.extents));
  size_t place = member.value_or(0);
  if (list.inOneArray || (inOneArray && !list.members.empty()) ||
      (place < list.members.size() && !list.members[place].name.empty()))
    return error("list '" + buffer.name + "': expected one array for member " +
                 Twine(place) + ", found another one, '" + array.name + "'");
  list.inOneArray = inOneArray;
  if (list.members.size() <= place)
    list.members.resize(place + 1);
  list.members[place] = std::move(array);
  return Error::success();
}

Error DataFile::add(const Plan &plan, NpyArray array) {
  auto find = [&](StringRef name) {
    for (auto [number, buffer] : enumerate(plan.buffers))
      if (buffer.role == BufferRole::Argument && buffer.name == name)
        return static_cast<int>(number);
    return -1;
  };
  std::optional<size_t> member;
  int number = find(array.name);
  if (number < 0) {
    auto [name, place] = StringRef(array.name).rsplit('.');
    size_t k = 0;
    // Only one spelling: no sign, no leading zeros.
    if (!place.empty() && all_of(place, isDigit) &&
        (place == "0" || place[0] != '0') && !place.getAsInteger(10, k)) {
      number = find(name);
      member = k;
    }
  }
  if (number < 0) {
    SmallVector<StringRef> names;
    for (const PlanBuffer &buffer : plan.buffers)
      if (buffer.role == BufferRole::Argument)
        names.push_back(buffer.name);
    return error("the program has no argument for the array '" +
                 shortened(array.name) + "'" + suggestion(array.name, names) +
                 "\nArguments: " + listed(names, "") +
                 ". An array has the name of a scalar, of a list with one "
                 "member, or LIST.0, LIST.1, ...");
  }
  const PlanBuffer &buffer = plan.buffers[number];
  if (buffer.kind == BufferKind::List) {
    if (member && *member >= kMaxMembers)
      return error("array '" + array.name + "': expected at most " +
                   Twine(kMaxMembers) + " members");
    return addMember(buffer, lists[number], std::move(array), member);
  }
  if (member)
    return error("array '" + array.name + "': argument '" + buffer.name +
                 "' is a scalar, which has no members: name the array '" +
                 buffer.name + "'");
  if (!array.extents.empty() || !array.dtype)
    return error("array '" + array.name +
                 "': expected one number, shape (), "
                 "for the scalar argument, found " +
                 typeOf(array) + " of shape " + textOf(array.extents));
  if (Error error = checkIntegers(array))
    return error;
  double value = 0;
  loadElements(*array.dtype, array.elements.data(), 1, &value);
  if (!scalars.emplace(buffer.name, value).second)
    return error("expected one array '" + array.name + "', found two");
  return Error::success();
}

static size_t countOf(const std::vector<NpyArray> &members, bool inOneArray) {
  return inOneArray ? static_cast<size_t>(members.front().extents.front())
                    : members.size();
}

Error DataFile::checkMembers(const Plan &plan) {
  std::optional<int> first;
  for (const auto &[number, list] : lists) {
    const std::string &name = plan.buffers[number].name;
    for (auto [k, member] : enumerate(list.members))
      if (member.name.empty())
        return error("list '" + name + "': expected arrays for members 0 to " +
                     Twine(list.members.size() - 1) + ", found no '" + name +
                     "." + Twine(k) + "'");
    size_t count = countOf(list.members, list.inOneArray);
    if (!first)
      first = number;
    size_t expected = countOf(lists[*first].members, lists[*first].inOneArray);
    if (count != expected)
      return error("list '" + name + "': expected " +
                   counted(expected, "member") + ", as in list '" +
                   plan.buffers[*first].name + "', found " + Twine(count) +
                   "; bind such lists through C, C++ or Python");
  }
  return Error::success();
}

Error DataFile::match(const Plan &plan, std::vector<NpyArray> arrays) {
  for (NpyArray &array : arrays)
    if (Error error = add(plan, std::move(array)))
      return error;
  if (lists.empty())
    return error("expected arrays for the lists of the program, found none");
  if (Error error = checkMembers(plan))
    return error;
  int leading = lists.begin()->first;
  for (const auto &entry : lists)
    if (plan.buffers[leading].rank < plan.buffers[entry.first].rank)
      leading = entry.first;
  shapes = extentsOf(leading, plan.buffers[leading].rank);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

std::vector<Extents> DataFile::extentsOf(int buffer, int rank) const {
  const List &list = lists.at(buffer);
  if (rank == 0)
    return std::vector<Extents>(countOf(list.members, list.inOneArray));
  std::vector<Extents> all;
  for (const NpyArray &array : list.members) {
    ArrayRef<int64_t> extents = array.extents;
    if (rank == 1)
      all.push_back({elementCount(extents)});
    else if (extents.empty())
      all.push_back({1, 1});
    else
      all.push_back(
          {extents.size() == 1 ? 1 : elementCount(extents.drop_back()),
           extents.back()});
  }
  return all;
}

void DataFile::load(int buffer, size_t member, int64_t first, int64_t count,
                    double *to) const {
  const List &list = lists.at(buffer);
  if (list.inOneArray) {
    first += static_cast<int64_t>(member);
    member = 0;
  }
  const NpyArray &array = list.members[member];
  DType dtype = array.dtype.value_or(DType::BF16);
  loadElements(dtype, array.elements.data() + first * dtypeSize(dtype), count,
               to);
}

} // namespace heddle::cli
