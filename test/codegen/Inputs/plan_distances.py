"""Prints the operand slots of which the kernels of a plan take distances."""

import json
import sys

plan = json.load(sys.stdin)
for node in plan["nodes"]:
    for variant in node.get("variants", []):
        if "distances" in variant:
            slots = " ".join(map(str, variant["distances"]))
            print(f"{node['name']}: distances {slots}, from {variant['when']['min_elements']} elements")
