"""Prints a program with a chain of square roots of device scalars, each of which scales a list: scalar_chain.py N"""

import sys

print("!list = !foreach.list<tensor<?xf32>>\n!num = tensor<f64>")
print("func.func @chain(%v0: !list, %s0: !num {foreach.default = 2.0 : f64}) -> !list {")
for k in range(int(sys.argv[1])):
    print(f"""  %s{k + 1} = foreach.map (%x = %s{k} : !num) -> !num {{
    %y = math.sqrt %x : f64
    foreach.yield %y : f64
  }}
  %v{k + 1} = foreach.map (%v = %v{k} : !list, %s = %s{k + 1} as f32 : !num) -> !list {{
    %w = arith.mulf %v, %s : f32
    foreach.yield %w : f32
  }}""")
print(f"  return %v{sys.argv[1]} : !list\n}}")
