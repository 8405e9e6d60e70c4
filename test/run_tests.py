#!/usr/bin/env python3
"""Runs every test that this machine can run and counts them; `tools/dev test` calls it after the build.

Suites: `build` (did everything build?), `docs` (is the generated reference current?), `lit` (test/dialect, passes,
codegen, cli), one for each unit test binary and GPU test binary (skipped without a GPU), `fuzz`, `python` and
`examples`. The last line printed is `N passed, N failed, N skipped`; the exit code is 1 if anything failed.

A suite consists of tasks, each one process. A pool of `--jobs` workers runs the tasks of all suites, the longest first,
so that all processors have work until the end. Suites are reported in a fixed order. Their times are processor time
(user and system, including child processes), which depends little on other processes of the machine. The time of each
task is kept in <build>/test/task-times.json, for the order of the next run.

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
import threading
import time
import xml.etree.ElementTree as xml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TERMINAL = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
COLOUR = TERMINAL and not os.environ.get("NO_COLOR")
TIMEOUT = 1200  # seconds for one task
LIT_SHARDS = 8
PYTHON_SHARDS = 8
LARGE_BINARY = 200  # a GTest binary with more tests is split into several tasks
BATCH_SECONDS = 10  # processor time of each of these tasks
FUZZ_SECONDS = 12  # processor time of random inputs for each fuzz target
DEFAULT_SECONDS = 1  # estimated processor time of a test that was never measured


def paint(code, text):
    return f"\033[{code}m{text}\033[0m" if COLOUR else text


class Suite:
    """The results of one suite: failures with their output, skips with their reason."""

    def __init__(self, name):
        self.name, self.passed, self.failures, self.skips = name, 0, [], []
        self.seconds = 0.0  # processor time
        self.tasks = []

    def passes(self, count=1):
        self.passed += count

    def fails(self, test, output=""):
        self.failures.append((test, output or ""))

    def skipped(self, test, reason):
        self.skips.append((test, " ".join((reason or "no reason given").split())))

    def task(self, name, work, estimate):
        """Adds a task. `work()` returns (seconds, a function that adds the results to the suite)."""
        self.tasks.append(Task(f"{self.name}: {name}", work, estimate))

    def report(self):
        if not (self.passed or self.failures or self.skips):
            return
        for test, output in self.failures:
            print(paint("31", f"FAILED {self.name}: {test}"))
            for line in output.rstrip().splitlines()[-60:]:
                print("    " + line)
        state = paint("31", "failed") if self.failures else paint("32", "ok")
        print(f"{self.name:30} {self.passed:5} passed {len(self.failures):4} failed {len(self.skips):4} skipped"
              f" {self.seconds:7.1f} s  {state}", flush=True)


class Task:
    """One process of a suite. `estimate` is its processor time if no earlier run measured it."""

    def __init__(self, name, work, estimate):
        self.name, self.work, self.estimate = name, work, estimate
        self.future = None


class Times:
    """The processor time of each task in earlier runs."""

    def __init__(self, path):
        self.path = path
        try:
            with open(path) as file:
                self.known = json.load(file)
        except (OSError, ValueError):
            self.known = {}

    def of(self, name, estimate):
        return self.known.get(name, estimate)

    def record(self, name, seconds):
        self.known[name] = round(seconds, 2)

    def save(self):
        try:
            with open(self.path + ".new", "w") as file:
                json.dump(self.known, file, indent=0, sort_keys=True)
            os.replace(self.path + ".new", self.path)
        except OSError:
            pass  # the next run then starts in another order


def progress(text):
    if TERMINAL:
        print(f"\r\033[K{text} ...", end="", flush=True)


def done():
    if TERMINAL:
        print("\r\033[K", end="", flush=True)


def run(command, timeout=TIMEOUT, **options):
    """Returns (exit code, output, processor seconds). Stops the command after `timeout` seconds, with exit code 124."""
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                       **options)
        except OSError as error:
            return 127, str(error), 0.0
        stopped = threading.Event()

        def stop():
            stopped.set()
            process.kill()

        timer = threading.Timer(timeout, stop)
        timer.start()
        try:
            # Unlike wait(), wait4() reports the processor time of the process and its children.
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
        if stopped.is_set():
            return 124, text + f"\nstopped after {timeout} s", usage.ru_utime + usage.ru_stime
        return process.returncode, text, usage.ru_utime + usage.ru_stime


class Filters:
    """A test runs if its full name contains one of the words, or if there are no words."""

    def __init__(self, words):
        self.words = words

    def __bool__(self):
        return bool(self.words)

    def matches(self, name):
        return not self.words or any(word in name for word in self.words)


def lit_suite(options, filters, times):
    suite = Suite("lit")
    site = os.path.join(options.build, "test")
    if not os.path.exists(os.path.join(site, "lit.site.cfg.py")):
        suite.fails("lit.site.cfg.py", "the build is not configured")
        return suite
    shards = 1 if filters else LIT_SHARDS
    for shard in range(1, shards + 1):
        suite.task(f"shard {shard} of {shards}", lambda shard=shard: lit_shard(suite, options, filters, shard, shards), 15)
    return suite


def lit_shard(suite, options, filters, shard, shards):
    """Runs a part of the lit tests."""
    site = os.path.join(options.build, "test")
    results = os.path.join(site, f"lit-results-{shard}.json")
    if os.path.exists(results):
        os.remove(results)
    command = [sys.executable, options.lit, site, "-q", "-j", "1", "-o", results, "--order=lexical",
               "--skip-test-time-recording", f"--num-shards={shards}", f"--run-shard={shard}"]
    if filters:
        command += ["--filter", "|".join(re.escape(re.sub("^test/", "", word)) for word in filters.words)]
    code, output, seconds = run(command)

    def add():
        if not os.path.exists(results):
            if not (filters and "did not match any tests" in output):
                suite.fails("lit itself", output or f"exit code {code}")
            return
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

    return seconds, add


def gtest_names(name, binary):
    """Returns every test of a binary as (name for --gtest_filter, full name for the filters)."""
    _, listing, _ = run([binary, "--gtest_list_tests"], timeout=60)
    names, group = [], ""
    for line in listing.splitlines():
        line = line.split("#")[0].rstrip()
        if line.endswith(".") and not line.startswith(" "):
            group = line
        elif line.startswith("  "):
            names.append((group + line.strip(), f"{name}/{group}{line.strip()}"))
    return names


def gtest_batches(suite, names, times):
    """Splits tests into batches of similar duration: (name of the batch, tests, processor seconds).

    Tests with the same parameter, the text after the last slash, share a batch: they use the same program, which a
    process compiles only once."""
    groups = collections.defaultdict(list)
    for name in names:
        groups[name.rsplit("/", 1)[1] if "/" in name else name.split(".")[0]].append(name)
    batches, batch, key, seconds = [], [], "", 0
    for group, members in groups.items():
        own = times.of(f"{suite.name}, {group}", DEFAULT_SECONDS * len(members))
        if batch and seconds + own > BATCH_SECONDS:
            batches.append((key, batch, seconds))
            batch, seconds = [], 0
        key = key if batch else group
        batch = batch + members
        seconds += own
    return batches + [(key, batch, seconds)]


def gtest_suite(binary, filters, times):
    """The tests of a GTest binary; one with many tests is split into tasks."""
    name = os.path.basename(binary)
    suite = Suite(name)
    if not os.path.exists(binary):
        if filters.matches(name):
            suite.fails(name, f"{os.path.relpath(binary, ROOT)} was not built")
        return suite
    names = [test for test, full in gtest_names(name, binary) if filters.matches(full)]
    if len(names) > LARGE_BINARY:
        for key, tests, seconds in gtest_batches(suite, names, times):
            suite.task(f"from {key}", lambda tests=tests: gtest_task(suite, binary, tests, times), seconds)
    elif names:
        suite.task("all", lambda: gtest_task(suite, binary, names if filters else None, times), 10)
    return suite


def gtest_task(suite, binary, tests, times):
    """Runs these tests of a binary, or all."""
    command = [binary] + (["--gtest_filter=" + ":".join(tests)] if tests else [])
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results.json")
        code, output, seconds = run(command + [f"--gtest_output=json:{results}"], cwd=folder)
        try:
            with open(results) as file:
                groups = json.load(file)["testsuites"]
        except (OSError, ValueError):
            groups = None
    return seconds, lambda: add_gtest_results(suite, code, output, groups, times)


def add_gtest_results(suite, code, output, groups, times):
    if groups is None:  # the binary crashed or hung: count the tests in its output
        for _ in re.findall(r"^\[       OK \] ", output, re.M):
            suite.passes()
        last = re.findall(r"^\[ RUN      \] (\S+)", output, re.M)
        suite.fails(last[-1] if last else suite.name, output + f"\nended with exit code {code}")
        return
    failed, spent = 0, collections.Counter()
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
            spent[full.rsplit("/", 1)[1] if "/" in full else full.split(".")[0]] += float(test["time"].rstrip("s"))
    for key, seconds in spent.items():
        times.record(f"{suite.name}, {key}", seconds)
    if code and not failed:
        suite.fails(suite.name, output[-4000:] + f"\nended with exit code {code}")


def skip_reason(test, output):
    """Returns the reason for a skip, which GTest's JSON lacks: the output between the two lines of the test."""
    found = re.search(r"\[ RUN      \] " + re.escape(test) + r"\n(.*?)\[  SKIPPED \]", output, re.S)
    reason = found.group(1).split("Google Test trace:")[0].strip() if found else ""
    return re.sub(r"^\S+:\d+: Skipped\s*", "", reason)


