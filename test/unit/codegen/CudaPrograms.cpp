//===- CudaPrograms.cpp - programs that test the CUDA source --------------===//

#include "CudaPrograms.h"

namespace heddle::test {

static std::string nameOfProgram(const std::string &text) {
  std::string name;
  for (char c : text)
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

const std::vector<NamedProgram> &standardPrograms() {
  static const std::vector<NamedProgram> programs = [] {
    std::vector<NamedProgram> result;
    auto add = [&](const std::string &text) {
      result.push_back({nameOfProgram(text), text});
    };
    // SGD: every combination of options that makes sense.
    for (const char *momentum :
         {"", "momentum=0.9", "momentum=0.9,dampening=0.1",
          "momentum=0.9,nesterov=true"})
      for (const char *decay : {"", "weight_decay=0.01"})
        for (const char *maximize : {"", "maximize=true"}) {
          std::string text = "sgd";
          char separator = ':';
          for (const char *option : {momentum, decay, maximize})
            if (*option) {
              text += separator + std::string(option);
              separator = ',';
            }
          add(text);
        }
    for (const char *program : {"adam", "adamw"})
      for (const char *amsgrad : {"false", "true"})
        for (const char *maximize : {"false", "true"})
          for (const char *decay : {"0", "0.1"})
            add(std::string(program) + ":amsgrad=" + amsgrad +
                ",maximize=" + maximize + ",weight_decay=" + decay);
    for (const char *dtype : {"f64", "bf16", "f16"})
      for (const char *program :
           {"sgd:momentum=0.9,dampening=0.1,dtype=", "adamw:dtype=",
            "adam:amsgrad=true,weight_decay=0.1,dtype=", "global_norm:dtype=",
            "clip_by_global_norm:dtype="})
        add(std::string(program) + dtype);
    for (const char *text :
         {"adamw:dtype=bf16,state=f32", "adamw:dtype=f16,state=f32",
          "sgd:momentum=0.9,dtype=bf16,state=f32", "adamw:dtype=f32/bf16",
          "adamw:dtype=f32/bf16/f16/f64", "sgd:momentum=0.9,dtype=f32/f16",
          "adamw:groups=true", "adamw:groups=true,dtype=f32/bf16",
          "sgd:momentum=0.9,weight_decay=0.1,groups=true", "global_norm",
          "global_norm:dtype=f32/bf16", "clip_by_global_norm",
          "clip_by_global_norm+sgd:momentum=0.9", "clip_by_global_norm+adam",
          "clip_by_global_norm+adamw",
          "clip_by_global_norm:dtype=f32/bf16+adamw:dtype=f32/bf16",
          "clip_by_global_norm+adamw:groups=true"})
      add(text);
    return result;
  }();
  return programs;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

static const char *const kTypes = R"mlir(
!list = !foreach.list<tensor<?xf32>>
!half = !foreach.list<tensor<?xbf16>>
!ints = !foreach.list<tensor<?xi32>>
!longs = !foreach.list<tensor<?xi64>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
!each64 = !foreach.list<tensor<f64>>
!eachlong = !foreach.list<tensor<i64>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>
!num = tensor<f64>
!single = tensor<f32>
)mlir";

/// One reduction of every kind along one axis.
static std::string reductions(const char *axis, const char *from,
                              const char *value, const char *position,
                              const char *flags, bool exactKinds) {
  std::string text = kTypes, results, types;
  std::string body;
  auto add = [&](const std::string &name, const std::string &type) {
    results += (results.empty() ? "%" : ", %") + name;
    types += (types.empty() ? "" : ", ") + type;
  };
  std::vector<const char *> kinds = {"add", "mul", "min", "max"};
  if (!exactKinds)
    kinds = {"logsumexp"};
  for (const char *kind : kinds) {
    body += std::string("  %") + kind + " = foreach.reduce " + kind +
            " along " + axis + " (%x = %x : " + from + ") -> " + value + " {\n";
    if (std::string(kind) == "mul")
      body += "    %one = arith.constant 1.0 : f32\n"
              "    %tiny = arith.constant 0.001 : f32\n"
              "    %t = arith.mulf %x, %tiny : f32\n"
              "    %y = arith.addf %one, %t : f32\n"
              "    foreach.yield %y : f32\n  }\n";
    else
      body += "    foreach.yield %x : f32\n  }\n";
    add(kind, value);
  }
  if (exactKinds) {
    for (const char *kind : {"any", "all"}) {
      body += std::string("  %") + kind + " = foreach.reduce " + kind +
              " along " + axis + " (%x = %x : " + from + ") -> " + flags +
              " {\n    %bound = arith.constant " +
              (kind[1] == 'n' ? "2.5" : "-2.5") +
              " : f32\n    %c = arith.cmpf ogt, %x, %bound : f32\n"
              "    foreach.yield %c : i1\n  }\n";
      add(kind, flags);
    }
    // A position in a list is the position of a member.
    bool positions =
        std::string(axis) != "list" || std::string(from) == "!each";
    if (!positions)
      return text + "func.func @reductions(%x: " + from + ") -> (" + types +
             ") {\n" + body + "  return " + results + " : " + types + "\n}\n";
    body += std::string("  %most, %at = foreach.reduce argmax along ") + axis +
            " (%x = %x : " + from + ") -> (" + value + ", " + position +
            ") {\n    foreach.yield %x : f32\n  }\n";
    add("most", value);
    add("at", position);
  }
  return text + "func.func @reductions(%x: " + from + ") -> (" + types +
         ") {\n" + body + "  return " + results + " : " + types + "\n}\n";
}

const std::vector<NamedProgram> &writtenPrograms() {
  static const std::vector<NamedProgram> programs = [] {
    std::vector<NamedProgram> result;
    auto add = [&](const char *name, const std::string &text,
                   bool isExact = true) {
      result.push_back({name, kTypes + text, isExact});
    };
    auto addReductions = [&](const std::string &name, const char *axis,
                             const char *from, const char *value,
                             const char *position, const char *flags) {
      for (bool exact : {true, false})
        result.push_back({name + (exact ? "" : "Logsumexp"),
                          reductions(axis, from, value, position, flags, exact),
                          exact});
    };
    addReductions("ReduceMember", "member", "!list", "!each", "!eachlong",
                  "!flag");
    addReductions("ReduceList", "list", "!list", "!single", "tensor<i64>",
                  "tensor<i1>");
    addReductions("ReduceVectorAlongI", "i", "!list", "!each", "!eachlong",
                  "!flag");
    addReductions("ReduceRows", "j", "!mats", "!list", "!longs",
                  "!foreach.list<tensor<?xi1>>");
    addReductions("ReduceColumns", "i", "!mats", "!list", "!longs",
                  "!foreach.list<tensor<?xi1>>");
    addReductions("ReduceMatrixMember", "member", "!mats", "!each", "!eachlong",
                  "!flag");
    addReductions("ReduceMatrixList", "list", "!mats", "!single", "tensor<i64>",
                  "tensor<i1>");
    addReductions("ReduceEachList", "list", "!each", "!single", "tensor<i64>",
                  "tensor<i1>");

    add("Scale", R"mlir(
func.func @scale(%x: !list {foreach.donate = 0 : i64}, %by: !num {foreach.default = 2.5 : f64}) -> !list {
  %y = foreach.map (%x = %x : !list, %by = %by as f32 : !num) -> !list {
    %y = arith.mulf %x, %by : f32
    foreach.yield %y : f32
  }
  return %y : !list
})mlir");

    // Members are counted beside a map of elements.
    add("CountMembers", R"mlir(
func.func @count_members(%x: !list {foreach.donate = 0 : i64}, %m: !each) -> (!list, !single) {
  %s = foreach.map (%x = %x : !list, %m = %m : !each) -> !list {
    %s = arith.addf %x, %m : f32
    foreach.yield %s : f32
  }
  %n = foreach.reduce add along list (%m = %m : !each) -> !single {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  return %s, %n : !list, !single
})mlir");

    add("SoftmaxColumns", R"mlir(
func.func @softmax_columns(%x: !mats {foreach.donate = 0 : i64}) -> (!mats, !list) {
  %most = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats, %m = %most[i] : !list) -> !list {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    foreach.yield %e : f32
  }
  %p = foreach.map (%x = %x[i, j] : !mats, %m = %most[i], %s = %sum[i] : !list) -> !mats {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    %p = arith.divf %e, %s : f32
    foreach.yield %p : f32
  }
  %column = foreach.reduce add along i (%p = %p[i, j] : !mats) -> !list {
    foreach.yield %p : f32
  }
  return %p, %column : !mats, !list
})mlir",
        false);

    // Columns without row values, and column values reduced over the member.
    add("ColumnsOfTwoMatrices", R"mlir(
func.func @columns(%x: !mats, %y: !mats, %row: !list, %col: !list, %t: !each) -> (!list, !list, !longs, !each) {
  %s = foreach.reduce add along i (%x = %x[i, j], %y = %y[i, j] : !mats, %w = %row[i], %v = %col[j] : !list, %t = %t : !each) -> !list {
    %a = arith.mulf %x, %w : f32
    %b = arith.mulf %y, %t : f32
    %c = arith.addf %a, %v : f32
    %d = arith.addf %b, %c : f32
    foreach.yield %d : f32
  }
  %most, %at = foreach.reduce argmax along i (%y = %y[i, j] : !mats) -> (!list, !longs) {
    foreach.yield %y : f32
  }
  %e = foreach.reduce add along member (%c = %col[j], %w = %row[i] : !list) -> !each {
    foreach.yield %c : f32
  }
  return %s, %most, %at, %e : !list, !list, !longs, !each
})mlir");
    result.back().keepsOrder = false;

    add("RowsAndColumns", R"mlir(
func.func @balance(%x: !mats, %row: !list, %col: !list, %t: !each) -> (!mats, !list, !list, !each) {
  %r = foreach.reduce add along j (%x = %x[i, j] : !mats, %c = %col[j] : !list) -> !list {
    %y = arith.mulf %x, %c : f32
    foreach.yield %y : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %r[i], %own = %row[i], %c = %col[j] : !list, %t = %t : !each) -> !mats {
    %a = arith.mulf %x, %r : f32
    %b = arith.addf %a, %own : f32
    %d = arith.subf %b, %c : f32
    %y = arith.mulf %d, %t : f32
    foreach.yield %y : f32
  }
  %s = foreach.reduce add along i (%y = %y[i, j] : !mats, %c = %col[j] : !list) -> !list {
    %z = arith.mulf %y, %c : f32
    foreach.yield %z : f32
  }
  %e = foreach.reduce add along member (%r = %r[i] : !list) -> !each {
    %q = arith.mulf %r, %r : f32
    foreach.yield %q : f32
  }
  return %y, %r, %s, %e : !mats, !list, !list, !each
})mlir");
    result.back().keepsOrder = false;

    // Blocks share rows that are only mapped; one block reduces.
    add("SharedRows", R"mlir(
func.func @shared(%x: !mats {foreach.donate = 0 : i64}, %row: !list, %col: !list, %t: !each) -> (!mats, !each, !each) {
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %row[i], %c = %col[j] : !list, %t = %t : !each) -> !mats {
    %a = arith.mulf %x, %t : f32
    %b = arith.addf %a, %r : f32
    %y = arith.subf %b, %c : f32
    foreach.yield %y : f32
  }
  %rows = foreach.reduce max along member (%r = %row[i] : !list, %t = %t : !each) -> !each {
    %q = arith.mulf %r, %t : f32
    foreach.yield %q : f32
  }
  %columns = foreach.reduce add along member (%c = %col : !list) -> !each {
    foreach.yield %c : f32
  }
  return %y, %rows, %columns : !mats, !each, !each
})mlir");
    result.back().keepsOrder = false;

    add("SharedRowsOfManyTypes", R"mlir(
!hm = !foreach.list<tensor<?x?xf16>>
!wm = !foreach.list<tensor<?x?xf64>>
!bm = !foreach.list<tensor<?x?xi1>>
!lg = !foreach.list<tensor<i64>>
func.func @of_many_types(%h: !hm {foreach.donate = 0 : i64}, %x: !mats, %row: !list, %col: !list, %t: !each) -> (!hm, !wm, !bm, !each, !each, !lg, !each, !each, !lg, tensor<f32>) {
  %y, %z, %p = foreach.map (%x = %x[i, j] : !mats, %h = %h[i, j] as f32 : !hm, %r = %row[i], %c = %col[j] : !list) -> (!hm, !wm, !bm) {
    %b = arith.addf %x, %r : f32
    %y = arith.subf %b, %c : f32
    %q = arith.addf %y, %h : f32
    %f = arith.extf %y : f32 to f64
    %p = arith.cmpf ogt, %y, %h : f32
    foreach.yield %q, %f, %p : f32, f64, i1
  }
  %s = foreach.reduce add along member (%r = %row : !list, %t = %t : !each) -> !each {
    %q = arith.mulf %r, %t : f32
    foreach.yield %q : f32
  }
  %am, %a = foreach.reduce argmax along member (%r = %row : !list) -> (!each, !lg) {
    foreach.yield %r : f32
  }
  %cs = foreach.reduce add along member (%r = %col : !list) -> !each {
    foreach.yield %r : f32
  }
  %cam, %ca = foreach.reduce argmax along member (%r = %col : !list) -> (!each, !lg) {
    foreach.yield %r : f32
  }
  %all = foreach.reduce add along list (%s = %s : !each) -> tensor<f32> {
    foreach.yield %s : f32
  }
  return %y, %z, %p, %s, %am, %a, %cs, %cam, %ca, %all : !hm, !wm, !bm, !each, !each, !lg, !each, !each, !lg, tensor<f32>
})mlir");
    result.back().keepsOrder = false;

    add("SharedRowsBackwards", R"mlir(
!hm = !foreach.list<tensor<?x?xf16>>
func.func @backwards(%x: !mats, %row: !list, %col: !list) -> (!hm, !each, !each) {
  %s = foreach.reduce add along member (%x = %x : !mats) -> !each {
    foreach.yield %x : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %row[i], %c = %col[j] : !list, %s = %s : !each) -> !hm {
    %b = arith.addf %x, %r : f32
    %d = arith.subf %b, %c : f32
    %y = arith.addf %d, %s : f32
    foreach.yield %y : f32
  }
  %m = foreach.reduce add along member (%r = %row : !list, %s = %s : !each) -> !each {
    %q = arith.mulf %r, %s : f32
    foreach.yield %q : f32
  }
  return %y, %s, %m : !hm, !each, !each
})mlir");
    result.back().keepsOrder = false;

    add("SharedRowsOfTwo", R"mlir(
func.func @shared_of_two(%x: !mats, %w: !mats, %row: !list) -> (!mats, !mats) {
  %y = foreach.map (%x = %x[i, j], %w = %w[i, j] : !mats, %r = %row[i] : !list) -> !mats {
    %y = arith.mulf %x, %r : f32
    %z = arith.addf %y, %w : f32
    foreach.yield %z : f32
  }
  %z = foreach.map (%w = %w[i, j] : !mats, %r = %row[i] : !list) -> !mats {
    %z = arith.subf %w, %r : f32
    foreach.yield %z : f32
  }
  return %y, %z : !mats, !mats
})mlir");

    add("SharedRowsOfLateReaders", R"mlir(
func.func @late(%x: !mats {foreach.donate = 0 : i64}, %row: !list, %s: !each, %z: !list) -> (!mats, !list) {
  %t = foreach.map (%s = %s : !each) -> !each {
    %t = math.exp %s : f32
    foreach.yield %t : f32
  }
  %q = foreach.reduce add along member (%r = %row : !list, %t = %t : !each) -> !each {
    %p = arith.mulf %r, %t : f32
    foreach.yield %p : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %row[i] : !list, %q = %q : !each) -> !mats {
    %a = arith.mulf %x, %q : f32
    %b = arith.addf %a, %r : f32
    foreach.yield %b : f32
  }
  %most = foreach.reduce max along member (%r = %row : !list, %q = %q : !each) -> !each {
    %p = arith.mulf %r, %q : f32
    foreach.yield %p : f32
  }
  %w = foreach.map (%z = %z : !list, %m = %most : !each) -> !list {
    %a = arith.mulf %z, %m : f32
    foreach.yield %a : f32
  }
  return %y, %w : !mats, !list
})mlir");
    result.back().keepsOrder = false;

    // Rows are not shared here: the first block that ends a member would
    // replace a value that others have not read.
    add("RowsWhoseScalarChanges", R"mlir(
func.func @changes(%x: !mats, %row: !list, %t: !each {foreach.donate = 1 : i64}) -> (!mats, !each) {
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %row[i] : !list, %t = %t : !each) -> !mats {
    %a = arith.mulf %x, %t : f32
    %b = arith.addf %a, %r : f32
    foreach.yield %b : f32
  }
  %most = foreach.reduce max along member (%r = %row[i] : !list) -> !each {
    foreach.yield %r : f32
  }
  %next = foreach.map (%t = %t, %m = %most : !each) -> !each {
    %n = arith.addf %t, %m : f32
    foreach.yield %n : f32
  }
  return %y, %next : !mats, !each
})mlir");

