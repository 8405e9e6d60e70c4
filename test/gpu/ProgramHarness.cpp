//===- ProgramHarness.cpp - Programs run on cuda and on cpu ---------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Targets, element types, and the arena with its comparisons.
//
//===----------------------------------------------------------------------===//

#include "ProgramHarness.h"

#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

using namespace heddle;
using namespace heddle::test;

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

#define HEDDLE_TEXT(name) #name
#define HEDDLE_SYMBOL(name) HEDDLE_TEXT(name) // expands macros of cuda.h

const CudaDriver *CudaDriver::get() {
  static const std::unique_ptr<CudaDriver> loaded =
      []() -> std::unique_ptr<CudaDriver> {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
      return nullptr;
    auto driver = std::make_unique<CudaDriver>();
#define HEDDLE_LOAD(function)                                                  \
  if (!(driver->function = reinterpret_cast<decltype(driver->function)>(       \
            dlsym(library, HEDDLE_SYMBOL(function)))))                         \
    return nullptr;
    HEDDLE_TEST_DRIVER_FUNCTIONS(HEDDLE_LOAD)
#undef HEDDLE_LOAD
    int devices = 0;
    CUcontext context = nullptr;
    if (driver->cuInit(0) || driver->cuDeviceGetCount(&devices) || !devices ||
        driver->cuDevicePrimaryCtxRetain(&context, 0) ||
        driver->cuCtxSetCurrent(context) ||
        driver->cuStreamCreate(&driver->stream, CU_STREAM_NON_BLOCKING))
      return nullptr;
    return driver;
  }();
  return loaded.get();
}

const std::vector<std::string> &test::targets() {
  static const std::vector<std::string> list =
      CudaDriver::get() ? std::vector<std::string>{"cpu", "cuda"}
                        : std::vector<std::string>{"cpu"};
  return list;
}

const Executable &test::compiled(const std::string &program,
                                 const std::string &target) {
  static std::map<std::pair<std::string, std::string>, Executable> cache;
  auto found = cache.find({program, target});
  if (found == cache.end()) {
    Options options;
    options.target = target;
    found = cache
                .emplace(std::pair(program, target),
                         Executable::compile(program, options).value())
                .first;
    EXPECT_EQ(found->second.log(), "") << program;
  }
  return found->second;
}

testing::AssertionResult test::succeeded(const Status &status) {
  return status ? testing::AssertionSuccess()
                : testing::AssertionFailure() << status.error();
}

testing::AssertionResult test::refused(const Status &status,
                                       const std::string &part) {
  if (status)
    return testing::AssertionFailure() << "it succeeded; expected: " << part;
  if (status.code() != HEDDLE_BAD_INPUT)
    return testing::AssertionFailure()
           << "code " << status.code() << ": " << status.error();
  if (status.error().find(part) == std::string::npos)
    return testing::AssertionFailure()
           << "expected: " << part << "\n   found: " << status.error();
  return testing::AssertionSuccess();
}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

namespace {

struct Format {
  size_t bytes;
  int exponentBits, mantissaBits; ///< 0: an integer
};

Format formatOf(heddle_dtype dtype) {
  switch (dtype) {
  case HEDDLE_F64:
    return {8, 11, 52};
  case HEDDLE_F32:
    return {4, 8, 23};
  case HEDDLE_F16:
    return {2, 5, 10};
  case HEDDLE_BF16:
    return {2, 8, 7};
  case HEDDLE_I1:
  case HEDDLE_I8:
    return {1, 0, 0};
  case HEDDLE_I16:
    return {2, 0, 0};
  case HEDDLE_I32:
    return {4, 0, 0};
  case HEDDLE_I64:
    return {8, 0, 0};
  }
  return {8, 0, 0};
}

uint64_t bitsAt(Format format, const unsigned char *bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, format.bytes);
  return bits;
}