def programs(options, kind):
    """Returns the programs of one kind, from the file that test/CMakeLists.txt generates."""
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
    shards = min(len(files), 1 if filters else PYTHON_SHARDS)
    for shard in range(shards):
        suite.task(f"shard {shard + 1} of {shards}",
                   lambda part=sorted(files)[shard::shards]: python_task(suite, options, filters, part), 120)
    return suite


def python_task(suite, options, filters, files):
    """Runs the Python tests of some files."""
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results.xml")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={results}",
                   f"--rootdir={ROOT}", "--import-mode=importlib", *files]
        if filters:
            # -k of pytest accepts no slashes: match the last part of each word.
            command += ["-k", " or ".join(" and ".join(re.findall(r"\w+", word.split("/")[-1])) or "none"
                                          for word in filters.words)]
        # Modules that several test files share are in test/python.
        path = os.pathsep.join(filter(None, [os.path.join(ROOT, "python"), os.path.join(ROOT, "test", "python"),
                                             os.environ.get("PYTHONPATH")]))
        code, output, seconds = run(command, cwd=folder,
                                    env=dict(os.environ, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1",
                                             HEDDLE_LIBRARY=os.path.join(options.build, "lib", "libheddle.so")))
        cases = list(xml.parse(results).getroot().iter("testcase")) if os.path.exists(results) else None

    def add():
        if code == 5:  # no test matches
            return
        if cases is None:
            suite.fails("pytest", output + f"\nended with exit code {code}")
            return
        failed = 0
        for case in cases:
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

    return seconds, add