    add("NormalizeMembers", R"mlir(
func.func @normalize(%x: !list {foreach.donate = 0 : i64}, %h: !half {foreach.donate = 1 : i64}, %count: !iteration {foreach.donate = 2 : i64}) -> (!list, !half, !iteration, !each64) {
  %sum = foreach.reduce add along member (%x = %x as f64 : !list) -> !each64 {
    %q = arith.mulf %x, %x : f64
    foreach.yield %q : f64
  }
  %norm, %more = foreach.map (%s = %sum : !each64, %n = %count : !iteration) -> (!each64, !iteration) {
    %tiny = arith.constant 1.0e-6 : f64
    %r = math.sqrt %s : f64
    %d = arith.addf %r, %tiny : f64
    %one = arith.constant 1 : i32
    %n1 = arith.addi %n, %one : i32
    foreach.yield %d, %n1 : f64, i32
  }
  %y, %z = foreach.map (%x = %x : !list, %h = %h as f32 : !half, %n = %norm as f32 : !each64) -> (!list, !half) {
    %y = arith.divf %x, %n : f32
    %z = arith.subf %h, %y : f32
    foreach.yield %y, %z : f32, f32
  }
  return %y, %z, %more, %norm : !list, !half, !iteration, !each64
})mlir");

    add("Integers", R"mlir(
func.func @integers(%n: !ints {foreach.donate = 0 : i64}, %m: !longs) -> (!ints, !longs, !eachlong, tensor<i64>, tensor<i32>) {
  %a, %b = foreach.map (%n = %n : !ints, %m = %m : !longs) -> (!ints, !longs) {
    %k = arith.constant 3 : i32
    %p = arith.muli %n, %k : i32
    %q = arith.maxsi %p, %n : i32
    %w = arith.extsi %q : i32 to i64
    %c = arith.cmpi slt, %w, %m : i64
    %s = arith.select %c, %w, %m : i64
    foreach.yield %q, %s : i32, i64
  }
  %sum = foreach.reduce add along member (%b = %b : !longs) -> !eachlong {
    foreach.yield %b : i64
  }
  %most = foreach.reduce max along list (%m = %m : !longs) -> tensor<i64> {
    foreach.yield %m : i64
  }
  %least = foreach.reduce min along list (%n = %n : !ints) -> tensor<i32> {
    foreach.yield %n : i32
  }
  return %a, %b, %sum, %most, %least : !ints, !longs, !eachlong, tensor<i64>, tensor<i32>
})mlir");

