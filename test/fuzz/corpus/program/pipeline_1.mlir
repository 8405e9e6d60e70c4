!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>
!half = !foreach.list<tensor<?xbf16>>
func.func @clip_sgdm(%param: !list {foreach.donate = 0 : i64}, %grad: !list, %buf: !list {foreach.donate = 1 : i64},
    %param16: !half {foreach.donate = 2 : i64}, %grad16: !half, %buf16: !half {foreach.donate = 3 : i64},
    %lr: !num, %mu: !num, %max_norm: !num) -> (!list, !list, !half, !half, !num) {
  %s32 = foreach.reduce add along list (%g = %grad as f64 : !list) -> !num {
    %gg = arith.mulf %g, %g : f64
    foreach.yield %gg : f64
  }
  %s16 = foreach.reduce add along list (%g = %grad16 as f64 : !half) -> !num {
    %gg = arith.mulf %g, %g : f64
    foreach.yield %gg : f64
  }
  %norm = foreach.map (%a = %s32, %b = %s16 : !num) -> !num {
    %s = arith.addf %a, %b : f64
    %n = math.sqrt %s : f64
    foreach.yield %n : f64
  }
  %clip = foreach.map (%n = %norm, %max = %max_norm : !num) -> !num {
    %tiny = arith.constant 1.0e-6 : f64
    %den = arith.addf %n, %tiny : f64
    %ratio = arith.divf %max, %den : f64
    %one = arith.constant 1.0 : f64
    %c = arith.minimumf %ratio, %one : f64
    foreach.yield %c : f64
  }
  %g32 = foreach.map (%g = %grad : !list, %c = %clip as f32 : !num) -> !list {
    %x = arith.mulf %g, %c : f32
    foreach.yield %x : f32
  }
  %g16 = foreach.map (%g = %grad16 as f32 : !half, %c = %clip as f32 : !num) -> !half {
    %x = arith.mulf %g, %c : f32
    foreach.yield %x : f32
  }
  %p1, %b1 = foreach.map (%p = %param, %g = %g32, %b = %buf : !list, %lr = %lr as f32, %mu = %mu as f32 : !num) -> (!list, !list) {
    %mb = arith.mulf %mu, %b : f32
    %b1 = arith.addf %mb, %g : f32
    %st = arith.mulf %lr, %b1 : f32
    %p1 = arith.subf %p, %st : f32
    foreach.yield %p1, %b1 : f32, f32
  }
  %p2, %b2 = foreach.map (%p = %param16 as f32, %g = %g16 as f32, %b = %buf16 as f32 : !half, %lr = %lr as f32, %mu = %mu as f32 : !num) -> (!half, !half) {
    %mb = arith.mulf %mu, %b : f32
    %b1 = arith.addf %mb, %g : f32
    %st = arith.mulf %lr, %b1 : f32
    %p1 = arith.subf %p, %st : f32
    foreach.yield %p1, %b1 : f32, f32
  }
  return %p1, %b1, %p2, %b2, %norm : !list, !list, !half, !half, !num
}
