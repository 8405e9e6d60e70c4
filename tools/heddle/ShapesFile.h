//===- ShapesFile.h - parameter shapes of models ----------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of the form {"MODEL": [[dim, ...], ...]}, named on the command line as
// FILE.json or FILE.json:MODEL.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_SHAPESFILE_H
#define HEDDLE_TOOLS_HEDDLE_SHAPESFILE_H

#include "codegen/PlanShapes.h"

namespace heddle::cli {

struct Model {
  std::string name;
  std::vector<Extents> shapes;

  int64_t elements() const;
};

/// Every model of the file's text, in its order of names. `where` names it in
/// errors.
llvm::Expected<std::vector<Model>> readModels(llvm::StringRef text,
                                              llvm::StringRef where);
llvm::Expected<std::vector<Model>> readModelsFile(llvm::StringRef path);

/// The model that FILE.json[:MODEL] names; the file's only one if it has one.
llvm::Expected<Model> readModel(llvm::StringRef argument);

/// What commands work on when no shapes are given: small, ragged, odd.
Model builtInModel();

std::string shapesToJSON(llvm::ArrayRef<Extents> shapes);

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_SHAPESFILE_H
