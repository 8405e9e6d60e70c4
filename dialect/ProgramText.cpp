//===- ProgramText.cpp - reading and printing programs --------------------===//
//
// MLIR forgets SSA names once parsed; the parser's own record of where values
// were defined gives them back.
//
//===----------------------------------------------------------------------===//

#include "dialect/ProgramText.h"
#include "dialect/Names.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace heddle {

/// The identifier at the start of `range`, without its `%`; numbers are no
/// names.
static StringRef identifier(SMRange range) {
  StringRef text(range.Start.getPointer(),
                 range.End.getPointer() - range.Start.getPointer());
  if (!text.consume_front("%") || text.empty() || llvm::isDigit(text.front()))
    return {};
  return text;
}

static void keepNames(const AsmParserState &state) {
  for (const auto &block : state.getBlockDefs())
    for (auto [k, definition] : llvm::enumerate(block.arguments))
      if (StringRef name = identifier(definition.loc); !name.empty())
        setName(block.block->getArgument(k), name);
  for (const auto &op : state.getOpDefs()) {
    // Names are written one per group; `%r:4` names a group of four.
    for (const auto &group : op.resultGroups)
      if (StringRef name = identifier(group.definition.loc); !name.empty())
        setName(op.op->getResult(group.startIndex), name);
  }
}

OwningOpRef<ModuleOp> parseProgram(StringRef text, StringRef source,
                                   MLIRContext *context) {
  llvm::SourceMgr manager;
  manager.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(text, source), SMLoc());
  SourceMgrDiagnosticHandler handler(manager, context, llvm::errs());
  ParserConfig config(context);
  const llvm::MemoryBuffer *buffer =
      manager.getMemoryBuffer(manager.getMainFileID());
  if (isBytecode(*buffer))
    return parseSourceString<ModuleOp>(text, config, source);
  AsmParserState state;
  Block top;
  if (failed(parseAsmSourceFile(manager, &top, config, &state)))
    return {};
  keepNames(state);
  // A file holds either one module or the operations of one.
  if (llvm::hasSingleElement(top))
    if (auto module = dyn_cast<ModuleOp>(top.front())) {
      module->remove();
      return OwningOpRef<ModuleOp>(module);
    }
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(FileLineColLoc::get(context, source, 0, 0));
  module->getBody()->getOperations().splice(module->getBody()->end(),
                                            top.getOperations());
  if (failed(module->verifyInvariants()))
    return {};
  return module;
}

void printProgram(Operation *module, llvm::raw_ostream &os) {
  module->print(os, OpPrintingFlags().printNameLocAsPrefix());
  os << '\n';
}

} // namespace heddle
