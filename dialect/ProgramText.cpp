//===- ProgramText.cpp - reading and printing programs --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR drops SSA names after parsing. AsmParserState, the parser's list of
// definitions, restores them.
//
//===----------------------------------------------------------------------===//

#include "dialect/ProgramText.h"
#include "dialect/Foreach.h"
#include "dialect/Names.h"
#include "dialect/ProgramChecks.h"
#include "dialect/Shorthands.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace heddle {

/// The name at `range`, without its `%`, or an empty string if it is a number.
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
    SmallVector<StringRef> names =
        llvm::map_to_vector(ValueRange(op.op->getResults()), nameOf);
    // The source has one name per group of results: `%r:4` is a group of four.
    for (const auto &group : op.resultGroups)
      if (StringRef name = identifier(group.definition.loc); !name.empty())
        names[group.startIndex] = name;
    setNames(op.op, names);
  }
}

OwningOpRef<ModuleOp> parseProgram(llvm::SourceMgr &manager,
                                   MLIRContext *context) {
  // The verifier runs when values have names, which its messages use.
  ParserConfig config(context, /*verifyAfterParse=*/false);
  const llvm::MemoryBuffer *buffer =
      manager.getMemoryBuffer(manager.getMainFileID());
  StringRef source = buffer->getBufferIdentifier();
  // MLIR's reader of bytecode trusts its input: changed bytes end the process.
  if (isBytecode(*buffer)) {
    emitError(FileLineColLoc::get(context, source, 0, 0))
        << "expected a program as text, found MLIR bytecode";
    return {};
  }
  if (auto error = checkText(buffer->getBuffer())) {
    auto [line, column] = manager.getLineAndColumn(error->at);
    emitError(FileLineColLoc::get(context, source, line, column))
        << error->message;
    return {};
  }
  AsmParserState state;
  Block top;
  if (failed(parseAsmSourceFile(manager, &top, config, &state)))
    return {};
  for (Operation &op : top)
    if (failed(checkNames(&op)) || failed(checkReturns(&op)))
      return {};
  keepNames(state);
  // A file contains either a module or the operations of a module.
  if (llvm::hasSingleElement(top))
    if (auto module = dyn_cast<ModuleOp>(top.front())) {
      module->remove();
      OwningOpRef<ModuleOp> owned(module);
      if (failed(checkCalls(module)) || failed(verify(module)) ||
          failed(expandShorthands(*owned)))
        return {};
      return owned;
    }
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(FileLineColLoc::get(context, source, 1, 1));
  module->getBody()->getOperations().splice(module->getBody()->end(),
                                            top.getOperations());
  if (failed(checkCalls(*module)) || failed(verify(*module)) ||
      failed(expandShorthands(*module)))
    return {};
  return module;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

namespace {
/// Chooses the printed names of values. MLIR's printer makes a name unique
/// among all enclosing regions. Here, a region that is isolated from above has
/// a scope of its own, as in the parser, so `%lr = %lr as f32` does not change
/// when it is printed and parsed repeatedly. In the parser, a function and a
/// module have no scope of their own.
class PrintedNames {
public:
  explicit PrintedNames(Operation *top) {
    UniqueNames used(/*first=*/0);
    for (Region &region : top->getRegions())
      nameRegion(region, used);
  }
  StringRef of(Value value) const { return names.find(value)->second; }

private:
  void nameRegion(Region &region, UniqueNames &outer) {
    UniqueNames own(/*first=*/0);
    Operation *parent = region.getParentOp();
    bool isolated = parent->hasTrait<OpTrait::IsIsolatedFromAbove>() &&
                    !isa<ModuleOp, FunctionOpInterface>(parent);
    UniqueNames &used = isolated ? own : outer;
    UniqueNames::Nested scope(used);
    for (Block &block : region) {
      for (BlockArgument argument : block.getArguments())
        nameValue(argument, used);
      for (Operation &op : block) {
        // The results of an operation are not visible inside its regions.
        for (Region &inner : op.getRegions())
          nameRegion(inner, used);
        for (Value result : op.getResults())
          nameValue(result, used);
      }
    }
  }

  void nameValue(Value value, UniqueNames &used) {
    std::string wanted = nameOf(value).str();
    for (char &c : wanted)
      if (!llvm::isAlnum(c) && !StringRef("_$.-").contains(c))
        c = '_';
    if (!wanted.empty() && llvm::isDigit(wanted.front()))
      wanted.insert(0, "_");
    names.try_emplace(value, used.unique(wanted));
  }

  llvm::DenseMap<Value, std::string> names;
};
} // namespace

/// A type alias for every list type of a program: `!list` for vectors, `!mats`
/// for matrices, `!each` for member scalars. If a program has lists of one rank
/// with several element types, the alias includes the type (`!list_bf16`).
static llvm::MapVector<Type, std::string> aliasesOfLists(Operation *top) {
  llvm::SetVector<Type> lists;
  auto add = [&](Type type) {
    type.walk([&](foreach::ListType list) { lists.insert(list); });
  };
  top->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      add(function.getFunctionType());
    llvm::for_each(op->getResultTypes(), add);
  });
  llvm::MapVector<Type, std::string> aliases;
  for (Type type : lists) {
    auto list = cast<foreach::ListType>(type);
    static constexpr StringRef byRank[] = {"each", "list", "mats"};
    std::string alias = byRank[list.getRank()].str();
    if (llvm::count_if(lists, [&](Type other) {
          return cast<foreach::ListType>(other).getRank() == list.getRank();
        }) > 1)
      llvm::raw_string_ostream(alias) << '_' << list.getElementType();
    aliases[type] = alias;
  }
  return aliases;
}

