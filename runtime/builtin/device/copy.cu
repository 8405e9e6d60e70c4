//===- copy.cu - Copy and fill nodes over lists ---------------------------===//
//
// One launch copies or fills all members of a list. A graph's own memcpy nodes would need one node per member, and a
// new graph whenever the number of members changes.
//
//===----------------------------------------------------------------------===//

struct heddle_span {
  const char *from;
  char *to;
  long long bytes;
  long long first_chunk; // chunks of all spans before this one
};

constexpr long long chunk_bytes = 16384;

// The span that contains a chunk: the last one whose first chunk is not after it.
__device__ static heddle_span span_of(const heddle_span *spans, int count, long long chunk) {
  int low = 0, high = count - 1;
  while (low < high) {
    int middle = low + (high - low + 1) / 2;
    if (spans[middle].first_chunk <= chunk)
      low = middle;
    else
      high = middle - 1;
  }
  return spans[low];
}

extern "C" __global__ void __launch_bounds__(256) heddle_copy(const heddle_span *spans, int count, long long chunks) {
  for (long long chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    heddle_span span = span_of(spans, count, chunk);
    long long offset = (chunk - span.first_chunk) * chunk_bytes;
    long long bytes = min(chunk_bytes, span.bytes - offset);
    const char *from = span.from + offset;
    char *to = span.to + offset;
    long long done = 0;
    if (((unsigned long long)from | (unsigned long long)to) % 16 == 0) {
      for (long long i = threadIdx.x; i < bytes / 16; i += blockDim.x)
        ((uint4 *)to)[i] = ((const uint4 *)from)[i];
      done = bytes / 16 * 16;
    }
    for (long long i = done + threadIdx.x; i < bytes; i += blockDim.x)
      to[i] = from[i];
  }
}

extern "C" __global__ void __launch_bounds__(256)
    heddle_fill(const heddle_span *spans, int count, long long chunks, unsigned long long pattern) {
  // A span begins at an element and a chunk at a multiple of 8 bytes of its span, so the pattern starts at the same
  // byte in every chunk.
  for (long long chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    heddle_span span = span_of(spans, count, chunk);
    long long offset = (chunk - span.first_chunk) * chunk_bytes;
    long long bytes = min(chunk_bytes, span.bytes - offset);
    char *to = span.to + offset;
    long long done = 0;
    if ((unsigned long long)to % 16 == 0) {
      for (long long i = threadIdx.x; i < bytes / 16; i += blockDim.x)
        ((ulonglong2 *)to)[i] = make_ulonglong2(pattern, pattern);
      done = bytes / 16 * 16;
    }
    for (long long i = done + threadIdx.x; i < bytes; i += blockDim.x)
      to[i] = (char)(pattern >> i % 8 * 8);
  }
}

// Replaces a node that has no work for the buffers bound at present.
extern "C" __global__ void heddle_nothing() {}
