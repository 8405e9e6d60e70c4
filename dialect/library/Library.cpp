//===- Library.cpp - the standard programs by name ------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The list of programs, and the parser of `name:option=value,...+name`.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Library.h"
#include "dialect/library/Compose.h"
#include "dialect/library/Programs.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace heddle::library {

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

static const std::vector<Entry> &entries() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> list;
#define HEDDLE_PROGRAMS(FILE) llvm::append_range(list, FILE##Programs());
#include "dialect/library/Programs.def"
    llvm::sort(list,
               [](const Entry &a, const Entry &b) { return a.name < b.name; });
    return list;
  }();
  return all;
}

std::vector<ProgramInfo> describePrograms() {
  std::vector<ProgramInfo> infos;
  for (const Entry &entry : entries()) {
    ProgramInfo info{entry.name.str(), entry.summary.str(), {}};
    Request request = entry.request();
    for (const Option &option : request.options.all())
      info.options.push_back(
          {option.name, option.getType(), option.getValue(), option.help});
    infos.push_back(std::move(info));
  }
  return infos;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// Parses the text of a program; a diagnostic points at a column of the text.
class Reader {
public:
  Reader(StringRef text, MLIRContext *context)
      : text(text), context(context), file(StringAttr::get(context, text)) {}

  FailureOr<OwningOpRef<ModuleOp>> read(StringRef dtype);

private:
  Location at(StringRef part) {
    return FileLineColLoc::get(file, 1, part.data() - text.data() + 1);
  }
  FailureOr<const Entry *> findProgram(StringRef name);
  LogicalResult readOption(StringRef setting, StringRef program,
                           OptionList &options);
  FailureOr<Request> readRequest(StringRef part);
  LogicalResult shareLists(StringRef dtype, ArrayRef<StringRef> parts,
                           MutableArrayRef<Request> requests);
  FailureOr<OwningOpRef<ModuleOp>> build(const Request &request,
                                         StringRef part);

  StringRef text;
  MLIRContext *context;
  StringAttr file; // the text, as the name of a file
};
} // namespace

/// `; did you mean 'adamw'?`, or `.` if no word is near.
static std::string suggestion(StringRef word, ArrayRef<StringRef> words) {
  StringRef near = nearest(word, words);
  return near.empty() ? "." : ("; did you mean '" + near + "'?").str();
}

/// Splits at every `+` except in an exponent, such as `1e+3`.
static SmallVector<StringRef> splitPrograms(StringRef text) {
  SmallVector<StringRef> parts;
  size_t begin = 0;
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] != '+')
      continue;
    bool exponent = k >= 2 && k + 1 < text.size() &&
                    llvm::toLower(text[k - 1]) == 'e' &&
                    (llvm::isDigit(text[k - 2]) || text[k - 2] == '.') &&
                    llvm::isDigit(text[k + 1]);
    if (exponent)
      continue;
    parts.push_back(text.slice(begin, k));
    begin = k + 1;
  }
  parts.push_back(text.drop_front(begin));
  return parts;
}

FailureOr<const Entry *> Reader::findProgram(StringRef name) {
  SmallVector<StringRef> names;
  for (const Entry &entry : entries()) {
    if (entry.name == name)
      return &entry;
    names.push_back(entry.name);
  }
  if (name.empty())
    return emitError(at(name))
           << "expected the name of a program: " << llvm::join(names, ", ");
  return emitError(at(name))
         << "there is no program '" << name << "'" << suggestion(name, names)
         << " The standard programs are " << llvm::join(names, ", ");
}

