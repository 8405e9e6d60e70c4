//===- Steps.h - a measure of the compiler's work ---------------*- C++ -*-===//
//
// Counts basic operations where the work of a stage happens: an operand bound,
// an operation cloned, an edge followed. Unlike seconds, steps are the same on
// every machine, so a test can hold their growth with the size of a program.
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
