// panel.cuh: the panel schedule, a loop in one launch.
//
// A member's rows are cut into panels. The number of panels is a constant of the size
// class, never of the device, because it fixes the order in which a column's parts are
// combined. A block processes panel after panel, and each of its thread groups row
// after row. In a cluster that shares a panel, each block takes a column slice.
// docs/lowering.md describes an iteration.
#pragma once
#include "access.cuh"
#include "panel_barrier.cuh"
#include "panel_class.cuh"
#include "panel_columns.cuh"
#include "panel_messages.cuh"
#include "panel_parts.cuh"
#include "panel_position.cuh"
#include "panel_reduction.cuh"
#include "panel_rows.cuh"
#include "powers.cuh"
#include "tables.cuh"
