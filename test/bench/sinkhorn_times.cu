// Checks and times the hand-written Sinkhorn kernels on the GPU of this machine, several size classes for each problem.
//
//   nvcc -O2 -std=c++17 -arch=sm_90 sinkhorn_times.cu -lnvrtc -lcuda -o sinkhorn_times
//   sinkhorn_times DIRECTORY [NAME]      measures the classes whose name contains NAME; DIRECTORY holds sinkhorn*.cu
//                                        and the cubins of earlier runs
//   sinkhorn_times DIRECTORY --compile   only compiles and prints the register counts; needs no GPU
//
// The reference is the classic iteration in double precision, which subtracts the maximum and reads the matrix twice.

#include <cuda.h>
#include <cuda_runtime.h>
#include <nvrtc.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

struct Class {
    const char *name;
    int element, rows, columns, threads, items;
    int group;  // thread groups if `thread_groups`, otherwise the rows of a step or of a warp
    int stages, shared;
    int cluster;  // if negative: resident in -cluster blocks
    bool thread_groups = false;
};
static const Class kClasses[] = {
    // name                 element rows  columns threads items group stages shared cluster
    {"f32 501x601 resident", 0, 501, 601, 512, 19, 2, 0, 0, -8},
    {"f32 501x601 resident c16", 0, 501, 601, 512, 19, 2, 0, 0, -16},
    {"f32 501x601 panels", 0, 501, 601, 256, 3, 4, 12, 0, 1},
    {"f32 600x600 resident", 0, 600, 600, 512, 19, 2, 0, 0, -8},
    {"f32 1000x1000 512x2 r8", 0, 1000, 1000, 512, 2, 8, 6, 0, 1},
    {"f32 1000x1000 256x4 r8", 0, 1000, 1000, 256, 4, 8, 6, 0, 1},
    {"f32 2500x2500 512x5 r2", 0, 2500, 2500, 512, 5, 2, 10, 0, 1},
    {"f32 2500x2500 512x5 r4", 0, 2500, 2500, 512, 5, 4, 5, 0, 1},
    {"f32 5001x6001 512x12 r1", 0, 5001, 6001, 512, 12, 1, 9, 0, 1},
    {"f32 5001x6001 512x12 r2", 0, 5001, 6001, 512, 12, 2, 4, 0, 1},
    {"f32 5001x6001 512x6 r4 c2", 0, 5001, 6001, 512, 6, 4, 4, 0, 2},
    {"f32 10001x12001 512x12 r2 c2", 0, 10001, 12001, 512, 12, 2, 4, 0, 2},
    {"f32 20001x20001 512x20 c2", 0, 20001, 20001, 512, 20, 1, 5, 0, 2},
    {"f64 5001x6001 512x12s", 1, 5001, 6001, 512, 12, 1, 3, 1, 1},
    {"f64 5001x6001 512x6 r2 c2", 1, 5001, 6001, 512, 6, 2, 4, 1, 2},
    {"f64 10001x12001 384x16s c2", 1, 10001, 12001, 384, 16, 1, 3, 1, 2},
    {"bf16 5001x6001 512x12 r2", 2, 5001, 6001, 512, 12, 2, 8, 0, 1},
    {"bf16 5001x6001 384x16 r2", 2, 5001, 6001, 384, 16, 2, 8, 0, 1},
    {"f16 5001x6001 512x12 r2", 3, 5001, 6001, 512, 12, 2, 8, 0, 1},
    {"f32 1000x1000 4 groups", 0, 1000, 1000, 512, 8, 4, 3, 0, 1, true},
    {"f32 2500x2500 4 groups", 0, 2500, 2500, 512, 20, 4, 4, 0, 1, true},
    {"f32 5001x6001 1 group", 0, 5001, 6001, 512, 12, 1, 8, 0, 1, true},
    {"f32 5001x6001 2 groups", 0, 5001, 6001, 512, 24, 2, 4, 0, 1, true},
    {"f32 10001x12001 2 groups c2", 0, 10001, 12001, 512, 24, 2, 3, 0, 2, true},
    {"f32 20001x20001 1 group c2", 0, 20001, 20001, 512, 20, 1, 4, 0, 2, true},
    {"f64 5001x6001 1 group", 1, 5001, 6001, 512, 12, 1, 3, 0, 1, true},
    {"f64 10001x12001 1 group c2", 1, 10001, 12001, 512, 12, 1, 3, 0, 2, true},
    {"bf16 5001x6001 2 groups", 2, 5001, 6001, 512, 24, 2, 6, 0, 1, true},
    {"f16 5001x6001 2 groups", 3, 5001, 6001, 512, 24, 2, 6, 0, 1, true},
};

