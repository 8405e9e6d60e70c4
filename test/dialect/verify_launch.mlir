// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

// The launches of sweeps and the forms of loops.

!list = !foreach.list<tensor<?xf32>>
fused.program @no_schedule(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected a schedule together with 'launch'}}
  %y = fused.sweep launch <variants = [<scalars = value, blocks = 4>], arrive = [none]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @no_variants(%x: !list) {
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      // expected-error@+2 {{expected '<'}}
      // expected-error@+1 {{failed to parse Fused_Launch parameter 'variants'}}
      launch <variants = [], arrive = [none]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @more_than_the_cache(%x: !list) {
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      // expected-error@+2 {{failed to parse Fused_Launch parameter 'variants'}}
      // expected-error@+1 {{expected 'evict_first_l2_percent' from 1 to 1000, found 1001}}
      launch <variants = [<scalars = value, blocks = 4, evict_first_l2_percent = 1001>], arrive = [none]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @columns(%x: !list) {
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      // expected-error@+2 {{failed to parse Fused_Launch parameter 'variants'}}
      // expected-error@+1 {{expected 'max_columns' of at least 1, found -1}}
      launch <variants = [<max_columns = -1, scalars = value, blocks = 4>], arrive = [none]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @mostly_over_clusters(%x: !list) {
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      // expected-error@+2 {{failed to parse Fused_Launch parameter 'variants'}}
      // expected-error@+1 {{expected 'mostly_over' without 'evict_first_l2_percent' and 'max_parts', found both}}
      launch <variants = [<mostly_over = 4096, max_parts = 16, scalars = value, blocks = 4>], arrive = [none]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @mostly_over_all(%x: !list) {
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      // expected-error@+2 {{failed to parse Fused_Launch parameter 'variants'}}
      // expected-error@+1 {{expected 'mostly_over' from 1 to less than 'max_columns', 4096, found 4096}}
      launch <variants = [<max_columns = 4096, mostly_over = 4096, scalars = value, blocks = 4>], arrive = [none]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @percent_and_columns(%x: !list) {
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      // expected-error@+2 {{failed to parse Fused_Launch parameter 'variants'}}
      // expected-error@+1 {{expected 'evict_first_l2_percent' or 'max_columns', found both}}
      launch <variants = [<max_columns = 8, scalars = value, blocks = 4, evict_first_l2_percent = 97>], arrive = [none]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @one_part(%x: !list) {
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      // expected-error@+2 {{failed to parse Fused_Launch parameter 'variants'}}
      // expected-error@+1 {{expected 'max_parts' of at least 2, found 1}}
      launch <variants = [<max_parts = 1, scalars = value, blocks = 4>], arrive = [none]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @columns_and_parts(%x: !list) {
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      // expected-error@+2 {{failed to parse Fused_Launch parameter 'variants'}}
      // expected-error@+1 {{expected 'max_parts' without 'evict_first_l2_percent' and 'max_columns', found both}}
      launch <variants = [<max_columns = 4096, max_parts = 16, scalars = value, blocks = 4>], arrive = [none]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @cluster_without_parts(%x: !list) {
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      // expected-error@+2 {{failed to parse Fused_Launch parameter 'variants'}}
      // expected-error@+1 {{expected 'max_parts' with 'cluster', found none}}
      launch <variants = [<cluster = true, scalars = value, blocks = 4>], arrive = [none]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @no_tiles(%x: !list) {
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      // expected-error@+2 {{failed to parse Fused_Launch parameter 'variants'}}
      // expected-error@+1 {{expected 'min_elements' of at least 1, found -1}}
      launch <variants = [<min_elements = -1, scalars = value, blocks = 4>], arrive = [none]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @tiles_and_percent(%x: !list) {
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      // expected-error@+2 {{failed to parse Fused_Launch parameter 'variants'}}
      // expected-error@+1 {{expected 'min_elements' without another condition, found both}}
      launch <variants = [<min_elements = 9, scalars = value, blocks = 4, evict_first_l2_percent = 97>], arrive = [none]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @multiples(%x: !list) {
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      // expected-error@+2 {{failed to parse Fused_Launch parameter 'variants'}}
      // expected-error@+1 {{expected 'mostly_multiples_of' of 2, 4, 8 or 16, found 3}}
      launch <variants = [<mostly_multiples_of = 3, scalars = value, blocks = 4>], arrive = [none]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @multiples_and_over(%x: !list) {
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      // expected-error@+2 {{failed to parse Fused_Launch parameter 'variants'}}
      // expected-error@+1 {{expected 'mostly_multiples_of' without another condition, found both}}
      launch <variants = [<mostly_over = 256, mostly_multiples_of = 4, scalars = value, blocks = 4>], arrive = [none]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @same_variants(%x: !list) {
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      // expected-error@+1 {{expected variants that differ in 'scalars', 'evict_first_l2_percent', 'max_columns', 'max_parts', 'cluster', 'min_elements' or 'mostly_multiples_of', found another}}
      launch <variants = [<scalars = value, blocks = 4>, <scalars = value, blocks = 2>], arrive = [none]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @blocks(%x: !list) {
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      // expected-error@+2 {{expected 1 to 32 blocks on a multiprocessor, found 0}}
      // expected-error@+1 {{failed to parse Fused_Launch parameter 'variants'}}
      launch <variants = [<scalars = value, blocks = 0>], arrive = [none]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @threads(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected at most 2048 threads on a multiprocessor, found 16 blocks of 256}}
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      launch <variants = [<scalars = value, blocks = 16>], arrive = [none]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @arrivals(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected a launch for 1 segment, found one with 2 arrivals}}
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      launch <variants = [<scalars = value, blocks = 4>], arrive = [none, none]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @waits(%x: !list) {
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      // expected-error@+1 {{expected as many waits as arrivals, 1, or none, found 2}}
      launch <variants = [<scalars = value, blocks = 4>], arrive = [none], wait = [first, first]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
fused.program @early(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected arrival 'late' for segment #0, because the end of a member uses the results of its elements, found 'early'}}
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [8192], reason = "">
      launch <variants = [<scalars = value, blocks = 4>], arrive = [early]> (%a = %x : !list) -> !each {
    %s = fused.reduce add member %a : f32
    fused.yield %s : f32
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
fused.program @own_launch_beside_late(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected arrival 'own_launch' or 'none' for segment #1, because another segment has 'own_launch', found 'late'}}
  %y, %z = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4, 4], tile = [8192, 8192], reason = "">
      launch <variants = [<scalars = value, blocks = 4>], arrive = [own_launch, late]> (%a = %x : !list) -> !each {
    %s = fused.reduce add member %a : f32
    fused.yield %s : f32
  } and (%b = %x : !list) -> !each {
    %s = fused.reduce mul member %b : f32
    fused.yield %s : f32
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
fused.program @own_launch_of_rows(%x: !mats) {
  // expected-error@+1 {{'fused.sweep' op expected no 'where', no loop around it, and the schedule 'stream' or elements of rows that are reduced over members and not over columns, for arrival 'own_launch', found}}
  %y = fused.sweep schedule #fused.schedule<rows, threads = 256, vector = [4], tile = [16], reason = "">
      launch <variants = [<scalars = value, blocks = 4>], arrive = [own_launch]> (%a = %x[i, j] : !mats) -> !list {
    %s = fused.reduce add column %a : f32
    fused.yield %s : f32
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @own_launch_in_loop(%x: !list, %n: tensor<i32>) {
  %r, %t = fused.loop (%a = %x : !list) upto %n -> (!list, tensor<i32>) {
    // expected-error@+1 {{'fused.sweep' op expected no 'where', no loop around it, and the schedule 'stream' or elements of rows that are reduced over members and not over columns, for arrival 'own_launch', found}}
    %y, %more = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [8192], reason = "">
        launch <variants = [<scalars = address, blocks = 4>], arrive = [own_launch]> (%b = %a : !list) -> (!list, tensor<i1>) {
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
fused.program @waits_for_nothing(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected a sweep right before a sweep with 'wait', found none}}
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      launch <variants = [<scalars = value, blocks = 4>], arrive = [none], wait = [first]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @kind(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op attribute 'launch' failed to satisfy constraint: how a sweep is launched}}
  %y = fused.sweep attributes {launch = "fast"} (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @by_value_in_loop(%x: !list, %n: tensor<i32>) {
  %r, %t = fused.loop (%a = %x : !list) upto %n -> (!list, tensor<i32>) {
    // expected-error@+1 {{'fused.sweep' op expected one variant with scalars by address in a loop, found}}
    %y, %more = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [8192], reason = "">
        launch <variants = [<scalars = value, blocks = 4>], arrive = [late]> (%b = %a : !list) -> (!list, tensor<i1>) {
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
fused.program @cooperative_threads(%x: !list, %n: tensor<i32>, %f: tensor<i1>) {
  // expected-error@+1 {{expected a multiple of 32 threads, at most 1024, found 100}}
  %r, %t = fused.loop cooperative <threads = 100, blocks = 2, tiles = 8192> (%a = %x : !list) upto %n -> (!list, tensor<i32>) {
    fused.yield %a while %f : !list while tensor<i1>
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @cooperative_blocks(%x: !list, %n: tensor<i32>, %f: tensor<i1>) {
  // The product of both is more than an integer can hold.
  // expected-error@+1 {{expected at least one block and at most 2048 threads on a multiprocessor, found 9223372036854775807 blocks of 256 threads}}
  %r, %t = fused.loop cooperative <threads = 256, blocks = 9223372036854775807, tiles = 8192> (%a = %x : !list) upto %n -> (!list, tensor<i32>) {
    fused.yield %a while %f : !list while tensor<i1>
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @cooperative_tiles(%x: !list, %n: tensor<i32>, %f: tensor<i1>) {
  // expected-error@+1 {{expected 0 to 2147483647 tiles, found 2147483648}}
  %r, %t = fused.loop cooperative <threads = 256, blocks = 2, tiles = 2147483648> (%a = %x : !list) upto %n -> (!list, tensor<i32>) {
    fused.yield %a while %f : !list while tensor<i1>
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @cooperative_size(%x: !list, %n: tensor<i32>) {
  // expected-error@+1 {{'fused.loop' op expected sweeps of 128 threads for 'cooperative', found one of 256}}
  %r, %t = fused.loop cooperative <threads = 128, blocks = 2, tiles = 8192> (%a = %x : !list) upto %n -> (!list, tensor<i32>) {
    %y, %more = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [8192], reason = "">
        (%b = %a : !list) -> (!list, tensor<i1>) {
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
fused.program @cooperative_kind(%x: !list, %n: tensor<i32>, %f: tensor<i1>) {
  // expected-error@+1 {{'fused.loop' op attribute 'cooperative' failed to satisfy constraint: the cooperative launch of a whole loop}}
  %r, %t = fused.loop (%a = %x : !list) upto %n attributes {cooperative = 2 : i64} -> (!list, tensor<i32>) {
    fused.yield %a while %f : !list while tensor<i1>
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @nested(%x: !list, %n: tensor<i32>, %f: tensor<i1>) {
  // expected-error@+1 {{'fused.loop' op expected a body of sweeps only for 'cooperative', found a 'fused.loop'}}
  %r, %t = fused.loop cooperative <threads = 256, blocks = 2, tiles = 8192> (%a = %x : !list) upto %n -> (!list, tensor<i32>) {
    %b, %u = fused.loop (%b = %a : !list) upto %n -> (!list, tensor<i32>) {
      fused.yield %b while %f : !list while tensor<i1>
    }
    fused.yield %b while %f : !list while tensor<i1>
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @panels(%x: !list, %n: tensor<i32>) {
  // expected-error@+1 {{'fused.loop' op expected a body of one sweep with the schedule 'panel' for 'panels'}}
  %r, %t = fused.loop panels (%a = %x : !list) upto %n -> (!list, tensor<i32>) {
    %y, %more = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [8192], reason = "">
        (%b = %a : !list) -> (!list, tensor<i1>) {
      %p = math.isnan %b : f32
      %m = fused.reduce any list %p : i1
      fused.yield %b, %m : f32, i1
    }
    fused.yield %y while %more : !list while tensor<i1>
  }
  fused.yield
}
