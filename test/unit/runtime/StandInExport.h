//===- StandInExport.h - Functions of the stand-in driver -----------------===//
//
// Marks the functions that the library exports.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_RUNTIME_STANDINEXPORT_H
#define HEDDLE_TEST_UNIT_RUNTIME_STANDINEXPORT_H

#define EXPORT extern "C" __attribute__((visibility("default")))

#endif // HEDDLE_TEST_UNIT_RUNTIME_STANDINEXPORT_H
