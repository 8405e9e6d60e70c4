//===- StandInNvrtc.cpp - An NVRTC that compiles nothing ------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accepts every source at once. Its images are for the stand-in driver, which
// does not read them.
//
//===----------------------------------------------------------------------===//

#include <nvrtc.h>

#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

static const char image[] = "stand-in";

EXPORT nvrtcResult nvrtcVersion(int *major, int *minor) {
  return *major = 13, *minor = 0, NVRTC_SUCCESS;
}
EXPORT const char *nvrtcGetErrorString(nvrtcResult) { return "an error"; }
EXPORT nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
  return *count = 1, NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcGetSupportedArchs(int *archs) {
  return *archs = 90, NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *,
                                      const char *, int, const char *const *,
                                      const char *const *) {
  static int object;
  return *program = reinterpret_cast<nvrtcProgram>(&object), NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram *) { return NVRTC_SUCCESS; }
EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram, int, const char *const *) {
  return NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram, size_t *size) {
  return *size = 1, NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcGetProgramLog(nvrtcProgram, char *log) {
  return *log = '\0', NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcGetPTXSize(nvrtcProgram, size_t *size) {
  return *size = sizeof(image), NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcGetPTX(nvrtcProgram, char *ptx) {
  return std::memcpy(ptx, image, sizeof(image)), NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram, size_t *size) {
  return *size = sizeof(image), NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram, char *cubin) {
  return std::memcpy(cubin, image, sizeof(image)), NVRTC_SUCCESS;
}
