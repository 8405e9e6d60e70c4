"""The JSON report of `heddle bench`, which the scripts in this folder compare with other libraries."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile


def measure_heddle(arguments, words, options):
    """Runs `heddle bench WORDS...` with those of the `options` that the script was given, and returns its report.

    A report with failures is returned, too, if heddle has written one.
    """
    script = pathlib.Path(sys.argv[0]).name
    command = [arguments.heddle, "bench", *words]
    for option in options:
        if getattr(arguments, option):
            command += [f"--{option}", getattr(arguments, option)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "heddle.json")
        code = subprocess.run(command + [f"--json={path}"], stdout=sys.stderr).returncode
        if not os.path.exists(path):
            sys.exit(f"{script}: heddle bench failed")
        if code:
            print(f"{script}: heddle bench reported failures", file=sys.stderr)
        with open(path) as file:
            return json.load(file)
