//===- ProgramCompiler.cpp - from a program to source and plan ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A context is single-threaded. Programs are small, so a thread pool would cost
// more time than it saves.
//
//===----------------------------------------------------------------------===//

#include "codegen/compiler/ProgramCompiler.h"
#include "codegen/compiler/Explain.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/cuda/CudaEmitter.h"
#include "codegen/plan/PlanExtraction.h"
#include "dialect/Names.h"
#include "dialect/ProgramText.h"
#include "dialect/Register.h"
#include "dialect/library/Library.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/nvrtc/Nvrtc.h"
#include "runtime/support/Dump.h"
#include "runtime/support/InputFile.h"
#include "runtime/support/Text.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using heddle::runtime::makeError;
using heddle::runtime::StatusCode;

namespace heddle {

std::unique_ptr<MLIRContext> createContext() {
  DialectRegistry registry;
  registerAll(registry);
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->disableMultithreading(); // of the uniquers, which have locks
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false); // the source line is enough
  return context;
}

Compilation::Compilation(PipelineOptions options, MLIRContext *shared)
    : ownContext(shared ? nullptr : createContext()),
      context(shared ? shared : ownContext.get()),
      diagnostics(context, sources),
      remarkHandler(context,
                    [this](Diagnostic &diagnostic) {
                      if (diagnostic.getSeverity() !=
                          DiagnosticSeverity::Remark)
                        return mlir::failure(); // leave it to `diagnostics`
                      remarks.push_back(diagnostic.str());
                      return success();
                    }),
      options(options) {}

Compilation::~Compilation() = default;

llvm::Error Compilation::failure(StringRef fallback) {
  StringRef text = diagnostics.text();
  return makeError(StatusCode::BadInput, "{0}", text.empty() ? fallback : text);
}

static bool isNamedLikeFile(StringRef program) {
  return program.ends_with(".mlir") || program.ends_with(".mlirbc");
}

/// Whether `program` is the text of a module, or bytecode (which parseProgram
/// refuses), not a name or path. The name of a file may have a line break or a
/// brace; a text without these operations has no program.
static bool isModuleSource(StringRef program) {
  if (isNamedLikeFile(program) && !program.contains("func.func") &&
      !program.contains("fused.program"))
    return false;
  return program.contains('\n') || program.contains('{') ||
         program.ltrim().starts_with("func.func") ||
         program.starts_with("ML\xefR");
}

/// Names argument `%0` of a function `arg0`, and so on, because callers bind
/// arguments by name. If an argument has that name already, a number follows.
static void nameArguments(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    UniqueNames names(/*first=*/2);
    for (BlockArgument argument : function.getArguments())
      names.take(nameOf(argument));
    for (BlockArgument argument : function.getArguments())
      if (nameOf(argument).empty())
        setName(argument,
                names.unique("arg" + std::to_string(argument.getArgNumber())));
  }
}

/// The first operand or result of `function` that is no scalar; null if there
/// is none.
static Type firstTensor(func::FuncOp function) {
  for (TypeRange types : {TypeRange(function.getArgumentTypes()),
                          TypeRange(function.getResultTypes())})
    for (Type type : types)
      if (foreach::isList(type) || isa<ShapedType>(type))
        return type;
  return {};
}

/// The error that a module does not have one function or fused program.
llvm::Error Compilation::notOneFunction(ArrayRef<Operation *> programs) {
  constexpr StringRef expected = "expected a module with one function";
  if (programs.empty()) {
    module->emitError(expected) << ", found none";
    return failure(expected);
  }
  // Bodies can call private functions only.
  for (Operation *program : programs) {
    auto function = dyn_cast<func::FuncOp>(program);
    if (!function || !function.isPrivate())
      continue;
    if (Type type = firstTensor(function)) {
      function.emitError("expected scalars, such as f32, as operands and "
                         "results of '")
          << function.getSymName()
          << "', a private function, which bodies call; found " << type;
      return failure(expected);
    }
    if (function.getNumResults() == 0) {
      function.emitError("expected a result of '")
          << function.getSymName()
          << "', a private function, which bodies call; found none";
      return failure(expected);
    }
  }
  programs[1]->emitError(expected)
      << ", found " << counted(programs.size(), "function")
      << "; a function that bodies call is private and has scalars, such as "
         "f32, as operands";
  return failure(expected);
}

