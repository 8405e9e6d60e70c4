"""Writes docs/reference/optimizers.md: every standard optimizer, from what `heddle` prints about its program.

    python3 tools/optimizer_reference.py HEDDLE MEASURED PAGE

MEASURED is the JSON of `heddle bench optimizers` on a GPU.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import re
import subprocess
import sys
import textwrap

HEAD = """# Optimizers

<!-- Written by tools/optimizer_reference.py from the output of heddle emit, explain and bench. -->

The standard programs that are update rules, as they are compiled for sm_90 in float32. [optim.md](../optim.md) has their
classes for PyTorch; [rule.md](../rule.md) tells how to write another rule.

"""

NOTES = """
The bytes are those that a step reads and writes for each element of the parameters; those of single values of a tensor
are left out. An option that changes a number is listed with the number that it alone gives. Clipping, as in
`clip_by_global_norm+adamw`, adds a sweep, two launches and 4 B. [tail.md](../tail.md) has the options of all optimizers
for averages of parameters, zeroed gradients and schedules, and the programs that come before an optimizer.

{measured}

In the formulas, `t` is the number of the step, and `x'` is the value of `x` after the step. `sum`, `max` and `min` are over
the elements of a tensor, and over all tensors where the name ends in `_all`. `single` rounds to float32. Hyperparameters
whose default is 0 are in the formula; the program omits them while they are 0. Options that are part of the program have
their defaults in it.
"""


class Heddle:
    def __init__(self, path):
        self.path = path

    def __call__(self, *words):
        done = subprocess.run([self.path, *words], capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else None


#: The binary operations that have a sign, with their precedence.
SIGNS = {"arith.addf": ("+", 4), "arith.subf": ("-", 4), "arith.mulf": ("*", 5), "arith.divf": ("/", 5),
         "arith.andi": ("and", 2), "arith.ori": ("or", 1)}
COMPARISONS = {"olt": "<", "ole": "<=", "ogt": ">", "oge": ">=", "oeq": "==", "une": "!=", "ult": "<", "ule": "<="}
NAMES = {"arith.maximumf": "max", "arith.minimumf": "min", "math.absf": "abs", "arith.select": "where",
         "arith.truncf": "single", "math.powf": "^", "math.fpowi": "^"}
#: Names that come from operations: a changed gradient has a better one.
GENERIC = ("sum", "difference", "product", "quotient", "ascent")
#: Operations that do not change the number.
CASTS = ("arith.extf", "arith.fptosi", "arith.sitofp")


class Formula:
    """The statements of a program in foreach IR."""

    def __init__(self, text):
        self.known = {}  # of each value: its number
        self.nodes = []  # the operation and operands of each value, or its name
        self.words = []
        head, body = re.search(r"func\.func @\w+\((.*?)\) -> [^\n]*\{\n(.*)\n  \}", text, re.S).groups()
        #: The initial value of each state.
        self.states = {}
        donated = {}
        outer = {}
        for name, attributes in re.findall(r"%(\w+): (?:![\w.<>?]+|tensor<\w+>)((?: \{[^}]*\})?)", head):
            outer[name] = self.node("t - 1" if name == "step" else name)
            numbers = dict(re.findall(r"foreach\.(\w+) = (\S+) :", attributes))
            if "donate" in numbers:
                donated[int(numbers["donate"])] = name
            if "initial" in numbers:
                self.states[name] = float(numbers["initial"])
        for results, operation, inside in re.findall(
            r"^    ((?:%\w+(?:, )?)+) = (foreach\.\w+ ?[^\n]*\{)\n(.*?)^    \}", body, re.S | re.M
        ):
            self.map(outer, re.findall(r"%(\w+)", results), operation, inside)
        returned = re.findall(r"%(\w+)", re.search(r"^    return ([^\n:]*)", body, re.M)[1])
        self.outputs = {outer[name]: donated[place] for place, name in enumerate(returned) if donated[place] != "step"}

    def node(self, *parts, word=""):
        """The number of a value; equal values have one."""
        if parts not in self.known:
            self.known[parts] = len(self.nodes)
            self.nodes.append(parts)
            self.words.append(word)
        return self.known[parts]

    def map(self, outer, results, operation, inside):
        kind = operation.split()[0]
        scope = {bound: outer[source] for bound, source in re.findall(r"%(\w+) = %(\w+)", operation)}
        for line in inside.splitlines():
            word, operation_name, rest = re.fullmatch(r"\s+(?:%(\w+) = )?([\w.]+)(.*)", line).groups()
            if operation_name == "foreach.yield":
                yielded = [scope[name] for name in re.findall(r"%(\w+)", rest)]
                break
            scope[word] = self.operation(scope, word, operation_name, rest)
        if kind == "foreach.reduce":
            what, axis = re.search(r"reduce (\w+) along (\w+)", operation).groups()
            what = {"add": "sum"}.get(what, what) + ("_all" if axis == "list" else "")
            yielded = [self.node(what, each, word=name) for each, name in zip(yielded, results)]
        outer.update(zip(results, yielded))

    def operation(self, scope, word, name, rest):
        operands = [scope[each] for each in re.findall(r"%(\w+)", rest)]
        if name == "arith.constant":
            value = rest.split(":")[0].strip()
            return self.node(value if value in ("true", "false") else f"{float(value):.12g}")
        if name in CASTS:
            return operands[0]
        if name == "arith.cmpf":
            name = "compare " + re.match(r" (\w+)", rest)[1]
        if word == "step1":
            return self.node("t")
        if name == "arith.select" and self.nodes[operands[0]] == ("compare olt", self.node("0"), self.node("t")):
            return operands[1]  # this only makes the parameter depend on the counter
        if word.split("_")[0] in GENERIC and self.node("grad") in operands:
            word = "g"
        return self.node(name, *operands, word=word)

    def uses(self):
        """How often each value is needed, and in which order."""
        counts, order = {}, []

        def visit(node):
            counts[node] = counts.get(node, 0) + 1
            if counts[node] == 1:
                for operand in self.nodes[node][1:]:
                    visit(operand)
                order.append(node)

        for node in self.outputs:
            visit(node)
        return counts, order

    def lines(self):
        counts, order = self.uses()
        names, taken, lines = {}, set(), []
        for node in order:
            parts = self.nodes[node]
            is_output = node in self.outputs
            if len(parts) == 1 and not is_output:
                continue
            if counts[node] == 1 and not is_output:
                continue
            if not is_output and (self.nodes[node][0] == "-" or self.is_short(node)):
                continue
            name = f"{self.outputs[node]}'" if is_output else self.words[node] or "value"
            base, number = name, 2
            while name in taken:
                name, number = f"{base}_{number}", number + 1
            taken.add(name)
            lines.append(f"{name} = {self.text(node, names)[0]}")
            names[node] = name
        return lines

    def is_short(self, node):
        """Whether a value is as clear as its name would be: an operation of names and numbers."""
        name, *operands = self.nodes[node]
        return all(len(self.nodes[each]) == 1 for each in operands) and (name in SIGNS or name == "math.fpowi")

    def text(self, node, names):
        """The expression and its precedence."""
        if node in names:
            return names[node], 9
        name, *operands = self.nodes[node]
        if not operands:
            return name, 4 if " " in name else 9

        def inner(place, least):
            text, precedence = self.text(operands[place], names)
            return text if precedence >= least else f"({text})"

        if name in SIGNS:
            sign, own = SIGNS[name]
            # The order of operations is that of the program.
            return f"{inner(0, own)} {sign} {inner(1, own + (own > 2))}", own
        if name.startswith("compare "):
            return f"{inner(0, 4)} {COMPARISONS.get(name.split()[1], name.split()[1])} {inner(1, 4)}", 3
        if name == "arith.negf":
            return f"-{inner(0, 6)}", 6
        if NAMES.get(name) == "^":
            return f"{inner(0, 8)}^{inner(1, 8)}", 7
        if name == "arith.xori":
            return f"not {inner(0, 9)}", 3
        word = NAMES.get(name, name.split(".")[-1])
        return f"{word}({', '.join(self.text(each, names)[0] for each in operands)})", 9


def programs(heddle):
    """The optimizers: their names and summaries, and for each option its default and meaning."""
    found = {}
    for line in heddle("emit", "--help").split("standard programs")[1].splitlines()[1:]:
        if match := re.match(r"  (\w+)  +(.*)", line):
            options = {}
            found[match[1]] = (match[2], options)
        elif match := re.match(r"    (\w+)=(\S*) +(.*)", line):
            options[match[1]] = (match[2], match[3])
    return {name: entry for name, entry in found.items() if "maximize" in entry[1]}


#: Options of every optimizer.
COMMON = ("maximize", "state", "rounding", "master", "groups", "dtype", "ema", "zero_grad", "schedule",
          "schedule_warmup", "schedule_start", "schedule_steps", "schedule_end", "schedule_gamma", "schedule_decay")
#: Settings of AdamW whose bytes the page shows: types of parameters, state, and what is behind the parameters.
STORAGE = ("dtype=f32", "dtype=f32,state=bf16,rounding=stochastic", "dtype=bf16,state=f32,master=f32",
           "dtype=bf16,state=f32,master=split", "dtype=bf16,state=bf16,master=split,rounding=stochastic",
           "dtype=bf16,rounding=stochastic")


def numbers(heddle, program):
    """Bytes per element, sweeps and launches; None if the options contradict each other."""
    text = heddle("explain", program, "--arch", "sm_90", "--json")
    if text is None:
        return None
    about = json.loads(text)
    return f"{about['bytes_per_element']:g}", about["sweeps"], about["launches"]


class Measured:
    """The times of a step over the floor, by program and model."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        self.conditions = report["conditions"]
        self.ratios, self.models = {}, {}
        for each in report["rows"]:
            name = each["program"].split(":")[0]
            self.ratios[name, each["model"]] = each["heddle_ratio"]
            self.models[each["model"]] = f"{each['model']} ({each['tensors']} tensors, {each['parameters'] / 1e6:.1f} M)"

    def of(self, name):
        found = [self.ratios.get((name, model)) for model in self.models]
        return "; ".join(f"{ratio:.2f}" for ratio in found) if None not in found else ""

    def sentence(self):
        gpu, driver, cuda = (self.conditions[key] for key in ("gpu", "driver", "cuda"))
        speed = self.conditions["copy_bytes_per_second"] / 1e12
        return textwrap.fill(
            f"*Measured* is the time of a step over its floor, for the parameters of {' and '.join(self.models.values())}: "
            f"{gpu}, driver {driver}, CUDA {cuda}. The floor is the time to move these bytes at the copy bandwidth, "
            f"{speed:.3f} TB/s. `sgd` has a momentum there, so it moves 20 B. [benchmarks.md](../benchmarks.md) has the times "
            "and the conditions.", 120)


