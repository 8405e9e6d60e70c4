//===- descriptors.cu - Tile descriptors, and new addresses in them -------===//
//
// Layouts: docs/plan.md, Tables. expandTiles and moveOperand in
// runtime/binding/Tables.cpp do the same on the host.
//
//===----------------------------------------------------------------------===//

// Writes the tile descriptors of a table from its member descriptors, one thread
// for each tile.
//
// `steps` holds, for every segment, the size of its tile, the most columns of a held row and
// the elements of its tile (a tile of narrower rows has more rows), the units of a tall tile
// of wider rows, and then the advance of each operand: s > 0:
// bytes per element or row; s < 0: per row, as many elements of -s bytes as the next slot
// holds; 0: none. A negative size: the first tile of a member is shorter if all others then
// begin at a multiple of 16 bytes.
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
  const long long *step = steps + static_cast<long long>(ints[2]) * (pointers + 4);
  const long long columns = rank == 2 ? *reinterpret_cast<const long long *>(from + 8 * pointers) : 0;
  const long long count = *reinterpret_cast<const long long *>(from + count_at);
  long long elements = step[0] < 0 ? -step[0] : step[0];
  if (step[1] > 0 && columns <= step[1]) { // rowsOfTile in runtime/binding/Tables.h
    long long wide = 1;
    while (wide < columns && wide < 32768)
      wide *= 2;
    long long rows = step[2] / wide > elements ? step[2] / wide : elements;
    rows = wide > 2048 && rows < 2 ? 2 : rows;
    while (count / rows >= (elements == 1 ? 4096 : 1024) && 2 * rows * wide <= 32768)
      rows *= 2;
    elements = rows;
  } else if (step[3] > 1) {
    const long long tall = elements * step[3], ranges = columns <= 0 ? 1 : (columns - 1) / 1024 + 1;
    if ((count <= 0 ? 1 : (count - 1) / tall + 1) >= 127 / ranges + 1)
      elements = tall;
  }
  long long shift = 0;
  if (step[0] < 0) {
    // The operand with the smallest elements decides: it has the most of them in a cache line.
    long long smallest = 0;
    unsigned long long start = 0;
    for (int p = 0; p < pointers; ++p)
      if (const long long s = step[4 + p]; s > 0 && (smallest == 0 || s < smallest)) {
        smallest = s;
        start = *reinterpret_cast<const unsigned long long *>(from + 8 * p);
      }
    // Tiles start at cache lines or, if that is not possible in all operands, at 16 bytes.
    bool gains = false;
    for (int bytes = 128; smallest > 0 && !gains && bytes >= 16; bytes -= 112) {
      shift = start % bytes / smallest;
      gains = count + shift >= 2 * elements;
      for (int p = 0; p < pointers; ++p)
        if (const long long s = step[4 + p]; s > 0)
          gains &= (*reinterpret_cast<const unsigned long long *>(from + 8 * p) + (elements - shift) * s) % bytes == 0;
    }
    shift = gains ? shift : 0;
  }
  const int k = tile - ints[0];
  const long long first = k ? k * elements - shift : 0;
  const long long most = k ? elements : elements - shift;
  for (int p = 0; p < pointers; ++p) {
    const long long s = step[4 + p];
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

// Members of a table whose addresses of one operand changed. Mirrors OperandMoves in
// runtime/binding/OperandMoves.h. Offsets are in bytes, in a descriptor.
struct heddle_moves {
  char *members, *tiles;
  int bytes; // of a descriptor
  int operand_at, member_at;
  int first_member, member_count; // member descriptors
  int first_tile, tile_count;     // their tile descriptors
  int unused;
  long long distance[480]; // for each member descriptor: new address - previous address
};

// Moves the operand in the tile descriptors and in the member descriptors, one thread
// for each.
extern "C" __global__ void __launch_bounds__(256)
heddle_move_operands(const heddle_moves moves) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  const int member_descriptor = at - moves.tile_count;
  if (member_descriptor >= moves.member_count)
    return;
  char *descriptor;
  int member = member_descriptor;
  if (member_descriptor < 0) {
    descriptor = moves.tiles + static_cast<long long>(moves.first_tile + at) * moves.bytes;
    member = *reinterpret_cast<const int *>(descriptor + moves.member_at) - moves.first_member;
  } else {
    descriptor = moves.members + static_cast<long long>(moves.first_member + member) * moves.bytes;
  }
  if (const long long distance = moves.distance[member])
    *reinterpret_cast<long long *>(descriptor + moves.operand_at) += distance;
}
