"""json_path.py FILE PATH...: prints each path of a JSON document ("kernels.0.name") with its value.

Fails if a path does not exist.
"""
import json
import sys

document = json.load(sys.stdin if sys.argv[1] == "-" else open(sys.argv[1]))
for path in sys.argv[2:]:
    value = document
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    print(path, value if isinstance(value, str) else json.dumps(value))
