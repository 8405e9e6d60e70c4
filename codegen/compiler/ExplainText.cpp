//===- ExplainText.cpp - the text form of an explanation ------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One line per fact: a label, then the fact. Labels and facts align.
//
//===----------------------------------------------------------------------===//

#include "codegen/compiler/ExplainText.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace heddle {

static std::string counted(int64_t count, StringRef noun) {
  StringRef plural = noun.ends_with("ch") ? "es" : "s";
  return formatv("{0:N} {1}{2}", count, noun, count == 1 ? "" : plural);
}

namespace {
class Printer {
public:
  std::string print(const json::Object &explanation);

private:
  void line(StringRef label, const Twine &fact) {
    os << formatv("  {0,-9} {1}\n", (label + ":").str(), fact.str());
  }
  void printSummary(const json::Object &explanation);
  void printKernel(const json::Object &kernel);
  void printSchedule(const json::Object &sweep);
  void printCopy(const json::Object &copy);

  std::string text;
  raw_string_ostream os{text};
};
} // namespace

void Printer::printSummary(const json::Object &explanation) {
  auto number = [&](StringRef key) { return *explanation.getNumber(key); };
  auto integer = [&](StringRef key) { return *explanation.getInteger(key); };
  const json::Object &bandwidth = *explanation.getObject("bandwidth");
  os << *explanation.getString("program") << ": "
     << counted(explanation.getArray("kernels")->size(), "kernel") << ", "
     << counted(integer("sweeps"), "sweep") << ", "
     << counted(integer("launches"), "launch") << " per step\n";
  line("input", counted(integer("members"), "member") + ", " +
                    counted(integer("elements"), "element"));
  line("traffic",
       formatv("{0:f1} B per element ({1:f1} B before fusion), "
               "{2:f2} MB per step",
               number("bytes_per_element"), number("bytes_per_element_unfused"),
               number("bytes") * 1e-6)
           .str());
  line("floor",
       formatv("{0:f2} us at {1:f0} GB/s ({2} copy bandwidth of {3} {4})",
               number("floor_us"),
               *bandwidth.getNumber("bytes_per_second") * 1e-9,
               *bandwidth.getBoolean("measured") ? "measured" : "nominal",
               *bandwidth.getBoolean("measured") ? "this" : "an",
               *bandwidth.getString("source"))
           .str());
  if (*explanation.getBoolean("loops"))
    line("note",
         "launches, traffic and floor count one iteration of each loop");
}

/// Prints the size class of a panel loop, and the threads and tiles of other
/// sweeps.
void Printer::printSchedule(const json::Object &sweep) {
  StringRef schedule = *sweep.getString("schedule");
  std::string fact = schedule.str();
  if (schedule == "panel") {
    if (auto panels = sweep.getString("panels"))
      fact += ", " + panels->str();
  } else {
    const json::Array &tiles = *sweep.getArray("tile");
    fact += formatv(", {0} threads, tiles of ", *sweep.getInteger("threads"));
    for (size_t k = 0; k < tiles.size(); ++k)
      fact += (k ? " and " : "") + formatv("{0}", tiles[k]).str();
    bool one = tiles.size() == 1 && tiles.front() == 1;
    fact += (schedule == "stream" ? " element" : " row") +
            std::string(one ? "" : "s");
    if (auto held = sweep.getInteger("held_columns"))
      fact += formatv(", more of up to {0} columns", *held);
    if (auto tall = sweep.getInteger("tall_tile"))
      fact += formatv(", {0} in large members", *tall);
    if (auto columns = sweep.getInteger("columns"))
      fact += formatv(", {0} columns per block", *columns);
    if (auto panels = sweep.getString("panels"))
      fact += ", " + panels->str();
  }
  line("schedule", fact);
  line("reason", *sweep.getString("reason"));
}

void Printer::printKernel(const json::Object &kernel) {
  os << "\nkernel " << *kernel.getString("name")
     << (*kernel.getBoolean("in_loop") ? " (in a loop)" : "") << ": ";
  if (auto sweep = kernel.getString("ends")) {
    auto members = kernel.getInteger("members");
    os << (members ? counted(*members, "member")
                   : counted(*kernel.getInteger("blocks"), "block"))
       << '\n';
    line("sweep",
         *sweep + (members ? ": the ends of its members, after their tiles"
                           : ": the end of its list, after its tiles"));
    return;
  }
  os << counted(*kernel.getInteger("tiles"), "tile") << '\n';
  for (const json::Value &part : *kernel.getArray("sweeps")) {
    const json::Object &sweep = *part.getAsObject();
    line("sweep", *sweep.getString("name") + ": " +
                      *sweep.getString("traffic") +
                      (*sweep.getBoolean("reversed") ? ", reversed" : ""));
    if (sweep.getString("schedule"))
      printSchedule(sweep);
  }
}

void Printer::printCopy(const json::Object &copy) {
  auto quoted = [&](StringRef key) {
    StringRef name = *copy.getString(key);
    return name.empty() ? std::string("a value") : ("'" + name + "'").str();
  };
  os << "  " << quoted("value") << " to the buffer of " << quoted("to")
     << (*copy.getBoolean("in_loop") ? " (in a loop)" : "") << ": "
     << *copy.getString("traffic") << '\n';
}

std::string Printer::print(const json::Object &explanation) {
  printSummary(explanation);
  for (const json::Value &kernel : *explanation.getArray("kernels"))
    printKernel(*kernel.getAsObject());
  const json::Array &copies = *explanation.getArray("copies");
  if (!copies.empty())
    os << "\ncopies:\n";
  for (const json::Value &copy : copies)
    printCopy(*copy.getAsObject());
  const json::Array &remarks = *explanation.getArray("remarks");
  if (!remarks.empty())
    os << "\nremarks:\n";
  for (const json::Value &remark : remarks)
    os << "  " << *remark.getAsString() << '\n';
  return std::move(text);
}

std::string printExplanation(const json::Object &explanation) {
  return Printer().print(explanation);
}

} // namespace heddle
