#!/usr/bin/env python3
"""Runs the fuzz targets on all cores of a machine without LLVM, from the bundle of `tools/dev fuzz-bundle`.

usage: run.sh SECONDS OUT [CORES] [--targets program,capi,...]

Takes SECONDS in all. The last part of it minimizes the corpora. OUT then has

  summary.txt      executions, executions per second and core, coverage and findings of each target
  findings.tar.xz  inputs of crashes, timeouts and excessive memory, with the reports; three inputs per place at most
  corpus.tar.xz    the minimized corpora

Each core repeats: take the target with the fewest executions, run libFuzzer on it for a while, or until a finding ends
the process.
"""

import argparse
import collections
import glob
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
GOAL = 10_000_000  # executions of each target
SLICE = 150  # seconds of one process at most
INPUTS_PER_PLACE = 3
TIMEOUT, MEMORY_MB = 25, 2560
FINDINGS_BYTES, CORPUS_BYTES = 9 << 20, 14 << 20

# The name, the limit of an input's size, and the expected executions per second of a core, which only set the first
# shares of the cores.
TARGETS = [("program", 4096, 1200), ("capi", 256, 1200), ("plan", 8192, 3000), ("shapes", 1024, 15000),
           ("bytecode", 4096, 40000)]

# One process of THOROUGH checks for leaks and for uses of a returned function's variables, keeps freed memory longer,
# runs jobs on two threads, and lets libFuzzer prefer inputs that reach rare code. This takes up to half of the time.
# The others check everything else. Their freed memory stays in the processor's cache.
THOROUGH = 5
ALWAYS = "malloc_context_size=4:symbolize=0"
KINDS = {
    True: (":quarantine_size_mb=16", "2", []),
    False: (":quarantine_size_mb=2:thread_local_quarantine_size_kb=256:detect_stack_use_after_return=0", "1",
            ["-detect_leaks=0", "-entropic=0", "-reload=10"]),
}

OPTIONS = {
    "ASAN_OPTIONS": ALWAYS,
    "UBSAN_OPTIONS": "print_stacktrace=1:symbolize=0",
    "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
}


class Target:
    def __init__(self, name, size_limit, rate, work):
        self.name, self.size_limit, self.rate = name, size_limit, float(rate)
        self.program = os.path.join(HERE, "bin", f"heddle_fuzz_{name}")
        self.seeds = os.path.join(HERE, "corpus", name)
        self.corpus = os.path.join(work, "corpus", name)
        self.minimized = os.path.join(work, "minimized", name)
        self.executions = 0
        self.busy = 0.0  # seconds of cores
        self.running = {}  # start times
        self.kinds = collections.Counter()
        self.slowest, self.coverage, self.starts = 0, "unknown", 0
        for folder in (self.corpus, self.minimized):
            os.makedirs(folder)

    def reached(self, now):
        """The executions so far, with an estimate for the processes that run."""
        return self.executions + sum((now - start) * self.rate for start, _ in self.running.values())

    def planned(self):
        """The executions at the end of the processes that run, estimated."""
        return self.executions + sum(seconds * self.rate for _, seconds in self.running.values())


