// A column's sum of 0 is not recomputed if the program selects another value
// wherever it would use the sum. Infinite sums and NaN are not 0.
// RUN: %heddle emit %s | FileCheck %s
// RUN: sed 's/select %%inactive, %%nothing, %%reached/select %%inactive, %%reached, %%nothing/' %s | %heddle emit - | FileCheck %s --check-prefix=OTHER
// RUN: sed 's/%%inactive = .*/%%inactive = arith.ori %%weightless, %%bounded : i1/' %s | %heddle emit - | FileCheck %s --check-prefix=ALWAYS
// RUN: sed 's/%%most = .*/%%most = arith.constant 9.0 : f32/' %s | %heddle emit - | FileCheck %s --check-prefix=ALWAYS
// RUN: sed 's/^ *%%reached = .*/%%half = arith.subf %%c, %%s : f32\n%%huge = arith.cmpf ogt, %%c, %%most : f32\n%%reached = arith.select %%huge, %%half, %%c : f32/' %s | %heddle emit - | FileCheck %s --check-prefix=NESTED
// RUN: sed 's/select %%inactive, %%nothing, %%reached/select %%inactive, %%s, %%reached/' %s | %heddle emit - | FileCheck %s --check-prefix=NEVER
// RUN: sed 's/yield %%q1 :/yield %%reached :/' %s | %heddle emit - | FileCheck %s --check-prefix=ALWAYS

// CHECK:      namespace balance_loop {
// CHECK:      const bool weightless = 
// CHECK:      const bool column_mass_part_inactive = column_mass_part_sum == 0 && weightless;
// CHECK:      if (heddle::any_combining_thread(is_first && !heddle::is_safe_column(column_mass_part_sum)
// CHECK-NEXT: && !column_mass_part_inactive)) {
// CHECK:      const float column_mass = column_mass_part_inactive ? 0 : heddle::is_safe_column(column_mass_part_sum)
// OTHER:      const bool [[WANTED:.*]] = bool(weightless ^ true);
// OTHER:      const bool column_mass_part_inactive = column_mass_part_sum == 0 && [[WANTED]];
// NESTED:     const bool [[SMALL:.*]] = bool(huge ^ true);
// NESTED:     const bool column_mass_part_inactive = column_mass_part_sum == 0 && [[SMALL]];
// NEVER:      const bool column_mass_part_inactive = column_mass_part_sum == 0 && false;
// ALWAYS:     if (heddle::any_combining_thread(is_first && !heddle::is_safe_column(column_mass_part_sum))) {
// ALWAYS:     const float column_mass = heddle::is_safe_column(column_mass_part_sum)

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>

func.func @balance(%M: !mats, %log_rows: !vecs, %log_columns: !vecs, %p0: !vecs, %q0: !vecs,
                   %tol: tensor<f64>, %limit: tensor<i32>) -> (!vecs, !vecs, !each, !foreach.list<tensor<i32>>) {
  %p, %q, %change, %iterations = foreach.while (%p = %p0, %q = %q0 : !vecs) upto %limit -> (!vecs, !vecs, !each, !foreach.list<tensor<i32>>) {
    %row_mass = foreach.reduce logsumexp along j (%m = %M[i, j] : !mats, %q = %q[j] : !vecs) -> !vecs {
      %x = arith.addf %m, %q : f32
      foreach.yield %x : f32
    }
    %p1 = foreach.map (%r = %log_rows, %s = %row_mass : !vecs) -> !vecs {
      %d = arith.subf %r, %s : f32
      foreach.yield %d : f32
    }
    %column_mass = foreach.reduce logsumexp along i (%m = %M[i, j] : !mats, %p = %p1[i] : !vecs) -> !vecs {
      %x = arith.addf %m, %p : f32
      foreach.yield %x : f32
    }
    %q1 = foreach.map (%c = %log_columns, %s = %column_mass : !vecs) -> !vecs {
      %nothing = arith.constant 0xFF800000 : f32
      %most = arith.constant 0x7F800000 : f32
      %reached = arith.subf %c, %s : f32
      %weightless = arith.cmpf oeq, %c, %nothing : f32
      %bounded = arith.cmpf olt, %s, %most : f32
      %inactive = arith.andi %bounded, %weightless : i1
      %q1 = arith.select %inactive, %nothing, %reached : f32
      foreach.yield %q1 : f32
    }
    %change = foreach.reduce max along i (%p = %p, %p1 = %p1 : !vecs) -> !each {
      %d = arith.subf %p1, %p : f32
      %x = math.absf %d : f32
      foreach.yield %x : f32
    }
    %more = foreach.map (%e = %change : !each, %t = %tol as f32 : tensor<f64>) -> !flag {
      %x = arith.cmpf ogt, %e, %t : f32
      foreach.yield %x : i1
    }
    foreach.yield %p1, %q1, %change while %more : !vecs, !vecs, !each while !flag
  }
  return %p, %q, %change, %iterations : !vecs, !vecs, !each, !foreach.list<tensor<i32>>
}