#define CHECK(call)                                                                        \
    do {                                                                                   \
        int failure = (int)(call);                                                          \
        if (failure) std::printf("%s: %d\n", #call, failure), std::fflush(stdout), std::exit(1); \
    } while (0)

static std::string cubinOf(const std::string &directory, const Class &c) {
    std::string name = directory + "/" + c.name + ".cubin";
    std::replace(name.begin() + directory.size(), name.end(), ' ', '_');
    return name;
}

static std::string entryOf(const Class &c) {
    return c.cluster < 0 ? "sinkhorn_resident" : c.thread_groups ? "sinkhorn_thread_groups" : "sinkhorn";
}

static std::string contents(const std::string &name) {
    std::ifstream file(name, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// Compiles a class to a cubin and prints the registers and spills that ptxas reports.
static void compile(const std::string &directory, const Class &c) {
    bool resident = c.cluster < 0;
    std::string source = contents(directory + "/" + entryOf(c) + ".cu");
    auto define = [](const char *name, int value) { return std::string("-D") + name + "=" + std::to_string(value); };
    std::vector<std::string> options = {"--std=c++17", "--gpu-architecture=sm_90", "--fmad=false",
                                        "--ptxas-options=-v", define("ELEMENT", c.element), define("THREADS", c.threads),
                                        define("ITEMS", c.items), define(c.thread_groups ? "GROUPS" : "ROWS", c.group)};
    if (resident)
        options.push_back(define("BLOCKS", -c.cluster));
    else
        for (auto &[name, value] : {std::pair("STAGES", c.stages), {"COLUMNS_SHARED", c.shared}, {"CLUSTER", c.cluster}})
            options.push_back(define(name, value));
    std::vector<const char *> arguments;
    for (auto &option : options) arguments.push_back(option.c_str());
    nvrtcProgram program;
    CHECK(nvrtcCreateProgram(&program, source.c_str(), c.name, 0, nullptr, nullptr));
    auto status = nvrtcCompileProgram(program, (int)arguments.size(), arguments.data());
    size_t size;
    nvrtcGetProgramLogSize(program, &size);
    std::string log(size, 0), image;
    nvrtcGetProgramLog(program, log.data());
    static std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    std::stringstream lines(log);
    std::printf("%s:", c.name);
    for (std::string line; std::getline(lines, line);)
        if (status || line.find("warning") != line.npos || line.find("Used") != line.npos ||
            (line.find("spill") != line.npos && line.find(" 0 bytes spill stores") == line.npos))
            std::printf(" %s", line.c_str());
    std::printf("\n");
    std::fflush(stdout);
    if (status) std::exit(1);
    CHECK(nvrtcGetCUBINSize(program, &size));
    image.resize(size);
    CHECK(nvrtcGetCUBIN(program, image.data()));
    std::ofstream(cubinOf(directory, c), std::ios::binary) << image;
}

//----------------------------------------------------------------------------------------------------------------------
// Data and reference
//----------------------------------------------------------------------------------------------------------------------

// Costs uniform in [0, 1); with `holes`, one in eight is infinite.
__global__ void fillCost(void *to, double *wide, int element, size_t count, int columns, bool holes) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) {
        unsigned x = (unsigned)i * 2654435761u ^ (unsigned)(i >> 32);
        x ^= x >> 15, x *= 2246822519u, x ^= x >> 13, x *= 3266489917u, x ^= x >> 16;
        float value = (x >> 8) * 0x1p-24f;
        if (holes && x % 8 == 0 && i / columns % 7 != i % columns % 7) value = INFINITY;
        if (element == 2) {
            unsigned bits = __float_as_uint(value) & 0xffff0000u;
            ((unsigned short *)to)[i] = bits >> 16;
            value = __uint_as_float(bits);
        } else if (element == 3) {
            unsigned short half;
            asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
            asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
            ((unsigned short *)to)[i] = half;
        } else if (element == 1) {
            ((double *)to)[i] = value;
        } else {
            ((float *)to)[i] = value;
        }
        wide[i] = value;
    }
}

__device__ void addLog(double &most, double &sum, double x) {
    if (x == -INFINITY) return;
    if (x > most) sum = sum * exp(most - x) + 1, most = x;
    else sum += exp(x - most);
}
__global__ void referenceRow(const double *c, double eps, int rows, int columns, const double *a, double *u, const double *v) {
    __shared__ double m[256], s[256];
    double most = -INFINITY, sum = 0;
    for (int j = threadIdx.x; j < columns; j += 256) addLog(most, sum, -c[(size_t)blockIdx.x * columns + j] / eps + v[j]);
    m[threadIdx.x] = most, s[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int t = 1; t < 256; ++t)
            if (s[t] > 0) {
                double top = fmax(most, m[t]);
                sum = sum * exp(most - top) + s[t] * exp(m[t] - top), most = top;
            }
        u[blockIdx.x] = a[blockIdx.x] - (most + log(sum));
    }
}
__global__ void referenceColumn(const double *c, double eps, int rows, int columns, const double *b, const double *u, double *v) {
    __shared__ double m[32][33], s[32][33];
    int j = blockIdx.x * 32 + threadIdx.x;
    double most = -INFINITY, sum = 0;
    if (j < columns)
        for (int i = threadIdx.y; i < rows; i += 32) addLog(most, sum, -c[(size_t)i * columns + j] / eps + u[i]);
    m[threadIdx.y][threadIdx.x] = most, s[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && j < columns) {
        for (int t = 1; t < 32; ++t)
            if (s[t][threadIdx.x] > 0) {
                double top = fmax(most, m[t][threadIdx.x]);
                sum = sum * exp(most - top) + s[t][threadIdx.x] * exp(m[t][threadIdx.x] - top), most = top;
            }
        v[j] = b[j] - (most + log(sum));
    }
}

