// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

!each = !foreach.list<tensor<f32>>
func.func @members(%x: !each) -> !each {
  %r = foreach.map (%x = %x : !each) -> !each {
    // expected-error@+1 {{'foreach.extent' op is in a body over member scalars or device scalars, which have no extents: use it in a map or reduction over the elements}}
    %n = foreach.extent member : i64
    foreach.yield %x : f32
  }
  return %r : !each
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @column_of_vector(%x: !list) -> !list {
  %r = foreach.map (%x = %x : !list) -> !list {
    // expected-error@+1 {{'foreach.index' op expected i or member in a domain of rank 1, found j}}
    %n = foreach.index j : i64
    foreach.yield %x : f32
  }
  return %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @along_list(%x: !list) -> !list {
  %r = foreach.map (%x = %x : !list) -> !list {
    // expected-error@+1 {{'foreach.extent' op expected i, j or member, found list}}
    %n = foreach.extent list : i64
    foreach.yield %x : f32
  }
  return %r : !list
}

// -----

func.func @outside() -> i64 {
  // expected-error@+1 {{'foreach.extent' op expected to be in the body of foreach.map or foreach.reduce}}
  %n = foreach.extent member : i64
  return %n : i64
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @type(%x: !list) -> !list {
  %r = foreach.map (%x = %x : !list) -> !list {
    // expected-error@+1 {{result #0 must be 64-bit signless integer}}
    %n = "foreach.extent"() {axis = 2 : i32} : () -> i32
    foreach.yield %x : f32
  }
  return %r : !list
}
