// The headers that most tests of the runtime include. They are precompiled; no
// source includes this file.
#include "cmake/SupportHeaders.h"

#include "gtest/gtest.h"