bool isNan(Format format, uint64_t bits) {
  uint64_t mantissa = bits & ((uint64_t(1) << format.mantissaBits) - 1);
  uint64_t exponent =
      bits >> format.mantissaBits & ((uint64_t(1) << format.exponentBits) - 1);
  return mantissa && exponent + 1 == uint64_t(1) << format.exponentBits;
}

uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

uint64_t seedOf(const std::string &list, uint64_t key) {
  uint64_t seed = mixed(key);
  for (char c : list)
    seed = mixed(seed ^ static_cast<unsigned char>(c));
  return seed;
}

} // namespace

size_t test::sizeOf(heddle_dtype dtype) { return formatOf(dtype).bytes; }

double test::toDouble(heddle_dtype dtype, const unsigned char *bytes) {
  Format format = formatOf(dtype);
  uint64_t bits = bitsAt(format, bytes);
  if (!format.exponentBits) {
    int unused = 64 - 8 * static_cast<int>(format.bytes);
    return static_cast<double>(static_cast<int64_t>(bits << unused) >> unused);
  }
  uint64_t mantissa = bits & ((uint64_t(1) << format.mantissaBits) - 1);
  int top = (1 << format.exponentBits) - 1;
  int exponent = static_cast<int>(bits >> format.mantissaBits) & top;
  double sign = bits >> (8 * format.bytes - 1) ? -1 : 1;
  if (exponent == top)
    return mantissa ? NAN : sign * INFINITY;
  uint64_t whole =
      mantissa | (exponent ? uint64_t(1) << format.mantissaBits : 0);
  return sign *
         std::ldexp(static_cast<double>(whole),
                    std::max(exponent, 1) - top / 2 - format.mantissaBits);
}

void test::fromDouble(heddle_dtype dtype, double value, unsigned char *bytes) {
  Format format = formatOf(dtype);
  uint64_t bits = 0;
  if (!format.exponentBits) {
    bits = static_cast<uint64_t>(static_cast<int64_t>(value));
  } else if (dtype == HEDDLE_F64) {
    bits = std::bit_cast<uint64_t>(value);
  } else {
    uint64_t top = (uint64_t(1) << format.exponentBits) - 1;
    uint64_t sign = std::signbit(value) ? 1 : 0;
    int exponent = 0;
    double fraction = std::frexp(std::fabs(value), &exponent);
    int64_t biased = exponent - 1 + static_cast<int64_t>(top / 2);
    if (std::isnan(value))
      bits = top << format.mantissaBits | uint64_t(1)
                                              << (format.mantissaBits - 1);
    else if (std::isinf(value) || biased >= static_cast<int64_t>(top))
      bits = top << format.mantissaBits;
    else if (value != 0 && biased > 0)
      bits =
          static_cast<uint64_t>(biased - 1) *
              (uint64_t(1) << format.mantissaBits) +
          static_cast<uint64_t>(std::ldexp(fraction, format.mantissaBits + 1));
    else if (value != 0)
      bits = static_cast<uint64_t>(
          std::ldexp(fraction, format.mantissaBits + static_cast<int>(biased)));
    bits |= sign << (8 * format.bytes - 1);
  }
  std::memcpy(bytes, &bits, format.bytes);
}

bool test::same(heddle_dtype dtype, const unsigned char *a,
                const unsigned char *b) {
  Format format = formatOf(dtype);
  uint64_t first = bitsAt(format, a), second = bitsAt(format, b);
  return first == second ||
         (format.exponentBits && isNan(format, first) && isNan(format, second));
}

//===----------------------------------------------------------------------===//
// Members and their addresses
//===----------------------------------------------------------------------===//

std::vector<Member> test::vectors(const std::vector<int64_t> &sizes) {
  std::vector<Member> members;
  for (int64_t size : sizes)
    members.push_back({members.size(), {size}});
  return members;
}

const std::vector<int64_t> &test::raggedSizes() {
  static const std::vector<int64_t> sizes = {
      0, 1, 2, 3, 5, 255, 256, 257, 1023, 1024, 1025, 4099, 70001};
  return sizes;
}

