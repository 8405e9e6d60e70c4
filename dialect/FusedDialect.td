//===- FusedDialect.td - the fused dialect, its enums and attributes ------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How programs run: levels of values, schedules and launches of sweeps, and
// buffers.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_FUSEDDIALECT_TD
#define HEDDLE_DIALECT_FUSEDDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Fused_Dialect : Dialect {
  let name = "fused";
  let cppNamespace = "::heddle::fused";
  let summary = "Programs made of ordered sweeps over lists of tensors";
  let description = [{
    A program is an ordered sequence of *sweeps* and loops of sweeps. A sweep visits a domain once. Every value in its
    body has a *level* (element, row, column, member, list), inferred from its operands; `fused.reduce` combines
    values into one value of a lower level.
    Element values may use the value of their row in the same sweep, because the row is still on chip. Column, member
    and list values are complete only *after* the sweep: operations on them run once per value, at the end of the sweep.
  }];
  let dependentDialects = ["::heddle::foreach::ForeachDialect"];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{ void registerAttributes(); }];
}

def Fused_Level : I32EnumAttr<"Level", "the loop axes a value varies over", [
    I32EnumAttrCase<"list", 0>, I32EnumAttrCase<"member", 1>, I32EnumAttrCase<"column", 2>, I32EnumAttrCase<"row", 3>,
    I32EnumAttrCase<"element", 4>]> {
  let cppNamespace = "::heddle::fused";
}

def Fused_ScheduleKind : I32EnumAttr<"ScheduleKind", "how a sweep traverses its domain", [
    I32EnumAttrCase<"stream", 0>, I32EnumAttrCase<"rows", 1>, I32EnumAttrCase<"panel", 2>]> {
  let cppNamespace = "::heddle::fused";
}

def Fused_Schedule : AttrDef<Fused_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "how a sweep traverses its domain, and the reason";
  let description = [{
    * `stream`: a block processes a tile of `tile[s]` consecutive elements of a member of segment `s`; each thread
      loads `vector[s]` elements at a time.
    * `rows`: a block processes `tile[s]` rows in turn. If several blocks divide a tile, `by` gives the number of
      columns that each block processes.
    * `panel`: if the device supports it, the loop around the sweep runs in one launch that reads each matrix once per
      iteration; otherwise the sweep runs by `rows`.

    ```mlir
    #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "elementwise, no row or column values">
    ```
  }];
  let parameters = (ins "ScheduleKind":$kind, "int64_t":$threads,
                        ArrayRefParameter<"int64_t">:$vector, ArrayRefParameter<"int64_t">:$tile,
                        DefaultValuedParameter<"int64_t", "0">:$columns,
                        StringRefParameter<>:$reason);
  let assemblyFormat = [{ `<` $kind `,` `threads` `=` $threads `,` `vector` `=` `[` $vector `]` `,` `tile` `=` `[` $tile `]`
                          (`by` $columns^)? `,` `reason` `=` $reason `>` }];
}

def Fused_BufferRole : I32EnumAttr<"BufferRole", "the use of a buffer", [
    I32EnumAttrCase<"argument", 0>, I32EnumAttrCase<"result", 1>, I32EnumAttrCase<"temporary", 2>]> {
  let cppNamespace = "::heddle::fused";
}

def Fused_Buffer : AttrDef<Fused_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "a buffer that a program needs besides those of its arguments";
  let description = [{
    `extents` gives, for each dimension, a buffer and one of its dimensions with the same extent; `members` gives a
    buffer with the same number of members. Buffers are numbered: the arguments of the program first.

    ```mlir
    #fused.buffer<"norm", temporary, tensor<f64>>
    #fused.buffer<"scaled", result, !foreach.list<tensor<?xf32>>, extents = [[0, 0]], members = 0>
    ```
  }];
  let parameters = (ins StringRefParameter<>:$name, "BufferRole":$role, "::mlir::Type":$type,
                        OptionalArrayRefParameter<"::std::pair<int64_t, int64_t>">:$extents,
                        DefaultValuedParameter<"int64_t", "-1">:$members);
  let assemblyFormat = [{ `<` $name `,` $role `,` custom<TypeAndShape>($type, $extents, $members) `>` }];
  let genVerifyDecl = 1;
}
def Fused_Buffers : TypedArrayAttrBase<Fused_Buffer, "array of #fused.buffer">;

