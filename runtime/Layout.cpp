//===- Layout.cpp - From bound buffers to tables and sizes ----------------===//

#include "runtime/Layout.h"

#include "runtime/PanelClass.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <functional>

using namespace llvm;

namespace heddle::runtime {

namespace {

std::string memberName(const PlanBuffer &buffer, size_t member) {
  return buffer.kind == BufferKind::Scalar
             ? describeBuffer(buffer)
             : describeBuffer(buffer) + formatv(", member {0}", member).str();
}

std::string extentsText(ArrayRef<int64_t> extents) {
  std::string text = "[";
  for (auto [index, extent] : enumerate(extents))
    text += (index ? ", " : "") + std::to_string(extent);
  return text + "]";
}

/// Calls `visit` on every node, bodies of loops included.
void forEachNode(const PlanGraph &graph,
                 const std::function<void(const PlanNode &)> &visit) {
  for (const PlanNode &node : graph.nodes) {
    visit(node);
    if (node.kind == NodeKind::While)
      forEachNode(node.body, visit);
  }
}

} // namespace

/// The steps of Layout::resolve, in the order in which they run.
class Layout::Resolver {
public:
  Resolver(Layout &layout, const Binding &binding, AddressSpace &space)
      : layout(layout), plan(binding.plan()), binding(binding), space(space) {}

