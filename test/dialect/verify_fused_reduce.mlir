// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

!list = !foreach.list<tensor<?xf32>>
fused.program @kind(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{expected a kind (add, mul, min, max, any, all, logsumexp, argmax or argmin) and a level (row, column, member, list), found 'sum list'}}
    %s = fused.reduce sum list %a : f32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @level(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{and a level (row, column, member, list), found 'add tensor'}}
    %s = fused.reduce add tensor %a : f32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @from(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{expected a level after 'from', found 'tensor'}}
    %s = fused.reduce add list %a from tensor : f32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @flags(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{'fused.reduce' op cannot combine values of 'f32' by any}}
    %s = fused.reduce any list %a : f32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xi1>>
fused.program @numbers(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{'fused.reduce' op cannot combine values of 'i1' by add}}
    %s = fused.reduce add list %a : i1
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xi32>>
fused.program @integers(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{'fused.reduce' op cannot combine values of 'i32' by logsumexp}}
    %s = fused.reduce logsumexp list %a : i32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @result(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{'fused.reduce' op expected one result of its operand's type}}
    %s = "fused.reduce"(%a) <{kind = 0 : i32, level = 0 : i32, operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (f32) -> f64
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @position(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{'fused.reduce' op expected the extreme value and its position, an i64}}
    %s:2 = "fused.reduce"(%a) <{kind = 7 : i32, level = 0 : i32, operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (f32) -> (f32, i32)
    fused.yield
  }
  fused.yield
}

// -----

func.func @outside(%x: f32) {
  // expected-error@+1 {{'fused.reduce' op expects parent op 'fused.sweep'}}
  %s = fused.reduce add list %x : f32
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
fused.program @hint_of_sum(%c: !mats, %a: !list) {
  fused.sweep (%x = %c : !mats, %ai = %a[i], %aj = %a[j] : !list) {
    // expected-error@+1 {{'fused.reduce' op expected 'shift', 'sharing' and 'inactive' at a logsumexp only, found a reduction of kind}}
    %r = fused.reduce add row %x shift %ai : f32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
fused.program @shift_column(%c: !mats, %a: !list) {
  fused.sweep (%x = %c : !mats, %ai = %a[i], %aj = %a[j] : !list) {
    // expected-error@+1 {{'fused.reduce' op expected a shift of level row or lower, found a column value}}
    %r = fused.reduce logsumexp row %x shift %aj : f32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
fused.program @shift_row(%c: !mats, %a: !list) {
  fused.sweep (%x = %c : !mats, %ai = %a[i], %aj = %a[j] : !list) {
    // expected-error@+1 {{'fused.reduce' op expected a shift of level column or lower, found a row value}}
    %r = fused.reduce logsumexp column %x shift %ai : f32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
fused.program @shift_element(%c: !mats, %a: !list) {
  fused.sweep (%x = %c : !mats, %ai = %a[i], %aj = %a[j] : !list) {
    // expected-error@+1 {{'fused.reduce' op expected a shift of level row or lower, found an element value}}
    %r = fused.reduce logsumexp row %x shift %x : f32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
fused.program @shift_later(%c: !mats, %a: !list) {
  fused.sweep (%x = %c : !mats, %ai = %a[i], %aj = %a[j] : !list) {
    %m = fused.reduce max column %x : f32
    // expected-error@+1 {{'fused.reduce' op expected a shift of level column or lower, found a column value that is complete only after the sweep}}
    %r = fused.reduce logsumexp column %x shift %m : f32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
fused.program @sharing_argument(%c: !mats, %a: !list) {
  fused.sweep (%x = %c : !mats, %ai = %a[i], %aj = %a[j] : !list) {
    // expected-error@+1 {{'fused.reduce' op expected a reduction over columns to share the exponentials of a logsumexp over the rows of the same segment}}
    %r = fused.reduce logsumexp column %x sharing %ai : f32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
fused.program @sharing_sum(%c: !mats, %a: !list) {
  fused.sweep (%x = %c : !mats, %ai = %a[i], %aj = %a[j] : !list) {
    %s = fused.reduce add row %x : f32
    // expected-error@+1 {{'fused.reduce' op expected a reduction over columns to share the exponentials of a logsumexp over the rows of the same segment}}
    %r = fused.reduce logsumexp column %x sharing %s : f32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
fused.program @sharing_columns(%c: !mats, %a: !list) {
  fused.sweep (%x = %c : !mats, %ai = %a[i], %aj = %a[j] : !list) {
    %s = fused.reduce logsumexp column %x : f32
    // expected-error@+1 {{'fused.reduce' op expected a reduction over columns to share the exponentials of a logsumexp over the rows of the same segment}}
    %r = fused.reduce logsumexp column %x sharing %s : f32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
fused.program @rows_sharing(%c: !mats, %a: !list) {
  fused.sweep (%x = %c : !mats, %ai = %a[i], %aj = %a[j] : !list) {
    %s = fused.reduce logsumexp row %x : f32
    // expected-error@+1 {{'fused.reduce' op expected a reduction over columns to share the exponentials of a logsumexp over the rows of the same segment}}
    %r = fused.reduce logsumexp row %x sharing %s : f32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
fused.program @shift_type(%c: !mats, %a: !list) {
  fused.sweep (%x = %c : !mats, %ai = %a[i] as f64 : !list) {
    // expected-error@+1 {{'fused.reduce' op expected a shift of the operand's type 'f32', found 'f64'}}
    %r = "fused.reduce"(%x, %ai) <{kind = 6 : i32, level = 3 : i32, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (f32, f64) -> f32
    fused.yield
  }
  fused.yield
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
fused.program @sharing_type(%c: !mats) {
  fused.sweep (%x = %c : !mats) {
    %w = arith.extf %x : f32 to f64
    %s = fused.reduce logsumexp row %w : f64
    // expected-error@+1 {{'fused.reduce' op expected to share exponentials of the operand's type 'f32', found 'f64'}}
    %r = "fused.reduce"(%x, %s) <{kind = 6 : i32, level = 2 : i32, operandSegmentSizes = array<i32: 1, 0, 1, 0>}> : (f32, f64) -> f32
    fused.yield
  }
  fused.yield
}

// -----

!mat = !foreach.list<tensor<?x?xf32>>
!vec = !foreach.list<tensor<?xf32>>
fused.program @inactive_rows(%x: !mat, %u: !vec) {
  fused.sweep (%a = %x[i, j] : !mat, %b = %u[j] : !vec) {
    %p = math.isnan %b : f32
    // expected-error@+1 {{'fused.reduce' op expected 'inactive' at a reduction over columns, found a reduction to level row}}
    %s = fused.reduce logsumexp row %a inactive %p : f32
    fused.yield
  }
  fused.yield
}

// -----

!mat = !foreach.list<tensor<?x?xf32>>
!vec = !foreach.list<tensor<?xf32>>
fused.program @inactive_level(%x: !mat, %u: !vec) {
  fused.sweep (%a = %x[i, j] : !mat, %b = %u[i] : !vec) {
    %p = math.isnan %b : f32
    // expected-error@+1 {{'fused.reduce' op expected 'inactive' to be a column value or of a lower level, complete before the sweep, found a row value}}
    %s = fused.reduce logsumexp column %a inactive %p : f32
    fused.yield
  }
  fused.yield
}

// -----

!mat = !foreach.list<tensor<?x?xf32>>
!vec = !foreach.list<tensor<?xf32>>
fused.program @inactive_after(%x: !mat, %u: !vec) {
  fused.sweep (%a = %x[i, j] : !mat) {
    %m = fused.reduce max column %a : f32
    %p = math.isnan %m : f32
    // expected-error@+1 {{'fused.reduce' op expected 'inactive' to be a column value or of a lower level, complete before the sweep, found a column value that is complete only after the sweep}}
    %s = fused.reduce logsumexp column %a inactive %p : f32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @mean(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{'fused.reduce' op expected a kind that combines states, found mean: divide a sum by the number of its elements}}
    %s = fused.reduce mean list %a : f32
    fused.yield
  }
  fused.yield
}
