// Lion that moves only where its update has the sign of the gradient (Liang et al., Cautious Optimizers: Improving
// Training with One Line of Code).
//
//   u     = sign(beta1 m + (1 - beta1) g)
//   mask  = 1 where u g > 0, else 0
//   scale = elements / max(1, sum of mask)
//   m     = beta2 m + (1 - beta2) g
//   p     = p - lr (scale mask u + decay p)

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num  = tensor<f64>

func.func @cautious_lion(
    %param:   !list {foreach.donate = 0 : i64},
    %grad:    !list,
    %exp_avg: !list {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %lr:    !num {foreach.default = 1.0e-4 : f64},
    %beta1: !num {foreach.default = 0.9 : f64},
    %beta2: !num {foreach.default = 0.99 : f64},
    %decay: !num {foreach.default = 1.0e-2 : f64}) -> (!list, !list) {

  %u = foreach.map (%m = %exp_avg, %g = %grad : !list, %beta1 = %beta1 as f32 : !num) -> !list {
    %gap = arith.subf %m, %g : f32
    %kept = arith.mulf %beta1, %gap : f32
    %mixed = arith.addf %g, %kept : f32
    %u = foreach.sign %mixed : f32
    foreach.yield %u : f32
  }
  %mask = foreach.map (%u = %u, %g = %grad : !list) -> !list {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %product = arith.mulf %u, %g : f32
    %agrees = arith.cmpf ogt, %product, %zero : f32
    %mask = arith.select %agrees, %one, %zero : f32
    foreach.yield %mask : f32
  }
  %agreeing = foreach.reduce add along member (%mask = %mask : !list) -> !each {
    foreach.yield %mask : f32
  }
  %elements = foreach.reduce add along member (%mask = %mask : !list) -> !each {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  %scale = foreach.map (%n = %elements, %k = %agreeing : !each) -> !each {
    %one = arith.constant 1.0 : f32
    %most = arith.maximumf %k, %one : f32
    %scale = arith.divf %n, %most : f32
    foreach.yield %scale : f32
  }
  %exp_avg1 = foreach.map (%m = %exp_avg, %g = %grad : !list, %beta2 = %beta2 as f32 : !num) -> !list {
    %gap = arith.subf %m, %g : f32
    %kept = arith.mulf %beta2, %gap : f32
    %m1 = arith.addf %g, %kept : f32
    foreach.yield %m1 : f32
  }
  %param1 = foreach.map (%p = %param, %u = %u, %mask = %mask : !list, %scale = %scale : !each,
                         %lr = %lr as f32, %decay = %decay as f32 : !num) -> !list {
    %masked = arith.mulf %mask, %u : f32
    %scaled = arith.mulf %scale, %masked : f32
    %decayed = arith.mulf %decay, %p : f32
    %sum = arith.addf %scaled, %decayed : f32
    %change = arith.mulf %lr, %sum : f32
    %p1 = arith.subf %p, %change : f32
    foreach.yield %p1 : f32
  }
  return %param1, %exp_avg1 : !list, !list
}
