"""tools/check_wheel.py accepts a good wheel of heddle and names each mistake of a bad one."""

import importlib.util
import pathlib
import shutil
import subprocess
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
specification = importlib.util.spec_from_file_location("check_wheel", ROOT / "tools" / "check_wheel.py")
check_wheel = importlib.util.module_from_spec(specification)
specification.loader.exec_module(check_wheel)

NAME = "heddle-1.2.3-cp310-abi3-manylinux_2_34_x86_64.whl"
COMPILER = next((path for path in map(shutil.which, ("cc", "gcc", "clang", "/usr/lib/llvm-22/bin/clang")) if path), None)
READELF = next((path for path in map(shutil.which, ("readelf", "/usr/lib/llvm-22/bin/llvm-readelf")) if path), None)
pytestmark = pytest.mark.skipif(not COMPILER or not READELF, reason="needs a C compiler and readelf")

GOOD = {"heddle/libheddle.so": "#include <stdlib.h>\nvoid *heddle_version(void) { return malloc(1); }",
        "heddle/_fast_native.abi3.so": "void *PyInit__fast_native(void) { return 0; }"}


def build(folder, name=NAME, sources=GOOD, options=(), leave_out=(), extra=()):
    """A wheel whose libraries have these sources, linked with these options."""
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        for member in ("heddle/", *check_wheel.FILES, "heddle-1.2.3.dist-info/licenses/LICENSE", *extra):
            if member in leave_out:
                continue
            if member not in sources:
                archive.writestr(member, "")
                continue
            source, library = folder / "source.c", folder / "library.so"
            source.write_text(sources[member])
            subprocess.run([COMPILER, "-shared", "-fPIC", str(source), "-o", str(library), *options], check=True)
            archive.write(library, member)
    return check_wheel.check(str(path), READELF)


def test_a_good_wheel(tmp_path):
    mistakes, line = build(tmp_path)
    assert mistakes == []
    assert line.startswith(NAME) and "needs glibc 2." in line


@pytest.mark.parametrize("change, message", [
    (dict(name="heddle-1.2.3-cp310-abi3-linux_x86_64.whl"), "expected a name like"),
    (dict(name=NAME.replace("2_34", "2_36")), "expected a tag of glibc 2.34 or older"),
    (dict(leave_out=["heddle/_version.py"]), "expected the file heddle/_version.py"),
    (dict(leave_out=["heddle-1.2.3.dist-info/licenses/LICENSE"]), "expected the file LICENSE"),
    (dict(extra=["heddle/__pycache__/graph.cpython-311.pyc"]), "expected no file heddle/__pycache__"),
    (dict(sources={**GOOD, "heddle/libheddle.so": "int heddle_version; int _ZN4llvm5valueE;"}),
     "expected only exports of heddle, found _ZN4llvm5valueE"),
    (dict(sources={**GOOD, "heddle/_fast_native.abi3.so": "static int hidden;"}), "_fast_native.abi3.so: expected only"),
    (dict(options=["-Wl,--no-as-needed", "-ldl", "-lresolv"]), "found libresolv.so.2"),
])
def test_mistakes_are_named(tmp_path, change, message):
    mistakes, _ = build(tmp_path, **change)
    assert any(message in mistake for mistake in mistakes), mistakes


def test_a_later_glibc_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(check_wheel, "MAX_GLIBC", (2, 1))
    mistakes, _ = build(tmp_path)
    assert any("needs glibc 2.2.5 for malloc" in mistake for mistake in mistakes), mistakes


def test_a_large_wheel_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(check_wheel, "MAX_BYTES", 10)
    assert any(mistake.startswith("expected at most 10 bytes") for mistake in build(tmp_path)[0])
