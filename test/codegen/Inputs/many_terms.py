"""many_terms.py N: prints a panel loop whose exponents are sums of 2^N terms, written as N operations."""
import sys

count = int(sys.argv[1])
doubled = "\n".join(f"      %y{k + 1} = arith.addf %y{k}, %y{k} : f32" for k in range(count))
print(f"""!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!flag = !foreach.list<tensor<i1>>
!count = !foreach.list<tensor<i32>>
func.func @many_terms(%x: !mats, %a: !list, %b: !list, %limit: tensor<i32>) -> (!list, !count) {{
  %u, %v, %n = foreach.while (%u = %a, %v = %b : !list) upto %limit -> (!list, !list, !count) {{
    %r = foreach.reduce logsumexp along j (%l = %x[i, j] : !mats, %v = %v[j] : !list) -> !list {{
      %y0 = arith.addf %l, %v : f32
{doubled}
      foreach.yield %y{count} : f32
    }}
    %c = foreach.reduce logsumexp along i (%l = %x[i, j] : !mats, %u = %r[i] : !list) -> !list {{
      %y0 = arith.subf %l, %u : f32
{doubled}
      foreach.yield %y{count} : f32
    }}
    %size = foreach.reduce max along member (%c = %c : !list) -> !foreach.list<tensor<f32>> {{
      foreach.yield %c : f32
    }}
    %more = foreach.map (%s = %size : !foreach.list<tensor<f32>>) -> !flag {{
      %one = arith.constant 1.0 : f32
      %m = arith.cmpf ogt, %s, %one : f32
      foreach.yield %m : i1
    }}
    foreach.yield %r, %c while %more : !list, !list while !flag
  }}
  return %v, %n : !list, !count
}}""")
