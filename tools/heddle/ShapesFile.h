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

#include "codegen/plan/PlanShapes.h"

namespace heddle::cli {

struct Model {
  std::string name;
  std::vector<Extents> shapes;
  std::string origin; ///< the file and the model, for messages

  int64_t elements() const;
};

/// All models of a file's contents, sorted by name. `where` names the file in
/// errors.
llvm::Expected<std::vector<Model>> readModels(llvm::StringRef text,
                                              llvm::StringRef where);
llvm::Expected<std::vector<Model>> readModelsFile(llvm::StringRef path);

/// The model that FILE.json[:MODEL] names. MODEL is optional if the file has
/// one model.
llvm::Expected<Model> readModel(llvm::StringRef argument);

/// The default shapes: small tensors of uneven sizes.
Model builtInModel();

std::string shapesToJSON(llvm::ArrayRef<Extents> shapes);

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_SHAPESFILE_H