    add("SkipWhenInfinite", R"mlir(
func.func @guarded(%p: !list {foreach.donate = 0 : i64}, %g: !list, %lr: !num {foreach.default = 0.1 : f64}) -> (!list, tensor<i1>) {
  %ok = foreach.reduce all along list (%g = %g : !list) -> tensor<i1> {
    %f = math.isfinite %g : f32
    foreach.yield %f : i1
  }
  %q = foreach.if %ok -> (!list) {
    %r = foreach.map (%p = %p, %g = %g : !list, %lr = %lr as f32 : !num) -> !list {
      %s = arith.mulf %lr, %g : f32
      %r = arith.subf %p, %s : f32
      foreach.yield %r : f32
    }
    foreach.yield %r : !list
  } else (%p)
  return %q, %ok : !list, tensor<i1>
})mlir");

    add("LoopForAll", R"mlir(
func.func @halve(%x0: !list {foreach.donate = 0 : i64}, %n0: tensor<i32>, %limit: tensor<i32>, %tol: !num)
    -> (!list, tensor<i32>, !num, tensor<i32>) {
  %x, %n, %sum, %iterations = foreach.while (%x = %x0 : !list, %n = %n0 : tensor<i32>) upto %limit
      -> (!list, tensor<i32>, !num, tensor<i32>) {
    %x1 = foreach.map (%x = %x : !list) -> !list {
      %half = arith.constant 0.5 : f32
      %x1 = arith.mulf %half, %x : f32
      foreach.yield %x1 : f32
    }
    %sum = foreach.reduce add along list (%x = %x1 as f64 : !list) -> !num {
      %q = arith.mulf %x, %x : f64
      foreach.yield %q : f64
    }
    %more, %n1 = foreach.map (%s = %sum, %tol = %tol : !num, %n = %n : tensor<i32>) -> (tensor<i1>, tensor<i32>) {
      %more = arith.cmpf ogt, %s, %tol : f64
      %two = arith.constant 2 : i32
      %n1 = arith.addi %n, %two : i32
      foreach.yield %more, %n1 : i1, i32
    }
    foreach.yield %x1, %n1, %sum while %more : !list, tensor<i32>, !num while tensor<i1>
  }
  return %x, %n, %sum, %iterations : !list, tensor<i32>, !num, tensor<i32>
})mlir");