LogicalResult Reader::readOption(StringRef setting, StringRef program,
                                 OptionList &options) {
  auto [name, value] = setting.split('=');
  if (name.size() == setting.size())
    return emitError(at(setting)) << "expected 'option=value' after '"
                                  << program << ":', found '" << setting << "'";
  Option *option = options.find(name);
  if (!option) {
    SmallVector<StringRef> names;
    for (const Option &other : options.all())
      names.push_back(other.name);
    return emitError(at(setting))
           << "'" << program << "' has no option '" << name << "'"
           << suggestion(name, names) << " Its options are "
           << llvm::join(names, ", ");
  }
  if (option->given)
    return emitError(at(setting))
           << "option '" << name << "' of '" << program << "' is given twice";
  if (!option->parse(value))
    return emitError(at(value))
           << "option '" << name << "' of '" << program << "' expects "
           << option->getExpected() << ", found '" << value << "'";
  option->given = true;
  return success();
}

FailureOr<Request> Reader::readRequest(StringRef part) {
  auto [name, settings] = part.split(':');
  auto entry = findProgram(name);
  if (failed(entry))
    return failure();
  Request request = (*entry)->request();
  request.use = (*entry)->use;
  SmallVector<StringRef> list;
  if (name.size() != part.size())
    settings.split(list, ',');
  for (StringRef setting : list)
    if (failed(readOption(setting, name, request.options)))
      return failure();
  return request;
}

FailureOr<OwningOpRef<ModuleOp>> Reader::build(const Request &request,
                                               StringRef part) {
  ProgramBuilder program(context, part.split(':').first);
  request.build(program);
  OwningOpRef<ModuleOp> module = program.finish();
  if (failed(verify(*module)))
    return failure();
  return module;
}

/// A dtype of one program of a composition applies to the others, too. If some
/// program names its lists, a program without `lists` that is no optimizer has
/// the lists of all programs.
LogicalResult Reader::shareLists(StringRef dtype, ArrayRef<StringRef> parts,
                                 MutableArrayRef<Request> requests) {
  std::string shared = dtype.str();
  for (Request &request : requests)
    if (Option *option = request.options.find("dtype"); option && option->given)
      shared = option->getValue();
  std::vector<ListOptions::FamilyName> all;
  SmallVector<ListOptions *> followers;
  bool areNamed = false;
  for (auto [part, request] : llvm::zip_equal(parts, requests)) {
    Option *option = request.options.find("dtype");
    if (option && !option->given && !shared.empty() && !option->parse(shared))
      return emitError(at(part))
             << "option 'dtype' expects " << option->getExpected()
             << ", found '" << shared << "'";
    ListOptions *lists = request.lists.get();
    if (!lists)
      continue;
    bool isNamed = !lists->lists.parts().empty();
    areNamed |= isNamed;
    if (!isNamed && !request.isOptimizer) {
      followers.push_back(lists);
      continue;
    }
    for (const ListOptions::FamilyName &family : lists->families())
      if (!llvm::is_contained(all, family))
        all.push_back(family);
  }
  if (areNamed)
    for (ListOptions *lists : followers)
      lists->others = all;
  return success();
}

FailureOr<OwningOpRef<ModuleOp>> Reader::read(StringRef dtype) {
  SmallVector<StringRef> parts = splitPrograms(text);
  SmallVector<Request> requests;
  for (StringRef part : parts) {
    auto request = readRequest(part);
    if (failed(request))
      return failure();
    requests.push_back(std::move(*request));
  }
  if (failed(shareLists(dtype, parts, requests)))
    return failure();
  std::vector<Part> built;
  for (auto [part, request] : llvm::zip_equal(parts, requests)) {
    if (std::string error = request.check(); !error.empty())
      return emitError(at(part)) << error;
    auto module = build(request, part);
    if (failed(module))
      return failure();
    built.push_back({std::move(*module), part, at(part), request.use});
  }
  if (built.size() == 1)
    return std::move(built.front().module);
  auto whole = compose(built);
  if (failed(whole) || failed(verify(**whole)))
    return failure();
  return whole;
}

FailureOr<OwningOpRef<ModuleOp>>
buildProgram(StringRef text, MLIRContext *context, StringRef dtype) {
  context->loadDialect<foreach::ForeachDialect, arith::ArithDialect,
                       math::MathDialect, func::FuncDialect>();
  return Reader(text, context).read(dtype);
}

} // namespace heddle::library