llvm::Expected<func::FuncOp> Compilation::onlyFunction() {
  SmallVector<Operation *> functions;
  for (auto function : module->getOps<func::FuncOp>())
    functions.push_back(function);
  if (functions.size() != 1)
    return notOneFunction(functions);
  return cast<func::FuncOp>(functions.front());
}

llvm::Error Compilation::read(StringRef program, StringRef dtype) {
  if (program.trim().empty())
    return makeError(
        StatusCode::BadInput,
        "program: expected the name of a standard program ('heddle emit "
        "--help' lists them), the path of a .mlir file, or the text of a "
        "module, found {0}",
        program.empty() ? "an empty text" : "blanks only");
  // The options of a standard program may contain a slash.
  bool isFile =
      !isModuleSource(program) &&
      (isNamedLikeFile(program) || program.split(':').first.contains('/'));
  if (isFile) {
    auto file = runtime::readInput(program, "program");
    if (!file)
      return file.takeError();
    sources.AddNewSourceBuffer(std::move(*file), SMLoc());
    module = parseProgram(sources, context);
  } else if (isModuleSource(program)) {
    sources.AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBufferCopy(program, "program"), SMLoc());
    module = parseProgram(sources, context);
  } else {
    diagnostics.setProgramName(program);
    if (auto built = library::buildProgram(program, context, dtype);
        succeeded(built))
      module = std::move(*built);
  }
  if (!module)
    return failure("cannot read program '" + runtime::shortened(program) + "'");
  nameArguments(*module);
  return runtime::MemoryReserve::check();
}

namespace {
/// Writes the module to HEDDLE_DUMP_DIR after every pass.
class DumpAfterPass : public PassInstrumentation {
public:
  DumpAfterPass(ModuleOp module, std::string name)
      : module(module), name(std::move(name)) {}

  void runAfterPass(Pass *pass, Operation *) override {
    // The adaptor that runs passes on nested operations has no argument name.
    if (!pass->getArgument().empty())
      write(pass->getArgument());
  }

  void write(StringRef level) {
    std::string text;
    llvm::raw_string_ostream os(text);
    printProgram(module, os);
    runtime::dump(name, llvm::formatv("{0}-{1}.mlir", count++, level).str(),
                  text);
  }

private:
  ModuleOp module;
  std::string name;
  int count = 0;
};
} // namespace

/// The name of the first function or fused program.
static std::string programName(ModuleOp module) {
  for (Operation &op : *module.getBody())
    if (auto symbol = dyn_cast<SymbolOpInterface>(op))
      return symbol.getName().str();
  return "program";
}

llvm::Error Compilation::checkProgram() {
  auto isProgram = [](Operation &op) {
    return isa<func::FuncOp, fused::ProgramOp>(op);
  };
  Block &body = *module->getBody();
  SmallVector<Operation *> programs;
  for (Operation &op : body)
    if (isProgram(op))
      programs.push_back(&op);
  if (programs.size() != 1)
    return notOneFunction(programs);
  if (auto other = llvm::find_if_not(body, isProgram); other != body.end()) {
    other->emitError("expected nothing beside the function of the module, "
                     "found '")
        << other->getName() << "'";
    return failure("");
  }
  return llvm::Error::success();
}

llvm::Error Compilation::lower(std::unique_ptr<PassInstrumentation> watch) {
  if (llvm::Error error = checkProgram())
    return error;
  PassManager manager(context);
  buildPipeline(manager, options);
  if (watch)
    manager.addInstrumentation(std::move(watch));
  if (runtime::dumpEnabled()) {
    auto dump = std::make_unique<DumpAfterPass>(*module, programName(*module));
    dump->write("foreach");
    manager.addInstrumentation(std::move(dump));
  }
  if (failed(manager.run(*module)))
    return failure("lowering of the program failed");
  fusedProgram = *module->getOps<fused::ProgramOp>().begin();
  auto read = Buffers::read(fusedProgram);
  if (failed(read))
    return failure("cannot read the buffer assignment");
  buffers = std::move(*read);
  return runtime::MemoryReserve::check();
}