    add("LoopForAllInTwoSweeps", R"mlir(
func.func @shrink(%x0: !list, %limit: tensor<i32>, %tol: !num)
    -> (!list, !num, tensor<i32>) {
  %x, %norm, %iterations = foreach.while (%x = %x0 : !list) upto %limit -> (!list, !num, tensor<i32>) {
    %norm = foreach.reduce add along list (%x = %x as f64 : !list) -> !num {
      %q = arith.mulf %x, %x : f64
      foreach.yield %q : f64
    }
    %x1 = foreach.map (%x = %x : !list, %n = %norm as f32 : !num) -> !list {
      %one = arith.constant 1.0 : f32
      %d = arith.addf %n, %one : f32
      %r = math.sqrt %d : f32
      %y = arith.divf %x, %r : f32
      foreach.yield %y : f32
    }
    %more = foreach.map (%s = %norm, %tol = %tol : !num) -> tensor<i1> {
      %more = arith.cmpf ogt, %s, %tol : f64
      foreach.yield %more : i1
    }
    foreach.yield %x1, %norm while %more : !list, !num while tensor<i1>
  }
  return %x, %norm, %iterations : !list, !num, tensor<i32>
})mlir");

    add("LoopForEveryMember", R"mlir(
func.func @roots(%a: !list, %x0: !list {foreach.donate = 0 : i64}, %limit: tensor<i32>, %tol: !num)
    -> (!list, !each, !iteration) {
  %x, %change, %iterations = foreach.while (%x = %x0 : !list) upto %limit -> (!list, !each, !iteration) {
    %x1 = foreach.map (%x = %x, %a = %a : !list) -> !list {
      %half = arith.constant 0.5 : f32
      %c = math.absf %a : f32
      %b = math.absf %x : f32
      %tiny = arith.constant 1.0e-3 : f32
      %d = arith.addf %b, %tiny : f32
      %q = arith.divf %c, %d : f32
      %s = arith.addf %d, %q : f32
      %y = arith.mulf %half, %s : f32
      foreach.yield %y : f32
    }
    %e = foreach.reduce max along member (%x = %x, %y = %x1 : !list) -> !each {
      %d = arith.subf %x, %y : f32
      %s = math.absf %d : f32
      foreach.yield %s : f32
    }
    %more = foreach.map (%e = %e : !each, %tol = %tol as f32 : !num) -> !flag {
      %more = arith.cmpf ogt, %e, %tol : f32
      foreach.yield %more : i1
    }
    foreach.yield %x1, %e while %more : !list, !each while !flag
  }
  return %x, %change, %iterations : !list, !each, !iteration
})mlir");