const Place &Image::place(const std::string &name) const {
  for (const Place &place : *places)
    if (place.name == name)
      return place;
  ADD_FAILURE() << "there is no '" << name << "'";
  std::abort();
}

std::vector<double> Image::values(const std::string &name,
                                  size_t member) const {
  const Place &found = place(name);
  std::vector<double> list;
  for (int64_t element = 0; element < found.counts[member]; ++element)
    list.push_back(toDouble(found.dtype, data(found, member) +
                                             element * sizeOf(found.dtype)));
  return list;
}

/// Compares a member and reports the first difference.
static bool expectSameMember(const Image &expected, const Place &a,
                             size_t memberOfA, const Image &found,
                             const Place &b, size_t memberOfB) {
  size_t size = sizeOf(a.dtype);
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.counts[memberOfA], b.counts[memberOfB]) << a.name;
  const unsigned char *x = expected.data(a, memberOfA),
                      *y = found.data(b, memberOfB);
  int64_t count = std::min(a.counts[memberOfA], b.counts[memberOfB]);
  if (!std::memcmp(x, y, count * size))
    return true;
  int64_t differences = 0, first = -1;
  for (int64_t element = 0; element < count; ++element)
    if (!same(a.dtype, x + element * size, y + element * size)) {
      first = differences++ ? first : element;
    }
  if (!differences)
    return true;
  ADD_FAILURE() << a.name << ", member " << memberOfA << " (" << count
                << " elements): " << differences << " differ, the first at "
                << first << ": expected " << toDouble(a.dtype, x + first * size)
                << ", found " << toDouble(a.dtype, y + first * size);
  return false;
}

void test::expectSame(const Image &expected, const Image &found) {
  int failures = 0;
  for (size_t index = 0; index < expected.places->size(); ++index) {
    const Place &a = (*expected.places)[index], &b = (*found.places)[index];
    for (size_t member = 0; member < a.counts.size() && failures < 4; ++member)
      if (!a.members[member].inactive)
        failures += !expectSameMember(expected, a, member, found, b, member);
  }
}

void test::expectSameMembers(const Image &expected, const Image &found) {
  int failures = 0;
  for (const Place &a : *expected.places) {
    if (!a.isList)
      continue;
    const Place &b = found.place(a.name);
    for (size_t i = 0; i < a.counts.size(); ++i)
      for (size_t j = 0; j < b.counts.size() && failures < 4; ++j)
        if (a.members[i].key == b.members[j].key && !a.members[i].inactive &&
            !b.members[j].inactive)
          failures += !expectSameMember(expected, a, i, found, b, j);
  }
}

void test::expectUntouched(const Image &before, const Image &after) {
  Image allowed = after;
  for (const Place &place : *before.places)
    for (size_t member = 0; member < place.counts.size(); ++member)
      if (place.written && !place.members[member].inactive)
        std::memcpy(allowed.bytes.data() + place.offsets[member],
                    before.data(place, member),
                    place.counts[member] * sizeOf(place.dtype));
  expectEqual(before, allowed);
}

void test::expectEqual(const Image &before, const Image &after) {
  ASSERT_EQ(before.bytes.size(), after.bytes.size());
  if (before.bytes == after.bytes)
    return;
  size_t at = std::mismatch(before.bytes.begin(), before.bytes.end(),
                            after.bytes.begin())
                  .first -
              before.bytes.begin();
  std::string where = "poison";
  for (const Place &place : *before.places)
    for (size_t member = 0; member < place.counts.size(); ++member) {
      int64_t distance = static_cast<int64_t>(at - place.offsets[member]);
      int64_t size =
          place.counts[member] * static_cast<int64_t>(sizeOf(place.dtype));
      if (distance >= -64 && distance < size + 64)
        where += ", " + place.name + "[" + std::to_string(member) + "] (" +
                 std::to_string(size) + " bytes) at byte " +
                 std::to_string(distance);
    }
  ADD_FAILURE() << "byte " << at << " of the arena was written: " << where;
}

