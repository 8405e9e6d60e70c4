//===- Steps.h - a measure of the compiler's work ---------------*- C++ -*-===//
//
// A step is a basic operation of the compiler: an operand bound, an operation
// cloned, an edge followed. The count is the same on every machine, unlike a
// time, so a test can bound its growth with the size of a program. (A step of a
// program is another thing: one execution.)
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_STEPS_H
#define HEDDLE_DIALECT_STEPS_H

#include <cstdint>

namespace heddle {

/// The steps of this thread so far.
inline thread_local uint64_t steps = 0;

inline void countSteps(uint64_t number = 1) { steps += number; }

} // namespace heddle

#endif // HEDDLE_DIALECT_STEPS_H
