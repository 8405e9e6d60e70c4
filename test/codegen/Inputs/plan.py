"""Prints a summary of the launches of a plan (JSON on standard input)."""

import json
import sys

plan = json.load(sys.stdin)


def describe(graph, indent=""):
    kinds = [node["kind"] for node in graph["nodes"]]
    print(f"{indent}{len(kinds)} nodes: {' '.join(kinds)}")
    edges = [(f"{edge[0]}->{edge[1]}" + "".join(" " + str(word) for word in edge[2:])) if isinstance(edge, list) else
             f"{edge['from']}->{edge['to']}" + (" programmatic" if edge.get("programmatic") else "")
             for edge in graph.get("edges", [])]
    print(f"{indent}edges: {', '.join(edges) or 'none'}")
    for node in graph["nodes"]:
        for variant in node.get("variants", []):
            when = " ".join(variant.get("when", {}))
            slots = " ".join(map(str, variant.get("distances", [])))
            print(f"{indent}{node['name']}: {variant.get('entry', variant.get('form'))} "
                  f"{variant.get('scalars', 'address')}" + (f" when {when}" if when else "")
                  + (f", distances {slots}" if slots else ""))
        if "body" in node:
            describe(node["body"], indent + "body: ")


describe(plan)
