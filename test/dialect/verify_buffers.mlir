// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

// Buffers, names and traffic of programs, sweeps and loops. A user may write any
// of these attributes.

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{expected a buffer with a name, found ""}}
fused.program @no_name(%x: !list) attributes {buffers = [#fused.buffer<"", temporary, !list>]} {
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{expected the role 'result' or 'temporary' for buffer 'y', found 'argument'}}
fused.program @role(%x: !list) attributes {buffers = [#fused.buffer<"y", argument, !list>]} {
  fused.yield
}

// -----

// expected-error@+1 {{expected the type of a list or of a device scalar for buffer 'y', found 'f32'}}
fused.program @type() attributes {buffers = [#fused.buffer<"y", result, f32>]} {
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{expected 1 extent for buffer 'y' of type '!foreach.list<tensor<?xf32>>', found 2}}
fused.program @rank(%x: !list) attributes {buffers = [#fused.buffer<"y", result, !list, extents = [[0, 0], [0, 0]], members = 0>]} {
  fused.yield
}

// -----

// expected-error@+1 {{expected 'members' of a list only, found 0 for buffer 's' of type 'tensor<f64>'}}
fused.program @members_of_scalar() attributes {buffers = [#fused.buffer<"s", result, tensor<f64>, members = 0>]} {
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{'fused.program' op expected extents that are dimensions of lists among its 2 buffers, found dimension 1 of buffer 0 in #fused.buffer<"y", result, !foreach.list<tensor<?xf32>>, extents =}}
fused.program @dimension(%x: !list) attributes {buffers = [#fused.buffer<"y", result, !list, extents = [[0, 1]], members = 0>]} {
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{'fused.program' op expected 'members' of a list among its 2 buffers, found 7 in #fused.buffer<}}
fused.program @members(%x: !list) attributes {buffers = [#fused.buffer<"y", result, !list, extents = [[0, 0]], members = 7>]} {
  fused.yield
}

// -----

// expected-error@+1 {{'fused.program' op attribute 'buffers' failed to satisfy constraint: array of #fused.buffer}}
fused.program @buffers_kind() attributes {buffers = ["y"]} {
  fused.yield
}

// -----

// expected-error@+1 {{'fused.program' op attribute 'result_buffers' failed to satisfy constraint: i64 dense array attribute}}
fused.program @result_buffers_kind() attributes {result_buffers = 0 : i64} {
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{'fused.program' op expected 'result_buffers' of 1 result, found 2}}
fused.program @result_count(%x: !list) -> !list attributes {result_buffers = array<i64: 0, 0>} {
  fused.yield %x : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{'fused.program' op expected one of 1 buffer for result #0, found -1}}
fused.program @no_result_buffer(%x: !list) -> !list attributes {result_buffers = array<i64: -1>} {
  fused.yield %x : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @sweep_count(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected 'result_buffers' of 1 result, found 0}}
  %y = fused.sweep result_buffers [] (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @sweep_range(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected one of 1 buffer, or -1, for result #0, found 1}}
  %y = fused.sweep result_buffers [1] (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @sweep_below(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected one of 1 buffer, or -1, for result #0, found -2}}
  %y = fused.sweep result_buffers [-2] (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @sweep_type(%x: !list, %s: tensor<f32>) {
  // expected-error@+1 {{'fused.sweep' op expected a buffer of type '!foreach.list<tensor<?xf32>>' for result #0, found buffer 1 of type 'tensor<f32>'}}
  %y = fused.sweep result_buffers [1] (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @sweep_twice(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected a buffer of its own for each result, found buffer 0 twice}}
  %y, %z = fused.sweep result_buffers [0, 0] (%a = %x : !list) -> (!list, !list) { fused.yield %a, %a : f32, f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @sweep_kind(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op attribute 'result_buffers' failed to satisfy constraint: i64 dense array attribute}}
  %y = fused.sweep attributes {result_buffers = "0"} (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @sweep_both(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected 'result_buffers' once, found it twice}}
  %y = fused.sweep result_buffers [0] attributes {result_buffers = array<i64: 0>} (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @counts(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected 'indices' once, found it twice}}
  %y = fused.sweep attributes {indices = 3 : i32} (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @names(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected a name that is a C identifier, found "a b"}}
  %y = fused.sweep name "a b" (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @digit(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected a name that is a C identifier, found "7"}}
  %y = fused.sweep name "7" (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @name_kind(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op attribute 'name' failed to satisfy constraint: string attribute}}
  %y = fused.sweep attributes {name = 7 : i64} (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @same_name(%x: !list) {
  %y = fused.sweep name "a" (%a = %x : !list) -> !list { fused.yield %a : f32 }
  // expected-error@+1 {{'fused.sweep' op expected a name of its own, found the name of another sweep or loop, "a"}}
  %z = fused.sweep name "a" (%a = %y : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @half_a_loop(%x: !list, %n: tensor<i32>) attributes {buffers = [#fused.buffer<"more", temporary, tensor<i1>>]} {
  // expected-error@+1 {{'fused.loop' op expected both 'result_buffers' and 'condition_buffer' or neither}}
  %r, %t = fused.loop result_buffers [0, 1] (%a = %x : !list) upto %n -> (!list, tensor<i32>) {
    %y, %more = fused.sweep (%b = %a : !list) -> (!list, tensor<i1>) {
      %p = math.isnan %b : f32
      %m = fused.reduce any list %p : i1
      fused.yield %b, %m : f32, i1
    }
    fused.yield %y while %more : !list while tensor<i1>
  }
  fused.yield
}

// -----

// A device scalar of type i32 counts iterations.
!list = !foreach.list<tensor<?xf32>>
fused.program @iterations(%x: !list, %n: tensor<i32>) attributes {buffers = [#fused.buffer<"more", temporary, tensor<i1>>]} {
  // expected-error@+1 {{'fused.loop' op expected a buffer of type 'tensor<i32>' for result #1, found buffer 2 of type 'tensor<i1>'}}
  %r, %t = fused.loop result_buffers [0, 2] condition_buffer 2 (%a = %x : !list) upto %n -> (!list, tensor<i32>) {
    %y, %more = fused.sweep (%b = %a : !list) -> (!list, tensor<i1>) {
      %p = math.isnan %b : f32
      %m = fused.reduce any list %p : i1
      fused.yield %b, %m : f32, i1
    }
    fused.yield %y while %more : !list while tensor<i1>
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @condition(%x: !list, %n: tensor<i32>) attributes {buffers = [#fused.buffer<"more", temporary, tensor<i1>>]} {
  // expected-error@+1 {{'fused.loop' op expected a 'condition_buffer' of type 'tensor<i1>' among its 3 buffers, found 9}}
  %r, %t = fused.loop result_buffers [0, 1] condition_buffer 9 (%a = %x : !list) upto %n -> (!list, tensor<i32>) {
    %y, %more = fused.sweep (%b = %a : !list) -> (!list, tensor<i1>) {
      %p = math.isnan %b : f32
      %m = fused.reduce any list %p : i1
      fused.yield %b, %m : f32, i1
    }
    fused.yield %y while %more : !list while tensor<i1>
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{expected a rank of 0, 1 or 2, found 3}}
fused.program @traffic_rank(%x: !list) attributes {traffic = [#fused.traffic<argument = 0, rank = 3, read = 4, written = 4>]} {
  fused.yield
}

// -----

// expected-error@+1 {{expected 0 to 2^32 bytes per element, found 4 read and -4 written}}
fused.program @traffic_bytes() attributes {traffic = [#fused.traffic<argument = -1, rank = 1, read = 4, written = -4>]} {
  fused.yield
}

// -----

// expected-error@+1 {{'fused.program' op expected a list argument or -1 in 'traffic', found argument 1}}
fused.program @traffic_argument(%x: !foreach.list<tensor<?xf32>>) attributes {traffic = [#fused.traffic<argument = 1, rank = 1, read = 4, written = 4>]} {
  fused.yield
}

// -----

// expected-error@+1 {{'fused.program' op expected a list argument or -1 in 'traffic', found argument 0}}
fused.program @traffic_of_scalar(%x: tensor<f32>) attributes {traffic = [#fused.traffic<argument = 0, rank = 0, read = 4, written = 4>]} {
  fused.yield
}

// -----

// expected-error@+1 {{'fused.program' op attribute 'traffic' failed to satisfy constraint: array of #fused.traffic}}
fused.program @traffic_kind() attributes {traffic = {read = 4 : i64}} {
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{'fused.program' op expected a buffer of the role 'result' for result #0, found buffer 0}}
fused.program @result_in_argument(%x: !list) -> !list attributes {buffers = [], result_buffers = array<i64: 0>} {
  fused.yield %x : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{'fused.program' op expected a buffer of its own for result #1, found buffer 1 of another result}}
fused.program @result_buffer_twice(%x: !list) -> (!list, !list) attributes {buffers = [#fused.buffer<"y", result, !list, extents = [[0, 0]], members = 0>], result_buffers = array<i64: 1, 1>} {
  fused.yield %x, %x : !list, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{'fused.program' op expected buffer 0, the argument that it replaces, for result #0, found 1}}
fused.program @result_elsewhere(%x: !list {foreach.donate = 0 : i64}) -> !list attributes {buffers = [#fused.buffer<"y", result, !list, extents = [[0, 0]], members = 0>], result_buffers = array<i64: 1>} {
  fused.yield %x : !list
}