    add("LoopOverMemberScalars", R"mlir(
func.func @counters(%a: !each, %x0: !each, %limit: tensor<i32>, %tol: !num) -> (!each, !each, !iteration) {
  %x, %change, %iterations = foreach.while (%x = %x0 : !each) upto %limit -> (!each, !each, !iteration) {
    %x1, %d = foreach.map (%x = %x, %a = %a : !each) -> (!each, !each) {
      %half = arith.constant 0.5 : f32
      %x1 = arith.mulf %half, %x : f32
      %d = arith.subf %x1, %a : f32
      foreach.yield %x1, %d : f32, f32
    }
    %more = foreach.map (%d = %d : !each, %tol = %tol as f32 : !num) -> !flag {
      %s = math.absf %d : f32
      %more = arith.cmpf ogt, %s, %tol : f32
      foreach.yield %more : i1
    }
    foreach.yield %x1, %d while %more : !each, !each while !flag
  }
  return %x, %change, %iterations : !each, !each, !iteration
})mlir");

    // Reads a schedule and records the remaining values by iteration; also
    // reads the entries of the first and of the next iteration.
    add("LoopByIteration", R"mlir(
func.func @shrink(%x0: !list {foreach.donate = 0 : i64}, %schedule: !list, %history: !half {foreach.donate = 1 : i64},
                  %limit: tensor<i32>, %tol: !num) -> (!list, !half, !each, !iteration) {
  %start = foreach.map (%x = %x0, %s = %schedule[first] : !list) -> !list {
    %y = arith.addf %x, %s : f32
    foreach.yield %y : f32
  }
  %x, %h, %last, %iterations = foreach.while (%x = %start : !list, %h = %history : !half) upto %limit -> (!list, !half, !each, !iteration) {
    %x1 = foreach.map (%x = %x, %s = %schedule[iteration], %n = %schedule[next] : !list) -> !list {
      %tenth = arith.constant 0.1 : f32
      %m = arith.mulf %n, %tenth : f32
      %w = arith.addf %s, %m : f32
      %t = arith.mulf %w, %tenth : f32
      %y = arith.mulf %x, %t : f32
      foreach.yield %y : f32
    }
    %e = foreach.reduce max along member (%y = %x1 : !list) -> !each {
      %s = math.absf %y : f32
      foreach.yield %s : f32
    }
    %h1 = foreach.record %e in %h : !each in !half
    %last, %more = foreach.map (%e = %e : !each, %tol = %tol as f32 : !num) -> (!each, !flag) {
      %k = foreach.iteration : i32
      %two = arith.constant 2 : i32
      %early = arith.cmpi slt, %k, %two : i32
      %f = arith.sitofp %k : i32 to f32
      %large = arith.cmpf ogt, %e, %tol : f32
      %more = arith.ori %early, %large : i1
      foreach.yield %f, %more : f32, i1
    }
    foreach.yield %x1, %h1, %last while %more : !list, !half, !each while !flag
  }
  return %x, %h, %last, %iterations : !list, !half, !each, !iteration
})mlir");

