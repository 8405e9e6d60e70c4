# The lit suites: one folder of tests each (dialect, passes, codegen, cli). The unit and GPU tests are GTest binaries.
#
# Features for REQUIRES: lines: `nvrtc` (NVRTC can be loaded), `gpu` (the driver finds a GPU).

import ctypes
import glob
import os
import sys

import lit.formats

config.name = "heddle"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test"]
config.excludes = ["unit", "gpu", "fuzz", "bench", "programs", "support", "python", "Inputs", "inputs", "CMakeLists.txt"]
config.test_source_root = os.path.join(config.heddle_source, "test")
config.test_exec_root = os.path.join(config.heddle_build, "test")

binaries = os.path.join(config.heddle_build, "bin")
libraries = os.path.join(config.heddle_build, "lib")

config.substitutions += [
    ("%heddle_opt", os.path.join(binaries, "heddle-opt")),
    ("%heddle_lib", os.path.join(libraries, "libheddle.so")),
    ("%heddle_build", config.heddle_build),
    ("%version", config.heddle_version),
    ("%heddle_src", config.heddle_source),
    ("%heddle", os.path.join(binaries, "heddle")),
    ("%shapes", os.path.join(config.heddle_source, "examples", "shapes", "models.json")),
    ("%python", sys.executable),
    ("%cxx", config.host_cxx),
    ("%cc", config.host_cc),
]

environment = config.environment
environment["PATH"] = os.pathsep.join([binaries, config.llvm_tools, environment.get("PATH", os.environ["PATH"])])
environment["FILECHECK_OPTS"] = "-enable-var-scope"
environment["NO_COLOR"] = "1"
# Tests do not use the cache of the user.
environment["HEDDLE_CACHE_DIR"] = os.path.join(config.test_exec_root, "cache")
for name in ("HOME", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "VIRTUAL_ENV",
             "ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        environment[name] = os.environ[name]


def loads(*names):
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    return None


def has_nvrtc():
    toolkits = [os.environ[n] for n in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(n)]
    toolkits.append("/usr/local/cuda")
    names = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]
    for toolkit in toolkits:
        for folder in ("lib64", "lib"):
            names += sorted(glob.glob(os.path.join(toolkit, folder, "libnvrtc.so*")))
    return loads(*names) is not None


def has_gpu():
    driver = loads("libcuda.so.1")
    count = ctypes.c_int(0)
    return bool(driver and driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value)


if has_nvrtc():
    config.available_features.add("nvrtc")
if has_gpu():
    config.available_features.add("gpu")
