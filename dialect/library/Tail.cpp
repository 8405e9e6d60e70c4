//===- Tail.cpp - what stands between gradients and an update -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs that change gradients before an optimizer in a composition, such as
// `unscale+clip_by_value+adamw`. The formulas are those of torch's GradScaler
// and clip_grad_value_. The result `found_inf` makes the programs that follow
// keep what they would replace (Compose.h).
//
//===----------------------------------------------------------------------===//

#include "dialect/Names.h"
#include "dialect/library/Compose.h"
#include "dialect/library/Programs.h"

#include <cmath>
#include <limits>

using namespace mlir;
using heddle::foreach::Axis;
using heddle::foreach::ReduceKind;
using heddle::foreach::scalarOf;

namespace heddle::library {

namespace {
struct AverageOptions : ListOptions {
  double count = 1;

  void describe(OptionList &list) {
    list.add("count", count, "the number of gradients in each sum");
    ListOptions::describe(list);
  }
  std::string check() const {
    if (count < 1 || count != std::floor(count))
      return "option 'count' of 'average' is a number of gradients: expected a "
             "whole number from 1, found " +
             numberText(count);
    return {};
  }
};

struct ClipValueOptions : ListOptions {
  double maxValue = 1;

  void describe(OptionList &list) {
    list.add("max_value", maxValue,
             "the largest magnitude of an element of a gradient", kNotNegative);
    ListOptions::describe(list);
  }
  std::string check() const { return {}; }
};

struct CheckOptions : ListOptions {
  std::string check() const { return {}; }
};

struct UnscaleOptions : ListOptions {
  double scale = 65536, growthFactor = 2, backoffFactor = 0.5;
  int64_t growthInterval = 2000;
  bool checked = true, dynamic = true;