template <class T>
static T *allocate(size_t count) {
    void *p;
    CHECK(cudaMalloc(&p, count * sizeof(T) + 256));
    return (T *)p;
}
template <class Real>
static std::vector<double> fetch(const Real *from, size_t count) {
    std::vector<Real> x(count);
    CHECK(cudaMemcpy(x.data(), from, count * sizeof(Real), cudaMemcpyDeviceToHost));
    return {x.begin(), x.end()};
}
template <class Real>
static void put(Real *to, const std::vector<double> &from) {
    std::vector<Real> x(from.begin(), from.end());
    CHECK(cudaMemcpy(to, x.data(), x.size() * sizeof(Real), cudaMemcpyHostToDevice));
}
// Returns the largest difference over the largest magnitude; infinities must be equal.
static double difference(const std::vector<double> &a, const std::vector<double> &b) {
    double most = 0, off = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        if (std::isinf(b[i]) && a[i] == b[i]) continue;
        if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return INFINITY;
        most = std::max(most, std::fabs(b[i]));
        off = std::max(off, std::fabs(a[i] - b[i]));
    }
    return off / std::max(most, 1.0);
}

//----------------------------------------------------------------------------------------------------------------------
// One class
//----------------------------------------------------------------------------------------------------------------------

template <class Real>
struct Arguments {
    const void *c;
    long long stride;
    int rows, columns;
    const Real *log_a, *log_b;
    Real *u, *v;
    const Real *eps, *tolerance;
    const int *limit;
    int *iterations;
    Real *error, *partial, *panel_error;  // the resident kernel takes the fields up to `error`
    unsigned *barrier;
};

struct Matrix {  // reused by all classes of a size
    void *c = nullptr;
    double *wide = nullptr;
    int element = -1, rows = 0, columns = 0, holes = -1;
};

