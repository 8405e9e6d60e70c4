!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each_f32 = !foreach.list<tensor<f32>>
!each_i32 = !foreach.list<tensor<i32>>
!each_i1 = !foreach.list<tensor<i1>>
!each_f64 = !foreach.list<tensor<f64>>
module {
  func.func @sinkhorn(%C: !mats, %a: !list {foreach.initial = 1.000000e+00 : f32}, %b: !list {foreach.initial = 1.000000e+00 : f32}, %eps: tensor<f64> {foreach.default = 5.000000e-02 : f64}, %tol: tensor<f64> {foreach.default = 1.000000e-04 : f64}, %limit: tensor<i32> {foreach.default = 1000 : i32}) -> (!list, !list, !each_f32, !each_i32, !each_i1, !each_i32) {
    %good_a = foreach.reduce all along i (%a = %a : !list) -> !each_i1 {
      %most = arith.constant 0x7F800000 : f32
      %good = arith.cmpf olt, %a, %most : f32
      %zero = arith.constant 0.000000e+00 : f32
      %known = arith.cmpf ole, %zero, %a : f32
      %good_0 = arith.andi %good, %known : i1
      foreach.yield %good_0 : i1
    }
    %good_b = foreach.reduce all along i (%b = %b : !list) -> !each_i1 {
      %most = arith.constant 0x7F800000 : f32
      %good = arith.cmpf olt, %b, %most : f32
      %zero = arith.constant 0.000000e+00 : f32
      %known = arith.cmpf ole, %zero, %b : f32
      %good_0 = arith.andi %good, %known : i1
      foreach.yield %good_0 : i1
    }
    %mass_a = foreach.reduce add along i (%a = %a as f64 : !list) -> !each_f64 {
      foreach.yield %a : f64
    }
    %mass_b = foreach.reduce add along i (%b = %b as f64 : !list) -> !each_f64 {
      foreach.yield %b : f64
    }
    %failed, %sound = foreach.map (%good_a = %good_a, %good_b = %good_b : !each_i1, %mass_a = %mass_a, %mass_b = %mass_b : !each_f64, %eps = %eps : tensor<f64>) -> (!each_i32, !each_i1) {
      %excess = arith.subf %mass_a, %mass_b : f64
      %gap = math.absf %excess : f64
      %share = arith.constant 1.000000e-04 : f64
      %larger = arith.maximumf %mass_a, %mass_b : f64
      %allowed = arith.mulf %share, %larger : f64
      %agree = arith.cmpf ole, %gap, %allowed : f64
      %weigh = arith.andi %good_a, %good_b : i1
      %yes = arith.constant true
      %unknown = arith.xori %weigh, %yes : i1
      %good_masses = arith.ori %agree, %unknown : i1
      %low = arith.constant 2.9387359646368754E-39 : f64
      %above = arith.cmpf olt, %low, %eps : f64
      %high = arith.constant 3.4028235677973366E+38 : f64
      %below = arith.cmpf olt, %eps, %high : f64
      %good_eps = arith.andi %above, %below : i1
      %none = arith.constant 0 : i32
      %bit = arith.constant 1 : i32
      %failed = arith.select %good_a, %none, %bit : i32
      %bit_0 = arith.constant 2 : i32
      %failed_0 = arith.select %good_b, %none, %bit_0 : i32
      %bits = arith.ori %failed, %failed_0 : i32
      %sound = arith.andi %good_a, %good_b : i1
      %bit_1 = arith.constant 4 : i32
      %failed_1 = arith.select %good_masses, %none, %bit_1 : i32
      %bits_0 = arith.ori %bits, %failed_1 : i32
      %sound_0 = arith.andi %sound, %good_masses : i1
      %bit_2 = arith.constant 8 : i32
      %failed_2 = arith.select %good_eps, %none, %bit_2 : i32
      %bits_1 = arith.ori %bits_0, %failed_2 : i32
      %sound_1 = arith.andi %sound_0, %good_eps : i1
      foreach.yield %bits_1, %sound_1 : i32, i1
    }
    %log_a = foreach.map (%a = %a : !list, %sound = %sound : !each_i1) -> !list {
      %log = math.log %a : f32
      %never = arith.constant 0x7FC00000 : f32
      %log_a = arith.select %sound, %log, %never : f32
      foreach.yield %log_a : f32
    }
    %log_b = foreach.map (%b = %b : !list, %sound = %sound : !each_i1) -> !list {
      %log = math.log %b : f32
      %never = arith.constant 0x7FC00000 : f32
      %log_b = arith.select %sound, %log, %never : f32
      foreach.yield %log_b : f32
    }
    %scale = foreach.map (%eps = %eps : tensor<f64>) -> tensor<f64> {
      %one = arith.constant 1.000000e+00 : f64
      %inverse = arith.divf %one, %eps : f64
      %most = arith.constant 3.4028235677973366E+38 : f64
      %number = arith.cmpf olt, %inverse, %most : f64
      %never = arith.constant 0x7FF8000000000000 : f64
      %per_eps = arith.select %number, %inverse, %never : f64
      %scale = arith.negf %per_eps : f64
      foreach.yield %scale : f64
    }
    %u0 = foreach.map (%log_a = %log_a : !list) -> !list {
      %zero = arith.constant 0.000000e+00 : f32
      foreach.yield %zero : f32
    }
    %v0 = foreach.map (%log_b = %log_b : !list) -> !list {
      %zero = arith.constant 0.000000e+00 : f32
      foreach.yield %zero : f32
    }
    %u, %v, %error, %iterations = foreach.while (%u = %u0, %v = %v0 : !list) upto %limit -> (!list, !list, !each_f32, !each_i32) {
      %row = foreach.reduce logsumexp along j (%c = %C[i, j] : !mats, %scale = %scale as f32 : tensor<f64>, %v = %v[j] : !list) -> !list {
        %l = arith.mulf %c, %scale : f32
        %x = arith.addf %l, %v : f32
        foreach.yield %x : f32
      }
      %u1 = foreach.map (%log_a = %log_a, %row = %row : !list) -> !list {
        %none = arith.constant 0xFF800000 : f32
        %fitted = arith.subf %log_a, %row : f32
        %empty = arith.cmpf oeq, %row, %none : f32
        %reached = arith.select %empty, %none, %fitted : f32
        %none_0 = arith.constant 0xFF800000 : f32
        %weightless = arith.cmpf oeq, %log_a, %none_0 : f32
        %most = arith.constant 0x7F800000 : f32
        %bounded = arith.cmpf olt, %row, %most : f32
        %inactive = arith.andi %weightless, %bounded : i1
        %u1 = arith.select %inactive, %none, %reached : f32
        foreach.yield %u1 : f32
      }
      %error1 = foreach.reduce add along i (%u = %u, %row = %row, %log_a = %log_a : !list) -> !each_f32 {
        %log_mass = arith.addf %u, %row : f32
        %mass = math.exp %log_mass : f32
        %a = math.exp %log_a : f32
        %excess = arith.subf %mass, %a : f32
        %miss = math.absf %excess : f32
        %none = arith.constant 0xFF800000 : f32
        %empty = arith.cmpf oeq, %row, %none : f32
        %weighs = arith.cmpf olt, %none, %log_a : f32
        %stuck = arith.andi %empty, %weighs : i1
        %never = arith.constant 0x7FC00000 : f32
        %seen = arith.select %stuck, %never, %miss : f32
        %most = arith.maximumf %u, %log_a : f32
        %none_0 = arith.constant 0xFF800000 : f32
        %weightless = arith.cmpf oeq, %most, %none_0 : f32
        %most_0 = arith.constant 0x7F800000 : f32
        %bounded = arith.cmpf olt, %row, %most_0 : f32
        %inactive = arith.andi %weightless, %bounded : i1
        %zero = arith.constant 0.000000e+00 : f32
        %d = arith.select %inactive, %zero, %seen : f32
        foreach.yield %d : f32
      }
      %col = foreach.reduce logsumexp along i (%c = %C[i, j] : !mats, %scale = %scale as f32 : tensor<f64>, %u = %u1[i] : !list) -> !list {
        %l = arith.mulf %c, %scale : f32
        %x = arith.addf %l, %u : f32
        foreach.yield %x : f32
      }
      %v1 = foreach.map (%log_b = %log_b, %col = %col : !list) -> !list {
        %none = arith.constant 0xFF800000 : f32
        %fitted = arith.subf %log_b, %col : f32
        %empty = arith.cmpf oeq, %col, %none : f32
        %reached = arith.select %empty, %none, %fitted : f32
        %none_0 = arith.constant 0xFF800000 : f32
        %weightless = arith.cmpf oeq, %log_b, %none_0 : f32
        %most = arith.constant 0x7F800000 : f32
        %bounded = arith.cmpf olt, %col, %most : f32
        %inactive = arith.andi %weightless, %bounded : i1
        %v1 = arith.select %inactive, %none, %reached : f32
        foreach.yield %v1 : f32
      }
      %more = foreach.map (%all = %error1 : !each_f32, %tol = %tol as f32 : tensor<f64>) -> !each_i1 {
        %more = arith.cmpf olt, %tol, %all : f32
        foreach.yield %more : i1
      }
      foreach.yield %u1, %v1, %error1 while %more : !list, !list, !each_f32 while !each_i1
    }
    %stuck_a = foreach.reduce any along i (%u = %u, %log_a = %log_a : !list) -> !each_i1 {
      %none = arith.constant 0xFF800000 : f32
      %empty = arith.cmpf oeq, %u, %none : f32
      %weighs = arith.cmpf olt, %none, %log_a : f32
      %stuck = arith.andi %empty, %weighs : i1
      foreach.yield %stuck : i1
    }
    %stuck_b = foreach.reduce any along i (%v = %v, %log_b = %log_b : !list) -> !each_i1 {
      %none = arith.constant 0xFF800000 : f32
      %empty = arith.cmpf oeq, %v, %none : f32
      %weighs = arith.cmpf olt, %none, %log_b : f32
      %stuck = arith.andi %empty, %weighs : i1
      foreach.yield %stuck : i1
    }
    %status, %converged = foreach.map (%failed = %failed : !each_i32, %sound = %sound : !each_i1, %error = %error : !each_f32, %stuck = %stuck_a, %stuck_0 = %stuck_b : !each_i1, %tol = %tol as f32 : tensor<f64>) -> (!each_i32, !each_i1) {
      %none = arith.constant 0 : i32
      %anywhere = arith.ori %stuck, %stuck_0 : i1
      %nan = arith.cmpf uno, %error, %error : f32
      %numbers = arith.constant 64 : i32
      %late = arith.select %nan, %numbers, %none : i32
      %done = arith.cmpf ole, %error, %tol : f32
      %solved = arith.andi %done, %sound : i1
      %infeasible = arith.constant 128 : i32
      %seen = arith.select %anywhere, %infeasible, %late : i32
      %yes = arith.constant true
      %placed = arith.xori %anywhere, %yes : i1
      %solved_0 = arith.andi %solved, %placed : i1
      %found = arith.select %sound, %seen, %none : i32
      %status = arith.ori %failed, %found : i32
      foreach.yield %status, %solved_0 : i32, i1
    }
    return %u, %v, %error, %iterations, %converged, %status : !list, !list, !each_f32, !each_i32, !each_i1, !each_i32
  }
}
