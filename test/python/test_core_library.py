"""The Python package declares the functions of heddle.h, finds the library, and imports quickly."""

import ctypes
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

import heddle
from heddle import _library, dtypes, errors

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = ROOT / "runtime" / "heddle.h"


def python(code, **environment):
    """Runs code in a new interpreter, with the package on its path, and returns the finished process."""
    kept = {name: value for name, value in os.environ.items() if environment.get(name, "") is not None}
    kept.update({name: value for name, value in environment.items() if value is not None})
    kept["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=kept,
                          stdin=subprocess.DEVNULL, timeout=120)


# --- the table of signatures ------------------------------------------------------------------------------------------


def header():
    text = re.sub(r"/\*.*?\*/", " ", HEADER.read_text(), flags=re.S)
    return re.sub(r"\s+", " ", text)


def kind_in_c(declaration):
    """The kind of a C type: `pointer`, `text`, a type by value, or `nothing`."""
    declaration = re.sub(r"\bconst\b", "", declaration).strip()
    if "*" in declaration:
        return "text" if re.match(r"^char \*\s*\w*$", declaration) else "pointer"
    kind = declaration.split()[0]
    return {"heddle_status": "int", "heddle_dtype": "int", "void": "nothing"}.get(kind, kind)


def kind_in_python(kind):
    if kind is None:
        return "nothing"
    by_value = {ctypes.c_int: "int", ctypes.c_double: "double", ctypes.c_char_p: "text", ctypes.c_void_p: "pointer"}
    if kind in by_value:
        return by_value[kind]
    if kind is ctypes.c_size_t:
        return "size_t"
    return "pointer"


def functions():
    found = {}
    for result, name, arguments in re.findall(r"HEDDLE_EXPORT ([\w *]+?)(\w+)\(([^)]*)\);", header()):
        listed = [] if arguments.strip() == "void" else arguments.split(",")
        found[name] = (kind_in_c(result + " "), [kind_in_c(argument) for argument in listed])
    return found


def test_the_table_has_every_function_of_the_header():
    assert len(functions()) > 30
    assert list(_library.SIGNATURES) == list(functions())


@pytest.mark.parametrize("name", list(_library.SIGNATURES))
def test_the_table_has_the_types_of_the_header(name):
    result, arguments = _library.SIGNATURES[name]
    declared_result, declared = functions()[name]
    assert kind_in_python(result) == declared_result
    # An address that is not text by itself, such as the text that heddle_free takes, may be declared either way.
    found = [kind_in_python(argument) for argument in arguments]
    assert len(found) == len(declared)
    for one, other in zip(found, declared):
        assert one == other or {one, other} == {"text", "pointer"}


def fields(struct):
    body = re.search(r"typedef struct " + struct + r" \{(.*?)\}", header()).group(1)
    return re.findall(r"(\w+) *;", body)


def test_the_structs_have_the_fields_of_the_header():
    assert [name for name, _ in _library.Options._fields_] == fields("heddle_options")
    assert [name for name, _ in _library.RawBufferInfo._fields_] == fields("heddle_buffer_info")


def test_the_enumerations_are_those_of_the_header():
    found = {name: int(value) for name, value in re.findall(r"HEDDLE_(\w+) = (\d+)", header())}
    assert {name.upper(): code for name, code in dtypes.CODES.items()}.items() <= found.items()
    assert errors.STATUSES == {found["FAILED"]: heddle.Failed, found["BAD_INPUT"]: heddle.BadInput,
                               found["UNAVAILABLE"]: heddle.Unavailable}
    assert len(found) == 1 + len(dtypes.CODES) + len(errors.STATUSES)


# --- finding the library ----------------------------------------------------------------------------------------------


