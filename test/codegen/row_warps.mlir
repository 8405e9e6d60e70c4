// In the entries for rows of up to 512 and 1024 columns, a warp has each row, without barriers. In the entry for rows of
// up to 32 columns, a group of threads takes two rows at a time.
// RUN: %heddle emit %s | FileCheck %s
// RUN: %heddle emit %s --stage plan | FileCheck %s --check-prefix=PLAN

// CHECK:      softmax_held(
// CHECK:        heddle::row_group<256, Items, Sure, Lanes, Adjacent> group(parts);
// CHECK:        constexpr int rows_at_once = Items == 1 ? 8 : Items <= 4 ? 4 : Lanes == 4 ? 2 : 1;
// CHECK:            const bool there = (Items > 8 && !Lanes) || row < tile.count;
// CHECK:            heddle::chains<heddle::max<float>, Items, Lanes, Adjacent> most_part;
// CHECK:                most_part[k] = heddle::max<float>::combine(most_part[k], heddle::max<float>::lift(x[r][k]));
// CHECK:            float most_of_row = heddle::over_row<heddle::max<float>, 256>(most_part, group);
// CHECK:            const float most = heddle::max<float>::value(most_of_row);
// CHECK:      softmax_process(
// CHECK:        else if (adjacent && Held == 32)
// CHECK-NEXT:     softmax_held<false, true, 8, 4, 4>(
// CHECK-NEXT:   else if (Held == 32)
// CHECK-NEXT:     softmax_held<false, false, 8, 4, 4>(
// CHECK-NEXT:   else if (adjacent && (Held == 512 || Held == 1024) && tile.columns <= 256)
// CHECK-NEXT:     softmax_held<false, true, 8, 4, 32>(
// CHECK-NEXT:   else if ((Held == 512 || Held == 1024) && tile.columns <= 256)
// CHECK-NEXT:     softmax_held<false, false, 8, 4, 32>(
// CHECK-NEXT:   else if (adjacent && (Held == 512 || (Held == 1024 && tile.columns <= 512)))
// CHECK-NEXT:     softmax_held<false, true, 16, 8, 32>(
// CHECK-NEXT:   else if (Held == 512 || (Held == 1024 && tile.columns <= 512))
// CHECK-NEXT:     softmax_held<false, false, 16, 8, 32>(
// CHECK-NEXT:   else if (adjacent && Held == 1024)
// CHECK-NEXT:     softmax_held<false, true, 32, 16, 32>(
// CHECK-NEXT:   else if (Held == 1024)
// CHECK-NEXT:     softmax_held<false, false, 32, 16, 32>(
// CHECK-NEXT:   else if (adjacent && tile.columns <= 2048)
// CHECK:      softmax_held_rows_32(
// CHECK:        softmax_block<false, 32>(params);
// CHECK:      softmax_held_rows_512(
// CHECK:        softmax_block<false, 512>(params);
// CHECK:      softmax_held_rows_1024(
// CHECK:        softmax_block<false, 1024>(params);

// PLAN:      "entry": "softmax_held_rows_32",
// PLAN:        "max_columns": 32,
// PLAN-NEXT:   "mostly_over": 4
// PLAN:      "entry": "softmax_held_rows_512",
// PLAN:        "max_columns": 512
// PLAN:      "entry": "softmax_held_rows_1024",
// PLAN:        "max_columns": 1024,
// PLAN-NEXT:   "mostly_over": 256

!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @softmax(%x: !mats) -> !mats {
  %most = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats, %m = %most[i] : !vecs) -> !vecs {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    foreach.yield %e : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %m = %most[i], %s = %sum[i] : !vecs) -> !mats {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    %y = arith.divf %e, %s : f32
    foreach.yield %y : f32
  }
  return %y : !mats
}