    add("LoopOverMatricesByIteration", R"mlir(
func.func @balance(%x: !mats, %row: !list, %col: !list, %schedule: !foreach.list<tensor<?xf64>>, %history: !list,
                   %limit: tensor<i32>, %bound: !each) -> (!list, !list, !list, !iteration) {
  %u, %v, %h, %iterations = foreach.while (%u = %row, %v = %col, %h = %history : !list) upto %limit
      -> (!list, !list, !list, !iteration) {
    %r = foreach.reduce add along j (%x = %x[i, j] : !mats, %v = %v[j] : !list) -> !list {
      %y = arith.mulf %x, %v : f32
      foreach.yield %y : f32
    }
    %u1 = foreach.map (%r = %r : !list, %s = %schedule[iteration] as f32, %n = %schedule[next] as f32 : !foreach.list<tensor<?xf64>>) -> !list {
      %w = arith.mulf %s, %n : f32
      %y = arith.mulf %r, %w : f32
      foreach.yield %y : f32
    }
    %c = foreach.reduce add along i (%x = %x[i, j] : !mats, %u = %u1[i] : !list) -> !list {
      %y = arith.mulf %x, %u : f32
      foreach.yield %y : f32
    }
    %v1 = foreach.map (%v = %v, %c = %c : !list) -> !list {
      %small = arith.constant 1.0e-3 : f32
      %d = arith.mulf %c, %small : f32
      %y = arith.addf %v, %d : f32
      foreach.yield %y : f32
    }
    %e = foreach.reduce max along i (%u = %u, %u1 = %u1 : !list) -> !each {
      %d = arith.subf %u, %u1 : f32
      %s = math.absf %d : f32
      foreach.yield %s : f32
    }
    %h1 = foreach.record %e in %h : !each in !list
    %more = foreach.map (%e = %e, %bound = %bound : !each) -> !flag {
      %more = arith.cmpf ogt, %e, %bound : f32
      foreach.yield %more : i1
    }
    foreach.yield %u1, %v1, %h1 while %more : !list, !list, !list while !flag
  }
  return %u, %v, %h, %iterations : !list, !list, !list, !iteration
})mlir");
    result.back().keepsOrder = false;

