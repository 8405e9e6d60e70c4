// The headers that most tests of MLIR code include. They are precompiled; no
// source includes this file.
#include "cmake/MlirHeaders.h"

#include "gtest/gtest.h"

#include <array>
#include <cmath>
#include <random>
