// The naming scheme of codegen/cuda/Names.h: a result that replaces no loaded
// element has the name of its list, an updated value beside its loaded value
// ends in _next, a converted value in its type, a word of the source in _value,
// and the second value with one name and type in _2.
// RUN: %heddle emit %s | FileCheck %s

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

// CHECK-LABEL: scaled_walk(
// CHECK:         const double table_value = *params.table_value;
// CHECK-NEXT:    const float table_value_f32 = float(table_value);
// CHECK-NEXT:    float old[4];
// CHECK-NEXT:    float y[4];
// CHECK-NEXT:    float x0_next[4];
// CHECK:           const float z = x[k] * table_value_f32;
// CHECK-NEXT:      const float z_2 = z + x[k];
// CHECK-NEXT:      x0_next[k] = z * z_2;
// CHECK-NEXT:      y[k] = x0_next[k] - x[k];
// CHECK-NEXT:      old[k] = x[k];
// CHECK-NEXT:    }
func.func @scaled(%x0: !list {foreach.donate = 2 : i64}, %table: !num) -> (!list, !list, !list) {
  %old, %y, %x1 = foreach.map (%x = %x0 : !list, %table = %table : !num) -> (!list, !list, !list) {
    %0 = arith.truncf %table : f64 to f32 loc("table")
    %z = arith.mulf %x, %0 : f32
    %1 = arith.addf %z, %x : f32 loc("z")
    %2 = arith.mulf %z, %1 : f32
    %3 = arith.subf %2, %x : f32
    foreach.yield %x, %3, %2 : f32, f32, f32
  }
  return %old, %y, %x1 : !list, !list, !list
}
