// reduce_constants.h: constants of reductions that the host and the device
// share.
//
// Constant expressions only, because the compiler and the emitted source
// include this file.
#pragma once

namespace heddle {

// The threads among which the partials of a list's tiles are divided.
constexpr int list_threads = 1024;

} // namespace heddle