def is_zero(default):
    try:
        return float(default) == 0
    except ValueError:
        return False


def variants(heddle, name, options, plain):
    """The numbers of the program with each option that changes them."""
    for option, (default, _) in options.items():
        if option in COMMON:
            continue
        values = {"false": ["true"], "true": ["false"]}.get(default, ["0.5"] if is_zero(default) else ["0"])
        for value in values:
            found = numbers(heddle, f"{name}:{option}={value}")
            if found and found != plain:
                shown = f"{option}={value}" if value in ("true", "false", "0") else option
                yield shown, found


def row(heddle, name, options, states, measured):
    plain = numbers(heddle, name)
    others = []
    for shown, found in variants(heddle, name, options, plain):
        words = [f"{found[0]} B"] if found[0] != plain[0] else []
        words += [f"{value} {word}" for value, old, word in
                  ((found[1], plain[1], "sweeps"), (found[2], plain[2], "launches")) if value != old]
        others.append(f"`{shown}`: {', '.join(words)}")
    kept = ", ".join(f"`{state}`" for state in states)
    return f"| [`{name}`](#{name}) | {kept or '-'} | {plain[0]} | {plain[1]} | {plain[2]} | {measured} | {'; '.join(others)} |"


def section(name, summary, options, formula):
    yield f"## {name}\n\n{summary[0].upper() + summary[1:]}.\n\n```"
    yield from formula.lines()
    yield "```\n"
    started = [f"`{state}` {value:g}" for state, value in formula.states.items() if value and state != "step"]
    if started:
        yield f"Before the first step, with these defaults: {', '.join(started)}; other state is 0.\n"
    yield "| option | default | |\n|---|---|---|"
    for option, (default, meaning) in options.items():
        if option not in COMMON:
            yield f"| `{option}` | {default} | {meaning} |"
    yield ""