  Error run() {
    layout.bufferViews.resize(plan.buffers.size());
    joinFamilies();
    if (Error error = readArguments())
      return error;
    if (Error error = checkFamilies())
      return error;
    for (size_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
      if (Error error = resolveOwn(buffer, 0))
        return error;
    if (Error error = checkSegments())
      return error;
    if (Error error = checkCopies())
      return error;
    if (Error error = checkAddresses())
      return error;
    if (Error error = checkOverlap())
      return error;
    return sizeTables();
  }

private:
  bool isList(int buffer) const {
    return plan.buffers[buffer].kind == BufferKind::List;
  }
  std::vector<MemberView> &members(int buffer) {
    return layout.bufferViews[buffer].members;
  }

  /// Lists that meet in a segment, a copy or a shared member count form a
  /// family: one member count, one set of inactive members.
  void joinFamilies() {
    for (size_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
      if (isList(buffer)) {
        families.insert(buffer);
        if (plan.buffers[buffer].members >= 0)
          families.unionSets(buffer, plan.buffers[buffer].members);
      }
    for (const PlanTable &table : plan.tables)
      for (const PlanSegment &segment : table.segments) {
        int first = -1;
        for (const PlanOperand &operand : segment.operands)
          if (isList(operand.buffer)) {
            if (first >= 0)
              families.unionSets(first, operand.buffer);
            first = operand.buffer;
          }
      }
    forEachNode(plan.graph, [&](const PlanNode &node) {
      if (node.kind == NodeKind::Copy && isList(node.from))
        families.unionSets(node.from, node.to);
    });
  }

  /// The domain of a member from the caller's extents.
  Error readExtents(const PlanBuffer &buffer, size_t index,
                    ArrayRef<int64_t> extents, MemberView &member) {
    int64_t total = 1;
    for (int64_t extent : extents) {
      if (extent < 0)
        return makeError(StatusCode::BadInput,
                         "{0}: expected extents of at least 0, found {1}",
                         memberName(buffer, index), extentsText(extents));
      // Sizes in bytes must fit 63 bits.
      if (extent != 0 && total > (INT64_MAX / 8) / extent)
        return makeError(StatusCode::BadInput,
                         "{0}: expected fewer than 2^60 elements, found {1}",
                         memberName(buffer, index), extentsText(extents));
      total *= extent;
    }
    if (buffer.rank == 0 && total != 1)
      return makeError(StatusCode::BadInput,
                       "{0}: expected one value (rank 0), found extents {1}",
                       memberName(buffer, index), extentsText(extents));
    if (buffer.rank == 2 && extents.size() < 2)
      return makeError(StatusCode::BadInput,
                       "{0}: expected at least 2 dimensions, found extents {1}",
                       memberName(buffer, index), extentsText(extents));
    member.extent[0] = total;
    if (buffer.rank == 2) {
      member.extent[1] = extents.back();
      member.extent[0] = 1;
      for (int64_t extent : extents.drop_back())
        member.extent[0] *= extent;
    }
    return Error::success();
  }

  /// After readExtents().
  Error readStride(const PlanBuffer &buffer, size_t index, int64_t stride,
                   MemberView &member) {
    member.rowStride = member.extent[1];
    if (stride == 0)
      return Error::success();
    if (buffer.rank != 2)
      return makeError(
          StatusCode::BadInput,
          "{0}: expected a dense tensor (rank {1}), found a row stride of {2}",
          memberName(buffer, index), buffer.rank, stride);
    if (member.extent[0] <= 1) // no row follows another
      return Error::success();
    if (stride < member.extent[1])
      return makeError(StatusCode::BadInput,
                       "{0}: expected a row stride of at least {1}, its "
                       "columns, found {2}",
                       memberName(buffer, index), member.extent[1], stride);
    if (stride > (INT64_MAX / 8) / member.extent[0])
      return makeError(
          StatusCode::BadInput,
          "{0}: expected fewer than 2^60 elements, found {1} rows with a "
          "stride of {2}",
          memberName(buffer, index), member.extent[0], stride);
    member.rowStride = stride;
    return Error::success();
  }

  Error readMembers(int index) {
    const PlanBuffer &buffer = plan.buffers[index];
    for (auto [position, bound] : enumerate(binding[index].members)) {
      MemberView member;
      member.address = static_cast<char *>(bound.data);
      // A member that will turn out to be inactive may come without extents.
      bool absent = !bound.data && bound.extents.empty();
      if (!absent || buffer.rank == 0) {
        if (Error error = readExtents(buffer, position, bound.extents, member))
          return error;
        if (Error error = readStride(buffer, position, bound.rowStride, member))
          return error;
      } else {
        member.extent[0] = member.extent[1] = -1;
      }
      members(index).push_back(member);
    }
    return Error::success();
  }

  Error readArguments() {
    for (auto [index, buffer] : enumerate(plan.buffers)) {
      if (buffer.kind == BufferKind::Scalar) {
        MemberView value;
        value.address = static_cast<char *>(binding[index].address);
        members(index).push_back(value);
        layout.bufferViews[index].owned = !binding[index].bound;
        layout.bufferViews[index].offsets = {index * sizeof(double)};
        if (buffer.role == BufferRole::Argument && !binding[index].bound &&
            !binding[index].value)
          return makeError(StatusCode::BadInput,
                           "{0}: expected a value or an address, found neither",
                           describeBuffer(buffer));
        continue;
      }
      if (buffer.role == BufferRole::Argument && !binding[index].bound)
        return makeError(StatusCode::BadInput,
                         "{0}: expected a list, found nothing bound",
                         describeBuffer(buffer));
      if (buffer.role == BufferRole::Argument)
        if (Error error = readMembers(index))
          return error;
    }
    return Error::success();
  }

  /// One member count and one set of inactive members per family.
  Error checkFamilies() {
    for (const auto &family : families) {
      if (!family->isLeader())
        continue;
      int reference = -1;
      BitVector inactive;
      for (auto item = families.member_begin(*family);
           item != families.member_end(); ++item) {
        int index = *item;
        if (plan.buffers[index].role != BufferRole::Argument)
          continue;
        size_t size = members(index).size();
        if (reference < 0) {
          reference = index;
          inactive.resize(size);
        } else if (size != members(reference).size()) {
          return makeError(StatusCode::BadInput,
                           "{0}: expected {1} members as in {2}, found {3}",
                           describeBuffer(plan.buffers[index]),
                           members(reference).size(),
                           describeBuffer(plan.buffers[reference]), size);
        }
        const std::vector<bool> &mask = binding[index].inactive;
        if (!mask.empty() && mask.size() != size)
          return makeError(StatusCode::BadInput,
                           "{0}: expected a mask of {1} members, found {2}",
                           describeBuffer(plan.buffers[index]), size,
                           mask.size());
        for (size_t member = 0; member < mask.size(); ++member)
          if (mask[member])
            inactive.set(member);
      }
      for (auto item = families.member_begin(*family);
           item != families.member_end(); ++item)
        for (auto [position, member] : enumerate(members(*item)))
          member.inactive = inactive.test(position);
    }
    return Error::success();
  }

  /// Members of a result or temporary list, from the buffers that it follows.
  Error resolveOwn(int index, unsigned depth) {
    const PlanBuffer &buffer = plan.buffers[index];
    BufferView &view = layout.bufferViews[index];
    if (buffer.kind == BufferKind::Scalar ||
        buffer.role == BufferRole::Argument || !view.offsets.empty() ||
        !view.members.empty())
      return Error::success();
    if (depth > plan.buffers.size())
      return makeError(StatusCode::BadInput,
                       "bad plan: {0}: its extents depend on themselves",
                       describeBuffer(buffer));
    if (Error error = resolveOwn(buffer.members, depth + 1))
      return error;
    for (const ExtentRef &extent : buffer.extents)
      if (Error error = resolveOwn(extent.buffer, depth + 1))
        return error;

    const std::vector<MemberView> &model = members(buffer.members);
    std::vector<MemberView> derived(model.size());
    for (auto [position, member] : enumerate(derived)) {
      member.inactive = model[position].inactive;
      for (auto [dimension, extent] : enumerate(buffer.extents)) {
        const std::vector<MemberView> &source = members(extent.buffer);
        if (position >= source.size())
          return makeError(
              StatusCode::BadInput,
              "{0}: expected {1} members as in {2}, found {3}",
              describeBuffer(plan.buffers[extent.buffer]), model.size(),
              describeBuffer(plan.buffers[buffer.members]), source.size());
        member.extent[dimension] =
            std::max<int64_t>(source[position].extent[extent.dimension], 0);
      }
      member.rowStride = member.extent[1];
    }
    if (binding[index].bound) {
      if (Error error = readMembers(index))
        return error;
      if (view.members.size() != derived.size())
        return makeError(StatusCode::BadInput,
                         "{0}: expected {1} members as in {2}, found {3}",
                         describeBuffer(buffer), derived.size(),
                         describeBuffer(plan.buffers[buffer.members]),
                         view.members.size());
      for (auto [position, pair] : enumerate(zip(view.members, derived))) {
        auto &[found, expected] = pair;
        found.inactive = expected.inactive;
        if (!found.inactive &&
            !std::equal(found.extent, found.extent + 2, expected.extent))
          return makeError(
              StatusCode::BadInput, "{0}: expected extents {1}, found {2}",
              memberName(buffer, position), domainText(buffer, expected),
              domainText(buffer, found));
      }
      return Error::success();
    }
    view.owned = true;
    for (const MemberView &member : derived) {
      view.offsets.push_back(layout.arenaSize);
      if (!member.inactive)
        layout.arenaSize +=
            alignUp(member.elements() * dtypeSize(buffer.dtype));
    }
    view.members = std::move(derived);
    return Error::success();
  }

  static std::string domainText(const PlanBuffer &buffer,
                                const MemberView &member) {
    return extentsText(ArrayRef<int64_t>(member.extent, buffer.rank));
  }

  /// What the operand's index requires of a member: its number of elements.
  Error checkOperand(const PlanTable &table, const PlanSegment &segment,
                     const PlanOperand &operand, size_t position) {
    const PlanBuffer &buffer = plan.buffers[operand.buffer];
    const MemberView &member = members(operand.buffer)[position];
    if (member.extent[0] < 0)
      return makeError(StatusCode::BadInput,
                       "{0}: expected an address and extents, found null (mark "
                       "the member as "
                       "inactive to skip it)",
                       memberName(buffer, position));
    if (operand.index == OperandIndex::None ||
        operand.index == OperandIndex::Length ||
        operand.index == OperandIndex::Stride) {
      if (buffer.rank == 0 && member.elements() != 1)
        return makeError(StatusCode::BadInput,
                         "{0}: expected one value, found {1}",
                         memberName(buffer, position), member.elements());
      return Error::success();
    }
    int64_t count = countOf(table, segment, position),
            columns = columnsOf(segment, position);
    int64_t expected = operand.index == OperandIndex::J ? columns : count;
    std::string model = describeBuffer(
        plan.buffers[operand.index == OperandIndex::J ? segment.columns->buffer
                                                      : segment.count->buffer]);
    if (operand.index == OperandIndex::I && !member.isDense())
      return makeError(StatusCode::BadInput,
                       "{0}: expected a dense matrix, as '{1}' takes it for "
                       "one vector, found {2} columns with a row stride of "
                       "{3}: bind a dense copy",
                       memberName(buffer, position), table.name,
                       member.extent[1], member.rowStride);
    if (operand.index == OperandIndex::IJ) {
      if (member.extent[0] == count && member.extent[1] == columns)
        return Error::success();
      return makeError(
          StatusCode::BadInput,
          "{0}: expected {1} rows and {2} columns as in {3}, found {4} and {5}",
          memberName(buffer, position), count, columns, model, member.extent[0],
          member.extent[1]);
    }
    if (member.elements() == expected)
      return Error::success();
    return makeError(
        StatusCode::BadInput, "{0}: expected {1} elements as in {2}, found {3}",
        memberName(buffer, position), expected, model, member.elements());
  }

  int64_t countOf(const PlanTable &table, const PlanSegment &segment,
                  size_t position) {
    if (!segment.count)
      return 1;
    const MemberView &member = members(segment.count->buffer)[position];
    return table.rank == 1 ? member.elements()
                           : member.extent[segment.count->dimension];
  }

  int64_t columnsOf(const PlanSegment &segment, size_t position) {
    return segment.columns ? members(segment.columns->buffer)[position]
                                 .extent[segment.columns->dimension]
                           : 1;
  }

  /// The list that a segment takes its members from; -1 for scalars alone,
  /// which are one member.
  int modelOf(const PlanSegment &segment) const {
    for (const PlanOperand &operand : segment.operands)
      if (isList(operand.buffer))
        return operand.buffer;
    return segment.count ? segment.count->buffer : -1;
  }

  Error checkSegments() {
    for (const PlanTable &table : plan.tables)
      for (const PlanSegment &segment : table.segments) {
        int model = modelOf(segment);
        size_t size = model < 0 ? 0 : members(model).size();
        for (const std::optional<ExtentRef> &extent :
             {segment.count, segment.columns})
          if (extent && members(extent->buffer).size() != size)
            return makeError(StatusCode::BadInput,
                             "{0}: expected {1} members as in {2}, found {3}",
                             describeBuffer(plan.buffers[extent->buffer]), size,
                             describeBuffer(plan.buffers[model]),
                             members(extent->buffer).size());
        for (size_t position = 0; position < size; ++position) {
          if (members(model)[position].inactive)
            continue;
          for (const std::optional<ExtentRef> &extent :
               {segment.count, segment.columns})
            if (extent && members(extent->buffer)[position].extent[0] < 0)
              return makeError(
                  StatusCode::BadInput,
                  "{0}: expected an address and extents, found null (mark the "
                  "member as inactive to skip "
                  "it)",
                  memberName(plan.buffers[extent->buffer], position));
          for (const PlanOperand &operand : segment.operands)
            if (isList(operand.buffer))
              if (Error error = checkOperand(table, segment, operand, position))
                return error;
        }
      }
    return Error::success();
  }

  Error checkCopies() {
    Error failure = Error::success();
    forEachNode(plan.graph, [&](const PlanNode &node) {
      if (failure || node.kind != NodeKind::Copy)
        return;
      for (auto [position, pair] :
           enumerate(zip(members(node.from), members(node.to)))) {
        auto &[from, to] = pair;
        if (!to.inactive && from.elements() != to.elements()) {
          failure = makeError(
              StatusCode::BadInput,
              "{0}: expected {1} elements as in {2}, found {3}",
              memberName(plan.buffers[node.to], position), from.elements(),
              describeBuffer(plan.buffers[node.from]), to.elements());
          return;
        }
      }
    });
    return failure;
  }

  /// Null, alignment and address space of everything that the caller bound and
  /// that is not skipped.
  Error checkAddresses() {
    for (auto [index, buffer] : enumerate(plan.buffers)) {
      if (layout.bufferViews[index].owned)
        continue;
      size_t size = dtypeSize(buffer.dtype);
      for (auto [position, member] : enumerate(members(index))) {
        if (member.inactive)
          continue;
        if (member.extent[0] < 0 || (!member.address && member.elements() != 0))
          return makeError(StatusCode::BadInput,
                           "{0}: expected an address, found null (mark the "
                           "member as inactive to skip it)",
                           memberName(buffer, position));
        if (member.elements() == 0)
          continue;
        if (reinterpret_cast<uintptr_t>(member.address) % size != 0)
          return makeError(
              StatusCode::BadInput,
              "{0}: expected an address aligned to {1} bytes ({2}), found {3}",
              memberName(buffer, position), size, dtypeName(buffer.dtype),
              static_cast<void *>(member.address));
        if (Error error = space.check(member.address, member.reach() * size))
          return withContext(memberName(buffer, position), std::move(error));
      }
    }
    return Error::success();
  }

  /// No written member may share a byte with anything else that is bound; what
  /// lies between the rows of one counts as its own.
  Error checkOverlap() {
    BitVector written(plan.buffers.size());
    for (auto [index, buffer] : enumerate(plan.buffers))
      if (buffer.donated || buffer.role == BufferRole::Result)
        written.set(index);
    forEachNode(plan.graph, [&](const PlanNode &node) {
      for (int buffer : node.writes)
        written.set(buffer);
      for (int buffer : {node.to, node.trips})
        if (buffer >= 0)
          written.set(buffer);
    });

    struct Interval {
      uintptr_t begin, end;
      unsigned buffer, member;
    };
    std::vector<Interval> intervals;
    for (auto [index, buffer] : enumerate(plan.buffers)) {
      if (layout.bufferViews[index].owned)
        continue;
      for (auto [position, member] : enumerate(members(index)))
        if (!member.inactive && member.address && member.elements() > 0) {
          auto begin = reinterpret_cast<uintptr_t>(member.address);
          intervals.push_back(
              {begin, begin + member.reach() * dtypeSize(buffer.dtype),
               static_cast<unsigned>(index), static_cast<unsigned>(position)});
        }
    }
    sort(intervals, [](const Interval &a, const Interval &b) {
      return std::tie(a.begin, a.buffer, a.member) <
             std::tie(b.begin, b.buffer, b.member);
    });
    // The furthest end so far, of any interval and of written ones.
    const Interval *furthest = nullptr, *furthestWritten = nullptr;
    for (const Interval &interval : intervals) {
      bool isWritten = written.test(interval.buffer);
      const Interval *other = nullptr;
      if (isWritten && furthest && interval.begin < furthest->end)
        other = furthest;
      else if (furthestWritten && interval.begin < furthestWritten->end)
        other = furthestWritten;
      if (other) {
        const Interval &owner = isWritten ? interval : *other,
                       &guest = isWritten ? *other : interval;
        return makeError(StatusCode::BadInput,
                         "{0}: expected memory of its own, as it is written, "
                         "found an overlap "
                         "with {1}",
                         memberName(plan.buffers[owner.buffer], owner.member),
                         memberName(plan.buffers[guest.buffer], guest.member));
      }
      if (!furthest || interval.end > furthest->end)
        furthest = &interval;
      if (isWritten &&
          (!furthestWritten || interval.end > furthestWritten->end))
        furthestWritten = &interval;
    }
    return Error::success();
  }

  Error sizeTables() {
    layout.tableViews.resize(plan.tables.size());
    for (auto [index, table] : enumerate(plan.tables)) {
      TableView &view = layout.tableViews[index];
      int64_t tiles = 0, rows = 0;
      std::vector<int64_t> allSteps = segmentSteps(plan, table);
      for (auto [number, segment] : enumerate(table.segments)) {
        ArrayRef<int64_t> steps = ArrayRef(allSteps).slice(
            number * (1 + table.pointers), 1 + table.pointers);
        int model = modelOf(segment);
        size_t size = model < 0 ? 1 : members(model).size();
        for (size_t position = 0; position < size; ++position) {
          if (model >= 0 && members(model)[position].inactive)
            continue;
          int64_t count = countOf(table, segment, position);
          int64_t shift =
              segment.shift
                  ? shiftOf(steps, operandsOf(segment, position), count)
                  : 0;
          int64_t own = tilesOf(count + shift, segment.tile);
          tiles += own;
          ++rows;
          if (tiles > INT32_MAX || rows >= INT32_MAX)
            return makeError(
                StatusCode::BadInput,
                "table '{0}': expected fewer than 2^31 tiles, found more",
                table.name);
          if (table.rank != 2)
            continue;
          int64_t columns = columnsOf(segment, position);
          view.columnTotal += own * columns;
          view.narrowest =
              rows == 1 ? columns : std::min(view.narrowest, columns);
          view.widest = std::max(view.widest, columns);
          view.longest = std::max(view.longest, count);
        }
      }
      view.memberCount = static_cast<int>(rows);
      view.tileCount = static_cast<int>(tiles);
      // Any number does. This one suits the average tile, and few tiles that
      // differ get as many blocks as the widest has work for. Blocks begin
      // where a line of memory does; where rows of f32 do not, there is more.
      constexpr int64_t fewBlocks = 4096, line = 128 / sizeof(float);
      if (table.blockColumns && tiles) {
        auto blocksOf = [&](int64_t columns) {
          int64_t before = columns % line ? line - 1 : 0;
          return tilesOf(columns + before, table.blockColumns);
        };
        int64_t average = blocksOf(view.columnTotal / tiles);
        int64_t most = blocksOf(view.widest);
        view.shares = static_cast<int>(
            std::min(std::max(average, std::min(most, fewBlocks / tiles)),
                     INT32_MAX / tiles));
      }
      view.elementBytes = elementBytes(table);
    }
    for (const PlanScratch &scratch : plan.scratch) {
      int64_t number = 1;
      if (scratch.per != ScratchPer::Once) {
        const TableView &view = layout.tableViews[scratch.table];
        number = numberOf(scratch.per, view);
      }
      layout.scratchSizes.push_back(number * scratch.bytes);
    }
    return Error::success();
  }

  static int64_t numberOf(ScratchPer per, const TableView &view) {
    switch (per) {
    case ScratchPer::Tile:
      return view.tileCount;
    case ScratchPer::Member:
      return view.memberCount;
    case ScratchPer::TileColumn:
      return view.columnTotal;
    case ScratchPer::PanelColumn:
      return PanelClass::kMostPanels * view.widest;
    case ScratchPer::Panel:
      return PanelClass::kMostPanels;
    case ScratchPer::Row:
      return view.longest;
    case ScratchPer::Once:
      break;
    }
    return 1;
  }

  std::vector<void *> operandsOf(const PlanSegment &segment, size_t position) {
    std::vector<void *> operands;
    for (const PlanOperand &operand : segment.operands)
      operands.push_back(
          members(operand.buffer)[isList(operand.buffer) ? position : 0]
              .address);
    return operands;
  }

  /// The bytes that the tiles of a table cover, each buffer once.
  int64_t elementBytes(const PlanTable &table) {
    BitVector counted(plan.buffers.size());
    int64_t bytes = 0;
    for (const PlanSegment &segment : table.segments)
      for (const PlanOperand &operand : segment.operands) {
        if (operand.index !=
                (table.rank == 2 ? OperandIndex::IJ : OperandIndex::I) ||
            counted.test(operand.buffer))
          continue;
        counted.set(operand.buffer);
        unsigned size = dtypeSize(plan.buffers[operand.buffer].dtype);
        for (const MemberView &member : members(operand.buffer))
          if (!member.inactive)
            bytes += member.elements() * size;
      }
    return bytes;
  }

  friend class Layout;

  Layout &layout;
  const Plan &plan;
  const Binding &binding;
  AddressSpace &space;
  EquivalenceClasses<int> families;
};

Expected<Layout> Layout::resolve(const Binding &binding, AddressSpace &space) {
  Layout layout;
  layout.program = binding.planPointer();
  if (Error error = Resolver(layout, binding, space).run())
    return std::move(error);
  return layout;
}

void Layout::place(char *arena, char *slots) {
  for (auto [buffer, view] : zip(program->buffers, bufferViews)) {
    if (!view.owned)
      continue;
    char *base = buffer.kind == BufferKind::Scalar ? slots : arena;
    for (auto [member, offset] : zip(view.members, view.offsets))
      member.address = member.inactive ? nullptr : base + offset;
  }
}

std::vector<char> Layout::memberRows(int index) const {
  const PlanTable &table = program->tables[index];
  RowLayout rows(table);
  std::vector<char> bytes(rows.bytes() * tableViews[index].memberCount);
  char *out = bytes.data();
  std::vector<int64_t> steps = segmentSteps(*program, table);
  MemberRow row;
  int firstTile = 0;
  int64_t columnBase = 0;
  for (auto [segmentIndex, segment] : enumerate(table.segments)) {
    int model = -1;
    for (const PlanOperand &operand : segment.operands)
      if (model < 0 &&
          program->buffers[operand.buffer].kind == BufferKind::List)
        model = operand.buffer;
    if (model < 0 && segment.count)
      model = segment.count->buffer;
    size_t size = model < 0 ? 1 : bufferViews[model].members.size();
    for (size_t position = 0; position < size; ++position) {
      if (model >= 0 && bufferViews[model].members[position].inactive)
        continue;
      row.operands.clear();
      for (const PlanOperand &operand : segment.operands) {
        const std::vector<MemberView> &views =
            bufferViews[operand.buffer].members;
        bool list = program->buffers[operand.buffer].kind == BufferKind::List;
        const MemberView &member = views[list ? position : 0];
        auto number = [&](int64_t value) {
          return reinterpret_cast<void *>(static_cast<intptr_t>(value));
        };
        row.operands.push_back(
            operand.index == OperandIndex::Length   ? number(member.elements())
            : operand.index == OperandIndex::Stride ? number(member.rowStride)
                                                    : member.address);
      }
      row.count = 1;
      row.columns = 0;
      if (segment.count) {
        const MemberView &member =
            bufferViews[segment.count->buffer].members[position];
        row.count = table.rank == 1 ? member.elements()
                                    : member.extent[segment.count->dimension];
      }
      if (segment.columns)
        row.columns = bufferViews[segment.columns->buffer]
                          .members[position]
                          .extent[segment.columns->dimension];
      row.columnBase = columnBase;
      row.firstTile = firstTile;
      int64_t shift = segment.shift
                          ? shiftOf(ArrayRef(steps).slice(
                                        segmentIndex * (1 + table.pointers),
                                        1 + table.pointers),
                                    row.operands, row.count)
                          : 0;
      row.tiles = static_cast<int>(tilesOf(row.count + shift, segment.tile));
      row.segment = static_cast<int>(segmentIndex);
      row.index = static_cast<int>(position);
      writeMemberRow(rows, row, out);
      out += rows.bytes();
      firstTile += row.tiles;
      columnBase += row.tiles * row.columns;
    }
  }
  return bytes;
}

std::vector<Span> Layout::spans(int from, int to) const {
  std::vector<Span> result;
  unsigned size = dtypeSize(program->buffers[to].dtype);
  for (auto [position, member] : enumerate(bufferViews[to].members)) {
    if (member.inactive || member.elements() <= 0)
      continue;
    const MemberView *source =
        from < 0 ? nullptr : &bufferViews[from].members[position];
    bool dense = member.isDense() && (!source || source->isDense());
    int64_t rows = dense ? 1 : member.extent[0];
    int64_t bytes = member.elements() / rows * size;
    for (int64_t row = 0; row < rows; ++row)
      result.push_back(
          {source ? source->address + row * source->rowStride * size : nullptr,
           member.address + row * member.rowStride * size, bytes});
  }
  return result;
}

} // namespace heddle::runtime
