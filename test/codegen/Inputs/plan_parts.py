"""Prints the part, the grid and the written buffers of each kernel of a plan (JSON on standard input)."""

import json
import sys

plan = json.load(sys.stdin)
for node in plan["nodes"]:
    writes = " ".join(plan["buffers"][buffer]["name"] for buffer in node.get("writes", []))
    print(f"{node['name']}: {node.get('part', 'whole')} of {' '.join(node['sweeps'])}, grid {node['variants'][-1]['grid']}, "
          f"always {node.get('always', False)}, writes {writes or 'nothing'}")