class Run:
    def __init__(self, seconds, out, cores, names):
        self.out, self.cores, self.start = out, cores, time.time()
        self.end = self.start + seconds
        self.deadline = self.end - min(100, max(25, seconds / 4))
        self.slice = min(SLICE, max(5, (self.deadline - self.start) * cores / (3 * len(names))))
        self.work = tempfile.mkdtemp(prefix="heddle-fuzz-")
        os.makedirs(os.path.join(self.work, "inputs"))
        self.found = os.path.join(self.work, "findings")
        os.makedirs(self.found)
        self.targets = [Target(*target, self.work) for target in TARGETS if target[0] in names]
        self.lock = threading.Lock()
        self.places = collections.Counter()
        self.environment = dict(OPTIONS, HEDDLE_CACHE_DIR=os.path.join(self.work, "cache"), TMPDIR=self.work)

    def call(self, command, log, limit, environment=None):
        """Runs a command with its output in a file, and returns its exit code. After `limit` seconds, it is killed."""
        with open(log, "wb") as file:
            process = subprocess.Popen(command, env=environment or self.environment, cwd=self.work, stdin=subprocess.DEVNULL,
                                       stdout=file, stderr=file, start_new_session=True)
            try:
                return process.wait(timeout=limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # a merge has a process for the inputs
                process.wait()
                return "killed"

    def find_leaks(self):
        """Whether the leak detector works, which needs ptrace."""
        target = self.targets[-1]
        result = subprocess.run([target.program, "-runs=1"], env=self.environment, cwd=self.work,
                                stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        if result.returncode == 0:
            return True
        if "LeakSanitizer has encountered a fatal error" in result.stderr:
            self.environment["ASAN_OPTIONS"] += ":detect_leaks=0"
            return False
        sys.exit(f"error: {target.program} does not run here:\n{result.stderr[-2000:]}")

    def worker(self, number):
        count = 0
        while True:
            now = time.time()
            seconds = int(min(self.slice, self.deadline - now))
            if seconds < 2:
                return
            with self.lock:
                target = min(self.targets, key=Target.planned)
                left = GOAL - target.planned()
                if left > 0:
                    seconds = int(min(seconds, left / target.rate + 10))
                else:  # all targets reach the goal; the first two have the most code
                    target = min(self.targets[:2], key=lambda t: len(t.running))
                target.running[number] = now, seconds
                is_thorough = target.starts % THOROUGH == 0
                target.starts += 1
            count += 1
            self.fuzz(target, seconds, f"{target.name}-{number}-{count}", is_thorough)

    def fuzz(self, target, seconds, name, is_thorough):
        number = int(name.split("-")[1])
        log = os.path.join(self.work, f"{name}.log")
        artifacts = os.path.join(self.work, "inputs", f"{name}-")
        memory, threads, options = KINDS[is_thorough]
        environment = dict(self.environment, HEDDLE_THREADS=threads)
        environment["ASAN_OPTIONS"] += memory
        command = [target.program, f"-max_total_time={seconds}", f"-timeout={TIMEOUT}", f"-rss_limit_mb={MEMORY_MB}",
                   f"-max_len={target.size_limit}", f"-artifact_prefix={artifacts}", "-print_final_stats=1", *options,
                   target.corpus, target.seeds]
        started = time.time()
        code = self.call(command, log, seconds + 2 * TIMEOUT, environment)
        with open(log, "rb") as file:
            text = file.read().decode(errors="replace")
        executed = re.findall(r"stat::number_of_executed_units: (\d+)", text) or re.findall(r"^#(\d+)\t", text, re.M)
        slowest = re.findall(r"stat::slowest_unit_time_sec: +(\d+)", text)
        with self.lock:
            del target.running[number]
            target.executions += int(executed[-1]) if executed else 0
            target.busy += time.time() - started
            target.slowest = max([target.slowest] + [int(s) for s in slowest])
            if target.busy > 30:
                target.rate = max(1.0, target.executions / target.busy)
            # A process that was killed got no processor time: libFuzzer itself ends inputs that take long.
            if code not in (0, "killed"):
                self.keep(target, text, artifacts, code)
        os.remove(log)

    def keep(self, target, text, artifacts, code):
        """Keeps the report and the input of a finding, unless its place has enough."""
        kind = ("timeout" if "libFuzzer: timeout" in text else
                "memory" if "out-of-memory" in text or "malloc-limit" in text else
                "leak" if "LeakSanitizer" in text else "crash")
        target.kinds[kind] += 1
        begin = max(0, text.find("runtime error") - 300, text.find("==ERROR") - 100, text.find("finding:") - 100,
                    text.find("Assertion") - 100)
        report = text[begin:begin + 20000] or f"ended with {code}"
        # Addresses in the program are the same in every process.
        frames = re.findall(r"#\d+ 0x[0-9a-f]+ .*?\(.*?/(\S+?\+0x[0-9a-f]+)\)", report)
        message = re.findall(r"(?:finding|runtime error|libFuzzer): .*|Assertion .*|Sanitizer: \S+", report)
        # The first frames of a signal are those of its handler.
        depth = 0 if kind == "timeout" else 12 if "deadly signal" in report else 4
        place = (target.name, kind, re.sub(r"0x[0-9a-f]+|\d+", "N", message[0]) if message else str(code),
                 tuple(frames[:depth]))
        digest = hashlib.sha256(repr(place).encode()).hexdigest()[:8]
        self.places[(target.name, kind, digest, place[2])] += 1
        inputs = glob.glob(glob.escape(artifacts) + "*")
        count = self.places[(target.name, kind, digest, place[2])]
        if count <= INPUTS_PER_PLACE:
            base = os.path.join(self.found, f"{target.name}-{kind}-{digest}-{count}")
            for path in inputs:
                shutil.copy(path, base + ".input")
            with open(base + ".txt", "w") as file:
                file.write(report + "\n\n" + text[-2000:])
        for path in inputs:
            os.remove(path)

    def minimize(self, target):
        seconds = int(self.end - time.time() - 8)
        log = os.path.join(self.work, f"merge-{target.name}.log")
        if seconds < 5:
            return
        command = [target.program, "-merge=1", f"-max_total_time={seconds}", f"-timeout={TIMEOUT}",
                   f"-rss_limit_mb={MEMORY_MB}", f"-max_len={target.size_limit}",
                   f"-artifact_prefix={self.work}/merge-", target.minimized, target.seeds, target.corpus]
        self.call(command, log, seconds + 3)
        with open(log, errors="replace") as file:
            edges = re.findall(r"MERGE-OUTER: (\d+) new files with (\d+) new features added; (\d+) new coverage edges",
                               file.read())
        if edges:
            target.coverage = f"{edges[-1][2]} edges, {edges[-1][1]} features in {edges[-1][0]} inputs"

    def archive(self, name, folder, limit):
        """Packs the smallest files of a folder, `limit` bytes at most."""
        files = [os.path.join(root, file) for root, _, names in os.walk(folder) for file in names]
        total = 0
        with tarfile.open(os.path.join(self.out, name), "w:xz") as tar:
            for path in sorted(files, key=os.path.getsize):
                total += os.path.getsize(path)
                # The archive compresses texts to a third or less.
                if total > 3 * limit:
                    break
                tar.add(path, os.path.relpath(path, folder))

    def summary(self, leaks):
        lines = [f"{self.cores} cores, {self.deadline - self.start:.0f} s of fuzzing, leak detection "
                 f"{'on' if leaks else 'off (ptrace is not allowed here)'}", "",
                 f"{'target':10} {'executions':>12} {'core s':>8} {'exec/s/core':>12} {'crash':>6} {'leak':>5} "
                 f"{'timeout':>8} {'memory':>7} {'slowest s':>10}  minimized corpus"]
        for t in self.targets:
            lines.append(f"{t.name:10} {t.executions:12} {t.busy:8.0f} {t.executions / max(t.busy, 1):12.0f} "
                         f"{t.kinds['crash']:6} {t.kinds['leak']:5} {t.kinds['timeout']:8} {t.kinds['memory']:7} "
                         f"{t.slowest:10}  {t.coverage}")
        lines += ["", "findings by place:" if self.places else "no findings"]
        for (name, kind, digest, message), count in self.places.most_common():
            lines.append(f"  {count:6} x {name}-{kind}-{digest}: {message[:120]}")
        return "\n".join(lines) + "\n"

    def write_summary(self, leaks):
        with open(os.path.join(self.out, "summary.txt"), "w") as file:
            file.write(self.summary(leaks))

    def run(self):
        leaks = self.find_leaks()
        threads = [threading.Thread(target=self.worker, args=(k,)) for k in range(self.cores)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(1)
            if int(time.time() - self.start) % 30 == 0:
                with self.lock:
                    now = time.time()
                    done = ", ".join(f"{t.name} {t.reached(now) / 1e6:.2f}M on {len(t.running)}" for t in self.targets)
                    found = sum(self.places.values())
                    self.write_summary(leaks)
                    print(f"{now - self.start:.0f} s: {done}; {found} findings at {len(self.places)} places", flush=True)
        self.write_summary(leaks)
        self.archive("findings.tar.xz", self.found, FINDINGS_BYTES)
        threads = [threading.Thread(target=self.minimize, args=(target,)) for target in self.targets]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.write_summary(leaks)
        self.archive("corpus.tar.xz", os.path.join(self.work, "minimized"), CORPUS_BYTES)
        shutil.rmtree(self.work, ignore_errors=True)
        print(self.summary(leaks), end="")


def main():
    parser = argparse.ArgumentParser(description="Runs fuzz targets on all cores.")
    parser.add_argument("seconds", type=int)
    parser.add_argument("out")
    parser.add_argument("cores", type=int, nargs="?", default=len(os.sched_getaffinity(0)))
    known = [name for name, *_ in TARGETS]
    parser.add_argument("--targets", default=",".join(known), help="default: all")
    arguments = parser.parse_args()
    names = arguments.targets.split(",")
    for name in names:
        if name not in known:
            parser.error(f"'{name}' is no fuzz target; expected some of {', '.join(known)}")
    if arguments.seconds < 30 or arguments.cores < 1:
        parser.error("expected at least 30 seconds and one core")
    out = os.path.abspath(arguments.out)
    os.makedirs(out, exist_ok=True)
    Run(arguments.seconds, out, arguments.cores, names).run()


if __name__ == "__main__":
    main()