/// Replaces each `%token` by `%replacements[token]`, and each aliased type by
/// its alias, outside of string literals.
static void printRenamed(StringRef text,
                         const llvm::StringMap<std::string> &replacements,
                         const llvm::MapVector<Type, std::string> &aliases,
                         llvm::raw_ostream &os) {
  SmallVector<std::pair<std::string, StringRef>> spellings;
  for (const auto &[type, alias] : aliases) {
    llvm::raw_string_ostream(spellings.emplace_back("", alias).first) << type;
    os << '!' << alias << " = " << type << '\n';
  }

  auto inToken = [](char c) {
    return llvm::isAlnum(c) || StringRef("_$.-").contains(c);
  };
  while (!text.empty()) {
    if (text.front() == '"') {
      size_t end = 1;
      while (end < text.size() && text[end] != '"')
        end += text[end] == '\\' ? 2 : 1;
      os << text.take_front(end + 1);
      text = text.drop_front(std::min(end + 1, text.size()));
    } else if (text.consume_front("%")) {
      StringRef token = text.take_while(inToken);
      text = text.drop_front(token.size());
      auto found = replacements.find(token);
      os << '%' << (found == replacements.end() ? token : found->second);
    } else if (text.front() == '!') {
      auto spelling = llvm::find_if(spellings, [&](const auto &spelling) {
        return text.starts_with(spelling.first);
      });
      if (spelling == spellings.end()) {
        os << '!';
        text = text.drop_front();
        continue;
      }
      os << '!' << spelling->second;
      text = text.drop_front(spelling->first.size());
    } else {
      size_t end = std::min(text.find_first_of("\"%!"), text.size());
      os << text.take_front(end);
      text = text.drop_front(end);
    }
  }
}

OwningOpRef<ModuleOp> parseProgram(StringRef text, StringRef source,
                                   MLIRContext *context) {
  llvm::SourceMgr manager;
  manager.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, source),
                             SMLoc());
  SourceMgrDiagnosticHandler handler(manager, context, llvm::errs());
  return parseProgram(manager, context);
}

void printProgram(Operation *module, llvm::raw_ostream &os) {
  // Print a copy in which all names differ. Each name in the printed text then
  // denotes one value, and is replaced by the name chosen for the value.
  OwningOpRef<Operation *> copy = module->clone();
  PrintedNames names(*copy);
  unsigned count = 0;
  auto unique = [&] { return "value" + std::to_string(count++); };
  copy.get()->walk([&](Operation *op) {
    SmallVector<std::string> results;
    for (unsigned k = 0; k < op->getNumResults(); ++k)
      results.push_back(unique());
    setNames(op, SmallVector<StringRef>(results.begin(), results.end()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          setName(argument, unique());
  });
  auto flags = OpPrintingFlags().printNameLocAsPrefix();
  AsmState state(*copy, flags);
  llvm::StringMap<std::string> replacements;
  auto replace = [&](Value value) {
    std::string token;
    llvm::raw_string_ostream stream(token);
    value.printAsOperand(stream, state);
    StringRef printed = StringRef(token).drop_front();
    replacements.try_emplace(printed.split('#').first, names.of(value).str());
  };
  copy.get()->walk([&](Operation *op) {
    llvm::for_each(op->getResults(), replace);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), replace);
  });
  std::string text;
  llvm::raw_string_ostream stream(text);
  copy.get()->print(stream, state);
  printRenamed(text, replacements, aliasesOfLists(*copy), os);
}

} // namespace heddle
