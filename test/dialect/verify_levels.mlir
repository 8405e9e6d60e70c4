// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

// Levels are inferred. A value that is complete only after the sweep cannot be
// combined with elements of the same sweep.

!mats = !foreach.list<tensor<?x?xf32>>
fused.program @element_by_column_sum(%x: !mats) -> !mats {
  %r = fused.sweep (%a = %x : !mats) -> !mats {
    %sum = fused.reduce add column %a : f32
    // expected-error@+1 {{'arith.divf' op computes an element value from a value that is complete only after the sweep; it belongs in another sweep}}
    %q = arith.divf %a, %sum : f32
    fused.yield %q : f32
  }
  fused.yield %r : !mats
}

// -----

// The elements of a row may use the value of the row.
!mats = !foreach.list<tensor<?x?xf32>>
fused.program @element_by_row_sum(%x: !mats) -> !mats {
  %r = fused.sweep (%a = %x : !mats) -> !mats {
    %sum = fused.reduce add row %a : f32
    %q = arith.divf %a, %sum : f32
    fused.yield %q : f32
  }
  fused.yield %r : !mats
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
fused.program @row_and_member(%x: !mats, %u: !list) -> !list {
  %r = fused.sweep (%a = %x : !mats, %ui = %u[i] : !list) -> !list {
    %sum = fused.reduce add member %a : f32
    // expected-error@+1 {{'arith.divf' op computes a row value from a value that is complete only after the sweep; it belongs in another sweep}}
    %q = arith.divf %ui, %sum : f32
    fused.yield %q : f32
  }
  fused.yield %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @uses_list(%x: !list) -> tensor<f32> {
  %r = fused.sweep (%a = %x : !list) -> tensor<f32> {
    %sum = fused.reduce add list %a : f32
    // expected-error@+1 {{'math.sqrt' op uses a list value that is complete only after the sweep; it belongs in the epilogue}}
    %root = math.sqrt %sum : f32
    fused.yield %root : f32
  }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @to_element(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{'fused.reduce' op expected to reduce to row, column, member or list, found element}}
    %sum = fused.reduce add element %a : f32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @row_of_vector(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{'fused.reduce' op expected a domain of rank 2 for a reduction to row, found rank 1}}
    %sum = fused.reduce add row %a : f32
    fused.yield
  }
  fused.yield
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
fused.program @row_of_row(%x: !mats) {
  fused.sweep (%a = %x : !mats) {
    %sum = fused.reduce add row %a : f32
    // expected-error@+1 {{'fused.reduce' op cannot reduce a row value to a row value}}
    %again = fused.reduce add row %sum : f32
    fused.yield
  }
  fused.yield
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
fused.program @column_of_row(%x: !mats) {
  fused.sweep (%a = %x : !mats) {
    %sum = fused.reduce add row %a : f32
    // expected-error@+1 {{'fused.reduce' op cannot reduce a row value to a column value}}
    %again = fused.reduce add column %sum : f32
    fused.yield
  }
  fused.yield
}

// -----

!each = !foreach.list<tensor<f32>>
fused.program @member_of_member(%x: !each) {
  fused.sweep (%a = %x : !each) {
    // expected-error@+1 {{'fused.reduce' op cannot reduce a member value to a member value}}
    %sum = fused.reduce add member %a : f32
    fused.yield
  }
  fused.yield
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
fused.program @after_the_sweep(%x: !mats) {
  fused.sweep (%a = %x : !mats) {
    %sum = fused.reduce add column %a : f32
    // expected-error@+1 {{'fused.reduce' op reduces a column value that is complete only after the sweep; it belongs in another sweep}}
    %all = fused.reduce add list %sum : f32
    fused.yield
  }
  fused.yield
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
fused.program @columns_counted_as_elements(%x: !mats) {
  fused.sweep (%a = %x : !mats) {
    %sum = fused.reduce add column %a : f32
    // expected-error@+1 {{'fused.reduce' op reduces a column value that is complete only after the sweep; it belongs in another sweep}}
    %all = fused.reduce add member %sum from element : f32
    fused.yield
  }
  fused.yield
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
fused.program @column_of_columns(%x: !mats) -> !list {
  %y = fused.sweep (%a = %x : !mats) -> !list {
    %sum = fused.reduce add column %a : f32
    %all = fused.reduce add member %sum : f32
    // expected-error@+1 {{'arith.divf' op computes a column value from a value that is complete only after the columns; it belongs in another sweep}}
    %share = arith.divf %sum, %all : f32
    fused.yield %share : f32
  }
  fused.yield %y : !list
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
fused.program @columns_again(%x: !mats) {
  fused.sweep (%a = %x : !mats) {
    %sum = fused.reduce add column %a : f32
    %all = fused.reduce add member %sum : f32
    // expected-error@+1 {{'fused.reduce' op cannot reduce a member value to a member value}}
    %more = fused.reduce add member %all : f32
    fused.yield
  }
  fused.yield
}

// -----

!each = !foreach.list<tensor<f32>>
fused.program @list_of_list(%x: !each) {
  fused.sweep (%a = %x : !each) {
    %sum = fused.reduce add list %a : f32
    // Counted once per member, too.
    // expected-error@+1 {{'fused.reduce' op reduces a list value that is complete only after the sweep; it belongs in another sweep}}
    %all = fused.reduce add list %sum from member : f32
    fused.yield
  }
  fused.yield
}

// -----

// A complete member value, however, may be reduced to the list.
!list = !foreach.list<tensor<?xf32>>
fused.program @list_of_members(%x: !list) -> tensor<f32> {
  %r = fused.sweep (%a = %x : !list) -> tensor<f32> {
    %sum = fused.reduce add member %a : f32
    %root = math.sqrt %sum : f32
    %all = fused.reduce add list %root : f32
    fused.yield %all : f32
  }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @precompute_of_elements(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{'fused.precompute' op expected operands that are member or list scalars bound to the sweep}}
    %e = fused.precompute (%b = %a : f32) -> f32 {
      fused.yield %b : f32
    }
    fused.yield
  }
  fused.yield
}

// -----

!each = !foreach.list<tensor<f32>>
fused.program @precompute_of_values(%x: !each) {
  fused.sweep (%a = %x : !each) {
    %d = arith.addf %a, %a : f32
    // expected-error@+1 {{'fused.precompute' op expected operands that are member or list scalars bound to the sweep}}
    %e = fused.precompute (%b = %d : f32) -> f32 {
      fused.yield %b : f32
    }
    fused.yield
  }
  fused.yield
}