//===----------------------------------------------------------------------===//
// A run
//===----------------------------------------------------------------------===//

static constexpr unsigned char kPoison = 0xa5;
static constexpr size_t kGap = 64;

static bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

Trial::Trial(const std::string &program, const std::string &target,
             Problem problem)
    : executable(compiled(program, target)),
      places(std::make_shared<std::vector<Place>>()),
      onStream(target == "cuda" ? CudaDriver::get()->stream : nullptr) {
  size_t cursor = 0;
  auto add = [&](const heddle_buffer_info &info, bool isResult) {
    Place place = {info.name, info.dtype, info.is_list != 0, isResult,
                   isResult || info.donated};
    std::vector<Member> members = {Member()};
    if (place.isList) {
      members = problem.members;
      for (const auto &[end, others] : problem.families)
        if (endsWith(place.name, end))
          members = others;
    }
    auto shift = problem.misaligned.find(place.name);
    for (const Member &member : members) {
      Extents extents;
      if (place.isList && problem.extentsIn)
        extents = problem.extentsIn(place.name, member);
      else if (info.rank == 2)
        extents = member.extents;
      int64_t elements = 1;
      if (info.rank == 1 && !problem.extentsIn) {
        for (int64_t extent : member.extents)
          elements *= extent;
        extents = {elements};
      }
      elements = 1;
      for (int64_t extent : extents)
        elements *= extent;
      cursor = (cursor + 2 * kGap - 1) / kGap * kGap;
      if (shift != problem.misaligned.end())
        cursor += shift->second * sizeOf(place.dtype);
      place.members.push_back(member);
      place.extents.push_back(extents);
      place.counts.push_back(elements);
      place.offsets.push_back(cursor);
      cursor += elements * sizeOf(place.dtype);
    }
    places->push_back(std::move(place));
  };
  std::vector<heddle_buffer_info> arguments = executable.arguments();
  for (const heddle_buffer_info &info : arguments)
    if (info.is_list)
      add(info, false);
  for (const heddle_buffer_info &info : executable.results())
    if (std::ranges::none_of(arguments, [&](auto &argument) {
          return argument.donated && !std::strcmp(argument.name, info.name);
        }))
      add(info, true);
  // Memory for scalars that are bound later.
  for (const heddle_buffer_info &info : arguments) {
    cursor = (cursor + 2 * kGap - 1) / kGap * kGap;
    if (!info.is_list)
      slots[info.name] = cursor;
    cursor += 8;
  }
  cursor += kGap;

  initial.places = places;
  initial.bytes.assign(cursor, kPoison);
  for (const Place &place : *places)
    if (!place.isResult)
      fill(problem, place, initial.bytes);
  arena = Memory::create(executable, cursor).value();
  EXPECT_TRUE(
      succeeded(arena->write(0, initial.bytes.data(), initial.bytes.size())));
  owned = Graph::create(executable).value();
  bind(*owned);
}

void Trial::fill(const Problem &problem, const Place &place,
                 Bytes &bytes) const {
  Format format = formatOf(place.dtype);
  bool positive = place.name.find("sq") != std::string::npos;
  for (size_t member = 0; member < place.members.size(); ++member) {
    uint64_t seed = seedOf(place.name, place.members[member].key);
    for (int64_t element = 0; element < place.counts[member]; ++element) {
      unsigned char *to =
          bytes.data() + place.offsets[member] + element * format.bytes;
      std::optional<double> value;
      if (problem.value)
        value = problem.value(place.name, place.members[member], element);
      if (value) {
        fromDouble(place.dtype, *value, to);
        continue;
      }
      // Random bits, with a magnitude of 2^-10 to 2^2.
      uint64_t random = mixed(seed + element);
      uint64_t bits = random & ((uint64_t(1) << format.mantissaBits) - 1);
      uint64_t bias = (uint64_t(1) << (format.exponentBits - 1)) - 1;
      bits |= (bias - 10 + (random >> 56) % 12) << format.mantissaBits;
      if (!positive && random >> 55 & 1)
        bits |= uint64_t(1) << (8 * format.bytes - 1);
      std::memcpy(to, &bits, format.bytes);
    }
  }
}

