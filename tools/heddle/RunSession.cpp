//===- RunSession.cpp - a program bound to generated data -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data is generated and copied in pieces, because the lists of a large model
// may not fit into host memory.
//
//===----------------------------------------------------------------------===//

#include "RunSession.h"

#include "runtime/support/Status.h"
#include "runtime/support/Text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <chrono>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::cli {

static constexpr int64_t kPiece = 1 << 20; // elements generated at a time

Expected<ReferencePtr> makeReference(const std::string &program) {
  heddle_reference *reference = nullptr;
  if (Error error =
          toError(heddle_reference_create(program.c_str(), &reference)))
    return std::move(error);
  return ReferencePtr(reference);
}

//===----------------------------------------------------------------------===//
// Extents and initial contents
//===----------------------------------------------------------------------===//

static bool isListArgument(const PlanBuffer &buffer) {
  return buffer.role == BufferRole::Argument && buffer.kind == BufferKind::List;
}

/// The interpreter evaluates the program as written, with operands that the
/// compiled program no longer has; their extents must fit too.
Error RunSession::decideShapes(const heddle_reference *reference) {
  std::map<int64_t, ExtentRef> first;
  std::vector<PlanShapes::EqualPair> equal;
  for (auto [number, buffer] : enumerate(plan.buffers)) {
    for (int k = 0; isListArgument(buffer) && k < buffer.rank; ++k) {
      int64_t extent = 0;
      if (Error error = toError(heddle_reference_extent(
              reference, buffer.name.c_str(), k, &extent)))
        return error;
      ExtentRef here{static_cast<int>(number), k};
      equal.emplace_back(first.try_emplace(extent, here).first->second, here);
    }
  }
  std::vector<std::vector<Extents>> given(plan.buffers.size());
  for (auto [number, buffer] : enumerate(plan.buffers))
    if (isGiven(number))
      given[number] = data->extentsOf(number, buffer.rank);
  shapes.emplace(PlanShapes::bind(plan, settings.shapes, equal, given));
  return checkShapes();
}

/// Compares the extents of the user's arrays with those that the program binds
/// to one axis.
Error RunSession::checkShapes() {
  auto text = [](ArrayRef<int64_t> extents) {
    return join(map_range(extents, [](int64_t e) { return std::to_string(e); }),
                " x ");
  };
  for (auto [number, buffer] : enumerate(plan.buffers)) {
    if (!isGiven(number))
      continue;
    auto found = data->extentsOf(number, buffer.rank);
    for (auto [member, expected] : enumerate(shapes->of(number)))
      if (found[member] != expected)
        return makeError(
            StatusCode::BadInput,
            "data file '{0}', list '{1}', member {2}: expected {3} elements, "
            "as "
            "the program and the arrays of the other lists demand, found {4}",
            settings.dataFile, buffer.name, member, text(expected),
            text(found[member]));
  }
  return Error::success();
}

/// Reads the user's arrays, from which shapes and scalars follow.
Error RunSession::readData() {
  if (settings.dataFile.empty())
    return Error::success();
  auto read = DataFile::read(settings.dataFile, plan);
  if (!read)
    return read.takeError();
  data = std::move(*read);
  settings.shapes = data->getShapes();
  settings.origin = settings.dataFile;
  for (const auto &[name, value] : data->getScalars())
    if (!settings.scalars.emplace(name, value).second)
      return usageError("scalar '" + Twine(name) +
                        "' is set by '--set' and by "
                        "the data file '" +
                        settings.dataFile + "': give it once");
  return Error::success();
}

/// The default contents of a list that is no state. A list that is `carried`
/// has the results of one step in the next.
static Contents defaultContents(const PlanBuffer &buffer, bool carried,
                                std::optional<double> initial) {
  if (!isFloat(buffer.dtype)) {
    double number = buffer.dtype == DType::I1 && !carried ? 1 : 0;
    return {Contents::constant, initial.value_or(number)};
  }
  // Vectors that start at 1 and are only read are weights. So are logarithms,
  // which start at 0; potentials and other vectors may, too.
  bool isRead = !carried && buffer.rank == 1;
  if (isRead && initial == 1.0)
    return {Contents::weights, 1};
  if (isRead && initial == 0.0 && StringRef(buffer.name).starts_with("log_"))
    return {Contents::logWeights, 1};
  if (initial)
    return {Contents::constant, *initial};
  if (buffer.rank == 0)
    return {Contents::constant, carried ? 0.0 : 1.0};
  return {Contents::normal, carried ? 0.02 : 1.0};
}