    // Log-domain matrix balancing: rows and columns share exponentials.
    add("LoopBalances", R"mlir(
func.func @balances(%x: !mats, %row: !list, %col: !list, %row_u: !list {foreach.donate = 0 : i64},
                    %col_v: !list {foreach.donate = 1 : i64}, %limit: tensor<i32>, %bound: !each, %sharp: !each)
    -> (!list, !list, !each, !iteration) {
  %u, %v, %error, %iterations = foreach.while (%u = %row_u, %v = %col_v : !list) upto %limit -> (!list, !list, !each, !iteration) {
    %r = foreach.reduce logsumexp along j (%x = %x[i, j] : !mats, %v = %v[j] : !list, %s = %sharp : !each) -> !list {
      %sx = arith.mulf %x, %s : f32
      %y = arith.addf %sx, %v : f32
      foreach.yield %y : f32
    }
    %u1 = foreach.map (%a = %row, %r = %r : !list) -> !list {
      %y = arith.subf %a, %r : f32
      foreach.yield %y : f32
    }
    %c = foreach.reduce logsumexp along i (%x = %x[i, j] : !mats, %u = %u1[i] : !list, %s = %sharp : !each) -> !list {
      %sx = arith.mulf %x, %s : f32
      %y = arith.addf %sx, %u : f32
      foreach.yield %y : f32
    }
    %v1 = foreach.map (%b = %col, %c = %c : !list) -> !list {
      %y = arith.subf %b, %c : f32
      foreach.yield %y : f32
    }
    %error = foreach.reduce max along i (%u = %u, %u1 = %u1 : !list) -> !each {
      %d = arith.subf %u, %u1 : f32
      %y = math.absf %d : f32
      foreach.yield %y : f32
    }
    %more = foreach.map (%error = %error, %bound = %bound : !each) -> !flag {
      %more = arith.cmpf ogt, %error, %bound : f32
      foreach.yield %more : i1
    }
    foreach.yield %u1, %v1, %error while %more : !list, !list, !each while !flag
  }
  return %u, %v, %error, %iterations : !list, !list, !each, !iteration
})mlir",
        /*isExact=*/false);

    // Exponentials of columns only, about a constant, whose exponents contain
    // sums of rows.
    add("LoopOfColumnPowers", R"mlir(
func.func @powers(%x: !mats, %row: !list, %col: !list, %limit: tensor<i32>, %bound: !each) -> (!list, !list, !iteration) {
  %u, %v, %iterations = foreach.while (%u = %row, %v = %col : !list) upto %limit -> (!list, !list, !iteration) {
    %r = foreach.reduce add along j (%x = %x[i, j] : !mats, %v = %v[j] : !list) -> !list {
      %y = arith.mulf %x, %v : f32
      foreach.yield %y : f32
    }
    %u1 = foreach.map (%r = %r : !list) -> !list {
      %a = math.absf %r : f32
      %one = arith.constant 1.0 : f32
      %b = arith.addf %a, %one : f32
      %y = arith.divf %r, %b : f32
      foreach.yield %y : f32
    }
    %c = foreach.reduce logsumexp along i (%x = %x[i, j] : !mats, %u = %u1[i] : !list) -> !list {
      %low = arith.constant -3.0 : f32
      %d = arith.subf %u, %low : f32
      %y = arith.addf %x, %d : f32
      %shift = arith.constant -2.0 : f32
      foreach.yield %y, %shift : f32, f32
    }
    %most = foreach.reduce max along i (%u = %u1 : !list) -> !each {
      foreach.yield %u : f32
    }
    %more = foreach.map (%most = %most, %bound = %bound : !each) -> !flag {
      %no = arith.cmpf oeq, %most, %bound : f32
      %yes = arith.constant true
      %more = arith.xori %no, %yes : i1
      foreach.yield %more : i1
    }
    foreach.yield %u1, %c while %more : !list, !list while !flag
  }
  return %u, %v, %iterations : !list, !list, !iteration
})mlir",
        /*isExact=*/false);

    // Balancing, with names that the source of a panel loop uses itself.
    add("LoopWithNamesOfPanels", R"mlir(
func.func @loop_params(%params: !mats, %rows: !list, %columns: !list, %r: !list {foreach.donate = 0 : i64},
                       %column_values: !list {foreach.donate = 1 : i64}, %loop: !num, %iteration_limit: !num,
                       %limit: tensor<i32>, %barrier: !each)
    -> (!list, !list, !each, !iteration) {
  %begin, %panel, %sums, %thread = foreach.while (%m = %r, %c = %column_values : !list) upto %limit -> (!list, !list, !each, !iteration) {
    %lane = foreach.reduce logsumexp along j (%c = %params[i, j] : !mats, %member_index = %c[j] : !list) -> !list {
      %has_column = arith.addf %c, %member_index : f32
      foreach.yield %has_column : f32
    }
    %batch = foreach.map (%member = %rows, %lane = %lane, %m = %m : !list, %loop = %loop as f32, %iteration_limit = %iteration_limit as f32 : !num) -> !list {
      %is_row = arith.subf %member, %lane : f32
      %b = arith.mulf %loop, %is_row : f32
      %scalars = arith.subf %b, %m : f32
      %inputs = arith.mulf %iteration_limit, %scalars : f32
      %run = arith.addf %m, %inputs : f32
      foreach.yield %run : f32
    }
    %warp = foreach.reduce logsumexp along i (%offset = %params[i, j] : !mats, %block = %batch[i] : !list) -> !list {
      %resident = arith.addf %offset, %block : f32
      foreach.yield %resident : f32
    }
    %to = foreach.map (%r = %columns, %warp = %warp : !list) -> !list {
      %elements = arith.subf %r, %warp : f32
      foreach.yield %elements : f32
    }
    %of_member = foreach.reduce max along i (%m = %m, %batch = %batch : !list) -> !each {
      %is_first = arith.subf %batch, %m : f32
      %unsafe = math.absf %is_first : f32
      foreach.yield %unsafe : f32
    }
    %active = foreach.map (%count = %of_member, %barrier = %barrier : !each) -> !flag {
      %more = arith.cmpf ogt, %count, %barrier : f32
      foreach.yield %more : i1
    }
    foreach.yield %batch, %to, %of_member while %active : !list, !list, !each while !flag
  }
  return %begin, %panel, %sums, %thread : !list, !list, !each, !iteration
})mlir",
        /*isExact=*/false);

    // Two sums with one read of the matrix; the second uses the first.
    add("LoopOfGrams", R"mlir(
func.func @grams(%x: !mats, %w: !mats, %row: !list, %col: !list, %limit: tensor<i32>, %bound: !each) -> (!list, !list, !iteration) {
  %q, %p, %iterations = foreach.while (%q = %row, %p = %col : !list) upto %limit -> (!list, !list, !iteration) {
    %t = foreach.reduce add along j (%x = %x[i, j], %w = %w[i, j] : !mats, %p = %p[j] : !list) -> !list {
      %m = arith.mulf %x, %w : f32
      %y = arith.mulf %m, %p : f32
      foreach.yield %y : f32
    }
    %c = foreach.reduce add along i (%x = %x[i, j] : !mats, %t = %t[i] : !list) -> !list {
      %y = arith.mulf %x, %t : f32
      foreach.yield %y : f32
    }
    %most = foreach.reduce max along i (%x = %x[i, j] : !mats, %t = %t[i] : !list) -> !list {
      %y = arith.subf %x, %t : f32
      foreach.yield %y : f32
    }
    %p1 = foreach.map (%c = %c, %most = %most : !list) -> !list {
      %a = math.absf %c : f32
      %one = arith.constant 1.0 : f32
      %b = arith.addf %a, %one : f32
      %n = arith.divf %c, %b : f32
      %tenth = arith.constant 0.1 : f32
      %s = arith.mulf %most, %tenth : f32
      %y = arith.addf %n, %s : f32
      foreach.yield %y : f32
    }
    %size = foreach.reduce add along i (%t = %t : !list) -> !each {
      %y = arith.mulf %t, %t : f32
      foreach.yield %y : f32
    }
    %more = foreach.map (%size = %size, %bound = %bound : !each) -> !flag {
      %more = arith.cmpf ogt, %size, %bound : f32
      foreach.yield %more : i1
    }
    foreach.yield %t, %p1 while %more : !list, !list while !flag
  }
  return %q, %p, %iterations : !list, !list, !iteration
})mlir");
    result.back().keepsOrder = false;
    result.back().isExact = false;

    // Two families of vectors and one flag for a member of both, which the
    // second of two sweeps computes.
    add("LoopInTwoSweepsByIteration", R"mlir(
func.func @together(%x0: !list {foreach.donate = 0 : i64}, %y0: !half {foreach.donate = 1 : i64}, %bound: !each,
                    %history: !list, %limit: tensor<i32>) -> (!list, !half, !list, !iteration) {
  %x, %y, %h, %iterations = foreach.while (%x = %x0 : !list, %y = %y0 : !half, %h = %history : !list) upto %limit
      -> (!list, !half, !list, !iteration) {
    %y1 = foreach.map (%y = %y as f32 : !half) -> !half {
      %k = foreach.iteration : i32
      %f = arith.sitofp %k : i32 to f32
      %half = arith.constant 0.5 : f32
      %a = arith.mulf %half, %y : f32
      %b = arith.addf %a, %f : f32
      foreach.yield %b : f32
    }
    %s = foreach.reduce add along member (%y = %y1 as f32 : !half) -> !each {
      foreach.yield %y : f32
    }
    %x1 = foreach.map (%x = %x : !list) -> !list {
      %most = arith.constant 0.75 : f32
      %z = arith.mulf %x, %most : f32
      foreach.yield %z : f32
    }
    %e = foreach.reduce max along member (%x = %x1 : !list) -> !each {
      foreach.yield %x : f32
    }
    %h1 = foreach.record %e in %h : !each in !list
    %more = foreach.map (%e = %e, %s = %s, %bound = %bound : !each) -> !flag {
      %sum = arith.addf %e, %s : f32
      %more = arith.cmpf ogt, %sum, %bound : f32
      foreach.yield %more : i1
    }
    foreach.yield %x1, %y1, %h1 while %more : !list, !half, !list while !flag
  }
  return %x, %y, %h, %iterations : !list, !half, !list, !iteration
})mlir");

    add("LoopForAllByIteration", R"mlir(
func.func @norms(%x0: !list, %history: !half, %limit: tensor<i32>, %tol: !num) -> (!list, !half, !num, tensor<i32>) {
  %x, %h, %sum, %iterations = foreach.while (%x = %x0 : !list, %h = %history : !half) upto %limit
      -> (!list, !half, !num, tensor<i32>) {
    %x1 = foreach.map (%x = %x : !list) -> !list {
      %half = arith.constant 0.5 : f32
      %x1 = arith.mulf %half, %x : f32
      foreach.yield %x1 : f32
    }
    %sum = foreach.reduce add along list (%x = %x1 as f64 : !list) -> !num {
      %q = arith.mulf %x, %x : f64
      foreach.yield %q : f64
    }
    %h1 = foreach.record %sum in %h : !num in !half
    %part, %more = foreach.map (%s = %sum, %tol = %tol : !num) -> (!num, tensor<i1>) {
      %k = foreach.iteration : i32
      %f = arith.sitofp %k : i32 to f64
      %part = arith.mulf %s, %f : f64
      %more = arith.cmpf ogt, %s, %tol : f64
      foreach.yield %part, %more : f64, i1
    }
    foreach.yield %x1, %h1, %part while %more : !list, !half, !num while tensor<i1>
  }
  return %x, %h, %sum, %iterations : !list, !half, !num, tensor<i32>
})mlir");

    add("ScalarFunctions", R"mlir(
func.func @functions(%x: !list, %y: !list) -> (!list, !list, !list) {
  %a, %b, %c = foreach.map (%x = %x, %y = %y : !list) -> (!list, !list, !list) {
    %ax = math.absf %x : f32
    %l = math.log1p %ax : f32
    %e = math.exp %y : f32
    %t = math.tanh %x : f32
    %s = math.sin %y : f32
    %f = math.floor %x : f32
    %g = foreach.sign %y : f32
    %p = math.powf %ax, %t : f32
    %m = arith.maximumf %e, %l : f32
    %n = arith.minimumf %s, %p : f32
    %o = math.copysign %f, %g : f32
    %q = math.erf %x : f32
    %r = arith.addf %m, %n : f32
    %u = arith.mulf %o, %q : f32
    %v = math.expm1 %y : f32
    foreach.yield %r, %u, %v : f32, f32, f32
  }
  return %a, %b, %c : !list, !list, !list
})mlir",
        false);
    return result;
  }();
  return programs;
}

} // namespace heddle::test
