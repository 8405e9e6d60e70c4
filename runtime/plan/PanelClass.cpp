//===- PanelClass.cpp - Size classes of panel loops -----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/PanelClass.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <compare>
#include <map>

using namespace llvm;

namespace heddle::runtime {

namespace {
constexpr int threads = 512;
/// The largest number of columns of a thread. With more columns, the cost per
/// row is already negligible. The limit is lower if a thread group is the whole
/// block: no warp computes while the group synchronizes, so a wider row is
/// slower than memory.
constexpr int64_t maxItems = 24, maxItemsOfWholeBlock = 20;
/// The phases of the stages' barriers are the bits of one word.
constexpr int64_t maxStages = 32;
/// The number of values of each row that a block buffers.
constexpr int64_t valuesOfRow = 4;
/// The static shared memory that a kernel may declare.
constexpr int64_t maxStaticBytes = 48 * 1024;
/// The registers of a thread, and those not used for its columns. At the limit
/// a few registers spill, which costs less than a cluster of more blocks.
constexpr int64_t registersOfMultiprocessor = 65536;
constexpr int64_t registers = registersOfMultiprocessor / threads,
                  otherRegisters = 32;
/// Static shared memory that is not counted below: barriers and sums of warps.
constexpr int64_t margin = 2048;
/// The numbers of blocks of a cluster per member. Clusters of more than 8
/// blocks need an architecture with at least this shared memory.
constexpr int memberBlocks[] = {1, 2, 4, 8, 16};
constexpr int64_t sharedBytesOfMostBlocks = 200 * 1024;
static_assert(memberBlocks[std::size(memberBlocks) - 1] == max_member_blocks);
/// The most bytes of rows of a block, if a larger cluster is possible.
constexpr int64_t bytesOfMemberBlock = 128 * 1024;
/// The most rows of a member for which a block has 128 threads.
constexpr int64_t rowsOfSmallMember = 64;
/// The most rows of a block of a cluster per member.
constexpr int64_t rowsOfMemberBlock = 256;
constexpr int64_t marginOfMember = 1024; // as above
/// The shared memory that a multiprocessor reserves for each block.
constexpr int64_t reservedBytes = 1024;
constexpr int64_t threadsOfMultiprocessor = 1536;
constexpr int64_t registersOfFourRows = 16;

/// The cost of an iteration of a block in clocks of an H200, measured on loops
/// that balance matrices: the row of a thread group with its synchronization,
/// and the bytes of a row, read from memory or, if the matrix fits, from the L2
/// cache.
constexpr int64_t clocksOfRow = 650, clocksOfItem = 48, clocksOfItemInF64 = 200;
constexpr int64_t clocksOfRowInCluster = 600; // in addition
constexpr int64_t bytesPerClock = 16, bytesPerClockOfCache = 22;
constexpr int64_t bytesInCache = 32 << 20;
/// The cost of combining the columns of the thread groups.
constexpr int64_t clocksOfGathering = 500;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The extents that a class must support.
struct Members {
  const PlanPanel &panel;
  int64_t narrowest, widest, longest, sharedBytes;
};

/// The bytes of the largest element, which each row stage has room for.
int64_t largestElement(const PlanPanel &panel) {
  int64_t element = 0;
  for (int bytes : panel.elementBytes)
    element = std::max<int64_t>(element, bytes);
  return element;
}

/// The bounds of some of a list's members.
Members boundsOf(const PlanPanel &panel, ArrayRef<PanelExtents> extents,
                 ArrayRef<int> members, int64_t sharedBytes) {
  Members bounds{panel, INT64_MAX, 0, 0, sharedBytes};
  for (int member : members) {
    bounds.narrowest = std::min(bounds.narrowest, extents[member].columns);
    bounds.widest = std::max(bounds.widest, extents[member].columns);
    bounds.longest = std::max(bounds.longest, extents[member].rows);
  }
  return bounds;
}

/// The class with `groups` thread groups of a block, or nothing if it does not
/// fit.
std::optional<PanelClass> classWith(const Members &members, int cluster,
                                    int groups) {
  const PlanPanel &panel = members.panel;
  int64_t element = largestElement(panel), matrices = panel.elementBytes.size();
  int64_t group = threads / groups;
  int64_t items =
      std::max<int64_t>(1, ceilDiv(ceilDiv(members.widest, cluster), group));
  if (items > (groups > 1 ? maxItems : maxItemsOfWholeBlock) ||
      items * (panel.words + panel.rowWords) > registers - otherRegisters)
    return std::nullopt;
  // Static shared memory: the addresses of rows, their values (the same number
  // again for each reduction over rows), and the parts of the columns: one
  // value for each thread, and a maximum and a sum for the fallback.
  int64_t fixed = default_buffered_rows * matrices * 16 +
                  panel.computeBytes *
                      (default_buffered_rows * valuesOfRow * (1 + panel.rows) +
                       panel.columns * 3 * threads) +
                  margin;
  int64_t gather = groups > 1 ? threads * items * panel.computeBytes : 0;
  int64_t stage = groups * matrices * (group * items * element + 32);
  // Each stage also has the start offsets of its rows, and a barrier.
  int64_t fixedOfStage = groups * (8 + 4 * matrices);
  int64_t stages =
      std::min((members.sharedBytes - fixed - gather) / (stage + fixedOfStage),
               maxStages);
  if (stages < 2)
    return std::nullopt;
  PanelClass result;
  result.threads = threads;
  result.groups = groups;
  result.itemsPerThread = items;
  result.stages = stages;
  result.cluster = cluster;
  // The last block of a cluster has fewer columns than the others.
  int64_t least = ceilDiv(std::max<int64_t>(members.narrowest, 1), cluster);
  result.ragged = least - (cluster - 1) <= (items - 1) * group;
  result.sharedBytes = stages * stage + gather;
  return result;
}

/// The clocks of an iteration of a block.
int64_t clocksOf(const Members &members, const PanelClass &candidate) {
  int64_t bytes = 0;
  for (int element : members.panel.elementBytes)
    bytes += ceilDiv(members.widest, candidate.cluster) * element;
  int64_t rows = ceilDiv(members.longest, candidate.panels());
  bool inCache = bytes * candidate.cluster * members.longest <= bytesInCache;
  int64_t item =
      members.panel.computeBytes > 4 ? clocksOfItemInF64 : clocksOfItem;
  return std::max(ceilDiv(rows, candidate.groups) *
                      (clocksOfRow + candidate.itemsPerThread * item +
                       (candidate.cluster > 1 ? clocksOfRowInCluster : 0)),
                  rows * bytes /
                      (inCache ? bytesPerClockOfCache : bytesPerClock)) +
         (candidate.groups > 1 ? clocksOfGathering : 0);
}

/// The fastest class; of equally fast classes, the one with the fewest thread
/// groups.
std::optional<PanelClass> fastestClass(const Members &members, int cluster) {
  std::optional<PanelClass> best;
  for (int groups : {1, 2, 4, 8, 16})
    if (auto candidate = classWith(members, cluster, groups))
      if (!best || clocksOf(members, *candidate) < clocksOf(members, *best))
        best = candidate;
  return best;
}

/// The form of a member that a cluster processes alone. The bits of the
/// member's results depend on the form, so it follows from the extents of the
/// member alone.
struct MemberForm {
  int blocks, threads, groups;
  auto operator<=>(const MemberForm &) const = default;
};

/// The class for members of this form, or nothing if it does not fit.
std::optional<PanelClass> classOfForm(const Members &members, MemberForm form) {
  const PlanPanel &panel = members.panel;
  int64_t matrices = panel.elementBytes.size();
  int64_t group = form.threads / form.groups;
  int64_t items = std::max<int64_t>(1, ceilDiv(members.widest, group));
  int64_t registers =
      std::min<int64_t>(registersOfMultiprocessor / form.threads, 255);
  int64_t used = registers - otherRegisters;
  if (members.widest > max_member_columns || items > maxItems ||
      items * (panel.words + panel.rowWords) > used)
    return std::nullopt;
  int64_t stages = std::max<int64_t>(
      1, ceilDiv(ceilDiv(members.longest, form.blocks), form.groups));
  int64_t rows = stages * form.groups;
  int64_t columns = std::max<int64_t>(1, ceilDiv(members.widest, 4)) * 4;
  if (rows > std::max<int64_t>(rowsOfMemberBlock, form.groups))
    return std::nullopt;
  // Static shared memory: values of rows, the start offsets of rows and the
  // barriers of their copies, the resident values, and for each reduction over
  // columns the block's parts, exact sums, and a maximum and a sum of each
  // thread for the fallback. A cluster of several blocks also has a buffer for
  // parts of columns.
  int64_t fixed = panel.computeBytes * rows * valuesOfRow * (1 + panel.rows) +
                  rows * 4 * matrices +
                  form.groups * std::min(stages, maxStages) * 8 +
                  rows * panel.keptOfRow + columns * panel.keptOfColumn +
                  panel.columns * panel.computeBytes *
                      (2 * columns + 2 * form.threads +
                       (form.blocks > 1 ? 2 * columns + 4 * form.blocks : 0)) +
                  marginOfMember;
  int64_t dynamic =
      rows * matrices * ((columns * largestElement(panel) + 30) / 16 * 16) +
      (form.groups > 1 ? form.threads * items * panel.computeBytes : 0) +
      group * items * 4 * panel.words; // values that threads broadcast
  if (fixed > maxStaticBytes || fixed + dynamic > members.sharedBytes)
    return std::nullopt;
  PanelClass result;
  result.threads = form.threads;
  result.groups = form.groups;
  result.itemsPerThread = items;
  result.stages = stages;
  result.clusterPerMember = form.blocks;
  result.memberRows = rows;
  result.memberColumns = columns;
  // Four rows at a time need too many registers if blocks share a
  // multiprocessor, unless rows are short.
  if (items * (panel.words + 4 * panel.rowWords) <= registersOfFourRows)
    result.rows = 4;
  else if (items * (panel.words + 2 * panel.rowWords) <= used)
    result.rows = 2;
  int64_t needed =
      items * (panel.words + result.rows * panel.rowWords) + otherRegisters;
  result.blocks = std::max<int64_t>(
      1, std::min({(members.sharedBytes + reservedBytes) /
                       (fixed + dynamic + reservedBytes),
                   threadsOfMultiprocessor / form.threads,
                   registersOfMultiprocessor / (form.threads * needed)}));
  result.ragged =
      std::max<int64_t>(members.narrowest, 1) <= (items - 1) * group;
  result.sharedBytes = dynamic;
  return result;
}

/// The form of a member, or nothing if no cluster can process it alone.
std::optional<MemberForm> formOf(const PlanPanel &panel, PanelExtents member,
                                 int64_t sharedBytes) {
  int64_t bytes = 0;
  for (int element : panel.elementBytes)
    bytes += element * member.columns; // of a row
  if (member.rows > rowsOfMemberBlock * max_member_blocks ||
      member.columns > max_member_columns)
    return std::nullopt;
  bytes *= member.rows;
  Members alone{panel, member.columns, member.columns, member.rows,
                sharedBytes};
  for (int blocks : memberBlocks) {
    if (blocks > 1 && !panel.clusterPerMember)
      break;
    if (blocks == max_member_blocks ? sharedBytes < sharedBytesOfMostBlocks
                                    : bytes > blocks * bytesOfMemberBlock)
      continue;
    int own = blocks > 1 ? 512 : member.rows <= rowsOfSmallMember ? 128 : 256;
    for (int lanes : {32, 64}) {
      MemberForm form{blocks, own, own / lanes};
      if (classOfForm(alone, form))
        return form;
    }
  }
  return std::nullopt;
}

/// Appends the class of `members`, which have one form, or several classes if
/// no class fits all of them.
void addClasses(const PlanPanel &panel, ArrayRef<PanelExtents> extents,
                int64_t sharedBytes, MemberForm form, ArrayRef<int> members,
                std::vector<PanelMembers> &out) {
  Members all = boundsOf(panel, extents, members, sharedBytes);
  if (auto shape = classOfForm(all, form)) {
    out.push_back({*shape, members.vec()});
    return;
  }
  size_t half = members.size() / 2;
  for (ArrayRef<int> part :
       {members.take_front(half), members.drop_front(half)})
    addClasses(panel, extents, sharedBytes, form, part, out);
}
} // namespace

std::vector<std::string> PanelClass::defines() const {
  auto define = [](const char *name, int value) {
    return formatv("-DHEDDLE_PANEL_{0}={1}", name, value).str();
  };
  return {define("THREADS", threads),
          define("ITEMS_PER_THREAD", itemsPerThread),
          define("GROUPS", groups),
          define("STAGES", stages),
          define("CLUSTER", cluster),
          define("CLUSTER_PER_MEMBER", clusterPerMember),
          define("RAGGED", ragged),
          define("ROWS", rows),
          define("MEMBER_ROWS", memberRows),
          define("MEMBER_COLUMNS", memberColumns),
          define("BLOCKS", blocks)};
}

std::string PanelClass::describe() const {
  std::string blocks =
      clusterPerMember == 1 ? "a block per member, "
      : clusterPerMember
          ? formatv("a cluster of {0} per member, ", clusterPerMember).str()
      : cluster > 1 ? formatv("clusters of {0}, ", cluster).str()
                    : "";
  std::string of =
      groups > 1 ? formatv("{0} thread groups of ", groups).str() : "";
  return formatv("{0}{1}{2} threads, {3} items per thread, {4} row stages{5}",
                 blocks, of, threads / groups, itemsPerThread, stages,
                 groups > 1 ? " per group" : "")
      .str();
}

int64_t panelBytesOf(StringRef arch) {
  unsigned number = 0;
  arch.consume_front("sm_");
  if (arch.consumeInteger(10, number) || number < 90)
    return 0;
  return (number < 120 ? 227 : 99) * 1024;
}

std::optional<std::vector<PanelMembers>>
panelClassesFor(const PlanPanel &panel, ArrayRef<PanelExtents> extents,
                int64_t sharedBytes) {
  // Members of one form have one class if they need similar numbers of items.
  std::map<std::pair<MemberForm, int64_t>, std::vector<int>> ofForms;
  std::map<std::pair<int64_t, int64_t>, std::optional<MemberForm>> forms;
  std::vector<int> others;
  for (auto [index, member] : enumerate(extents)) {
    auto [found, isNew] = forms.try_emplace({member.rows, member.columns});
    if (isNew)
      found->second = formOf(panel, member, sharedBytes);
    if (auto form = found->second) {
      int64_t items = ceilDiv(member.columns, form->threads / form->groups);
      ofForms[{*form, PowerOf2Ceil(std::max<int64_t>(items, 4))}].push_back(
          index);
    } else {
      others.push_back(index);
    }
  }
  std::vector<PanelMembers> classes;
  if (!others.empty()) {
    Members bounds = boundsOf(panel, extents, others, sharedBytes);
    std::optional<PanelClass> shape;
    if (bounds.longest <= INT32_MAX) // panel kernels count rows in 32 bits
      for (int cluster : {1, 2, 4, 8})
        if (!shape)
          shape = fastestClass(bounds, cluster);
    if (!shape)
      return std::nullopt;
    classes.push_back({*shape, std::move(others)});
  }
  // The largest members first, so that the last ones end at about one time.
  for (auto &[key, members] : llvm::reverse(ofForms)) {
    llvm::stable_sort(members, [&](int a, int b) {
      return extents[a].rows * extents[a].columns >
             extents[b].rows * extents[b].columns;
    });
    addClasses(panel, extents, sharedBytes, key.first, members, classes);
  }
  return classes;
}

} // namespace heddle::runtime
