//===- CudaPrograms.cpp - programs that test the CUDA source --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaWrittenPrograms.h"

#include <utility>

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
         {"adamw:dtype=bf16,state=f32",
          "adamw:dtype=f16,state=f32",
          "sgd:momentum=0.9,dtype=bf16,state=f32",
          "adamw:dtype=f32/bf16",
          "adamw:dtype=f32/bf16/f16/f64",
          "sgd:momentum=0.9,dtype=f32/f16",
          "adamw:groups=true",
          "adamw:groups=true,dtype=f32/bf16",
          "sgd:momentum=0.9,weight_decay=0.1,groups=true",
          "global_norm",
          "global_norm:dtype=f32/bf16",
          "clip_by_global_norm",
          "clip_by_global_norm+sgd:momentum=0.9",
          "clip_by_global_norm+adam",
          "clip_by_global_norm+adamw",
          "clip_by_global_norm:dtype=f32/bf16+adamw:dtype=f32/bf16",
          "clip_by_global_norm+adamw:groups=true",
          "unscale+clip_by_global_norm+adamw:ema=0.9,zero_grad=true",
          "average:count=4+unscale+clip_by_value+sgd:momentum=0.9,ema=0.9,"
          "zero_grad=true,dtype=f32/bf16",
          "check_finite+lamb:zero_grad=true",
          "unscale+adamw:schedule=cosine,schedule_steps=5,groups=true",
          "unscale+clip_by_global_norm+sgd:momentum=0.9,lists=muon+adamw",
          "adadelta",
          "adamax:weight_decay=0.1,groups=true",
          "asgd",
          "asgd:t0=2,weight_decay=0.1,groups=true,dtype=f32/bf16",
          "nadam:momentum_decay=0.1,dtype=f32/f64",
          "nadam:weight_decay=0.1,decoupled=true,maximize=true,groups=true",
          "radam:beta2=0.99,dtype=f32/bf16",
          "radam:weight_decay=0.1,decoupled=true,groups=true",
          "rprop:dtype=f32/f16",
          "clip_by_global_norm+nadam",
          "nadam:cautious=true",
          "adagrad",
          "adagrad:lr_decay=0.1,weight_decay=0.1,groups=true,dtype=f32/bf16",
          "rmsprop:dtype=f32/f64",
          "rmsprop:momentum=0.9,centered=true,weight_decay=0.1,maximize=true",
          "lion",
          "clip_by_global_norm+lion:weight_decay=0.1,dtype=bf16",
          "adabelief:weight_decay=0.1",
          "adabelief:rectify=false,amsgrad=true,weight_decouple=false,"
          "weight_decay=0.1,groups=true",
          "adan:weight_decay=0.1,dtype=f32/bf16",
          "adan:max_grad_norm=1,no_prox=true,weight_decay=0.1",
          "yogi:weight_decay=0.1",
          "adam:dtype=f64,state=f16",
          "adamw:dtype=bf16,rounding=stochastic",
          "adamw:dtype=f32/bf16,state=f32,master=split",
          "adamw:dtype=f32/f16,state=bf16,master=f32,rounding=stochastic",
          "sgd:dtype=f32/bf16,rounding=stochastic",
          "lion:dtype=f16,rounding=stochastic,groups=true",
          "adam:dtype=f64,state=f16,rounding=stochastic",
          "lamb:dtype=bf16,state=bf16,master=split,rounding=stochastic",
          "adagrad:dtype=f64,state=bf16",
          "adopt:weight_decay=0.1,maximize=true",
          "adopt:decouple=true,weight_decay=0.1,clip=false,dtype=bf16",
          "ademamix:weight_decay=0.1",
          "ademamix:beta3_warmup=20,alpha_warmup=30,groups=true",
          "laprop:weight_decay=0.1",
          "laprop:amsgrad=true,centered=true",
          "lars:weight_decay=0.1",
          "lars:momentum=0.9,dampening=0.1,clip=true,groups=true,dtype=f32/"
          "bf16",
          "novograd:weight_decay=0.1",
          "novograd:amsgrad=true,grad_averaging=true,dtype=bf16",
          "lamb",
          "sparse_adam",
          "prodigy",
          "prodigy:weight_decay=0.1,decouple=false,use_bias_correction=true,"
          "safeguard_warmup=true,beta3=0.9,groups=true,dtype=f32/bf16",
          "adamw_schedule_free:warmup_steps=3,weight_decay=0.1",
          "sgd_schedule_free:r=1",
          "sgd_schedule_free:groups=true,dtype=f32/bf16",
          "adamw_schedule_free",
          "sgd_schedule_free",
          "lion:cautious=true",
          "adamw:cautious=true,dtype=f32/bf16",
          "sgd:momentum=0.9,nesterov=true,cautious=true,groups=true",
          "adopt:cautious=true",
          "lamb:cautious=true,max_grad_norm=0",
          "lamb:max_grad_norm=0,groups=true",
          "lamb:adam_w_mode=false,use_nvlamb=true,dtype=f32/bf16"})
      add(text);
    return result;
  }();
  return programs;
}

const char *const kTypes = R"mlir(
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

const std::vector<NamedProgram> &writtenPrograms() {
  static const std::vector<NamedProgram> programs = [] {
    WrittenPrograms written;
    addReductions(written);
    addSweeps(written);
    addLoops(written);
    addPanelLoops(written);
    addCorpus(written);
    return std::move(written.programs);
  }();
  return programs;
}

} // namespace heddle::test
