// Wide rows whose columns are reduced, too: a thread goes down a few columns through
// several rows, then down the next columns, and keeps the states of both.
// RUN: split-file %s %t
// RUN: %heddle emit %t/across.mlir | FileCheck %s
// RUN: %heddle emit %t/halves.mlir | FileCheck %s --check-prefix=HALVES
// RUN: %heddle emit %t/again.mlir | FileCheck %s --check-prefix=AGAIN
// RUN: %heddle emit %t/member.mlir | FileCheck %s --check-prefix=MEMBER

// CHECK:      across_walk(
// CHECK:        if (tile.count == 0)
// CHECK:          params.column_of_columns[tile.column_base + column] = heddle::add<float>::neutral();
// CHECK:        const heddle::row_parts parts(tile.columns, 4096, 1, 0);
// CHECK-NEXT:   for (int first_row = 0; first_row < tile.count; first_row += Rows) {
// The operands of rows are loaded once.
// CHECK-NEXT:     float w[Rows];
// CHECK:            w[r] = tile.weight[row];
// CHECK:          float mass_part[Rows], mass_of_parts[Rows];
// CHECK:          for (int part = 0; part < parts.count; ++part) {
// CHECK:            for (long long first_column = parts.begin(part); first_column < parts.end(part); first_column += Items * 256) {
// CHECK-NEXT:         const auto group = heddle::group_of_block<256, Items, Adjacent>(parts.end(part) - first_column);
// Columns continue with the states that the rows before have left.
// CHECK:                v[k] = tile.shift[first_column + column];
// CHECK-NEXT:           column_down[k] = first_row == 0 ? heddle::add<float>::neutral()
// CHECK-NEXT:               : params.column_of_columns[tile.column_base + first_column + column];
// CHECK:              float x[Rows][Items];
// CHECK:                auto *const x_row = heddle::in_global(tile.x + row * tile.x_stride + first_column);
// CHECK:                heddle::load_columns<float, Items>(x[r], x_row, group, present);
// CHECK:              heddle::keep_order();
// Elements may be written.
// CHECK:                auto *const y_row = heddle::in_global(tile.y + row * tile.y_stride + first_column);
// CHECK:                  if (group.has(k, present)) {
// CHECK-NEXT:               mass_part[r] = heddle::add<float>::combine(mass_part[r],
// CHECK:                    column_down[k] = heddle::add<float>::combine(column_down[k],
// CHECK:                  to_y.write(k, column, {{.*}}, there && group.has(k, present
// CHECK:              heddle::store_columns<heddle::add<float>, 256>(column_down, group,
// CHECK-NEXT:             params.column_of_columns + tile.column_base + first_column);
// CHECK:            heddle::over_block<heddle::add<float>, 256>(mass_part);
// CHECK:              if (threadIdx.x == part)
// CHECK-NEXT:           mass_of_parts[r] = mass_part[r];
// CHECK:          if (parts.has_several()) {
// CHECK-NEXT:       heddle::over_block<heddle::add<float>, 256>(mass_of_parts);
// CHECK:            const int row = first_row + r;
// CHECK-NEXT:       if (row >= tile.count)
// CHECK-NEXT:         break;
// CHECK:            if (threadIdx.x == 0)
// CHECK-NEXT:         tile.mass[row] = mass;
// CHECK:      across_process(
// CHECK:        else if (tile.count > 2)
// CHECK-NEXT:     across_walk<false, 4, 4>(
// CHECK-NEXT:   else if (adjacent)
// CHECK-NEXT:     across_walk<true, 8, 1>(
// CHECK-NEXT:   else
// CHECK-NEXT:     across_walk<false, 8, 1>(

// Elements of 16 bits stay as they are stored until they are used.
// HALVES:      heddle::loaded_columns<heddle::bf16, Items, decltype(group)> x[Rows];
// HALVES:        x[r].load(x_row, group, present);
// HALVES:        most_part[r] = heddle::max<float>::combine(most_part[r],
// HALVES-NEXT:       heddle::max<float>::lift(heddle::convert<float>(x[r][k])));

// Elements that need a value of their row are processed row by row, and so are those that are reduced over the member.
// AGAIN:      again_walk(
// AGAIN:        for (long long row = 0; row < tile.count; ++row) {
// AGAIN:      again_process(
// AGAIN-NOT:    tile.count >
// AGAIN:          again_walk<true>(
// MEMBER:     member_walk(
// MEMBER:       for (long long row = 0; row < tile.count; ++row) {

//--- across.mlir
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

func.func @across(%x: !mats, %weight: !list, %shift: !list) -> (!mats, !list, !list) {
  %y = foreach.map (%x = %x[i, j] : !mats, %w = %weight[i], %v = %shift[j] : !list) -> !mats {
    %scaled = arith.mulf %x, %w : f32
    %y = arith.addf %scaled, %v : f32
    foreach.yield %y : f32
  }
  %mass = foreach.reduce add along j (%y = %y[i, j] : !mats) -> !list {
    foreach.yield %y : f32
  }
  %column = foreach.reduce add along i (%y = %y[i, j] : !mats) -> !list {
    foreach.yield %y : f32
  }
  return %y, %mass, %column : !mats, !list, !list
}

//--- halves.mlir
!mats = !foreach.list<tensor<?x?xbf16>>
!list = !foreach.list<tensor<?xf32>>

func.func @halves(%x: !mats) -> (!list, !list) {
  %most = foreach.reduce max along j (%x = %x[i, j] as f32 : !mats) -> !list {
    foreach.yield %x : f32
  }
  %column = foreach.reduce add along i (%x = %x[i, j] as f32 : !mats) -> !list {
    foreach.yield %x : f32
  }
  return %most, %column : !list, !list
}

//--- again.mlir
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

func.func @again(%x: !mats) -> (!list, !list) {
  %most = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  %column = foreach.reduce add along i (%x = %x[i, j] : !mats, %m = %most[i] : !list) -> !list {
    %d = arith.subf %x, %m : f32
    foreach.yield %d : f32
  }
  return %most, %column : !list, !list
}

//--- member.mlir
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

func.func @member(%x: !mats) -> (!list, !list, !each) {
  %row = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  %column = foreach.reduce add along i (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  %all = foreach.reduce add along member (%x = %x[i, j] : !mats) -> !each {
    foreach.yield %x : f32
  }
  return %row, %column, %all : !list, !list, !each
}
