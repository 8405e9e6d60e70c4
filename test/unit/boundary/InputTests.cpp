//===- InputTests.cpp - Text that the C interface must refuse -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Environment.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace heddle::test;

namespace {

constexpr heddle_options cpu = {sizeof(heddle_options), "cpu", nullptr};
constexpr heddle_options sm90 = {sizeof(heddle_options), "cuda", "sm_90"};

bool isUTF8(const char *text) {
  for (auto *at = reinterpret_cast<const unsigned char *>(text); *at; ++at) {
    int following = *at < 0x80             ? 0
                    : (*at & 0xe0) == 0xc0 ? 1
                    : (*at & 0xf0) == 0xe0 ? 2
                    : (*at & 0xf8) == 0xf0 ? 3
                                           : -1;
    if (following < 0)
      return false;
    for (; following; --following)
      if ((*++at & 0xc0) != 0x80)
        return false;
  }
  return true;
}

/// Expects HEDDLE_BAD_INPUT, and a message in UTF-8 that contains `part`.
void expectBadInput(heddle_status status, const char *part) {
  EXPECT_EQ(status, HEDDLE_BAD_INPUT) << heddle_last_error();
  EXPECT_TRUE(isUTF8(heddle_last_error())) << heddle_last_error();
  EXPECT_NE(std::strstr(heddle_last_error(), part), nullptr)
      << heddle_last_error();
}

TEST(InputTest, RefusesDeeplyNestedJson) {
  std::string deep(200000, '[');
  heddle_executable *executable = nullptr;
  expectBadInput(heddle_load_plan(deep.c_str(), &sm90, &executable),
                 "[byte 640]: expected at most 640 levels of nested arrays and "
                 "objects, found more");
  char *text = nullptr;
  expectBadInput(heddle_explain("sgd", deep.c_str(), 0, &sm90, &text),
                 "640 levels");
  std::string objects;
  for (int k = 0; k < 100000; ++k)
    objects += "{\"nodes\":[";
  expectBadInput(heddle_load_plan(objects.c_str(), &sm90, &executable),
                 "640 levels");
  // Brackets in strings do not count.
  std::string flat = "[\"" + deep + "\\\"" + deep + "\"]";
  expectBadInput(heddle_load_plan(flat.c_str(), &sm90, &executable),
                 "expected object");
}

TEST(InputTest, NamesTheByteThatIsNotUTF8) {
  heddle_executable *executable = nullptr;
  expectBadInput(
      heddle_compile("func.func @f(%x: !foreach.list<tensor<?xf32>>) {\n"
                     "  // caf\xe9\n  return\n}",
                     &cpu, &executable),
      "program:2:9: error: expected UTF-8 text, found byte 0xE9");
  expectBadInput(heddle_load_plan("{\"name\": \"\xff\"}", &sm90, &executable),
                 "UTF-8");
  char *text = nullptr;
  expectBadInput(heddle_explain("sgd", "[[\xff]]", 0, &sm90, &text), "UTF-8");
}

/// A valid program with an attribute `value`.
std::string programWith(const std::string &value) {
  return "!i128 = !foreach.list<tensor<?xf32>>\n"
         "func.func @i100(%i128: !i128, %-i128: !i128) -> !i128 "
         "attributes {a_i128 = @affine_map, b = \"affine_map i128\", a = " +
         value +
         "} { // affine_map i128\n"
         "  %affine_map = foreach.map (%a = %i128, %si65 = %-i128 : !i128) -> "
         "!i128 {\n"
         "    %$i99 = arith.addf %a, %si65 : f32\n"
         "    foreach.yield %$i99 : f32\n"
         "  }\n"
         "  return %affine_map : !i128\n"
         "}\n";
}

TEST(InputTest, RefusesTypesAndMapsThatTheParserCannotBound) {
  for (const char *value :
       {"1 : i64", "1 : ui00064", "dense<1> : tensor<4x4xi64>", "array<i8: 1>",
        "1 : index", "i1", "\"affine_set\""}) {
    heddle_executable *executable = nullptr;
    EXPECT_EQ(heddle_compile(programWith(value).c_str(), &cpu, &executable),
              HEDDLE_OK)
        << value << ": " << heddle_last_error();
    heddle_executable_free(executable);
  }
  struct {
    const char *value, *found;
  } refused[] = {
      {"1 : i65", "'i65'"},
      {"1 : si128", "'si128'"},
      {"1 : ui16777215", "'ui16777215'"},
      {"1 : i99999999999999999999999", "'i999999999999999'"},
      {"dense<1> : tensor<4x4xi128>", "'i128'"},
      {"tensor<?xi128>", "'i128'"},
      {"tensor<*xi128>", "'i128'"},
      {"vector<[4]xi128>", "'i128'"},
      {"array<i128: 1>", "'i128'"},
      {"affine_map<(d0) -> (d0)>", "'affine_map'"},
      {"affine_set<(d0) : (d0 == 0)>", "'affine_set'"},
      {"[@f-affine_map<(d0) -> (d0)>]", "'affine_map'"},
  };
  heddle_executable *executable = nullptr;
  for (auto &[value, found] : refused)
    expectBadInput(
        heddle_compile(programWith(value).c_str(), &cpu, &executable),
        (std::string(", found ") + found).c_str());
}

TEST(InputTest, RefusesBlankPrograms) {
  heddle_executable *executable = nullptr;
  char *text = nullptr;
  for (const char *program : {"", " ", "\t\n \n"}) {
    const char *found =
        *program ? ", found blanks only" : ", found an empty text";
    expectBadInput(heddle_compile(program, &cpu, &executable), found);
    expectBadInput(heddle_explain(program, nullptr, 1, &cpu, &text), found);
    expectBadInput(heddle_emit(program, "fused", &cpu, &text, nullptr), found);
  }
}

TEST(InputTest, RefusesWrongVariables) {
  heddle_executable *executable = nullptr, *other = nullptr;
  heddle_graph *graph = nullptr;
  char *text = nullptr;
  ASSERT_EQ(heddle_compile("sgd", &cpu, &executable), HEDDLE_OK);
  std::string plan;
  ASSERT_EQ(heddle_executable_plan(executable, &text), HEDDLE_OK);
  plan = text;
  heddle_free(text);
  struct {
    const char *name, *value, *normal;
  } wrong[] = {{"HEDDLE_THREADS", "0", "4"},
               {"HEDDLE_CACHE_SIZE", "1G", "256"}};
  for (auto &[name, value, normal] : wrong) {
    std::string part = std::string("environment variable ") + name +
                       ": expected a whole number of ";
    setenv(name, value, 1);
    expectBadInput(heddle_compile("sgd", &cpu, &other), part.c_str());
    expectBadInput(heddle_load_plan(plan.c_str(), &sm90, &other), part.c_str());
    expectBadInput(heddle_graph_create(executable, &graph), part.c_str());
    expectBadInput(heddle_emit("sgd", "ptx", &sm90, &text, nullptr),
                   part.c_str());
    ASSERT_EQ(heddle_doctor(&text), HEDDLE_OK);
    EXPECT_NE(std::strstr(text, part.c_str()), nullptr) << text;
    heddle_free(text);
    setenv(name, normal, 1);
  }
  EXPECT_EQ(heddle_graph_create(executable, &graph), HEDDLE_OK);
  heddle_graph_free(graph);
  heddle_executable_free(executable);
}

TEST(InputTest, ShortensMessages) {
  heddle_executable *executable = nullptr;
  heddle_graph *graph = nullptr;
  std::string name(100000, 'x');
  auto expectShort = [&](heddle_status status, const char *end) {
    expectBadInput(status, end);
    std::string message = heddle_last_error();
    EXPECT_LT(message.size(), 3000u) << message;
    EXPECT_LE(std::count(message.begin(), message.end(), '\n'), 20);
  };
  expectShort(heddle_compile(name.c_str(), &cpu, &executable),
              "The standard programs are");
  expectShort(heddle_compile((name + " {}").c_str(), &cpu, &executable),
              "expected an operation of arith");
  expectShort(heddle_compile(("sgd:" + name + "=1").c_str(), &cpu, &executable),
              "Its options are");
  heddle_options options = {sizeof(options), name.c_str(), nullptr};
  expectShort(heddle_compile("sgd", &options, &executable),
              "expected 'cuda' or 'cpu'");
  expectShort(heddle_load_plan(name.c_str(), &cpu, &executable), "");
  ASSERT_EQ(heddle_compile("sgd", &cpu, &executable), HEDDLE_OK);
  ASSERT_EQ(heddle_graph_create(executable, &graph), HEDDLE_OK);
  expectShort(heddle_set_scalar(graph, name.c_str(), 1, nullptr),
              "expected one of");
  double seconds = 0;
  expectBadInput(heddle_measure(graph, 0, 3, &seconds),
                 "expected at least one replay and one sample, found 0 and 3");
  heddle_graph_free(graph);
  heddle_executable_free(executable);
}

TEST(InputTest, PrintsNamesThatAreNotUTF8) {
  heddle_executable *executable = nullptr;
  heddle_graph *graph = nullptr;
  char *text = nullptr;
  expectBadInput(heddle_compile("sgd:momentum\xff=1", &cpu, &executable), "");
  expectBadInput(heddle_compile("\xc3(", &cpu, &executable), "");
  expectBadInput(heddle_compile("/nowhere/\xff.mlir", &cpu, &executable),
                 "cannot read program");
  heddle_options target = {sizeof(target), "c\xffpu", nullptr};
  expectBadInput(heddle_compile("sgd", &target, &executable),
                 "expected 'cuda' or 'cpu'");
  heddle_options arch = {sizeof(arch), "cuda", "sm_\xff"};
  heddle_status status = heddle_compile("sgd", &arch, &executable);
  EXPECT_TRUE(status == HEDDLE_BAD_INPUT || status == HEDDLE_UNAVAILABLE);
  EXPECT_TRUE(isUTF8(heddle_last_error()));
  expectBadInput(heddle_emit("sgd", "\xff", &sm90, &text, nullptr),
                 "stage: expected foreach");
  uint64_t value = 0;
  expectBadInput(heddle_statistic("\xff", &value), "");
  ASSERT_EQ(heddle_graph_create(Executables::elementwise(), &graph), HEDDLE_OK);
  expectBadInput(heddle_set_scalar(graph, "l\xffr", 1, nullptr),
                 "expected one of");
  heddle_graph_free(graph);
}

TEST(InputTest, ReadsAProgramFromAFileOfAnyName) {
  std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                 ("heddle-\xff-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::string path = (folder / "na\xffme.mlir").string();
  char *program = nullptr;
  ASSERT_EQ(heddle_emit("sgd", "foreach", &sm90, &program, nullptr), HEDDLE_OK);
  std::ofstream(path) << program;
  char *text = nullptr;
  EXPECT_EQ(heddle_explain(path.c_str(), nullptr, 1, &sm90, &text), HEDDLE_OK)
      << heddle_last_error();
  EXPECT_TRUE(text && isUTF8(text));
  heddle_free(text);
  heddle_free(program);
  std::ofstream(path) << "func.func @f() {";
  expectBadInput(heddle_explain(path.c_str(), nullptr, 1, &sm90, &text),
                 "error");
  std::filesystem::remove_all(folder);
}

TEST(InputTest, ReadsFilesWhoseNamesHaveCharactersOfPrograms) {
  heddle_executable *executable = nullptr;
  for (const char *name : {"no\nfile.mlir", "no{file}.mlir", "no\n{.mlirbc"})
    expectBadInput(heddle_compile(name, &cpu, &executable),
                   (std::string("cannot read program '") + name + "'").c_str());
  // A comment at the end makes no text a name.
  expectBadInput(
      heddle_compile("func.func @f() {\n} // f.mlir", &cpu, &executable),
      "program:1:16: error: ");
}

TEST(InputTest, RefusesAnEndlessFile) {
  heddle_executable *executable = nullptr;
  expectBadInput(heddle_compile("/dev/zero", &cpu, &executable),
                 "expected at most 256 MiB");
}

} // namespace
