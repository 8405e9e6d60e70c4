// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The headers that most tests of the runtime include. They are precompiled; no
// source includes this file.
#include "cmake/SupportHeaders.h"

#include "gtest/gtest.h"