/// Whether each list of --fill exists, can hold its contents, and has no array.
Error RunSession::checkContents() {
  SmallVector<StringRef> names;
  for (const PlanBuffer &buffer : plan.buffers)
    if (isListArgument(buffer))
      names.push_back(buffer.name);
  for (const auto &[name, contents] : settings.contents) {
    auto at = find_if(plan.buffers, [&](const PlanBuffer &buffer) {
      return isListArgument(buffer) && buffer.name == name;
    });
    if (at == plan.buffers.end())
      return usageError("option '--fill': the program has no list argument '" +
                        Twine(name) + "'" + suggestion(name, names) +
                        "\nList arguments: " + join(names, ", ") + ".");
    int number = at - plan.buffers.begin();
    if (isGiven(number))
      return usageError("list '" + Twine(name) + "' is in the data file '" +
                        settings.dataFile + "' and in '--fill': give it once");
    if (!isFloat(at->dtype) && contents.isRandom())
      return usageError("option '--fill': expected a list of floating-point "
                        "numbers, found '" +
                        Twine(name) + "' of " + dtypeName(at->dtype));
    for (auto [member, extents] : enumerate(shapes->of(number)))
      if (std::string reason = misfit(contents, at->rank, extents);
          !reason.empty())
        return usageError("option '--fill', list '" + Twine(name) +
                          "', member " + Twine(member) + ": " + reason);
  }
  return Error::success();
}

Error RunSession::findFills(const heddle_reference *reference) {
  for (auto [index, result] : enumerate(plan.results)) {
    int fill = 0;
    if (Error error =
            toError(heddle_reference_is_fill(reference, index, &fill)))
      return error;
    if (fill)
      fills.insert(result.buffer);
  }
  return Error::success();
}

