// panel_constants.h: numbers of the panel schedule that the host and the device
// share.
//
// Constant expressions only: the C++ of the compiler and of the runtime
// includes this file, and so does the emitted source.
#pragma once

namespace heddle {

// Panels of a member for clusters of 1, 2, 4 and 8 blocks: as many clusters as
// an H100 or H200 has room for. A cluster that processes a member alone instead
// has a panel for each of its blocks.
constexpr int max_panels = 132;
constexpr int panels_of_clusters[] = {0, max_panels, 66, 0, 30, 0, 0, 0, 14};

// Members that a launch processes at a time where each has a cluster, and the
// most rows and columns of such a member.
constexpr int max_member_clusters = 8;
constexpr int max_cluster_rows = 1024, max_cluster_columns = 768;

// Rows whose own values a block buffers, unless a cluster has the member.
constexpr int default_buffered_rows = 256;

// Bytes of the words in global memory on which the blocks of a launch
// synchronize.
constexpr int panel_barrier_bytes = 256;

} // namespace heddle
