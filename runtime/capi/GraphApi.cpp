//===- GraphApi.cpp - Graphs through the C interface ----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/CApi.h"
#include "runtime/cpu/CpuGraph.h"
#include "runtime/cuda/Graph.h"
#include "runtime/support/Environment.h"

#include <algorithm>

using namespace llvm;
using namespace heddle::runtime;

namespace {

Expected<DType> readDType(heddle_dtype dtype) {
  if (dtype < HEDDLE_F64 || dtype > HEDDLE_I64)
    return badInput("dtype: expected a heddle_dtype, found " +
                    Twine(static_cast<int>(dtype)));
  return static_cast<DType>(dtype);
}

/// A larger number of members is a mistake; its arrays could not be allocated.
constexpr size_t maxMembers = size_t(1) << 31;

Error checkCount(const char *name, size_t members) {
  if (members <= maxMembers)
    return Error::success();
  return badInput(Twine("'") + name +
                  "': expected at most 2^31 members, found " + Twine(members));
}

/// Checks the arrays of a list, so that they can be read.
Error checkArrays(const char *name, const TensorArrays &arrays) {
  if (arrays.members && (!arrays.pointers || !arrays.ranks))
    return badInput(Twine("'") + name + "': expected an address for '" +
                    (arrays.pointers ? "ranks" : "pointers") + "', found null");
  if (Error error = checkCount(name, arrays.members))
    return error;
  for (size_t member = 0; member < arrays.members; ++member) {
    int rank = arrays.ranks[member];
    if (rank < 0 || rank > 64)
      return badInput(Twine("'") + name + "', member " + Twine(member) +
                      ": expected 0..64 dimensions, found " + Twine(rank));
    if (rank > 0 && !arrays.extents)
      return badInput(Twine("'") + name + "', member " + Twine(member) +
                      ": expected an address for 'extents', found null");
  }
  return Error::success();
}

/// Binds a list to an argument or a result. `function` is the one that the
/// caller has called.
template <typename Bind>
heddle_status bindMembers(const char *function, heddle_graph *graph,
                          const char *name, heddle_dtype dtype,
                          const TensorArrays &arrays, Bind bind) {
  return callGuarded([&]() -> Error {
    if (Error error = HEDDLE_REQUIRE(function, graph, name))
      return error;
    Expected<DType> type = readDType(dtype);
    if (!type)
      return type.takeError();
    if (Error error = checkArrays(name, arrays))
      return error;
    return bind(*type);
  });
}

heddle_status bindList(const char *function, heddle_graph *graph,
                       const char *name, heddle_dtype dtype,
                       const TensorArrays &arrays) {
  return bindMembers(function, graph, name, dtype, arrays, [&](DType type) {
    return graph->graph->bindList(name, type, arrays);
  });
}

heddle_status bindResult(const char *function, heddle_graph *graph,
                         const char *name, heddle_dtype dtype,
                         const TensorArrays &arrays) {
  return bindMembers(function, graph, name, dtype, arrays, [&](DType type) {
    return graph->graph->bindResult(name, type, arrays);
  });
}

/// Creates a graph for the executable's target, on the device whose context is
/// current (or device 0).
Expected<std::unique_ptr<ProgramGraph>>
createGraphOf(std::shared_ptr<Executable> executable) {
  if (executable->target() == Target::Cpu)
    return CpuGraph::create(std::move(executable));
  Expected<ContextPtr> context = Context::current();
  if (!context)
    return context.takeError();
  return Graph::create(std::move(executable), *context);
}

} // namespace