Error RunSession::decideContents(const heddle_reference *reference) {
  std::vector<std::optional<double>> initial(plan.buffers.size());
  bool someGiven = false;
  for (auto [number, buffer] : enumerate(plan.buffers)) {
    if (!isListArgument(buffer))
      continue;
    int given = 0;
    double value = 0;
    if (Error error = toError(heddle_reference_initial(
            reference, buffer.name.c_str(), &given, &value)))
      return error;
    if (given)
      initial[number] = value;
    someGiven |= given != 0;
  }
  // If a program declares initial values, every carried list without one is a
  // parameter. If it declares none, the first carried list holds the parameters
  // and the others start at zero.
  bool parametersSeen = false;
  for (auto [number, buffer] : enumerate(plan.buffers)) {
    if (!isListArgument(buffer))
      continue;
    Contents &contents = lists[number].contents;
    bool carried = buffer.donated && (initial[number] || !isFill(number));
    lists[number].carried = carried;
    contents = defaultContents(buffer, carried, initial[number]);
    bool isState = carried && !someGiven && parametersSeen;
    if (isState && contents.isRandom())
      contents = {};
    parametersSeen |= carried && buffer.rank > 0;
    auto chosen = settings.contents.find(buffer.name);
    if (chosen != settings.contents.end())
      contents = chosen->second;
    else if (data && !isGiven(number) && !initial[number])
      return makeError(
          StatusCode::BadInput,
          "data file '{0}': expected arrays for list '{1}', which has no "
          "initial value, found none: add '{1}.0' and so on, or choose numbers "
          "with --fill {1}=normal",
          settings.dataFile, buffer.name);
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

Error RunSession::compile(Progress &progress) {
  progress.show("compiling " + settings.program.substr(0, 40) + " ...");
  auto begin = std::chrono::steady_clock::now();
  auto compiled = toExpected(
      heddle::Executable::compile(settings.program, settings.options));
  if (!compiled)
    return compiled.takeError();
  compileSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  executable = std::move(*compiled);
  auto text = toExpected(executable->plan());
  if (!text)
    return text.takeError();
  auto parsed = parsePlan(*text);
  if (!parsed)
    return parsed.takeError();
  plan = std::move(*parsed);
  auto created = toExpected(heddle::Graph::create(*executable));
  if (!created)
    return created.takeError();
  graph = std::move(*created);
  return Error::success();
}

Error RunSession::allocate(int number) {
  const PlanBuffer &buffer = plan.buffers[number];
  List &list = lists[number];
  // A member has at most 2^48 elements (shapesFromJSON), so no sum overflows.
  constexpr size_t most = size_t(1) << 48;
  size_t bytes = 0;
  for (auto [member, extents] : enumerate(shapes->of(number))) {
    list.offsets.push_back(bytes);
    bytes +=
        (elementCount(extents) * dtypeSize(buffer.dtype) + 15) & ~size_t(15);
    if (bytes > most)
      return usageError(
          formatv("{0}[{1}]: expected lists of at most 2^48 bytes, found {2} "
                  "bytes in list '{3}' up to this member: use smaller shapes",
                  settings.origin, member, bytes, buffer.name)
              .str());
  }
  auto memory = toExpected(
      heddle::Memory::create(*executable, std::max<size_t>(bytes, 16)));
  if (!memory)
    return withContext("list '" + Twine(buffer.name) + "' of " +
                           counted(list.offsets.size(), "member") + " from " +
                           settings.origin,
                       memory.takeError());
  list.memory = std::move(*memory);
  std::vector<heddle::Tensor> members;
  char *base = static_cast<char *>(list.memory->address());
  for (auto [extents, offset] : zip(shapes->of(number), list.offsets))
    members.push_back({base + offset, {extents.begin(), extents.end()}});
  auto dtype = static_cast<heddle_dtype>(buffer.dtype);
  return toError(buffer.role == BufferRole::Argument
                     ? graph->bindList(buffer.name, dtype, members)
                     : graph->bindResult(buffer.name, dtype, members));
}

void RunSession::elementsOf(int buffer, size_t member, int64_t begin,
                            int64_t step, int64_t first, int64_t count,
                            double *to) const {
  if (isGiven(buffer))
    return data->load(buffer, member, first, count, to);
  MemberPlace place = {static_cast<uint64_t>(buffer), begin,
                       shapes->of(buffer)[member]};
  makeElements(lists[buffer].contents, seedOf(step), place, first, count, to);
}

Error RunSession::fill(int number, int64_t step) {
  const PlanBuffer &buffer = plan.buffers[number];
  List &list = lists[number];
  std::vector<double> elements(kPiece);
  unsigned size = dtypeSize(buffer.dtype);
  std::vector<char> stored(kPiece * size);
  int64_t position = 0;
  for (auto [member, extents] : enumerate(shapes->of(number))) {
    size_t offset = list.offsets[member];
    int64_t count = elementCount(extents);
    for (int64_t done = 0; done < count; done += kPiece) {
      int64_t now = std::min(kPiece, count - done);
      elementsOf(number, member, position, step, done, now, elements.data());
      storeElements(buffer.dtype, elements.data(), now, stored.data());
      if (Error error = toError(list.memory->write(offset + done * size,
                                                   stored.data(), now * size)))
        return error;
    }
    position += count;
  }
  return Error::success();
}

Error RunSession::bindScalars() {
  SmallVector<StringRef> names;
  for (const PlanBuffer &buffer : plan.buffers) {
    if (buffer.role != BufferRole::Argument ||
        buffer.kind != BufferKind::Scalar)
      continue;
    names.push_back(buffer.name);
    // Values that make most programs compute something: a factor of 1, a flag
    // that is set, a loop of few iterations.
    double value = isFloat(buffer.dtype) || buffer.dtype == DType::I1 ? 1 : 8;
    if (buffer.defaultValue)
      value = *buffer.defaultValue;
    bool given = settings.scalars.count(buffer.name);
    if (given)
      value = settings.scalars[buffer.name];
    scalars[buffer.name] = value;
    if (given || !buffer.defaultValue)
      if (Error error = toError(graph->setScalar(buffer.name, value)))
        return error;
  }
  for (const auto &[name, value] : settings.scalars)
    if (!scalars.count(name))
      return usageError(
          "option '--set': the program has no scalar argument '" + Twine(name) +
          "'" + suggestion(name, names) +
          (names.empty() ? ""
                         : "\nScalar arguments: " + join(names, ", ") + "."));
  return Error::success();
}

Expected<std::unique_ptr<RunSession>> RunSession::create(Settings settings,
                                                         Progress &progress) {
  auto session = std::make_unique<RunSession>();
  session->settings = std::move(settings);
  if (Error error = session->compile(progress))
    return std::move(error);
  if (Error error = session->readData())
    return std::move(error);
  auto reference = makeReference(session->settings.program);
  if (!reference)
    return reference.takeError();
  if (Error error = session->decideShapes(reference->get()))
    return std::move(error);
  session->lists.resize(session->plan.buffers.size());
  if (Error error = session->bindScalars())
    return std::move(error);
  if (Error error = session->findFills(reference->get()))
    return std::move(error);
  if (Error error = session->decideContents(reference->get()))
    return std::move(error);
  if (Error error = session->checkContents())
    return std::move(error);
  for (auto [number, buffer] : enumerate(session->plan.buffers)) {
    if (buffer.kind != BufferKind::List || buffer.role == BufferRole::Temporary)
      continue;
    progress.show("filling '" + buffer.name + "' ...");
    if (Error error = session->allocate(number))
      return std::move(error);
    if (buffer.role == BufferRole::Argument)
      if (Error error = session->fill(number, /*step=*/0))
        return std::move(error);
  }
  return session;
}

Error RunSession::beginStep(int64_t step) {
  if (step == 0)
    return Error::success();
  for (size_t number = 0; number < lists.size(); ++number)
    if (isInput(number))
      if (Error error = fill(number, step))
        return error;
  return Error::success();
}

Error RunSession::setMembers(heddle_reference *reference, int number) const {
  std::vector<int> ranks;
  std::vector<int64_t> extents;
  for (const Extents &member : shapes->of(number)) {
    ranks.push_back(member.size());
    extents.insert(extents.end(), member.begin(), member.end());
  }
  return toError(
      heddle_reference_set_list(reference, plan.buffers[number].name.c_str(),
                                ranks.size(), ranks.data(), extents.data()));
}

Error RunSession::fill(heddle_reference *reference, int64_t step) const {
  if (step == 0)
    for (const auto &[name, value] : scalars)
      if (Error error = toError(
              heddle_reference_set_scalar(reference, name.c_str(), value)))
        return error;
  for (auto [number, buffer] : enumerate(plan.buffers)) {
    if (!isListArgument(buffer) || (step > 0 && !isInput(number)))
      continue;
    if (step == 0)
      if (Error error = setMembers(reference, number))
        return error;
    int64_t position = 0;
    for (auto [member, shape] : enumerate(shapes->of(number))) {
      int64_t count = elementCount(shape);
      elementsOf(
          number, member, position, step, 0, count,
          heddle_reference_member(reference, buffer.name.c_str(), member));
      position += count;
    }
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Error RunSession::readResult(size_t index, size_t member,
                             function_ref<void(ArrayRef<char>)> visit) const {
  int number = plan.results[index].buffer;
  const List &list = lists[number];
  unsigned size = dtypeSize(plan.buffers[number].dtype);
  int64_t count = elementCount(shapes->of(number)[member]);
  std::vector<char> piece(std::min(kPiece, count) * size);
  for (int64_t done = 0; done < count; done += kPiece) {
    size_t bytes = std::min(kPiece, count - done) * size;
    if (Error error = toError(list.memory->read(
            list.offsets[member] + done * size, piece.data(), bytes)))
      return error;
    visit(ArrayRef<char>(piece.data(), bytes));
  }
  return Error::success();
}

Expected<double> RunSession::readScalar(size_t index) {
  return toExpected(graph->readScalar(plan.results[index].name));
}

} // namespace heddle::cli
