#!/usr/bin/env python3
"""Writes the reference pages of the Python package from its docstrings; `tools/dev docs` calls it.

    python_reference.py PACKAGE OUT         writes OUT/heddle.md, OUT/heddle.optim.md, ... and OUT/README.md

A page has the names in the `__all__` of one package: signatures, docstrings, and the public methods of classes. The
sources are parsed, not imported, so the pages are the same on every machine. Only the table of optimizers is imported,
which needs nothing but Python: heddle makes the classes of `heddle.optim` and the functions of `heddle.optim.functional`
of it. The names that `heddle` takes from its folder `_rule` have a page of their own, `heddle.rule`.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ast
import importlib
import inspect
import os
import re
import sys
import types

WIDTH = 120
# The sections of a docstring whose items become a list.
SECTIONS = ("Args", "Arguments", "Attributes", "Returns", "Raises", "Yields")


class Module:
    """A parsed file: its definitions, and the names that it imports from files of the package."""

    def __init__(self, path):
        self.path = path
        with open(path, encoding="utf-8") as file:
            self.source = file.read()
        self.tree = ast.parse(self.source, path)
        self.lines = self.source.splitlines()
        self.definitions, self.imports, self.public = {}, {}, []
        for node in self.tree.body:
            self._read(node)

    def _read(self, node):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            self.definitions.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.ImportFrom) and node.level:
            for alias in node.names:
                self.imports[alias.asname or alias.name] = (node.level, node.module, alias.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name) and target.id == "__all__":
                    self.public = sorted(_strings(node.value))
                elif isinstance(target, ast.Name):
                    self.definitions.setdefault(target.id, []).append(node)
        elif isinstance(node, ast.If):
            for child in node.body + node.orelse:
                self._read(child)


def _strings(node):
    return [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def load(folder, module):
    """The file of a module in a folder, or None."""
    base = os.path.join(folder, *module.split(".")) if module else folder
    for path in (base + ".py", os.path.join(base, "__init__.py")):
        if os.path.isfile(path):
            return Module(path)
    return None


def find(module, name):
    """The module that defines a name, and its definitions: several if it is overloaded."""
    seen = set()
    while name not in module.definitions:
        if name not in module.imports or (module.path, name) in seen:
            return module, []
        seen.add((module.path, name))
        level, source, original = module.imports[name]
        folder = module.path
        for _ in range(level):
            folder = os.path.dirname(folder)
        found = load(folder, source) or module
        if original not in found.definitions and original not in found.imports:
            inner = load(folder, f"{source}.{original}" if source else original)
            return (inner, []) if inner else (module, [])
        module, name = found, original
    return module, module.definitions[name]


# ----------------------------------------------------------------------------------------------------------------------
# Signatures
# ----------------------------------------------------------------------------------------------------------------------


def signature(function, name, method=False):
    """`name(arguments) -> result`, on one line if it fits."""
    arguments = function.args
    parts = []
    positional = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    for place, (argument, default) in enumerate(zip(positional, defaults)):
        if not (method and place == 0):
            parts.append(_argument(argument, default))
        if place + 1 == len(arguments.posonlyargs):
            parts.append("/")
    if arguments.vararg:
        parts.append("*" + _argument(arguments.vararg, None))
    elif arguments.kwonlyargs:
        parts.append("*")
    parts += [_argument(argument, default) for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    if arguments.kwarg:
        parts.append("**" + _argument(arguments.kwarg, None))
    result = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    line = f"{name}({', '.join(parts)}){result}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){result}"


def _argument(argument, default):
    text = argument.arg
    if argument.annotation:
        text += f": {ast.unparse(argument.annotation)}"
    if default is not None:
        text += f" = {ast.unparse(default)}" if argument.annotation else f"={ast.unparse(default)}"
    return text


def decorators(function):
    return [ast.unparse(decorator) for decorator in function.decorator_list]


# ----------------------------------------------------------------------------------------------------------------------
# Docstrings
# ----------------------------------------------------------------------------------------------------------------------


def markdown(text):
    """A docstring in Google's style as Markdown: `names`, ``code``, indented examples, sections as lists."""
    text = re.sub(r"\n*Part of heddle, under the Apache License.*", "", text, flags=re.S)
    lines, out, section = text.splitlines(), [], False
    for place, line in enumerate(lines):
        heading = re.fullmatch(r"(\w+):", line)
        if heading and heading.group(1) in SECTIONS:
            section = True
            out += [f"*{heading.group(1)}*", ""]
            continue
        if line and not line.startswith(" "):
            section = False
        if section and line.startswith("    "):
            item = re.match(r"    (\*{0,2}[\w, .*]+?): (.*)", line)
            if item and not line.startswith("     "):
                out.append(f"* `{item.group(1)}`: {_code(item.group(2))}")
            elif line.startswith("     "):
                out.append(f"  {_code(line.strip())}")
            else:
                out.append(_code(line.strip()))
        else:
            out.append(line if line.startswith("    ") else _code(line))
    return "\n".join(out).strip()