std::vector<Tensor> Trial::tensors(const Place &place) const {
  std::vector<Tensor> list;
  for (size_t member = 0; member < place.members.size(); ++member) {
    void *data = static_cast<char *>(arena->address()) + place.offsets[member];
    bool absent = place.members[member].inactive || !place.counts[member];
    list.push_back({absent ? nullptr : data, place.extents[member]});
  }
  return list;
}

void Trial::bind(Graph &graph) {
  for (const Place &place : *places) {
    Status status =
        place.isResult
            ? graph.bindResult(place.name, place.dtype, tensors(place))
            : graph.bindList(place.name, place.dtype, tensors(place));
    EXPECT_TRUE(succeeded(status)) << place.name;
    if (place.isResult || !place.isList)
      continue;
    std::vector<bool> mask;
    for (const Member &member : place.members)
      mask.push_back(member.inactive);
    if (std::ranges::find(mask, true) == mask.end())
      mask.clear();
    EXPECT_TRUE(succeeded(graph.setInactive(place.name, mask))) << place.name;
  }
}

void Trial::set(const std::string &scalar, double value) {
  EXPECT_TRUE(succeeded(owned->setScalar(scalar, value, onStream)));
}

void Trial::bindScalar(const std::string &scalar, double value) {
  for (const heddle_buffer_info &info : executable.arguments()) {
    if (info.is_list || info.name != scalar)
      continue;
    unsigned char bytes[8];
    fromDouble(info.dtype, value, bytes);
    EXPECT_TRUE(succeeded(owned->synchronize(onStream)));
    EXPECT_TRUE(
        succeeded(arena->write(slots[scalar], bytes, sizeOf(info.dtype))));
    EXPECT_TRUE(succeeded(owned->bindScalar(
        scalar, info.dtype,
        static_cast<char *>(arena->address()) + slots[scalar])));
    std::memcpy(initial.bytes.data() + slots[scalar], bytes,
                sizeOf(info.dtype));
  }
}

void Trial::unbindScalar(const std::string &scalar) {
  for (const heddle_buffer_info &info : executable.arguments())
    if (!info.is_list && info.name == scalar)
      EXPECT_TRUE(succeeded(owned->bindScalar(scalar, info.dtype, nullptr)));
}

bool Trial::hasScalar(const std::string &name) const {
  return std::ranges::any_of(executable.arguments(), [&](auto &info) {
    return !info.is_list && info.name == name;
  });
}

void Trial::overwrite(const std::string &prefix, double value) {
  EXPECT_TRUE(succeeded(owned->synchronize(onStream)));
  for (const Place &place : *places) {
    if (place.name.rfind(prefix, 0) != 0)
      continue;
    for (size_t member = 0; member < place.members.size(); ++member)
      for (int64_t element = 0; element < place.counts[member]; ++element) {
        size_t offset = place.offsets[member] + element * sizeOf(place.dtype);
        fromDouble(place.dtype, value, initial.bytes.data() + offset);
        EXPECT_TRUE(succeeded(arena->write(
            offset, initial.bytes.data() + offset, sizeOf(place.dtype))));
      }
  }
}

void Trial::step(int times) {
  for (int time = 0; time < times; ++time)
    EXPECT_TRUE(succeeded(owned->replay(onStream)));
}

Image Trial::read() {
  EXPECT_TRUE(succeeded(owned->synchronize(onStream)));
  Image image{places, Bytes(initial.bytes.size())};
  EXPECT_TRUE(
      succeeded(arena->read(0, image.bytes.data(), image.bytes.size())));
  return image;
}

void *Trial::address(const std::string &name, size_t member) const {
  return static_cast<char *>(arena->address()) +
         initial.place(name).offsets[member];
}