def fuzz_suite(options, filters):
    """Replays the corpus of each fuzz target, then runs random inputs. A failure prints the seed and the input."""
    suite = Suite("fuzz")

    def fuzz_task(name, binary):
        with tempfile.TemporaryDirectory() as folder:
            corpus = os.path.join(ROOT, "test", "fuzz", "corpus", name)
            code, output, seconds = run([binary, f"--seconds={FUZZ_SECONDS}", corpus], cwd=folder)
            for crash in sorted(os.listdir(folder)):
                with open(os.path.join(folder, crash), "rb") as file:
                    output += f"\n{crash}: {file.read()!r}"

        def add():
            if code == 0:
                suite.passes()
            else:
                suite.fails(name, output + f"\nended with exit code {code}")

        return seconds, add

    for binary in programs(options, "fuzz_targets"):
        name = os.path.basename(binary).removeprefix("heddle_fuzz_")
        if filters.matches(f"test/fuzz/{name}"):
            suite.task(name, lambda name=name, binary=binary: fuzz_task(name, binary), FUZZ_SECONDS)
    return suite


def examples_suite(options, filters):
    """Programs registered with heddle_example(), and examples/*/run.sh. Exit code 77 skips an example."""
    suite = Suite("examples")
    commands = [("examples/" + os.path.basename(program), [program]) for program in programs(options, "examples")]
    examples = os.path.join(ROOT, "examples")
    for name in sorted(os.listdir(examples)) if os.path.isdir(examples) else []:
        script = os.path.join(examples, name, "run.sh")
        if os.path.exists(script):
            commands.append((f"examples/{name}/run.sh", ["bash", script]))
    environment = dict(os.environ, HEDDLE_BIN=os.path.join(options.build, "bin"), NO_COLOR="1")

    def example_task(name, command):
        cwd = os.path.dirname(command[1]) if len(command) > 1 else ROOT
        code, output, seconds = run(command, cwd=cwd, env=environment)

        def add():
            if code == 0:
                suite.passes()
            elif code == 77:
                suite.skipped(name, output.strip().splitlines()[-1] if output.strip() else "")
            else:
                suite.fails(name, output + f"\nended with exit code {code}")

        return seconds, add

    for name, command in commands:
        if filters.matches(name):
            suite.task(name, lambda name=name, command=command: example_task(name, command), 5)
    return suite