def _code(line):
    return line.replace("``", "`")


def comment_above(module, node):
    """The text of the `#:` comments above an assignment."""
    lines, place = [], node.lineno - 2
    while place >= 0 and module.lines[place].strip().startswith("#:"):
        lines.insert(0, module.lines[place].strip()[2:].strip())
        place -= 1
    return _code(" ".join(lines))


# ----------------------------------------------------------------------------------------------------------------------
# Pages
# ----------------------------------------------------------------------------------------------------------------------


def describe_functions(functions, name, level, method=False):
    """A function, with all its overloads."""
    shown = [one for one in functions if "overload" in decorators(one)] or functions[-1:]
    text = next((doc for doc in (ast.get_docstring(one) for one in reversed(functions)) if doc), "")
    kinds = decorators(functions[-1])
    block = "\n".join(signature(one, name, method and "staticmethod" not in kinds) for one in shown)
    note = next((f"*{kind.rpartition('.')[2]}*\n\n" for kind in kinds if kind in ("classmethod", "staticmethod")), "")
    return f"{'#' * level} `{name}`\n\n{note}```python\n{block}\n```\n\n{markdown(text)}\n"


def describe_property(function, name, level):
    result = f": {ast.unparse(function.returns)}" if function.returns else ""
    return f"{'#' * level} `{name}`\n\n```python\n{name}{result}  # property\n```\n\n" \
           f"{markdown(ast.get_docstring(function) or '')}\n"


def describe_class(module, node, name):
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    out = [f"## `{name}`\n\n```python\nclass {name}{f'({bases})' if bases else ''}\n```\n\n"
           f"{markdown(ast.get_docstring(node) or '')}\n"]
    fields, methods = [], {}
    for child in node.body:
        if isinstance(child, ast.FunctionDef):
            methods.setdefault(child.name, []).append(child)
        elif isinstance(child, ast.AnnAssign) and not child.target.id.startswith("_"):
            fields.append(f"* `{child.target.id}: {ast.unparse(child.annotation)}`  {comment_above(module, child)}".rstrip())
        elif isinstance(child, ast.Assign) and isinstance(child.targets[0], ast.Name) \
                and not child.targets[0].id.startswith("_"):
            fields.append(f"* `{ast.unparse(child)}`  {comment_above(module, child)}".rstrip())
    if fields:
        out.append("\n".join(fields) + "\n")
    for method, functions in methods.items():
        documented = any(ast.get_docstring(one) for one in functions)
        if method == "__init__" and (documented or re.search(r"^Args:", ast.get_docstring(node) or "", re.M)):
            out.append(describe_functions(functions, name, 3, method=True))
        elif not method.startswith("_") or (method == "__call__" and documented):
            if any(kind == "property" or kind.endswith("cached_property") for kind in decorators(functions[0])):
                out.append(describe_property(functions[0], f"{name}.{method}", 3))
            else:
                out.append(describe_functions(functions, f"{name}.{method}", 3, method=True))
    return "\n".join(out)


def describe(package, name):
    module, nodes = find(package, name)
    if not nodes:
        text = markdown(ast.get_docstring(module.tree) or "") if module is not package else ""
        return f"## `{name}`\n\n{text}\n"
    if isinstance(nodes[-1], ast.ClassDef):
        return describe_class(module, nodes[-1], name)
    if isinstance(nodes[-1], ast.FunctionDef):
        return describe_functions([node for node in nodes if isinstance(node, ast.FunctionDef)], name, 2)
    return f"## `{name}`\n\n```python\n{_assignment(nodes[-1])}\n```\n\n{comment_above(module, nodes[-1])}\n"


