// panel.cuh: loops whose blocks keep panels of rows.
//
// A member's rows are cut into panels; how many panels there are is a constant of
// the class, never of the device, for the order in which a column's parts meet
// depends on it. A block takes panel after panel, its crews row after row in turn,
// and with several blocks to a panel (a cluster) each takes a share of the
// columns. docs/lowering.md describes a trip.
#pragma once
#include "access.cuh"
#include "panel_class.cuh"
#include "panel_columns.cuh"
#include "panel_meeting.cuh"
#include "panel_parts.cuh"
#include "panel_rows.cuh"
#include "powers.cuh"
#include "tables.cuh"