def test_the_version_is_the_one_of_the_build():
    declared = re.search(r"project\(heddle VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    assert heddle.__version__ == declared == _library.expected_version()


def test_a_missing_library_is_named():
    result = python("""
        import heddle
        try:
            heddle.compile("sgd")
        except heddle.Unavailable as error:
            print(error)
        """, HEDDLE_LIBRARY="/nowhere/libheddle.so")
    assert result.stdout == (
        "HEDDLE_LIBRARY: expected libheddle.so or a folder that holds it, found '/nowhere/libheddle.so'\n")


def test_another_library_is_refused(tmp_path):
    path = tmp_path / "libheddle.so"
    path.write_text("no library")
    code = """
        import heddle
        try:
            heddle.doctor()
        except heddle.Unavailable as error:
            print(error)
        """
    assert "does not load" in python(code, HEDDLE_LIBRARY=str(tmp_path)).stdout
    stand_in = pathlib.Path(_library.library_path()).parent / "libheddle_stand_in_nvrtc.so"
    if stand_in.exists():
        assert "is not the library of heddle" in python(code, HEDDLE_LIBRARY=str(stand_in)).stdout


def test_another_version_is_refused():
    result = python("""
        import heddle
        from heddle import _library
        _library.expected_version = lambda: "0.0.1"
        try:
            heddle.doctor()
        except heddle.Unavailable as error:
            print(error)
        """)
    assert f"has version {heddle.__version__}, but the Python package has version 0.0.1" in result.stdout


def wheel_of_nvrtc(folder, place):
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return str(path)


CUDA_13, CUDA_12 = "nvidia/cu13/lib/libnvrtc.so.13", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
FREE = {"HEDDLE_NVRTC": None, "CUDA_HOME": None, "CUDA_PATH": None}


def named_nvrtc(folder, driver="None", **environment):
    """HEDDLE_NVRTC that the package sets with only `folder` on sys.path, and a driver of this version of CUDA."""
    code = f"""
        import os, sys
        from heddle import _library
        sys.path[:] = [{str(folder)!r}]
        _library._PACKAGE = "/nowhere/heddle"
        _library._driver_major = lambda: {driver}
        _library.use_nvrtc_of_environment()
        print(os.environ.get("HEDDLE_NVRTC"))
        """
    return python(code, **{**FREE, **environment}).stdout.strip()


def test_a_copy_of_the_sources_says_what_is_missing(tmp_path):
    """A package outside of a checkout, and without the file that the build writes, does not know its version."""
    shutil.copytree(pathlib.Path(heddle.__file__).parent, tmp_path / "heddle", ignore=shutil.ignore_patterns("_version.py", "*.so*"))
    code = "import heddle; print(heddle.__version__)"
    place = {**os.environ, "PYTHONPATH": str(tmp_path), "HEDDLE_LIBRARY": _library.library_path()}
    found = subprocess.run([sys.executable, "-c", code], env=place, cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode != 0 and "unknown" not in found.stderr
    for part in ("has no _version.py", str(tmp_path / "heddle"), "Install the wheel of heddle"):
        assert part in found.stderr


@pytest.mark.parametrize("place", [CUDA_13, CUDA_12])
def test_nvrtc_of_the_environment_is_named(tmp_path, place):
    path = wheel_of_nvrtc(tmp_path, place)
    assert named_nvrtc(tmp_path) == named_nvrtc(tmp_path, driver="11") == path
    assert named_nvrtc(tmp_path, HEDDLE_NVRTC="/other") == "/other"
    assert named_nvrtc(tmp_path, CUDA_HOME="/toolkit") == "None"


def test_the_driver_chooses_among_versions_of_nvrtc(tmp_path):
    newer, older = [wheel_of_nvrtc(tmp_path, place) for place in (CUDA_13, CUDA_12)]
    assert named_nvrtc(tmp_path, driver="12") == older
    assert named_nvrtc(tmp_path, driver="13") == named_nvrtc(tmp_path, driver="14") == newer
    assert named_nvrtc(tmp_path) == newer


# --- importing --------------------------------------------------------------------------------------------------------


def test_import_reads_two_files():
    """It takes a millisecond. Everything else is imported when it is first used, and the library loads at the first call."""
    result = python("""
        import sys
        before = set(sys.modules)  # the environment may load modules when Python starts
        import heddle
        print(sorted(set(sys.modules) - before - {"__future__"}))
        heddle.compile, heddle.Graph, heddle.explain
        loaded = set(sys.modules) - before
        print([name for name in ("numpy", "torch", "jax", "cupy", "dataclasses", "inspect") if name in loaded])
        print("libheddle" in open("/proc/self/maps").read())
        """)
    assert result.stdout == "['heddle', 'heddle.errors']\n[]\nFalse\n", result.stderr


@pytest.mark.parametrize("name", [*sorted({*heddle.__all__, *heddle._OTHERS}), "arrays", "dtypes", "ot"])
def test_every_name_is_imported_when_it_is_first_used(name):
    result = python(f"""
        import heddle
        first = heddle.{name}
        from heddle import {name}
        assert first is heddle.{name} is {name} is vars(heddle)["{name}"]
        """)
    assert result.returncode == 0, result.stderr


def test_without_pytorch_only_the_optimizers_are_missing():
    result = python("""
        import contextlib, inspect, io, pkgutil, sys
        sys.modules["torch"] = None
        import heddle
        assert not hasattr(heddle, "optim")
        with contextlib.redirect_stdout(io.StringIO()):
            help(heddle)
        inspect.getmembers(heddle)
        list(pkgutil.walk_packages(heddle.__path__, "heddle."))
        found = []
        for statement in ("import heddle.optim", "from heddle import optim", "from heddle.optim import AdamW"):
            try:
                exec(statement)
            except ImportError as error:
                found.append((isinstance(error, heddle.Unavailable), str(error)))
        try:
            heddle.optim.AdamW
        except AttributeError as error:
            found.append((isinstance(error, heddle.Unavailable), str(error)))
        assert len(found) == 4
        assert all(known and "heddle.optim needs PyTorch: pip install torch" in text for known, text in found), found
        """)
    assert result.returncode == 0, result.stderr


def test_the_public_names_exist():
    assert set(heddle.__all__) <= set(dir(heddle))
    for name in dir(heddle):
        if name == "optim" and importlib.util.find_spec("torch") is None:
            with pytest.raises(heddle.Unavailable, match="heddle.optim needs PyTorch: pip install torch"):
                heddle.optim
        else:
            assert getattr(heddle, name) is not None
    with pytest.raises(AttributeError, match="module 'heddle' has no attribute 'weave'"):
        heddle.weave