template <class Real>
static void measure(const std::string &directory, const Class &c, Matrix &matrix) {
    size_t count = (size_t)c.rows * c.columns;
    int size = c.element == 1 ? 8 : c.element == 0 ? 4 : 2, blocks = std::abs(c.cluster);
    bool resident = c.cluster < 0;
    CUmodule module;
    CUfunction kernel;
    std::string image = contents(cubinOf(directory, c));
    CHECK(cuModuleLoadData(&module, image.data()));
    CHECK(cuModuleGetFunction(&kernel, module, entryOf(c).c_str()));
    int width = (c.columns + blocks - 1) / blocks;
    int second = resident ? (c.rows + blocks - 1) / blocks : ((width * size + 15) / 16 + 1) * 16;
    int dynamic = resident ? (int)sizeof(Real) * ((c.threads / 32 + 2) * 32 * c.items + 32 * blocks + second * (c.columns + 3))
                           : c.stages * c.group * second +
                                 (c.thread_groups ? c.group / 2 * (c.threads / c.group) : c.shared * c.threads) * c.items * (int)sizeof(Real);
    if (cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic)) {
        std::printf("%-28s %d bytes of shared memory exceed the limit\n", c.name, dynamic);
        return;
    }
    if (blocks > 8) CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    int registers, spilled;
    CHECK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel));
    CHECK(cuFuncGetAttribute(&spilled, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, kernel));

    Arguments<Real> s = {};
    s.stride = s.columns = c.columns, s.rows = c.rows;
    Real *a = allocate<Real>(c.rows), *b = allocate<Real>(c.columns), *scalars = allocate<Real>(2);
    s.log_a = a, s.log_b = b, s.u = allocate<Real>(c.rows), s.v = allocate<Real>(c.columns);
    s.eps = scalars, s.tolerance = scalars + 1;
    int *limit = allocate<int>(2);
    s.limit = limit, s.iterations = limit + 1;
    s.error = allocate<Real>(1), s.partial = allocate<Real>(132 * (size_t)c.columns), s.panel_error = allocate<Real>(8 * 132);
    s.barrier = allocate<unsigned>(1);
    CHECK(cudaMemset(s.barrier, 0, 4));
    double *wideA = allocate<double>(c.rows), *wideB = allocate<double>(c.columns), *wideU = allocate<double>(c.rows),
           *wideV = allocate<double>(c.columns);

    auto prepare = [&](double eps, double tolerance, int iterations, bool holes) {
        if (matrix.element != c.element || matrix.rows != c.rows || matrix.columns != c.columns || matrix.holes != holes) {
            if (matrix.rows != c.rows || matrix.columns != c.columns || matrix.element != c.element) {
                cudaFree(matrix.c), cudaFree(matrix.wide);
                matrix.c = allocate<char>(count * size), matrix.wide = allocate<double>(count);
            }
            matrix.element = c.element, matrix.rows = c.rows, matrix.columns = c.columns, matrix.holes = holes;
            fillCost<<<1056, 256>>>(matrix.c, matrix.wide, c.element, count, c.columns, holes);
        }
        s.c = matrix.c;
        std::vector<double> logA(c.rows), logB(c.columns);
        double all = 0;
        for (int i = 0; i < c.rows; ++i) all += logA[i] = holes && i % 11 == 3 ? 0 : 1 + i % 5;
        for (auto &x : logA) x = std::log(x / all);
        all = 0;
        for (int j = 0; j < c.columns; ++j) all += logB[j] = holes && j % 13 == 5 ? 0 : 1 + j % 3;
        for (auto &x : logB) x = std::log(x / all);
        put(a, logA), put(b, logB), put(wideA, logA), put(wideB, logB);
        put(scalars, {eps, tolerance});
        CHECK(cudaMemcpy(limit, &iterations, 4, cudaMemcpyHostToDevice));
    };
    auto start = [&] {
        CHECK(cudaMemset(s.u, 0, c.rows * sizeof(Real)));
        CHECK(cudaMemset(s.v, 0, c.columns * sizeof(Real)));
    };
    int grid = resident ? blocks : 132 / blocks * blocks;
    bool cooperative = !resident;
    auto launch = [&](int grid) {
        CUlaunchAttribute attribute = {};
        attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attribute.value.cooperative = 1;
        CUlaunchConfig config = {};
        config.gridDimX = grid, config.gridDimY = config.gridDimZ = 1;
        config.blockDimX = c.threads, config.blockDimY = config.blockDimZ = 1;
        config.sharedMemBytes = dynamic, config.attrs = &attribute, config.numAttrs = cooperative;
        void *arguments[] = {&s, &second};
        return cuLaunchKernelEx(&config, kernel, arguments, nullptr);
    };
    auto compare = [&](double eps, int iterations, bool holes, int grid) {
        prepare(eps, -1, iterations, holes);
        start();
        CUresult status = launch(grid);
        if (status && cooperative) {
            std::printf("%s: cooperative launch failed (%d), using an ordinary launch\n", c.name, status);
            cooperative = false;
            status = launch(grid);
        }
        CHECK(status);
        CHECK(cudaMemset(wideV, 0, c.columns * 8));
        for (int k = 0; k < iterations; ++k) {
            referenceRow<<<c.rows, 256>>>(matrix.wide, eps, c.rows, c.columns, wideA, wideU, wideV);
            referenceColumn<<<(c.columns + 31) / 32, dim3(32, 32)>>>(matrix.wide, eps, c.rows, c.columns, wideB, wideU, wideV);
        }
        CHECK(cudaDeviceSynchronize());
        return std::max(difference(fetch(s.u, c.rows), fetch(wideU, c.rows)),
                        difference(fetch(s.v, c.columns), fetch(wideV, c.columns)));
    };

    bool large = count > 100e6;
    double off = compare(0.05, large ? 3 : 20, false, grid);
    auto bits = fetch(s.v, c.columns);
    bool same = true;
    if (!resident && !large) {
        prepare(0.05, -1, 20, false), start();
        CHECK(launch(grid / blocks * 3 / 4 * blocks));
        CHECK(cudaDeviceSynchronize());
        same = fetch(s.v, c.columns) == bits;
    }
    // A small eps, zero weights and infinite costs need the fallbacks.
    double sharp = large ? 0 : compare(0.0005, 6, true, grid);

    prepare(0.05, -1, 100, false);
    cudaEvent_t from, to;
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    std::vector<float> times;
    std::vector<double> first;
    for (int k = 0; k < (large ? 5 : 9); ++k) {
        start();
        CHECK(cudaEventRecord(from));
        CHECK(launch(grid));
        CHECK(cudaEventRecord(to));
        CHECK(cudaDeviceSynchronize());
        float ms;
        CHECK(cudaEventElapsedTime(&ms, from, to));
        times.push_back(ms);
        auto v = fetch(s.v, c.columns);
        if (k == 0) first = v;
        same &= v == first;
    }
    std::sort(times.begin(), times.end());
    double error = fetch(s.error, 1)[0], floor = 100.0 * count * size / 4.245e12 * 1e3;
    // Stop at a tolerance between the errors of two iterations.
    prepare(0.05, 1e-3, 100, false), start();
    CHECK(launch(grid));
    int stopped;
    CHECK(cudaMemcpy(&stopped, s.iterations, 4, cudaMemcpyDeviceToHost));
    std::printf("%-28s %8.4f ms  floor %7.3f  ratio %5.2f | registers %3d local %d shared %6d | difference %.1e, in fallbacks "
                "%.1e %s| error %.1e, stops after %d\n",
                c.name, times[times.size() / 2], floor, times[times.size() / 2] / floor, registers, spilled, dynamic, off,
                sharp, same ? "" : "BITS DIFFER ", error, stopped);
    std::fflush(stdout);
    for (void *p : {(void *)a, (void *)b, (void *)scalars, (void *)s.u, (void *)s.v, (void *)limit, (void *)s.error,
                    (void *)s.partial, (void *)s.panel_error, (void *)s.barrier, (void *)wideA, (void *)wideB, (void *)wideU,
                    (void *)wideV})
        cudaFree(p);
    cuModuleUnload(module);
}

int main(int argc, char **argv) {
    std::string directory = argc > 1 ? argv[1] : "handwritten", only = argc > 2 ? argv[2] : "";
    bool compileOnly = only == "--compile";
    std::vector<std::thread> threads;
    for (const Class &c : kClasses) {
        if (!compileOnly && std::ifstream(cubinOf(directory, c)).good()) continue;
        threads.emplace_back(compile, directory, c);
        if (threads.size() % std::max(1u, std::thread::hardware_concurrency()) == 0)
            for (auto &thread : threads)
                if (thread.joinable()) thread.join();
    }
    for (auto &thread : threads)
        if (thread.joinable()) thread.join();
    if (compileOnly) return 0;
    CHECK(cudaFree(nullptr));
    Matrix matrix;
    for (const Class &c : kClasses)
        if (only.empty() || std::strstr(c.name, only.c_str())) {
            if (c.element == 1)
                measure<double>(directory, c, matrix);
            else
                measure<float>(directory, c, matrix);
        }
}