def whole_formula(heddle, name, options):
    """The formula with every hyperparameter whose default is 0; None if they contradict each other."""
    wanted = [option for option, (default, _) in options.items() if is_zero(default) and option not in COMMON]
    # An option whose value is part of the program is no hyperparameter.
    for _ in range(2):
        text = heddle("emit", f"{name}:{','.join(f'{option}=0.5' for option in wanted)}", "--stage", "foreach")
        if text is None:
            return None
        wanted = [option for option in wanted if re.search(rf"%{option}: ", text)]
        if not wanted:
            return None
    return Formula(text)


def common(heddle, options):
    """The options of every program, and the bytes of AdamW with those of element types."""
    yield "## Options of every optimizer\n"
    yield "| option | default | |\n|---|---|---|"
    for option in COMMON:
        default, meaning = options[option]
        words = re.sub(r" \(([\w|]+\|[\w|]+)\)$", lambda match: "; of " + match[1].replace("|", ", "), meaning)
        yield f"| `{option}` | {default} | {words} |"
    yield "\n[numerics.md](../numerics.md#rounding-at-random) has the rounding, [optim.md](../optim.md#fewer-bytes) an example.\n"
    yield "| program | bytes | launches |\n|---|---|---|"
    for settings in STORAGE:
        bytes_, _, launches = numbers(heddle, f"adamw:{settings}")
        yield f"| `adamw:{settings}` | {bytes_} | {launches} |"
    yield ""


def main(path, measured, page):
    heddle, measured = Heddle(path), Measured(measured)
    rows, sections, shared = [], [], []
    for name, (summary, options) in programs(heddle).items():
        plain = Formula(heddle("emit", name, "--stage", "foreach"))
        rows.append(row(heddle, name, options, plain.states, measured.of(name)))
        shared = shared or list(common(heddle, options))
        sections += section(name, summary, options, whole_formula(heddle, name, options) or plain)
    with open(page, "w", encoding="utf-8") as out:
        out.write(HEAD)
        out.write("| program | state | bytes | sweeps | launches | measured | with options |\n|---|---|---|---|---|---|---|\n")
        out.write("\n".join(rows) + "\n" + NOTES.format(measured=measured.sentence()) + "\n" + "\n".join(shared + sections).rstrip("\n") + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
