/*===- HeaderInC.c - heddle.h in a C program -----------------------------===*/
/*
 * Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 */
/*===----------------------------------------------------------------------===*/

#include "runtime/heddle.h"

#include <string.h>

/* Makes a mistake. Returns its status, and its message in `text`. */
int heddleHeaderInC(char *text, size_t size) {
  heddle_options options;
  heddle_executable *executable = NULL;
  heddle_status status;
  memset(&options, 0, sizeof(options));
  options.struct_size = sizeof(options);
  options.target = "cuda";
  options.arch = "sm_90";
  status = heddle_load_plan("{\"buffers\": 1}", &options, &executable);
  strncpy(text, heddle_last_error(), size - 1);
  text[size - 1] = '\0';
  heddle_executable_free(executable);
  return status;
}