llvm::Expected<runtime::Plan> Compilation::planForCuda() {
  auto plan = extractPlan(fusedProgram, *buffers);
  if (failed(plan))
    return failure("plan extraction failed");
  auto source = cuda::emitKernels(fusedProgram, *buffers);
  if (failed(source))
    return failure("emission of the CUDA source failed");
  plan->source = std::move(*source);
  auto panels = cuda::emitPanels(fusedProgram, *buffers);
  if (failed(panels))
    return failure("emission of the CUDA source failed");
  plan->panelSource = std::move(*panels);
  for (StringRef name : cuda::deviceHeaderNames())
    plan->headers[name.str()] = cuda::deviceHeader(name).str();
  // Only operations that allow contraction may become fused multiply-adds.
  plan->options = {"--std=c++17", "--fmad=false",
                   runtime::kMinimalOption.str()};
  return std::move(*plan);
}

llvm::Expected<runtime::CompiledProgram>
Compilation::compile(runtime::Target target) {
  runtime::CompiledProgram compiled;
  if (target == runtime::Target::Cuda) {
    auto plan = planForCuda();
    if (!plan)
      return plan.takeError();
    compiled.plan = std::move(*plan);
    return compiled;
  }
  auto plan = extractPlan(fusedProgram, *buffers);
  if (failed(plan))
    return failure("plan extraction failed");
  compiled.plan = std::move(*plan);
  // The cpu target reduces each tile in one order.
  for (runtime::PlanTable &table : compiled.plan.tables)
    for (runtime::PlanSegment &segment : table.segments)
      segment.held.tallUnits = 1;
  auto program = compileForCpu(fusedProgram);
  if (!program) {
    llvm::Error error = program.takeError();
    if (diagnostics.text().empty())
      return error;
    return failure(toString(std::move(error)));
  }
  compiled.cpu = {program->release(), runtime::CpuProgram::Deleter()};
  return compiled;
}

//===----------------------------------------------------------------------===//
// The runtime's interface
//===----------------------------------------------------------------------===//

namespace {
class ProgramCompiler : public runtime::Compiler {
public:
  llvm::Expected<runtime::CompiledProgram>
  compile(const runtime::CompileRequest &request) override {
    Compilation compilation;
    if (llvm::Error error = compilation.read(request.program))
      return error;
    if (llvm::Error error = compilation.lower())
      return error;
    return compilation.compile(request.target);
  }

  llvm::Expected<std::string> emit(const runtime::CompileRequest &request,
                                   StringRef stage) override {
    Compilation compilation;
    if (llvm::Error error = compilation.read(request.program))
      return error;
    std::string text;
    llvm::raw_string_ostream os(text);
    if (stage == "foreach") {
      if (llvm::Error error = compilation.checkProgram())
        return error;
      printProgram(compilation.getModule(), os);
      return text;
    }
    if (llvm::Error error = compilation.lower())
      return error;
    if (stage == "fused") {
      printProgram(compilation.getModule(), os);
      return text;
    }
    auto plan = compilation.planForCuda();
    if (!plan)
      return plan.takeError();
    if (stage == "cuda")
      return plan->panelSource.empty()
                 ? plan->source.text()
                 : plan->source.text() + "\n" + plan->panelSource;
    if (stage != "plan")
      return makeError(StatusCode::BadInput,
                       "stage: expected foreach, fused, cuda, plan, ptx or "
                       "cubin, found '{0}'",
                       stage);
    os << llvm::formatv("{0:2}", runtime::planToJSON(*plan)) << '\n';
    return text;
  }

  llvm::Expected<std::string> explain(const runtime::CompileRequest &request,
                                      StringRef shapes, bool json) override {
    PipelineOptions options;
    options.remarks = true;
    Compilation compilation(options);
    if (llvm::Error error = compilation.read(request.program))
      return error;
    if (llvm::Error error = compilation.lower())
      return error;
    return explainProgram(compilation, shapes, json, request.arch);
  }
};
} // namespace

void installCompiler() {
  runtime::Compiler::install(std::make_unique<ProgramCompiler>());
}

/// Linking this file installs the compiler.
[[maybe_unused]] static const bool installed = (installCompiler(), true);

} // namespace heddle
