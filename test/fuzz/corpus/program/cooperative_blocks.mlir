"builtin.module"() ({
  "fused.program"() <{function_type = (!foreach.list<tensor<?xf32>>, tensor<i32>, tensor<i1>) -> (), sym_name = "nested"}> ({
  ^bb0(%arg5: !foreach.list<tensor<?xf32>>, %arg6: tensor<i32>, %arg7: tensor<i1>):
    %2:2 = "fused.loop"(%arg5, %arg6) <{cooperative = #fused.cooperative<threads = 256, blocks = 3, tiles = 8192>}> ({
    ^bb0(%arg8: !foreach.list<tensor<?xf32>>, %arg9: tensor<i32>, %arg10: tensor<i1>):
      %3:2 = "fused.loop"(%arg8, %arg9) <{cooperative = #fused.cooperative<threads = 256, blocks = 2, tiles = 8192>}> ({
      ^bb0(%arg13: !foreach.list<tensor<?xf32>>):
        "fused.yield"(%arg11, %arg10) <{operandSegmentSizes = array<i32: 1, 2>}> : (!foreach.list<tensor<?xf32>>, tensor<i1>) -> ()
      }) : (!foreach.list<tensor<?xf32>>, tensor<i32>) -> (!foreach.list<tensor<?xf32>>, tensor<i32>)
      %4:2 = "fused.loop"(%arg8, %arg9) <{cooperative = #fused.cooperative<threads = 256, blocks = 9223372036854775807, tiles = 8192>}> ({
      ^bb0(%arg11: !foreach.list<tensor<?xf32>>):
        %5:2 = "fused.loop"(%arg11, %arg9) ({
        ^bb0(%arg12: !foreach.list<tensor<?xf32>>):
          "fused.yield"(%arg12, %arg10) <{operandSegmentSizes = array<i32: 1, 1>}> : (!foreach.list<tensor<?xf32>>, tensor<i1>) -> ()
        }) : (!foreach.list<tensor<?xf32>>, tensor<i32>) -> (tensor<i1>,  tensor<f64> tensor<i32>)
        "fused.yield"(%5#0, %arg10) <{operandSegmentSizes = array<i32: 1, 2>}> : (tensor<i1>, tensor<i1>) -> ()
      }) : (!foreach.list<tensor<?xf32>>, tensor<i32>) -> (!foreach.list<tensor<?xf32>>, tensor<i32>)
      "fused.yield"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
      "fused.yield"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
      "fused.yield"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
    }) : (!foreach.list<tensor<?dense>>, tensor<i32>) -> (!foreach.list<tensor<?xf32>>, tensor<i32>)
    "fused.yield"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
  }) : () -> ()
  "fused.program"() <{function_type = (!foreach.list<tensor<?xf32>>, tensor<i32>, tensor<i1>) -> (), sym_name = "nested"}> ({
  ^bb0(%arg0: !foreach.list<tensor<?xf32>>, %arg1: tensor<i32>, %arg2: tensor<i1>):
    %0:2 = "fused.loop"(%arg0, %arg1) <{cooperative = #fused.cooperative<threads = 256, blocks = 2, tiles = 8192>}> ({
    ^bb0(%arg3: !foreach.list<tensor<?xf32>>):
      (!foreach.list<tensor<?xf32>>, tensor<i32>)%1:2 = "fused.loop"(%arg3, %arg1) ({
      ^bb0(%arg4: !foreach.list<tensor<?xf32>>):
      }) : (!foreach.list<tensor<?xf32>>, tensor<i32>) -> (!foreach.list<tensor<?xf32>>, tensor<i32>)
    }) : (!foreach.list<tensor<?xf32>>, tensor<i32>) -> (!foreach.list<tensor<?xf32>>, tensor<i32>)
    "fused.yield"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
  }) : () -> ()
}) : () -> ()
