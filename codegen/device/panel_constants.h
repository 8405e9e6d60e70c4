// panel_constants.h: constants of the panel schedule that the host and the
// device share.
//
// Constant expressions only, because the compiler, the runtime and the emitted
// source include this file.
#pragma once

namespace heddle {

// The panels of a member for clusters of 1, 2, 4 and 8 blocks: as many clusters
// as fit on an H100 or H200. A cluster per member instead has a panel for each
// of its blocks.
constexpr int max_panels = 132;
constexpr int panels_of_clusters[] = {0, max_panels, 66, 0, 30, 0, 0, 0, 14};

// With a cluster per member: the most blocks of a cluster, and the most columns
// of a member.
constexpr int max_member_blocks = 16;
constexpr int max_member_columns = 768;

// The number of rows whose values a block buffers without a cluster per member.
constexpr int default_buffered_rows = 256;

// The bytes in global memory of the words on which the blocks of a launch
// synchronize.
constexpr int panel_barrier_bytes = 256;

} // namespace heddle
