//===- DataFile.h - arrays of the user for a program ------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file of numpy.savez. Array `NAME.K` is member K of list argument NAME;
// array `NAME` is its only member, or all members of a list of rank 0, or a
// scalar argument.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_DATA_DATAFILE_H
#define HEDDLE_TOOLS_HEDDLE_DATA_DATAFILE_H

#include "NpyArray.h"
#include "llvm/Support/MemoryBuffer.h"

#include <map>

namespace heddle::cli {

class DataFile {
public:
  /// Reads the file and matches its arrays to the arguments of the program. An
  /// array that is no argument, a member that is missing, or an array of
  /// another element type is an error.
  static llvm::Expected<DataFile> read(llvm::StringRef path,
                                       const runtime::Plan &plan);

  /// Whether the file has the list argument `buffer`.
  bool has(int buffer) const { return lists.count(buffer); }
  /// One shape for each member, as in a shapes file: that of the first list of
  /// the highest rank.
  const std::vector<Extents> &getShapes() const { return shapes; }
  /// The extents of the members of `buffer`, which has `rank` dimensions:
  /// vectors are flattened, leading dimensions of matrices are collapsed.
  std::vector<Extents> extentsOf(int buffer, int rank) const;
  /// Scalar arguments by name.
  const std::map<std::string, double> &getScalars() const { return scalars; }

  /// Elements `first` to `first + count` of a member of list `buffer`.
  void load(int buffer, size_t member, int64_t first, int64_t count,
            double *to) const;

private:
  /// The members of a list of rank 0 are the elements of one array.
  struct List {
    std::vector<NpyArray> members;
    bool inOneArray = false;
  };

  llvm::Error match(const runtime::Plan &plan, std::vector<NpyArray> arrays);
  llvm::Error add(const runtime::Plan &plan, NpyArray array);
  llvm::Error addMember(const runtime::PlanBuffer &buffer, List &list,
                        NpyArray array, std::optional<size_t> member);
  llvm::Error checkIntegers(const NpyArray &array) const;
  llvm::Error checkMembers(const runtime::Plan &plan);
  llvm::Error error(const llvm::Twine &text) const;

  std::string path;
  std::shared_ptr<llvm::MemoryBuffer> memory;
  std::map<int, List> lists;
  std::map<std::string, double> scalars;
  std::vector<Extents> shapes;
};

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_DATA_DATAFILE_H
