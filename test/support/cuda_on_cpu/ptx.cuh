// ptx.cuh: the host's version of codegen/device/ptx.cuh.
//
// The same functions, written out: conversions of 16-bit floats bit by bit,
// exchanges and tickets through the machine. Every access that another block
// can interfere with is a place where one does.
#pragma once

namespace heddle {

struct f16 { unsigned short bits; };
struct bf16 { unsigned short bits; };

inline float to_f32(f16 x) {
  const unsigned sign = (x.bits & 0x8000u) << 16, exponent = x.bits >> 10 & 31, fraction = x.bits & 0x3ff;
  if (exponent == 31)
    return __uint_as_float(sign | 0x7f800000u | fraction << 13);
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return __uint_as_float(sign | (exponent + 112) << 23 | fraction << 13);
}

inline float to_f32(bf16 x) { return __uint_as_float(static_cast<unsigned>(x.bits) << 16); }

// `bits` without its last `count`, to the nearest, ties to even.
inline unsigned rounded(unsigned bits, int count) {
  const unsigned half = 1u << (count - 1), rest = bits & (2 * half - 1), kept = bits >> count;
  return kept + (rest > half || (rest == half && (kept & 1)));
}

inline f16 to_f16(float x) {
  const unsigned bits = __float_as_uint(x), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return {0x7fff};
  if (magnitude >= 0x47800000u) // 2^16
    return {static_cast<unsigned short>(sign | 0x7c00)};
  if (magnitude >= 0x38800000u) // 2^-14
    return {static_cast<unsigned short>(sign | rounded(magnitude - (112u << 23), 13))};
  const int shift = 126 - static_cast<int>(magnitude >> 23); // of a fraction with its leading one
  if (shift > 24)
    return {static_cast<unsigned short>(sign)};
  return {static_cast<unsigned short>(sign | rounded((magnitude & 0x7fffffu) | 0x800000u, shift))};
}

inline bf16 to_bf16(float x) {
  const unsigned bits = __float_as_uint(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return {0x7fff};
  return {static_cast<unsigned short>(rounded(bits, 16))};
}

inline bool same_bits(float a, float b) { return __float_as_uint(a) == __float_as_uint(b); }
inline bool same_bits(double a, double b) { return __double_as_longlong(a) == __double_as_longlong(b); }
template <class T> bool same_bits(T a, T b) { return a == b; }

template <class T> T shuffle_xor(T value, int mask) {
  static_assert(sizeof(T) % 4 == 0, "shuffles move words");
  constexpr int words = sizeof(T) / 4;
  union { T value; unsigned word[words]; } from = {value}, to = {value};
  for (int w = 0; w < words; ++w)
    to.word[w] = heddle_on_cpu->shuffle_xor(from.word[w], mask);
  return to.value;
}

template <class Vector> Vector read_passing(const Vector *from) {
  heddle_on_cpu->pause();
  return *from;
}
template <class Vector> void write_passing(Vector *to, Vector value) {
  heddle_on_cpu->pause();
  *to = value;
}

inline void fence() { heddle_on_cpu->give_way(); }

inline unsigned count_arrival(unsigned *ticket, int expected) {
  heddle_on_cpu->give_way();
  const unsigned before = *ticket;
  *ticket = before >= static_cast<unsigned>(expected - 1) ? 0 : before + 1;
  heddle_on_cpu->give_way();
  return before;
}
inline bool take_ticket(unsigned *ticket, int expected) {
  return count_arrival(ticket, expected) == static_cast<unsigned>(expected - 1);
}

inline unsigned read_now(const unsigned *word) {
  heddle_on_cpu->give_way();
  return *static_cast<const volatile unsigned *>(word);
}

inline unsigned long long read_now(const unsigned long long *word) {
  heddle_on_cpu->give_way();
  return *static_cast<const volatile unsigned long long *>(word);
}
inline unsigned long long arrive_after(unsigned long long *word) {
  heddle_on_cpu->give_way();
  return (*word)++;
}
inline void arrive(unsigned long long *word) { arrive_after(word); }

inline void let_next_begin() { heddle_on_cpu->let_next_begin(); }
inline void wait_for_previous() { heddle_on_cpu->wait_for_previous(); }

} // namespace heddle