def Fused_Traffic : AttrDef<Fused_Dialect, "Traffic"> {
  let mnemonic = "traffic";
  let summary = "bytes that a program moves for each element of one domain";
  let description = [{
    `argument` is an argument with this domain, or -1 if no argument has it. `rank` is the rank of the domain. `read`
    and `written` are bytes per element. With `per_iteration`, the bytes move in every iteration of a loop.

    ```mlir
    #fused.traffic<argument = 0, rank = 1, read = 16, written = 12>
    ```
  }];
  let parameters = (ins "int64_t":$argument, "int64_t":$rank, "int64_t":$read, "int64_t":$written,
                        DefaultValuedParameter<"bool", "false">:$perIteration);
  let assemblyFormat = [{ `<` `argument` `=` $argument `,` `rank` `=` $rank `,` `read` `=` $read `,` `written` `=` $written
                          (`,` `per_iteration` `=` $perIteration^)? `>` }];
  let genVerifyDecl = 1;
}
def Fused_TrafficList : TypedArrayAttrBase<Fused_Traffic, "array of #fused.traffic">;

def Fused_ScalarPassing : I32EnumAttr<"ScalarPassing", "how scalar arguments reach a kernel", [
    I32EnumAttrCase<"value", 0>, I32EnumAttrCase<"address", 1>]> {
  let cppNamespace = "::heddle::fused";
}

def Fused_Variant : AttrDef<Fused_Dialect, "Variant"> {
  let mnemonic = "variant";
  let summary = "one entry point of a sweep";
  let description = [{
    `scalars` tells whether scalar arguments that the program never writes are passed by value or by address. `blocks`
    is the number of blocks that must be able to reside on a multiprocessor; it bounds the registers of a thread.
    `evict_first_l2_percent` marks the evict-first variant, for elements that nearly fit the L2 cache, or that follow others
    which should stay in it: replaced elements leave the cache first. The variant is used if the elements take at most this percentage of the L2 cache. Its size is
    known when buffers are bound. `max_columns` marks a variant for held rows, which contains no form of wider
    rows. It is used if no row has more columns and, with `mostly_over`, if at least half of the elements are in rows of
    more columns than that. `max_parts` marks a variant whose entry has the form of parts of wide
    rows, and no other. It is used if blocks divide all rows into short parts, and no row has more
    blocks; if a block may have several parts, also if one block has a whole row. With `cluster`, the blocks of a row are a cluster, and clusters of so many blocks must fit on the device.
    `mostly_over` alone marks a variant whose blocks hold long parts of very wide rows. `min_elements` marks a variant for
    large lists, whose entry takes distances: how far the lists that the program only reads have moved since their
    addresses were written into descriptors. It is used if there are at least so many elements. `mostly_multiples_of`
    marks a variant that processes elements as vectors. It is used if at least 7/8 of the elements of rows that
    are not held are in rows of a multiple of so many columns, 2, 4, 8 or 16, and matrices and operands of columns are
    aligned for vectors of as many.

    ```mlir
    #fused.variant<scalars = value, blocks = 6, evict_first_l2_percent = 97>
    #fused.variant<max_columns = 4096, scalars = value, blocks = 5>
    #fused.variant<max_columns = 16384, mostly_over = 8192, scalars = value, blocks = 2>
    #fused.variant<max_parts = 16, cluster = true, scalars = value, blocks = 4>
    #fused.variant<max_parts = 256, scalars = value, blocks = 4>
    #fused.variant<mostly_over = 131072, scalars = value, blocks = 3>
    #fused.variant<min_elements = 16777216, scalars = value, blocks = 6>
    #fused.variant<mostly_multiples_of = 4, scalars = value, blocks = 6>
    ```
  }];
  let parameters = (ins "ScalarPassing":$scalars, "int64_t":$blocks,
                        DefaultValuedParameter<"int64_t", "0">:$evictFirstL2Percent,
                        DefaultValuedParameter<"int64_t", "0">:$maxColumns,
                        DefaultValuedParameter<"int64_t", "0">:$mostlyOver,
                        DefaultValuedParameter<"int64_t", "0">:$maxParts,
                        DefaultValuedParameter<"bool", "false">:$cluster,
                        DefaultValuedParameter<"int64_t", "0">:$minElements,
                        DefaultValuedParameter<"int64_t", "0">:$mostlyMultiplesOf);
  let assemblyFormat = [{ `<` (`min_elements` `=` $minElements^ `,` ` `)? (`max_columns` `=` $maxColumns^ `,` ` `)?
                          (`mostly_over` `=` $mostlyOver^ `,` ` `)?
                          (`mostly_multiples_of` `=` $mostlyMultiplesOf^ `,` ` `)?
                          (`max_parts` `=` $maxParts^ `,` ` `)? (`cluster` `=` $cluster^ `,` ` `)? `scalars` `=` $scalars `,` `blocks` `=` $blocks
                          (`,` `evict_first_l2_percent` `=` $evictFirstL2Percent^)? `>` }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isEvictFirst() const { return getEvictFirstL2Percent() != 0; }
    bool isForHeldRows() const { return getMaxColumns() != 0; }
    bool isForParts() const { return getMaxParts() != 0; }
    bool isForClusters() const { return getCluster(); }
    bool isForLongParts() const { return getMostlyOver() != 0 && !isForHeldRows(); }
    bool takesDistances() const { return getMinElements() != 0; }
    bool isForVectors() const { return getMostlyMultiplesOf() != 0; }
  }];
}