extern "C" {

heddle_status heddle_graph_create(heddle_executable *executable,
                                  heddle_graph **graph) {
  return callGuarded([&]() -> Error {
    ForkDelay delay;
    if (Error error = HEDDLE_REQUIRE("heddle_graph_create", executable, graph))
      return error;
    if (Error error = checkEnvironment())
      return error;
    Expected<std::unique_ptr<ProgramGraph>> created =
        createGraphOf(executable->executable);
    if (!created)
      return created.takeError();
    *graph = new heddle_graph{std::move(*created)};
    return Error::success();
  });
}

void heddle_graph_free(heddle_graph *graph) {
  freeGuarded([&] { delete graph; });
}

heddle_status heddle_bind_list(heddle_graph *graph, const char *name,
                               heddle_dtype dtype, size_t members,
                               void *const *pointers, const int *ranks,
                               const int64_t *extents) {
  return bindList("heddle_bind_list", graph, name, dtype,
                  {members, pointers, ranks, extents, /*strides=*/nullptr});
}

heddle_status heddle_bind_list_strided(heddle_graph *graph, const char *name,
                                       heddle_dtype dtype, size_t members,
                                       void *const *pointers, const int *ranks,
                                       const int64_t *extents,
                                       const int64_t *strides) {
  return bindList("heddle_bind_list_strided", graph, name, dtype,
                  {members, pointers, ranks, extents, strides});
}

heddle_status heddle_bind_scalar(heddle_graph *graph, const char *name,
                                 heddle_dtype dtype, void *address) {
  return callGuarded([&]() -> Error {
    if (Error error = HEDDLE_REQUIRE("heddle_bind_scalar", graph, name))
      return error;
    Expected<DType> type = readDType(dtype);
    if (!type)
      return type.takeError();
    return graph->graph->bindScalar(name, *type, address);
  });
}

heddle_status heddle_set_scalar(heddle_graph *graph, const char *name,
                                double value, void *stream) {
  return callGuarded([&]() -> Error {
    if (Error error = HEDDLE_REQUIRE("heddle_set_scalar", graph, name))
      return error;
    return graph->graph->setScalar(name, value, stream);
  });
}

heddle_status heddle_bind_result(heddle_graph *graph, const char *name,
                                 heddle_dtype dtype, size_t members,
                                 void *const *pointers, const int *ranks,
                                 const int64_t *extents) {
  return bindResult("heddle_bind_result", graph, name, dtype,
                    {members, pointers, ranks, extents, /*strides=*/nullptr});
}

heddle_status heddle_bind_result_strided(heddle_graph *graph, const char *name,
                                         heddle_dtype dtype, size_t members,
                                         void *const *pointers,
                                         const int *ranks,
                                         const int64_t *extents,
                                         const int64_t *strides) {
  return bindResult("heddle_bind_result_strided", graph, name, dtype,
                    {members, pointers, ranks, extents, strides});
}

heddle_status heddle_set_inactive(heddle_graph *graph, const char *name,
                                  size_t members, const unsigned char *mask) {
  return callGuarded([&]() -> Error {
    if (Error error = HEDDLE_REQUIRE("heddle_set_inactive", graph, name))
      return error;
    if (members && !mask)
      return badInput(Twine("'") + name +
                      "': expected an address for 'mask', found null");
    if (Error error = checkCount(name, members))
      return error;
    SmallVector<bool> flags(members);
    for (size_t member = 0; member < members; ++member)
      flags[member] = mask[member] != 0;
    return graph->graph->setInactive(name, flags);
  });
}

heddle_status heddle_prepare(heddle_graph *graph, void *stream) {
  return callGuarded([&]() -> Error {
    if (Error error = HEDDLE_REQUIRE("heddle_prepare", graph))
      return error;
    return graph->graph->prepare(stream);
  });
}

heddle_status heddle_replay(heddle_graph *graph, void *stream) {
  return callGuarded([&]() -> Error {
    if (!graph)
      return HEDDLE_REQUIRE("heddle_replay", graph);
    return graph->graph->replay(stream);
  });
}

heddle_status heddle_synchronize(heddle_graph *graph, void *stream) {
  return callGuarded([&]() -> Error {
    if (Error error = HEDDLE_REQUIRE("heddle_synchronize", graph))
      return error;
    return graph->graph->synchronize(stream);
  });
}

heddle_status heddle_result_members(heddle_graph *graph, const char *name,
                                    size_t *members) {
  return callGuarded([&]() -> Error {
    if (Error error =
            HEDDLE_REQUIRE("heddle_result_members", graph, name, members))
      return error;
    Expected<std::vector<ResultMember>> result = graph->graph->result(name);
    if (!result)
      return result.takeError();
    *members = result->size();
    return Error::success();
  });
}

heddle_status heddle_result_member(heddle_graph *graph, const char *name,
                                   size_t member, void **pointer, int *rank,
                                   int64_t *extents, int64_t *stride) {
  return callGuarded([&]() -> Error {
    if (Error error = HEDDLE_REQUIRE("heddle_result_member", graph, name,
                                     pointer, rank, extents, stride))
      return error;
    Expected<std::vector<ResultMember>> result = graph->graph->result(name);
    if (!result)
      return result.takeError();
    if (member >= result->size())
      return badInput(Twine("result '") + name + "': expected a member below " +
                      Twine(result->size()) + ", found " + Twine(member));
    const ResultMember &found = (*result)[member];
    *pointer = found.address;
    *rank = found.rank;
    std::copy(found.extents, found.extents + found.rank, extents);
    *stride = found.rank == 2 ? found.rowStride : 0;
    return Error::success();
  });
}

heddle_status heddle_read_scalar(heddle_graph *graph, const char *name,
                                 double *value, void *stream) {
  return callGuarded([&]() -> Error {
    if (Error error = HEDDLE_REQUIRE("heddle_read_scalar", graph, name, value))
      return error;
    Expected<double> read = graph->graph->readScalar(name, stream);
    if (!read)
      return read.takeError();
    *value = *read;
    return Error::success();
  });
}

} // extern "C"
