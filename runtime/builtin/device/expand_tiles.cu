//===- expand_tiles.cu - Tile descriptors from member descriptors ---------===//
//
// Writes the tile descriptors of a table from its member descriptors, one thread
// for each tile. Layouts: docs/plan.md, Tables. expandTiles in
// runtime/binding/Tables.cpp does the same on the host.
//
// `steps` holds, for every segment, the size of its tile and then the advance of each
// operand: s > 0: bytes per element or row; s < 0: per row, as many elements of -s
// bytes as the next slot holds; 0: none. A negative size: the first tile of a member is
// shorter if all others then begin at a multiple of 16 bytes.
//
//===----------------------------------------------------------------------===//

extern "C" __global__ void __launch_bounds__(256)
heddle_expand_tiles(const char *members, char *tiles, const long long *steps,
                    int pointers, int rank, int member_count, int tile_count) {
  const int tile = blockIdx.x * blockDim.x + threadIdx.x;
  if (tile >= tile_count)
    return;
  const int count_at = 8 * pointers + (rank == 2 ? 16 : 0);
  const int bytes = (count_at + 24 + 15) / 16 * 16;
  int low = 0, high = member_count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    const char *member = members + static_cast<long long>(middle) * bytes;
    if (*reinterpret_cast<const int *>(member + count_at + 8) <= tile)
      low = middle;
    else
      high = middle;
  }
  const char *from = members + static_cast<long long>(low) * bytes;
  char *to = tiles + static_cast<long long>(tile) * bytes;
  const int *ints = reinterpret_cast<const int *>(from + count_at + 8); // first_tile, tiles, segment, index
  const long long *step = steps + static_cast<long long>(ints[2]) * (pointers + 1);
  const long long columns = rank == 2 ? *reinterpret_cast<const long long *>(from + 8 * pointers) : 0;
  const long long count = *reinterpret_cast<const long long *>(from + count_at);
  const long long elements = step[0] < 0 ? -step[0] : step[0];
  long long shift = 0;
  if (step[0] < 0) {
    // The operand with the smallest elements decides: 16 bytes hold the most of them.
    long long smallest = 0;
    for (int p = 0; p < pointers; ++p)
      if (const long long s = step[1 + p]; s > 0 && (smallest == 0 || s < smallest)) {
        smallest = s;
        shift = *reinterpret_cast<const unsigned long long *>(from + 8 * p) % 16 / s;
      }
    bool gains = count + shift >= 2 * elements;
    for (int p = 0; p < pointers; ++p)
      if (const long long s = step[1 + p]; s > 0)
        gains &= (*reinterpret_cast<const unsigned long long *>(from + 8 * p) + (elements - shift) * s) % 16 == 0;
    shift = gains ? shift : 0;
  }
  const int k = tile - ints[0];
  const long long first = k ? k * elements - shift : 0;
  const long long most = k ? elements : elements - shift;
  for (int p = 0; p < pointers; ++p) {
    const long long s = step[1 + p];
    const long long advance = s >= 0 ? first * s : first * *reinterpret_cast<const long long *>(from + 8 * p + 8) * -s;
    char *operand = *reinterpret_cast<char *const *>(from + 8 * p);
    *reinterpret_cast<char **>(to + 8 * p) = operand ? operand + advance : operand;
  }
  if (rank == 2) {
    const long long base = *reinterpret_cast<const long long *>(from + 8 * pointers + 8);
    *reinterpret_cast<long long *>(to + 8 * pointers) = columns;
    *reinterpret_cast<long long *>(to + 8 * pointers + 8) = base + (tile - ints[0]) * columns;
  }
  const long long left = count - first;
  *reinterpret_cast<long long *>(to + count_at) = first;
  int *out = reinterpret_cast<int *>(to + count_at + 8);
  out[0] = static_cast<int>(left < most ? left : most);
  out[1] = low;
  out[2] = ints[2];
  out[3] = ints[1];
}
