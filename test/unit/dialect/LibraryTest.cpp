//===- LibraryTest.cpp - the standard programs by name --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The effects of options on a program, and the errors of invalid options.
//
//===----------------------------------------------------------------------===//

#include "Runner.h"
#include "llvm/ADT/StringSet.h"

using namespace heddle;
using namespace heddle::test;

namespace {

/// The error of building `text`.
std::string errorOf(llvm::StringRef text, llvm::StringRef dtype = "") {
  Context context;
  auto module = library::buildProgram(text, context.get(), dtype);
  EXPECT_TRUE(failed(module)) << text.str();
  return context.message;
}

TEST(Library, DescribesPrograms) {
  auto programs = library::describePrograms();
  std::vector<std::string> names;
  for (const library::ProgramInfo &program : programs) {
    names.push_back(program.name);
    EXPECT_FALSE(program.summary.empty());
    for (const library::OptionInfo &option : program.options) {
      EXPECT_FALSE(option.help.empty()) << option.name;
      EXPECT_FALSE(option.defaultValue.empty()) << option.name;
    }
  }
  EXPECT_TRUE(llvm::is_sorted(names));
  for (const char *name :
       {"adam", "adamw", "clip_by_global_norm", "global_norm", "sgd"})
    EXPECT_TRUE(llvm::is_contained(names, name)) << name;
}

/// An option that is set to its default changes nothing.
TEST(Library, DefaultsCanBeSet) {
  for (const library::ProgramInfo &program : library::describePrograms()) {
    Context context;
    std::string text = program.name;
    for (auto [k, option] : llvm::enumerate(program.options))
      text += (k ? "," : ":") + option.name + "=" + option.defaultValue;
    auto print = [&](llvm::StringRef text) {
      auto module = library::buildProgram(text, context.get());
      EXPECT_TRUE(succeeded(module)) << context.message;
      std::string printed;
      llvm::raw_string_ostream stream(printed);
      printProgram(**module, stream);
      return printed;
    };
    EXPECT_EQ(print(program.name), print(text));
  }
}

TEST(Library, OptionsSetTheDefaultsOfScalars) {
  Context context;
  Runner runner =
      Runner::library(context, "adamw:lr=1e-2,beta1=.8,eps=1e+0,beta2=0.5");
  EXPECT_EQ(runner.number("lr"), 0.01);
  EXPECT_EQ(runner.number("beta1"), 0.8);
  EXPECT_EQ(runner.number("beta2"), 0.5);
  EXPECT_EQ(runner.number("eps"), 1);
  EXPECT_EQ(runner.number("weight_decay"), 0.01);
}

TEST(Library, OmitsOptionsThatAreZero) {
  Context context;
  EXPECT_FALSE(
      Runner::library(context, "adam").arguments.count("weight_decay"));
  EXPECT_FALSE(Runner::library(context, "adamw:weight_decay=0")
                   .arguments.count("weight_decay"));
  Runner sgd = Runner::library(context, "sgd");
  EXPECT_EQ(sgd.function.getNumArguments(), 3u);
  EXPECT_EQ(Runner::library(context, "sgd:momentum=0.9,dampening=0.1")
                .function.getNumArguments(),
            7u);
}

TEST(Library, DtypeOfTheCaller) {
  Context context;
  auto typeOf = [&](llvm::StringRef text) {
    auto module = library::buildProgram(text, context.get(), "bf16");
    EXPECT_TRUE(succeeded(module)) << context.message;
    auto function = *(*module)->getOps<mlir::func::FuncOp>().begin();
    return foreach::storageType(function.getArgument(0).getType());
  };
  EXPECT_TRUE(typeOf("sgd").isBF16());
  EXPECT_TRUE(typeOf("sgd:dtype=f64").isF64());
  EXPECT_TRUE(typeOf("clip_by_global_norm+sgd:dtype=f16").isF16());
  EXPECT_EQ(errorOf("sgd", "f31"),
            "option 'dtype' expects one or several of f64, f32, f16, bf16, "
            "each at most once, joined by '/', found 'f31'");
}

/// Every value has a name, so that printed IR and CUDA source are readable.
TEST(Library, EveryValueHasAName) {
  for (const char *text :
       {"adam:amsgrad=true,maximize=true,weight_decay=1",
        "adamw:groups=true",
        "sgd:momentum=0.9,dampening=0.5,weight_decay=1,maximize=true",
        "sgd:momentum=0.9,nesterov=true",
        "adamw:dtype=f32/bf16,state=f32",
        "adadelta:weight_decay=1",
        "adamax:weight_decay=1",
        "asgd:groups=true",
        "nadam:weight_decay=1",
        "nadam:cautious=true",
        "radam:decoupled=true,weight_decay=1",
        "rprop",
        "adagrad:lr_decay=1,weight_decay=1",
        "lion:weight_decay=1,groups=true",
        "rmsprop:momentum=1,centered=true,weight_decay=1",
        "adabelief:weight_decay=1",
        "adabelief:rectify=false,amsgrad=true",
        "adan:weight_decay=1,max_grad_norm=1",
        "yogi:weight_decay=1",
        "adopt:weight_decay=1",
        "laprop:amsgrad=true,centered=true",
        "adamw_schedule_free:warmup_steps=9,weight_decay=1,r=1",
        "lion:cautious=true",
        "adamw:cautious=true",
        "lars:weight_decay=1,clip=true",
        "novograd:amsgrad=true",
        "lamb",
        "prodigy:weight_decay=1,use_bias_correction=true",
        "ademamix:beta3_warmup=9,alpha_warmup=9,groups=true",
        "clip_by_global_norm:dtype=f32/bf16+adamw",
        "global_norm",
        "sinkhorn",
        "sinkhorn:rho_a=1,rho_b=1,omega=1.5,anneal=geometric,norm=l2,order=v,"
        "convention=ott,outputs=potentials/plan/cost/dual/marginals/"
        "transforms/argmax/product/projection/history,points=2",
        "sinkhorn:iterate=false,init=given,convention=geomloss,"
        "outputs=transforms/dual",
        "sinkhorn:rho_b=1,anneal=list,norm=max,init=given,convention=geomloss,"
        "normalize=true,regularizer=entropy,outputs=dual,weights=log",
        "sinkhorn:matrix=log_kernel,init=given,groups=true,omega=0.5,"
        "outputs=cost,dtype=bf16"}) {
    Context context;
    Runner runner = Runner::library(context, text);
    llvm::StringSet<> results;
    for (unsigned k = 0; k < runner.function.getNumResults(); ++k)
      EXPECT_TRUE(
          results.insert(library::resultName(runner.function, k)).second);
    runner.function.walk([&](mlir::Operation *op) {
      for (mlir::Value result : op->getResults())
        EXPECT_NE(nameOf(result), "") << text;
      for (mlir::Region &region : op->getRegions())
        for (mlir::Value argument : region.getArguments())
          EXPECT_NE(nameOf(argument), "") << text;
    });
  }
}

TEST(LibraryErrors, Programs) {
  std::string names;
  for (const library::ProgramInfo &program : library::describePrograms())
    names += (names.empty() ? "" : ", ") + program.name;
  std::string list = "The standard programs are " + names;
  EXPECT_EQ(errorOf("adamq:lr=1"),
            "there is no program 'adamq'; did you mean 'adam'? " + list);
  EXPECT_EQ(errorOf("global_nrom"),
            "there is no program 'global_nrom'; did you mean 'global_norm'? " +
                list);
  EXPECT_EQ(errorOf("xyz"), "there is no program 'xyz'. " + list);
  EXPECT_EQ(errorOf("Adam+sgd"),
            "there is no program 'Adam'; did you mean 'adam'? " + list);
  for (const char *text : {"", "sgd+", "+sgd", "sgd++adam", ":lr=1"})
    EXPECT_EQ(errorOf(text), "expected the name of a program: " + names)
        << text;
}

TEST(LibraryErrors, Options) {
  EXPECT_EQ(
      errorOf("sgd:momentun=0.9"),
      "'sgd' has no option 'momentun'; did you mean 'momentum'? Its "
      "options are lr, momentum, dampening, weight_decay, nesterov, "
      "cautious, maximize, state, rounding, master, groups, ema, "
      "zero_grad, schedule, schedule_warmup, schedule_start, "
      "schedule_steps, schedule_end, schedule_gamma, schedule_decay, dtype, "
      "lists");
  EXPECT_EQ(errorOf("global_norm:zzz=1"),
            "'global_norm' has no option 'zzz'. Its options are dtype, lists");
  EXPECT_EQ(errorOf("sgd:lr=0.1,lr=0.2"),
            "option 'lr' of 'sgd' is given twice");
  EXPECT_EQ(errorOf("sgd:nesterov"),
            "expected 'option=value' after 'sgd:', found 'nesterov'");
  EXPECT_EQ(errorOf("sgd:"), "expected 'option=value' after 'sgd:', found ''");
  EXPECT_EQ(errorOf("sgd:lr=0.1,"),
            "expected 'option=value' after 'sgd:', found ''");
}

TEST(LibraryErrors, Values) {
  EXPECT_EQ(errorOf("adamw:amsgrad=yes"),
            "option 'amsgrad' of 'adamw' expects true or false, found 'yes'");
  for (const char *value : {"", "fast", "nan", "inf", "1e999", "0.1x"})
    EXPECT_EQ(errorOf("asgd:t0=" + std::string(value)),
              "option 't0' of 'asgd' expects a finite number in the range of "
              "f64, found '" +
                  std::string(value) + "'");
  EXPECT_EQ(errorOf("adamw:state=f8"),
            "option 'state' of 'adamw' expects one of param, f64, f32, f16, "
            "bf16, found 'f8'");
  for (const char *value : {"f32/f32", "f32/", "/", "", "float", "f32/f8"})
    EXPECT_EQ(errorOf("adamw:dtype=" + std::string(value)),
              "option 'dtype' of 'adamw' expects one or several of f64, f32, "
              "f16, bf16, each at most once, joined by '/', found "
              "'" +
                  std::string(value) + "'");
}

/// The ranges are those of the classes in Python.
TEST(LibraryErrors, Ranges) {
  auto expect = [](const char *program, const char *option, const char *value,
                   const char *expected) {
    EXPECT_EQ(
        errorOf((llvm::Twine(program) + ":" + option + "=" + value).str()),
        (llvm::Twine("option '") + option + "' of '" + program + "' expects " +
         expected + ", found '" + value + "'")
            .str());
  };
  for (const char *value : {"-1", "-4.9e-324", "nan", "inf"}) {
    expect("adamw", "lr", value, "a finite number from 0");
    expect("prodigy", "d0", value, "a finite number above 0");
    expect("clip_by_global_norm", "max_norm", value, "a finite number from 0");
  }
  for (const char *value : {"-0.1", "1", "1.5"}) {
    expect("adamw", "beta1", value, "a number from 0 to below 1");
    expect("adan", "beta3", value, "a number from 0 to below 1");
    expect("sgd", "ema", value, "a number from 0 to below 1");
  }
  expect("adadelta", "rho", "1.1", "a number from 0 to 1");
  expect("rprop", "etaminus", "1", "a number above 0 to below 1");
  expect("rprop", "etaplus", "1", "a finite number above 1");
  expect("sgd_schedule_free", "momentum", "0", "a number above 0 to below 1");
  expect("adamw_schedule_free", "warmup_steps", "-1", "a finite number from 0");
  expect(
      "adamw", "lists", "A",
      "one or several names of lowercase letters, "
      "digits and '_' that begin with a letter, each at most once, joined by "
      "'/'");
  Context context;
  for (const char *text :
       {"adamw:lr=0,beta1=0,eps=0,weight_decay=0", "adadelta:rho=1",
        "clip_by_global_norm:max_norm=0", "prodigy:d0=4.9e-324"})
    EXPECT_TRUE(succeeded(library::buildProgram(text, context.get(), "")))
        << text << ": " << context.message;
}

/// The names of the arguments of a program.
std::string argumentsOf(llvm::StringRef text) {
  Context context;
  auto module = library::buildProgram(text, context.get(), "");
  if (failed(module))
    return context.message;
  auto function = *(*module)->getOps<mlir::func::FuncOp>().begin();
  std::vector<std::string> names;
  for (mlir::BlockArgument argument : function.getArguments())
    names.push_back(nameOf(argument).str());
  return llvm::join(names, " ");
}

TEST(LibraryLists, Names) {
  EXPECT_EQ(argumentsOf("sgd:lists=muon,momentum=0.9"),
            "param_muon grad_muon momentum_buffer_muon lr_muon momentum_muon");
  EXPECT_EQ(argumentsOf("sgd:lists=a/b"),
            "param_a grad_a param_b grad_b lr_a_b");
  EXPECT_EQ(argumentsOf("sgd:lists=a/b,groups=true"),
            "param_a grad_a param_b grad_b lr_a lr_b");
  EXPECT_EQ(argumentsOf("sgd:lists=a,dtype=f32/bf16"),
            "param_a_f32 grad_a_f32 param_a_bf16 grad_a_bf16 lr_a");
  EXPECT_EQ(argumentsOf("sgd:lists=none"), "param grad lr");
}

/// Programs around the updates have the gradients of all of them.
TEST(LibraryLists, OfCompositions) {
  EXPECT_EQ(argumentsOf("clip_by_value+sgd:lists=muon+adam"),
            "grad_muon grad max_value param_muon lr_muon param exp_avg "
            "exp_avg_sq step lr beta1 beta2 eps");
  EXPECT_EQ(argumentsOf("global_norm:lists=a+sgd:lists=a+sgd:lists=b"),
            "grad_a param_a lr_a param_b grad_b lr_b");
  EXPECT_EQ(argumentsOf("average+sgd:lists=a,dtype=f32+sgd:lists=b,dtype=f64"),
            "grad_a grad_b count param_a lr_a param_b lr_b");
}

// A number that is too small for double precision is not 0, which would drop
// what the option asks for.
TEST(LibraryErrors, NumbersThatUnderflow) {
  EXPECT_NE(errorOf("sgd:weight_decay=1e-400").find("found '1e-400'"),
            std::string::npos);
  Context context;
  for (const char *value : {"0e-400", "0", "4.9e-324"})
    EXPECT_TRUE(succeeded(library::buildProgram(
        "sgd:weight_decay=" + std::string(value), context.get(), "")))
        << value;
}

TEST(LibraryErrors, Contradictions) {
  const std::string nesterov =
      "option 'nesterov=true' needs a momentum and no dampening, found ";
  EXPECT_EQ(errorOf("sgd:nesterov=true"), nesterov + "momentum=0,dampening=0");
  EXPECT_EQ(errorOf("sgd:nesterov=true,momentum=0.9,dampening=0.1"),
            nesterov + "momentum=0.9,dampening=0.1");
  EXPECT_EQ(errorOf("sgd:dampening=0.1"),
            "option 'dampening' needs a momentum, found "
            "momentum=0,dampening=0.1");
  EXPECT_EQ(errorOf("adabelief:fixed_decay=true,weight_decouple=false"),
            "option 'fixed_decay=true' needs 'weight_decouple=true': only a "
            "decoupled decay can be fixed");
  EXPECT_EQ(errorOf("rprop:step_size_min=60"),
            "option 'step_size_min' of 'rprop' expects at most "
            "'step_size_max', 50, found 60");
}

TEST(LibraryErrors, PrintNumbersInFull) {
  for (const char *count : {"-100", "-1000000", "-999999999999999", "-0.1",
                            "-123456.789", "0.30000000000000004", "1e-05"})
    EXPECT_EQ(errorOf("average:count=" + std::string(count) + "+sgd"),
              "option 'count' of 'average' is a number of gradients: expected "
              "a whole number from 1, found " +
                  std::string(count));
  EXPECT_EQ(errorOf("average:count=1.5+sgd"),
            "option 'count' of 'average' is a number of gradients: expected a "
            "whole number from 1, found 1.5");
}

TEST(LibraryErrors, Sinkhorn) {
  for (const char *eps : {"0", "-1", "-100", "-1234567.5"})
    EXPECT_EQ(errorOf("sinkhorn:eps=" + std::string(eps)),
              "'eps' must be positive, found " + std::string(eps));
  EXPECT_EQ(errorOf("sinkhorn:rho_a=-1"),
            "'rho_a' must be positive, or 0 if sums must be equal, found -1");
  EXPECT_EQ(errorOf("sinkhorn:rho_b=-1"),
            "'rho_b' must be positive, or 0 if sums must be equal, found -1");
  for (const char *omega : {"0", "2", "-0.5"})
    EXPECT_EQ(errorOf("sinkhorn:omega=" + std::string(omega)),
              "'omega' must be between 0 and 2, found " + std::string(omega));
  EXPECT_EQ(errorOf("sinkhorn:anneal=geometric,eps0=0"),
            "'eps0' must be positive, found 0");
  for (const char *decay : {"0", "1"})
    EXPECT_EQ(errorOf("sinkhorn:anneal=geometric,decay=" + std::string(decay)),
              "'decay' must be between 0 and 1, found " + std::string(decay));
  for (const char *limit : {"-1", "2147483648"})
    EXPECT_EQ(errorOf("sinkhorn:limit=" + std::string(limit)),
              "'limit' must be a number of iterations from 0 to 2147483647, "
              "found " +
                  std::string(limit));
  for (const char *anneal : {"geometric", "list"})
    EXPECT_EQ(
        errorOf("sinkhorn:matrix=log_kernel,anneal=" + std::string(anneal)),
        "'anneal' needs 'matrix=cost': a log kernel contains one eps");
  for (const char *points : {"-1", "65"})
    EXPECT_EQ(errorOf("sinkhorn:outputs=product,points=" + std::string(points)),
              "'points' must be a number of coordinates from 0 to 64, found " +
                  std::string(points));
  for (std::string output : {"product", "projection"})
    EXPECT_EQ(errorOf("sinkhorn:outputs=plan/" + output),
              "'outputs=" + output +
                  "' needs the number of coordinates: set 'points'");
  EXPECT_EQ(errorOf("sinkhorn:points=3"),
            "'points' needs 'outputs=product' or 'outputs=projection'");
  EXPECT_EQ(errorOf("sinkhorn:limit=many"),
            "option 'limit' of 'sinkhorn' expects a whole number, found "
            "'many'");
  EXPECT_EQ(errorOf("sinkhorn:norm=l3"), "option 'norm' of 'sinkhorn' expects "
                                         "one of l1, l2, max, found 'l3'");
  EXPECT_EQ(errorOf("sinkhorn:outputs=plan/plan"),
            "option 'outputs' of 'sinkhorn' expects one or several of "
            "potentials, plan, cost, dual, marginals, transforms, argmax, "
            "product, projection, history, each at most once, joined by '/', "
            "found 'plan/plan'");
  EXPECT_EQ(
      errorOf("sinkhorn:iterate=false,outputs=plan"),
      "'iterate=false' needs 'init=given': the outputs are those of given "
      "potentials");
  EXPECT_EQ(errorOf("sinkhorn:iterate=false,init=given,anneal=list,"
                    "outputs=plan"),
            "'iterate=false' needs 'anneal=none': no iteration changes eps");
  for (std::string output : {"potentials", "history"})
    EXPECT_EQ(errorOf("sinkhorn:iterate=false,init=given,outputs=" + output),
              "'iterate=false' has no output '" + output +
                  "': name other 'outputs'");
}

/// The options determine the arguments and results.
TEST(Library, SinkhornArgumentsAndResults) {
  Context context;
  auto namesOf = [&](llvm::StringRef text) {
    Runner runner = Runner::library(context, text);
    std::string names;
    for (mlir::BlockArgument argument : runner.function.getArguments())
      names += (nameOf(argument) + " ").str();
    names += "->";
    for (unsigned k = 0; k < runner.function.getNumResults(); ++k)
      names += (" " + library::resultName(runner.function, k)).str();
    return names;
  };
  EXPECT_EQ(namesOf("sinkhorn"),
            "C a b eps tol limit -> u v error iterations converged status");
  EXPECT_EQ(
      namesOf("sinkhorn:matrix=log_kernel,weights=log,outputs=argmax"),
      "L log_a log_b tol limit -> error iterations converged status argmax");
  EXPECT_EQ(
      namesOf("sinkhorn:init=given,convention=ott,rho_a=1,rho_b=2,omega=1.5,"
              "anneal=geometric,outputs=history/marginals"),
      "C a b f g errors eps rho_a rho_b omega eps0 decay tol limit -> f g "
      "error iterations converged status errors marginal_a marginal_b");
  EXPECT_EQ(namesOf("sinkhorn:anneal=list,outputs=projection/product,points=2"),
            "C a b x1 x2 epsilons eps tol limit -> error iterations converged "
            "status product1 y1 product2 y2");
  EXPECT_EQ(namesOf("sinkhorn:iterate=false,init=given,convention=ott,rho_a=1,"
                    "omega=1.5,outputs=dual/plan/transforms"),
            "C a b f g eps rho_a -> plan dual transform_a transform_b");
}

/// Diagnostics point into the text.
TEST(LibraryErrors, Columns) {
  Context context;
  unsigned column = 0;
  mlir::ScopedDiagnosticHandler handler(
      context.get(), [&](mlir::Diagnostic &diagnostic) {
        column = llvm::cast<mlir::FileLineColLoc>(diagnostic.getLocation())
                     .getColumn();
        return mlir::success();
      });
  auto columnOf = [&](llvm::StringRef text) {
    EXPECT_TRUE(failed(library::buildProgram(text, context.get())));
    return column;
  };
  EXPECT_EQ(columnOf("sgd+adamq"), 5u);
  EXPECT_EQ(columnOf("sgd:lr=1,mom=2"), 10u);
  EXPECT_EQ(columnOf("sgd:lr=1,momentum=x"), 19u);
}

} // namespace