def _assignment(node):
    """`name = value`; the type instead of a value that is computed at length."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.value, (ast.DictComp, ast.ListComp, ast.SetComp)):
        return f"{node.target.id}: {ast.unparse(node.annotation)}"
    return ast.unparse(node)


def imported(package, name):
    """A module of `heddle.optim`, without the rest of the package, which needs PyTorch."""
    folder = os.path.dirname(package.path)
    for parent, path in (("heddle", os.path.dirname(folder)), ("heddle.optim", folder)):
        sys.modules[parent] = types.ModuleType(parent)
        sys.modules[parent].__path__ = [path]
    return importlib.import_module(f"heddle.optim.{name}")


def functions(package):
    """The functions of `heddle.optim.functional`, from the table of optimizers."""
    arguments = imported(package, "_arguments")
    for spec in imported(package, "_table").SPECS.values():
        if spec.functional is None:
            continue
        name, parts, keyword = arguments.function_name(spec), [], False
        for each in arguments.arguments_of(spec).parameters.values():
            if each.kind is each.KEYWORD_ONLY and not keyword:
                parts, keyword = [*parts, "*"], True
            parts.append(each.name if each.default is each.empty else f"{each.name}={each.default!r}")
        body = "".join(f"    {part},\n" for part in parts)
        yield f"## `{name}`\n\n```python\n{name}(\n{body})\n```\n\n{markdown(arguments.docstring(spec))}\n"


def optimizers(package):
    """The classes of `heddle.optim`, from its table."""
    for spec in imported(package, "_table").SPECS.values():
        parts = ["params"]
        for name, default in spec.defaults.items():
            parts += ["*"] if name == spec.keyword_only else []
            parts.append(f"{name}={default!r}")
        line = f"class {spec.name}({', '.join(parts)})"
        if len(line) > WIDTH:
            line = f"class {spec.name}(\n" + "".join(f"    {part},\n" for part in parts) + ")"
        yield f"## `{spec.name}`\n\n```python\n{line}\n```\n\n{markdown(spec.doc)}\n\n" \
              "Its methods are those of [`Optimizer`](#optimizer) and of `torch.optim.Optimizer`.\n"


def page(title, package):
    """The page of a package or module."""
    parts = [f"# {title}\n\n<!-- Written by tools/python_reference.py from the docstrings. -->\n\n"
             f"{markdown(ast.get_docstring(package.tree) or '')}\n"]
    names = package.public or [name for name in package.definitions if not name.startswith("_") and name != "TYPE_CHECKING"]
    if title == "heddle.optim":
        parts += optimizers(package)
    if title == "heddle.optim.functional" and os.path.isfile(os.path.join(os.path.dirname(package.path), "_table.py")):
        parts += functions(package)
    parts += [describe(package, name) for name in names]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


def rules(root, heddle):
    """The page of rules: what `heddle` imports from the folder `_rule` when it is first used."""
    package = Module(os.path.join(root, "_rule", "__init__.py"))
    names = [name for name, (_, source, _) in heddle.imports.items() if (source or "").startswith("_rule.")]
    package.public = sorted(names, key=lambda name: (name != "rule", name == name.lower(), name))
    package.imports = {name: (level, source.removeprefix("_rule."), original)
                       for name, (level, source, original) in heddle.imports.items() if name in names}
    return package


def packages(root):
    """The public packages and modules: the root, its subpackages, and modules that it imports when first used."""
    heddle = Module(os.path.join(root, "__init__.py"))
    yield "heddle", heddle
    if os.path.isdir(os.path.join(root, "_rule")):
        yield "heddle.rule", rules(root, heddle)
    for name in sorted(os.listdir(root)):
        path = os.path.join(root, name, "__init__.py")
        if os.path.isfile(path) and not name.startswith("_"):
            package = Module(path)
            yield f"heddle.{name}", package
            for inner in sorted(os.listdir(os.path.dirname(path))):
                if inner.endswith(".py") and not inner.startswith("_"):
                    yield f"heddle.{name}.{inner[:-3]}", Module(os.path.join(root, name, inner))
        elif name in ("arrays.py", "dtypes.py"):
            yield f"heddle.{name[:-3]}", Module(os.path.join(root, name))


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: python_reference.py PACKAGE OUT")
    root, out = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    for stale in os.listdir(out):
        if stale.endswith(".md"):
            os.remove(os.path.join(out, stale))
    rows = []
    for title, package in packages(root):
        with open(os.path.join(out, title + ".md"), "w", encoding="utf-8") as file:
            file.write(page(title, package))
        summary = inspect.cleandoc(ast.get_docstring(package.tree) or "").split("\n")[0]
        rows.append(f"| [{title}]({title}.md) | {_code(summary)} |")
    with open(os.path.join(out, "README.md"), "w", encoding="utf-8") as file:
        file.write("# The Python package\n\n<!-- Written by tools/python_reference.py from the docstrings. -->\n\n"
                   "| module | contents |\n|---|---|\n" + "\n".join(rows) + "\n\n[python.md](../../python.md) has the "
                   "installation and the environment.\n")


if __name__ == "__main__":
    main()