  void describe(OptionList &list) {
    list.add("scale", scale, "the scale before the first step");
    list.add("check", checked,
             "skip the step if an unscaled gradient is not finite");
    list.add("dynamic", dynamic, "update the scale, as GradScaler does");
    list.add("growth_factor", growthFactor,
             "factor of the scale after 'growth_interval' steps",
             {1, Range().most, false});
    list.add("backoff_factor", backoffFactor,
             "factor of the scale after a step that is skipped",
             {0, 1, false, false});
    list.add("growth_interval", growthInterval,
             "steps without a skipped one until the scale grows",
             {1, std::numeric_limits<int32_t>::max()});
    ListOptions::describe(list);
  }
  std::string check() const;
};
} // namespace

std::string UnscaleOptions::check() const {
  if (hasType("f16"))
    return "option 'dtype' of 'unscale' expects f32, bf16 or f64, because f16 "
           "cannot hold unscaled gradients, found " +
           dtype.value;
  if (!(static_cast<float>(scale) > 0 &&
        scale <= std::numeric_limits<float>::max()))
    return "option 'scale' of 'unscale' expects a positive number that f32 can "
           "hold, found " +
           numberText(scale);
  if (dynamic && !checked)
    return "option 'dynamic=true' of 'unscale' needs 'check=true': the scale "
           "follows the check. Add 'dynamic=false'";
  const UnscaleOptions unset;
  for (auto [name, isSet] :
       {std::pair("growth_factor", growthFactor != unset.growthFactor),
        std::pair("backoff_factor", backoffFactor != unset.backoffFactor),
        std::pair("growth_interval", growthInterval != unset.growthInterval)})
    if (isSet && !dynamic)
      return "option '" + std::string(name) +
             "' of 'unscale' does nothing with 'dynamic=false': leave it out";
  return {};
}

static std::vector<Family> familiesOf(ProgramBuilder &program,
                                      const ListOptions &options) {
  return familiesOf(options, program.getBuilder().getContext());
}

SmallVector<Value> gradients(ProgramBuilder &program,
                             ArrayRef<Family> families) {
  SmallVector<Value> lists;
  for (const Family &family : families)
    lists.push_back(program.list("grad" + family.suffix, 1, family.storage));
  return lists;
}

/// Changes each element of the gradients by a device scalar, and returns the
/// new lists, which replace the old ones.
static SmallVector<Value> change(ProgramBuilder &program,
                                 ArrayRef<Family> families,
                                 ArrayRef<Value> lists, Value scalar,
                                 StringRef word,
                                 function_ref<Scalar(Scalar, Scalar)> formula) {
  SmallVector<Value> changed;
  for (auto [family, list] : llvm::zip(families, lists)) {
    Body body(program);
    Scalar grad = body.read(list, "grad", family.compute);
    Scalar by = body.read(scalar, nameOf(scalar), family.compute);
    body.write(formula(grad, by).as(word), list.getType(),
               (word + family.suffix).str());
    changed.push_back(body.map().front());
    program.result(changed.back(), list);
  }
  return changed;
}

static void buildAverage(ProgramBuilder &program,
                         const AverageOptions &options) {
  auto families = familiesOf(program, options);
  auto lists = gradients(program, families);
  Value count = program.scalar("count" + options.scalarSuffix(), options.count);
  change(program, families, lists, count, "mean",
         [](Scalar grad, Scalar count) { return grad / count; });
}

static void buildClipByValue(ProgramBuilder &program,
                             const ClipValueOptions &options) {
  auto families = familiesOf(program, options);
  auto lists = gradients(program, families);
  Value most =
      program.scalar("max_value" + options.scalarSuffix(), options.maxValue);
  change(program, families, lists, most, "clipped",
         [](Scalar grad, Scalar most) {
           Scalar least = (-most).as("least");
           return minimum(maximum(grad, least).as("raised"), most);
         });
}

/// A flag: whether an element of some list is not finite.
static Value findInf(ProgramBuilder &program, ArrayRef<Family> families,
                     ArrayRef<Value> lists) {
  Type flag = program.getBuilder().getI1Type();
  SmallVector<Value> parts;
  for (auto [family, list] : llvm::zip(families, lists)) {
    Body body(program);
    Scalar grad = body.read(list, "grad", family.compute);
    Scalar finite = isFinite(grad).as("is_finite");
    body.write((!finite).as("is_infinite"), scalarOf(flag),
               "has_inf" + family.suffix);
    parts.push_back(body.reduce(ReduceKind::any, Axis::list));
  }
  if (parts.size() == 1)
    return parts.front();
  Body body(program);
  Scalar any;
  for (Value part : parts) {
    Scalar one = body.read(part, nameOf(part), flag);
    any = any ? (any | one).as("any_inf") : one;
  }
  body.write(any, scalarOf(flag), "has_inf");
  return body.map().front();
}

/// Adds the result `found_inf`, 1 or 0 as GradScaler has it.
static void returnFound(ProgramBuilder &program, Value found) {
  Body body(program);
  Scalar flag = body.read(found, "has_inf", program.getBuilder().getI1Type());
  Scalar yes = body.constant(1, program.f32(), "yes");
  Scalar no = body.constant(0, program.f32(), "no");
  body.write(select(flag, yes, no).as("found_inf"), scalarOf(program.f32()),
             kFoundInf);
  program.result(body.map().front());
}

static void buildCheckFinite(ProgramBuilder &program,
                             const CheckOptions &options) {
  auto families = familiesOf(program, options);
  auto lists = gradients(program, families);
  returnFound(program, findInf(program, families, lists));
}

/// The scale and the number of steps since it changed, as after
/// `GradScaler.update()`.
static void updateScale(ProgramBuilder &program, Value scale, Value found,
                        const UnscaleOptions &options) {
  Type f64 = program.f64(), f32 = program.f32();
  Type i32 = program.getBuilder().getI32Type();
  Value tracker = program.count("growth_tracker", 0);
  Body body(program);
  Scalar old = body.read(scale, "grad_scale", f64);
  Scalar since = body.read(tracker, "growth_tracker", i32);
  Scalar flag = body.read(found, "has_inf", program.getBuilder().getI1Type());

  Scalar less =
      (old * body.constant(options.backoffFactor, f64, "backoff")).as("less");
  Scalar more =
      (old * body.constant(options.growthFactor, f64, "growth")).as("more");
  Scalar most = body.constant(std::numeric_limits<float>::max(), f64, "most");
  Scalar one = body.constant(1, i32, "one"),
         zero = body.constant(0, i32, "zero");
  Scalar next = (since + one).as("since");
  Scalar interval = body.constant(options.growthInterval, i32, "interval");
  Scalar grows = equal(next, interval).as("grows");
  Scalar fits = atMost(more, most).as("fits");
  Scalar grown = select((grows & fits).as("may_grow"), more, old).as("grown");
  Scalar counted = select(grows, zero, next).as("counted");
  body.write(select(flag, less, grown).as("scale1"), scalarOf(f32),
             "grad_scale1");
  body.write(select(flag, zero, counted).as("tracker1"), scalarOf(i32),
             "growth_tracker1");
  auto made = body.map();
  program.result(made[0], scale);
  program.result(made[1], tracker);
}

/// Whether `found`, or a scale that GradScaler never has: 0, a negative number,
/// infinity or NaN.
static Value orBadScale(ProgramBuilder &program, Value found, Value scale) {
  Type flag = program.getBuilder().getI1Type(), f32 = program.f32();
  Body body(program);
  Scalar inf = body.read(found, "has_inf", flag);
  Scalar now = body.read(scale, "grad_scale", f32);
  Scalar positive = less(body.constant(0, f32, "zero"), now).as("is_positive");
  Scalar usable = (positive & isFinite(now)).as("is_usable");
  body.write((inf | !usable).as("skips"), scalarOf(flag), "has_inf");
  return body.map().front();
}

static void buildUnscale(ProgramBuilder &program,
                         const UnscaleOptions &options) {
  auto families = familiesOf(program, options);
  auto lists = gradients(program, families);
  Value scale = program.single("grad_scale", options.scale);
  program.keepPositive(scale);
  auto unscaled = change(program, families, lists, scale, "unscaled",
                         [](Scalar grad, Scalar scale) {
                           Scalar one = scale.constant(1, "one");
                           return grad * (one / scale).as("inverse");
                         });
  if (!options.checked)
    return;
  Value found =
      orBadScale(program, findInf(program, families, unscaled), scale);
  returnFound(program, found);
  if (options.dynamic)
    updateScale(program, scale, found, options);
}

std::vector<Entry> tailPrograms() {
  return {
      sizing(program("average", "divide sums of gradients by their number",
                     buildAverage)),
      program("check_finite",
              "skip the step of the programs that follow if a gradient is "
              "not finite",
              buildCheckFinite),
      limiting(program("clip_by_value",
                       "limit the magnitude of every element of the gradients",
                       buildClipByValue)),
      sizing(program("unscale",
                     "divide gradients by the scale of a loss, skip "
                     "steps, and update the scale",
                     buildUnscale))};
}

} // namespace heddle::library
