//===- FusedDialect.td - the fused dialect, its enums and attributes ------===//
//
// How programs are executed: levels of values and schedules of sweeps.
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
  let summary = "Kernels made of ordered sweeps over lists of tensors";
  let description = [{
    A kernel is an ordered sequence of *sweeps* and loops of sweeps. A sweep visits a domain once. Every value in its
    body has a *level* (element, row, column, member, list), inferred from what it is computed from; `fused.reduce`
    lowers it. A row value may meet elements of its row again in the same sweep, for they are still on chip. Column,
    member and list values are complete only *after* the sweep: what follows from them runs once, at its end.
  }];
  let dependentDialects = ["::heddle::foreach::ForeachDialect"];
  let useDefaultAttributePrinterParser = 1;
}

def Fused_Level : I32EnumAttr<"Level", "what a value is one of", [
    I32EnumAttrCase<"list", 0>, I32EnumAttrCase<"member", 1>, I32EnumAttrCase<"column", 2>, I32EnumAttrCase<"row", 3>,
    I32EnumAttrCase<"element", 4>]> {
  let cppNamespace = "::heddle::fused";
}

def Fused_ScheduleKind : I32EnumAttr<"ScheduleKind", "how a sweep walks its domain", [
    I32EnumAttrCase<"stream", 0>, I32EnumAttrCase<"rows", 1>, I32EnumAttrCase<"panel", 2>]> {
  let cppNamespace = "::heddle::fused";
}

def Fused_Schedule : AttrDef<Fused_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "how a sweep walks its domain, and why";
  let description = [{
    `stream`: a block takes a tile of `tile[s]` consecutive elements of a member of segment `s`, each thread `vector[s]`
    at a time. `rows`: a block takes a panel of `tile[s]` rows, one after the other; `by` as many columns of them where
    blocks share their rows. `panel`: the loop around the sweep runs in one launch whose blocks keep
    panels of rows from trip to trip, where the device can; elsewhere as `rows`.

    ```mlir
    #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "no value of a row or column">
    ```
  }];
  let parameters = (ins "ScheduleKind":$kind, "int64_t":$threads,
                        ArrayRefParameter<"int64_t">:$vector, ArrayRefParameter<"int64_t">:$tile,
                        DefaultValuedParameter<"int64_t", "0">:$columns,
                        StringRefParameter<>:$reason);
  let assemblyFormat = [{ `<` $kind `,` `threads` `=` $threads `,` `vector` `=` `[` $vector `]` `,` `tile` `=` `[` $tile `]`
                          (`by` $columns^)? `,` `reason` `=` $reason `>` }];
}

#endif // HEDDLE_DIALECT_FUSEDDIALECT_TD
