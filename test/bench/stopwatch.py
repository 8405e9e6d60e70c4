"""The times of steps on a GPU that the scripts in this folder measure in PyTorch."""

import statistics
import time

STEPS, SAMPLES = 20, 9


def synchronize(torch):
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def device_time(torch, step):
    """Returns the device time of one step in microseconds: the median of samples of back-to-back steps, after one.

    If the host is slower than the device, the time includes the idle time of the device.
    """
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times = []
    for sample in range(SAMPLES + 1):
        begin.record()
        for _ in range(STEPS):
            step()
        end.record()
        end.synchronize()
        if sample:
            times.append(begin.elapsed_time(end) * 1e3 / STEPS)
    return statistics.median(times)


def host_times(torch, step, before, repeat):
    """Returns the microseconds until each of `repeat` steps returns, none of which waits for the device."""
    times = []
    for index in range(repeat):
        before(index)
        if index % 10 == 0:  # the queue of the device must not become full
            synchronize(torch)
        start = time.perf_counter_ns()
        step()
        times.append((time.perf_counter_ns() - start) / 1e3)
    synchronize(torch)
    return times


def wall_time(torch, step, before):
    """Returns the microseconds per step of back-to-back steps, from the first call until the device has finished.

    They contain `before`, because the device works while it runs.
    """
    times = []
    for sample in range(SAMPLES):
        synchronize(torch)
        start = time.perf_counter_ns()
        for index in range(STEPS):
            before(index)
            step()
        synchronize(torch)
        times.append((time.perf_counter_ns() - start) / 1e3 / STEPS)
    return statistics.median(times)


def as_graph(torch, step):
    """Captures `step` into a CUDA graph and returns its replay."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


class Pieces:
    """Measures functions that a step calls, each without those that it calls itself.

    Attributes:
        times: for each name, the microseconds of each step.
    """

    def __init__(self):
        self.times, self._now, self._inner = {}, {}, [0]

    def watch(self, name, owner, attribute):
        """Measures `owner.attribute` under `name`. Several functions may have one name."""
        function = getattr(owner, attribute)
        self.times.setdefault(name, [])
        self._now.setdefault(name, 0)

        def watched(*arguments, **keywords):
            self._inner.append(0)
            start = time.perf_counter_ns()
            try:
                return function(*arguments, **keywords)
            finally:
                spent = time.perf_counter_ns() - start
                self._now[name] += spent - self._inner.pop()
                self._inner[-1] += spent

        setattr(owner, attribute, watched)

    def step(self, step):
        """A function that steps and keeps the times of the pieces."""

        def measured():
            for name in self._now:
                self._now[name] = 0
            step()
            for name, spent in self._now.items():
                self.times[name].append(spent / 1e3)

        return measured
