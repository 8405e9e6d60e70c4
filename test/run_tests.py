#!/usr/bin/env python3
"""Runs every test that this machine can run and counts them; `tools/dev test` calls it after the build.

Suites: `build` (did everything build?), `docs` (is the generated reference current?), `lit` (test/dialect, passes,
codegen, cli), one for each unit and GPU test binary (the latter skip without a GPU), `python` and `examples`. The last
line printed is `N passed, N failed, N skipped`; the exit code is 1 if anything failed.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import collections
import concurrent.futures
import filecmp
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TERMINAL = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
COLOUR = TERMINAL and not os.environ.get("NO_COLOR")
BINARY_TIMEOUT = 1200  # seconds for one test binary, Python run or example


def paint(code, text):
    return f"\033[{code}m{text}\033[0m" if COLOUR else text


class Suite:
    """What one suite found. Failures carry the output that explains them, skips the reason."""

    def __init__(self, name):
        self.name, self.passed, self.failures, self.skips = name, 0, [], []
        self.started = time.monotonic()

    def passes(self, count=1):
        self.passed += count

    def fails(self, test, output=""):
        self.failures.append((test, output or ""))

    def skipped(self, test, reason):
        self.skips.append((test, " ".join((reason or "no reason given").split())))

    def report(self):
        if not (self.passed or self.failures or self.skips):
            return
        for test, output in self.failures:
            print(paint("31", f"FAILED {self.name}: {test}"))
            for line in output.rstrip().splitlines()[-60:]:
                print("    " + line)
        state = paint("31", "failed") if self.failures else paint("32", "ok")
        print(f"{self.name:24} {self.passed:5} passed {len(self.failures):4} failed {len(self.skips):4} skipped"
              f" {time.monotonic() - self.started:7.1f} s  {state}", flush=True)


def progress(text):
    if TERMINAL:
        print(f"\r\033[K{text} ...", end="", flush=True)


def done():
    if TERMINAL:
        print("\r\033[K", end="", flush=True)


def run(command, timeout=BINARY_TIMEOUT, **options):
    """(exit code, output); a command that hangs is a failure, not a hang."""
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                timeout=timeout, text=True, errors="replace", **options)
        return result.returncode, result.stdout
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
        return 124, (output.decode(errors="replace") if isinstance(output, bytes) else output) + \
            f"\nstopped after {timeout} s"
    except OSError as error:
        return 127, str(error)


class Filters:
    """A test runs if one of the words given is part of its full name (or if no word was given)."""

    def __init__(self, words):
        self.words = words

    def __bool__(self):
        return bool(self.words)

    def wants(self, name):
        return not self.words or any(word in name for word in self.words)


def lit_suite(options, filters):
    suite = Suite("lit")
    site = os.path.join(options.build, "test")
    if not os.path.exists(os.path.join(site, "lit.site.cfg.py")):
        suite.fails("lit.site.cfg.py", "the build is not configured")
        return suite
    results = os.path.join(site, "lit-results.json")
    if os.path.exists(results):
        os.remove(results)
    command = [sys.executable, options.lit, site, "-q", "-j", str(options.jobs), "-o", results, "--order=smart"]
    if filters:
        command += ["--filter", "|".join(re.escape(re.sub("^test/", "", word)) for word in filters.words)]
    progress("lit")
    code, output = run(command, timeout=3600)
    done()
    if not os.path.exists(results):
        if not (filters and "did not match any tests" in output):
            suite.fails("lit itself", output or f"exit code {code}")
        return suite
    with open(results) as file:
        tests = json.load(file)["tests"]
    for test in tests:
        name = test["name"].replace("heddle :: ", "test/")
        outcome = test["code"]
        if outcome in ("PASS", "XFAIL", "FLAKYPASS"):
            suite.passes()
        elif outcome == "UNSUPPORTED":
            suite.skipped(name, test.get("output") or "unsupported on this machine")
        elif outcome in ("EXCLUDED", "SKIPPED"):
            pass
        else:
            suite.fails(f"{name} ({outcome})", test.get("output"))
    return suite


def gtest_names(name, binary):
    """Every test of a binary as (what --gtest_filter takes, the full name that a filter word is looked up in)."""
    _, listing = run([binary, "--gtest_list_tests"], timeout=60)
    names, group = [], ""
    for line in listing.splitlines():
        line = line.split("#")[0].rstrip()
        if line.endswith(".") and not line.startswith(" "):
            group = line
        elif line.startswith("  "):
            names.append((group + line.strip(), f"{name}/{group}{line.strip()}"))
    return names


def gtest_shard(command, shard, shards):
    """Runs one part of a binary's tests: (exit code, output, the groups of GTest's JSON or None)."""
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results.json")
        environment = dict(os.environ, GTEST_TOTAL_SHARDS=str(shards), GTEST_SHARD_INDEX=str(shard))
        code, output = run(command + [f"--gtest_output=json:{results}"], cwd=folder, env=environment)
        try:
            with open(results) as file:
                return code, output, json.load(file)["testsuites"]
        except (OSError, ValueError):
            return code, output, None


def gtest_suite(binary, filters, jobs):
    """Runs a GTest binary; one of many tests is split over `jobs` processes."""
    name = os.path.basename(binary)
    suite = Suite(name)
    if not os.path.exists(binary):
        if filters.wants(name):
            suite.fails(name, f"{os.path.relpath(binary, ROOT)} was not built")
        return suite
    command, names = [binary], gtest_names(name, binary)
    if filters and not filters.wants(name):
        names = [test for test in names if filters.wants(test[1])]
        if not names:
            return suite
        command.append("--gtest_filter=" + ":".join(test for test, _ in names))
    progress(name)
    shards = jobs if len(names) > 200 else 1
    with concurrent.futures.ThreadPoolExecutor(shards) as pool:
        parts = list(pool.map(lambda shard: gtest_shard(command, shard, shards), range(shards)))
    done()
    for code, output, groups in parts:
        if groups is None:  # it crashed or hung: what is known is in the text
            for _ in re.findall(r"^\[       OK \] ", output, re.M):
                suite.passes()
            last = re.findall(r"^\[ RUN      \] (\S+)", output, re.M)
            suite.fails(last[-1] if last else name, output + f"\nended with exit code {code}")
            continue
        failed = 0
        for group in groups:
            for test in group["testsuite"]:
                full = f"{group['name']}.{test['name']}"
                if test.get("failures"):
                    failed += 1
                    suite.fails(full, "\n".join(failure["failure"] for failure in test["failures"]))
                elif test.get("result") == "SKIPPED":
                    suite.skipped(full, skip_reason(full, output))
                elif test.get("result") == "COMPLETED":
                    suite.passes()
        if code and not failed:
            suite.fails(name, output[-4000:] + f"\nended with exit code {code}")
    return suite


def skip_reason(test, output):
    """GTest's JSON has no reason for a skip: it is in the text, between the test's two lines."""
    found = re.search(r"\[ RUN      \] " + re.escape(test) + r"\n(.*?)\[  SKIPPED \]", output, re.S)
    reason = found.group(1).split("Google Test trace:")[0].strip() if found else ""
    return re.sub(r"^\S+:\d+: Skipped\s*", "", reason)


def programs(options, kind):
    """The programs of one kind, as test/CMakeLists.txt wrote them down."""
    try:
        with open(os.path.join(options.build, "test", kind + ".txt")) as file:
            return file.read().split()
    except OSError:
        return []


def python_suite(options, filters):
    suite = Suite("python")
    folders = [folder for folder in ("python", "test/python", "tools") if os.path.isdir(os.path.join(ROOT, folder))]
    files = [os.path.join(path, name) for folder in folders for path, _, names in os.walk(os.path.join(ROOT, folder))
             for name in names if re.fullmatch(r"test_.*\.py|.*_test\.py", name)]
    if not files:
        return suite
    progress("python")
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results.xml")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={results}",
                   f"--rootdir={ROOT}", "--import-mode=importlib", *sorted(files)]
        if filters:
            # pytest knows no slashes in -k: match on the last part of each word.
            command += ["-k", " or ".join(" and ".join(re.findall(r"\w+", word.split("/")[-1])) or "none"
                                          for word in filters.words)]
        path = os.pathsep.join(filter(None, [os.path.join(ROOT, "python"), os.environ.get("PYTHONPATH")]))
        code, output = run(command, cwd=folder, env=dict(os.environ, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1",
                                                         HEDDLE_LIBRARY=os.path.join(options.build, "lib", "libheddle.so")))
        done()
        if code == 5:  # nothing chosen
            return suite
        if not os.path.exists(results):
            suite.fails("pytest", output + f"\nended with exit code {code}")
            return suite
        failed = 0
        for case in xml.parse(results).getroot().iter("testcase"):
            name = f"{case.get('classname')}.{case.get('name')}"
            bad = [child for child in case if child.tag in ("failure", "error")]
            skip = case.find("skipped")
            if bad:
                failed += 1
                suite.fails(name, bad[0].text or bad[0].get("message"))
            elif skip is not None:
                suite.skipped(name, skip.get("message"))
            else:
                suite.passes()
        if code and not failed:
            suite.fails("pytest", output + f"\nended with exit code {code}")
    return suite


def examples_suite(options, filters):
    """Programs registered with heddle_example(), and examples/*/run.sh; exit code 77 means that this machine cannot."""
    suite = Suite("examples")
    commands = []
    commands += [("examples/" + os.path.basename(program), [program]) for program in programs(options, "examples")]
    examples = os.path.join(ROOT, "examples")
    for name in sorted(os.listdir(examples)) if os.path.isdir(examples) else []:
        script = os.path.join(examples, name, "run.sh")
        if os.path.exists(script):
            commands.append((f"examples/{name}/run.sh", ["bash", script]))
    environment = dict(os.environ, HEDDLE_BIN=os.path.join(options.build, "bin"), NO_COLOR="1")
    for name, command in commands:
        if not filters.wants(name):
            continue
        progress(name)
        cwd = os.path.dirname(command[1]) if len(command) > 1 else ROOT
        code, output = run(command, cwd=cwd, env=environment)
        done()
        if code == 0:
            suite.passes()
        elif code == 77:
            suite.skipped(name, output.strip().splitlines()[-1] if output.strip() else "")
        else:
            suite.fails(name, output + f"\nended with exit code {code}")
    return suite


def docs_suite(options, filters):
    """The pages in docs/reference equal what the build generated."""
    suite = Suite("docs")
    generated = os.path.join(options.build, "docs", "reference")
    if not os.path.isdir(generated):
        return suite
    for page in sorted(os.listdir(generated)):
        name = f"docs/reference/{page}"
        if not page.endswith(".md") or not filters.wants(name):
            continue
        kept = os.path.join(ROOT, name)
        if os.path.exists(kept) and filecmp.cmp(kept, os.path.join(generated, page), shallow=False):
            suite.passes()
        else:
            suite.fails(name, "differs from what TableGen generates; run 'tools/dev docs' and commit the result")
    return suite


def build_suite(options, filters):
    suite = Suite("build")
    if options.build_failed:
        suite.fails("build", "not everything could be built (its errors are above); tests ran with what there is")
    elif not filters:
        suite.passes()
    return suite


def main():
    parser = argparse.ArgumentParser(description="Runs every test this machine can run.")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--lit", default="/usr/lib/llvm-22/bin/lit")
    parser.add_argument("--build-failed", type=int, default=0)
    parser.add_argument("filters", nargs="*", help="only tests whose name contains one of these")
    options = parser.parse_args()
    filters = Filters(options.filters)

    # No test reads or fills the cache of the user who runs it.
    cache = tempfile.TemporaryDirectory(prefix="heddle-test-cache-")
    os.environ["HEDDLE_CACHE_DIR"] = cache.name
    suites = []

    def take(suite):
        suite.report()
        suites.append(suite)

    take(build_suite(options, filters))
    take(docs_suite(options, filters))
    take(lit_suite(options, filters))
    for binary in programs(options, "unit_tests"):
        take(gtest_suite(binary, filters, options.jobs))
    for binary in programs(options, "gpu_tests"):
        take(gtest_suite(binary, filters, 1))
    take(python_suite(options, filters))
    take(examples_suite(options, filters))

    reasons = collections.Counter((suite.name, reason) for suite in suites for _, reason in suite.skips)
    if reasons:
        print("skipped:")
        for (suite, reason), count in sorted(reasons.items()):
            print(f"  {suite}: {count} x {reason}")
    failures = [(suite.name, test) for suite in suites for test, _ in suite.failures]
    if failures:
        print("failed:")
        for suite, test in failures:
            print(f"  {suite}: {test}")
    passed = sum(suite.passed for suite in suites)
    skipped = sum(len(suite.skips) for suite in suites)
    if filters and not (passed or failures or skipped):
        print(f"no test has a name that contains: {' '.join(filters.words)}")
        failures = [("filter", "nothing matched")]
        print("0 passed, 0 failed, 0 skipped")
        return 1
    print(f"{passed} passed, {len(failures)} failed, {skipped} skipped")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
