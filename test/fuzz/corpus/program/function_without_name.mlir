"func.func"() <{function_type = () -> ()}> ({
  "arith.constant"() <{value = 1.0 : f32}> : () -> f32
}) : () -> ()