def Fused_Arrival : I32EnumAttr<"Arrival", "when a block of a segment takes the ticket of its member", [
    I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"early", 1>, I32EnumAttrCase<"late", 2>,
    I32EnumAttrCase<"own_launch", 3>]> {
  let cppNamespace = "::heddle::fused";
}

def Fused_Wait : I32EnumAttr<"Wait", "when a block of a segment waits for the previous sweep", [
    I32EnumAttrCase<"first", 0>, I32EnumAttrCase<"after_loads", 1>]> {
  let cppNamespace = "::heddle::fused";
}

def Fused_Launch : AttrDef<Fused_Dialect, "Launch"> {
  let mnemonic = "launch";
  let summary = "how a sweep is launched";
  let description = [{
    `variants` lists the entry points of the sweep in the order in which a plan tries them.

    `arrive` tells, for each segment, when a block takes the ticket by which the last block of a member is found. The
    last block runs the end of the member: the operations on the member's complete values. `early`: before the block
    computes its elements, if the end of the member uses no results of the elements; `late`: after the block's stores;
    `own_launch`: never, because a second launch, with a block for each member, runs the ends; `none`: the member has
    no end. If a segment has `own_launch`, all segments with an end have it.

    With `wait`, the launch is a programmatic dependent launch: it may begin before the previous sweep has ended. `wait`
    tells, for each segment, when a block waits for the previous sweep. `first`: before it reads anything;
    `after_loads`: after it has loaded elements that no earlier sweep of the program writes.

    ```mlir
    #fused.launch<variants = [<scalars = value, blocks = 6>], arrive = [early], wait = [after_loads]>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"VariantAttr">:$variants, ArrayRefParameter<"Arrival">:$arrivals,
                        OptionalArrayRefParameter<"Wait">:$waits);
  let assemblyFormat = [{ `<` `variants` `=` `[` $variants `]` `,` `arrive` `=` `[` $arrivals `]`
                          (`,` `wait` `=` `[` $waits^ `]`)? `>` }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether the launch may begin before the previous sweep has ended.
    bool isDependent() const { return !getWaits().empty(); }
    /// Whether a second launch runs the ends of members and of the list.
    bool endsInOwnLaunch() const { return ::llvm::is_contained(getArrivals(), Arrival::own_launch); }
  }];
}

def Fused_Cooperative : AttrDef<Fused_Dialect, "Cooperative"> {
  let mnemonic = "cooperative";
  let summary = "the cooperative launch of a whole loop";
  let description = [{
    `threads` is the size of a block. `blocks` is the number of blocks that must be able to reside on a multiprocessor.
    `tiles` is the number of tiles up to which the loop has this form; above, it has the graph form. The number of tiles
    is known when buffers are bound.

    ```mlir
    #fused.cooperative<threads = 256, blocks = 2, tiles = 8192>
    ```
  }];
  let parameters = (ins "int64_t":$threads, "int64_t":$blocks, "int64_t":$tiles);
  let assemblyFormat = [{ `<` `threads` `=` $threads `,` `blocks` `=` $blocks `,` `tiles` `=` $tiles `>` }];
  let genVerifyDecl = 1;
}

#endif // HEDDLE_DIALECT_FUSEDDIALECT_TD
