//===- ZipFile.cpp - the members of a zip archive -------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of an archive points to its directory; each entry of the directory
// points to a header, which the bytes of the member follow. Archives with
// sizes above 4 GiB have further fields (zip64). Names of fields and numbers of
// signatures are those of the specification (APPNOTE.TXT of PKWARE).
//
//===----------------------------------------------------------------------===//

#include "ZipFile.h"

#include "runtime/support/Status.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/Endian.h"

#include <optional>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::cli {

namespace {
constexpr uint32_t kHeader = 0x04034b50, kEntry = 0x02014b50, kEnd = 0x06054b50,
                   kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr size_t kHeaderSize = 30, kEntrySize = 46, kEndSize = 22,
                 kEnd64Size = 56, kLocator64Size = 20, kLongestComment = 65535;
constexpr uint32_t kIn64 = 0xffffffff; ///< the value is in a zip64 field

/// Where the directory is.
struct Directory {
  uint64_t entries = 0, size = 0, offset = 0;
};

/// One entry of the directory.
struct Entry {
  StringRef name;
  uint16_t flags = 0, method = 0;
  uint32_t checksum = 0;
  uint64_t compressedSize = 0, size = 0, offset = 0;
};

class ZipReader {
public:
  ZipReader(StringRef bytes, StringRef where) : bytes(bytes), where(where) {}

  Expected<std::vector<ZipMember>> read();

private:
  template <typename T> T at(uint64_t offset) const {
    return support::endian::read<T, endianness::little>(bytes.data() + offset);
  }
  bool has(uint64_t offset, uint64_t count) const {
    return offset <= bytes.size() && count <= bytes.size() - offset;
  }
  bool isAt(uint64_t offset, uint64_t count, uint32_t signature) const {
    return has(offset, count) && at<uint32_t>(offset) == signature;
  }
  template <typename... Args> Error error(const char *text, Args &&...args) {
    return makeError(StatusCode::BadInput, "{0}: {1}", where,
                     formatv(text, args...).str());
  }
  Error broken(StringRef what) {
    return error("expected a zip archive of arrays, as numpy.savez writes it; "
                 "{0}",
                 what);
  }

  Expected<Directory> findDirectory();
  Expected<Entry> readEntry(uint64_t &offset);
  /// Replaces the sizes and the offset by those of a zip64 field.
  bool readEntry64(Entry &entry, uint64_t offset, uint64_t size) const;
  Expected<StringRef> contentsOf(const Entry &entry);

  StringRef bytes, where;
};
} // namespace

Expected<Directory> ZipReader::findDirectory() {
  uint64_t least = bytes.size() -
                   std::min<uint64_t>(bytes.size(), kEndSize + kLongestComment);
  if (bytes.size() < kEndSize)
    return broken("found a shorter file");
  for (uint64_t end = bytes.size() - kEndSize + 1; end-- > least;) {
    if (!isAt(end, kEndSize, kEnd) ||
        end + kEndSize + at<uint16_t>(end + 20) != bytes.size())
      continue;
    Directory directory = {at<uint16_t>(end + 10), at<uint32_t>(end + 12),
                           at<uint32_t>(end + 16)};
    if (end >= kLocator64Size &&
        isAt(end - kLocator64Size, kLocator64Size, kLocator64)) {
      uint64_t end64 = at<uint64_t>(end - kLocator64Size + 8);
      if (!isAt(end64, kEnd64Size, kEnd64))
        return broken("found no directory");
      directory = {at<uint64_t>(end64 + 32), at<uint64_t>(end64 + 40),
                   at<uint64_t>(end64 + 48)};
    }
    if (!has(directory.offset, directory.size))
      return broken("found a directory beyond the end of the file");
    return directory;
  }
  return broken("found no directory");
}