def docs_suite(options, filters):
    """Checks that the pages in docs/reference equal those that the build generated."""
    suite = Suite("docs")
    generated = os.path.join(options.build, "docs", "reference")
    if not os.path.isdir(generated):
        return suite
    kept_pages = os.path.join(ROOT, "docs", "reference")
    pages = {os.path.relpath(os.path.join(path, name), folder) for folder in (generated, kept_pages)
             for path, _, names in os.walk(folder) for name in names if name.endswith(".md")}
    for page in sorted(pages):
        name = f"docs/reference/{page}"
        if not filters.matches(name):
            continue
        kept, made = os.path.join(kept_pages, page), os.path.join(generated, page)
        if os.path.exists(kept) and os.path.exists(made) and filecmp.cmp(kept, made, shallow=False):
            suite.passes()
        else:
            suite.fails(name, "differs from the generated page; run 'tools/dev docs' and commit the result")
    return suite


def build_suite(options, filters):
    suite = Suite("build")
    if options.build_failed:
        suite.fails("build", "the build failed (see the errors above); the tests ran with the programs that exist")
    elif not filters:
        suite.passes()
    return suite


def run_suites(suites, jobs, times):
    """Runs the tasks of all suites, the longest first. Reports a suite when it and all suites before it are done."""
    tasks = [task for suite in suites for task in suite.tasks]
    finished = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for task in sorted(tasks, key=lambda task: -times.of(task.name, task.estimate)):
            task.future = pool.submit(task.work)
        for suite in suites:
            for task in suite.tasks:
                progress(f"{finished} of {len(tasks)} tasks, waiting for {task.name}")
                seconds, add = task.future.result()
                finished += 1
                suite.seconds += seconds
                times.record(task.name, seconds)
                add()
            done()
            suite.report()


def main():
    parser = argparse.ArgumentParser(description="Runs every test this machine can run.")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--lit", default="/usr/lib/llvm-22/bin/lit")
    parser.add_argument("--build-failed", type=int, default=0)
    parser.add_argument("filters", nargs="*", help="only tests whose name contains one of these")
    options = parser.parse_args()
    filters = Filters(options.filters)

    # Tests do not use the cache of the user.
    cache = tempfile.TemporaryDirectory(prefix="heddle-test-cache-")
    os.environ["HEDDLE_CACHE_DIR"] = cache.name
    times = Times(os.path.join(options.build, "test", "task-times.json"))
    started = time.monotonic()
    suites = [build_suite(options, filters), docs_suite(options, filters), lit_suite(options, filters, times)]
    suites += [gtest_suite(binary, filters, times) for binary in programs(options, "unit_tests")]
    # GPU tests run one at a time, so that no other test uses the GPU or the processors.
    alone = [gtest_suite(binary, filters, times) for binary in programs(options, "gpu_tests")]
    suites += [fuzz_suite(options, filters), python_suite(options, filters), examples_suite(options, filters)]
    run_suites(suites, options.jobs, times)
    run_suites(alone, 1, times)
    suites += alone
    if not filters:
        times.save()
    print(f"processor time {sum(suite.seconds for suite in suites):.0f} s, elapsed {time.monotonic() - started:.0f} s")

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