bool ZipReader::readEntry64(Entry &entry, uint64_t offset,
                            uint64_t size) const {
  SmallVector<uint64_t *, 3> wanted;
  for (uint64_t *value : {&entry.size, &entry.compressedSize, &entry.offset})
    if (*value == kIn64)
      wanted.push_back(value);
  if (wanted.empty())
    return true;
  for (uint64_t end = offset + size; offset + 4 <= end;) {
    uint16_t kind = at<uint16_t>(offset), length = at<uint16_t>(offset + 2);
    offset += 4;
    if (offset + length > end)
      return false;
    if (kind == 1) {
      if (length < 8 * wanted.size())
        return false;
      for (auto [k, value] : enumerate(wanted))
        *value = at<uint64_t>(offset + 8 * k);
      return true;
    }
    offset += length;
  }
  return false;
}

Expected<Entry> ZipReader::readEntry(uint64_t &offset) {
  if (!isAt(offset, kEntrySize, kEntry))
    return broken("found an incomplete directory");
  Entry entry;
  entry.flags = at<uint16_t>(offset + 8);
  entry.method = at<uint16_t>(offset + 10);
  entry.checksum = at<uint32_t>(offset + 16);
  entry.compressedSize = at<uint32_t>(offset + 20);
  entry.size = at<uint32_t>(offset + 24);
  entry.offset = at<uint32_t>(offset + 42);
  uint64_t nameSize = at<uint16_t>(offset + 28),
           extraSize = at<uint16_t>(offset + 30),
           commentSize = at<uint16_t>(offset + 32);
  offset += kEntrySize;
  if (!has(offset, nameSize + extraSize + commentSize))
    return broken("found an incomplete directory");
  entry.name = bytes.substr(offset, nameSize);
  if (!readEntry64(entry, offset + nameSize, extraSize))
    return broken("found an incomplete directory");
  offset += nameSize + extraSize + commentSize;
  return entry;
}

Expected<StringRef> ZipReader::contentsOf(const Entry &entry) {
  if (entry.flags & 1)
    return error("array '{0}' is encrypted", entry.name);
  if (entry.method != 0)
    return error("array '{0}' is compressed: write the file with numpy.savez, "
                 "not with numpy.savez_compressed",
                 entry.name);
  if (!isAt(entry.offset, kHeaderSize, kHeader) ||
      entry.size != entry.compressedSize)
    return error("array '{0}' is damaged: expected a header of the zip format "
                 "and {1} bytes",
                 entry.name, entry.size);
  // Adds no overflow: the first sum is in the file.
  uint64_t begin = entry.offset + kHeaderSize +
                   at<uint16_t>(entry.offset + 26) +
                   at<uint16_t>(entry.offset + 28);
  if (!has(begin, entry.size))
    return error("array '{0}' is damaged: expected {1} bytes, found the end of "
                 "the file",
                 entry.name, entry.size);
  StringRef contents = bytes.substr(begin, entry.size);
  if (crc32(arrayRefFromStringRef(contents)) != entry.checksum)
    return error("array '{0}' is damaged: its checksum is wrong", entry.name);
  return contents;
}

Expected<std::vector<ZipMember>> ZipReader::read() {
  auto directory = findDirectory();
  if (!directory)
    return directory.takeError();
  std::vector<ZipMember> members;
  uint64_t offset = directory->offset, total = 0;
  for (uint64_t k = 0; k < directory->entries; ++k) {
    auto entry = readEntry(offset);
    if (!entry)
      return entry.takeError();
    // Before the checksum, so that many names of the same bytes take no time.
    if (entry->compressedSize > bytes.size() ||
        (total += entry->compressedSize) > bytes.size())
      return error("expected arrays of together at most {0} bytes, the size of "
                   "the file, found more: arrays overlap",
                   bytes.size());
    auto contents = contentsOf(*entry);
    if (!contents)
      return contents.takeError();
    members.push_back({entry->name, *contents});
  }
  return members;
}

Expected<std::vector<ZipMember>> readZip(StringRef bytes, StringRef where) {
  return ZipReader(bytes, where).read();
}

} // namespace heddle::cli
