// panel_messages.cuh: how the blocks that process a member publish values.
//
// With a cluster per member, the values that iterations read and write stay in shared
// memory until the loop ends: row values in the block that has the rows, values of
// columns and of the member in every block. The member descriptor points there.
#pragma once
#include "panel_barrier.cuh"

namespace heddle {

template <class T> struct alignas(16) message { T element[message_columns]; };
template <class T> __device__ __forceinline__ void swap(T &a, T &b) {
  const T old = a;
  a = b;
  b = old;
}

// The values of the four threads of a message. The calling thread is the `k`th of them.
template <class T> __device__ __forceinline__ message<T> message_of(T mine, int k) {
  T a = mine, b = shuffle_xor(mine, 1), c = shuffle_xor(mine, 2), d = shuffle_xor(mine, 3);
  if (k & 1) {
    swap(a, b);
    swap(c, d);
  }
  if (k & 2) {
    swap(a, c);
    swap(b, d);
  }
  return {{a, b, c, d}};
}

// Copies values with all threads of the block.
template <class T> __device__ __forceinline__ void copy_values(T *to, const T *from, long long count) {
#pragma unroll 1
  for (int k = threadIdx.x; k < count; k += block_threads)
    to[k] = from[k];
}

// Publishes the value of a column that this block combines. If blocks send messages,
// each of the four threads of a message has a column and sends all four values to some
// of the blocks.
template <class T> __device__ __forceinline__ void publish_column(T *values, long long column, T value, bool has_value, int thread) {
  if constexpr (sends_messages) {
    const int k = threadIdx.x % message_columns;
    const message<T> all = message_of(value, k);
    const bool any = message_of(static_cast<int>(has_value), k).element[0]; // if any thread has a value, the first one has
    if (const int block = thread * message_columns + k; any && thread < column_threads && block < member_blocks)
      send(reinterpret_cast<message<T> *>(values + column - k), all, member_barrier::values(), block);
  } else {
    if (has_value)
      values[column] = value;
  }
}

template <class T>
__device__ __forceinline__ void column_barrier::publish(T *values, long long column, T value, bool has_value, int thread) {
  if constexpr (sends_messages) {
    const int k = threadIdx.x % message_columns;
    const message<T> all = message_of(value, k);
    const bool any = message_of(static_cast<int>(has_value), k).element[0];
    if (any && thread == 0 && k == 0)
      send(reinterpret_cast<message<T> *>(values + column), all, columns(), member_blocks - 1);
  } else {
    if (has_value)
      values[column] = value;
  }
}

// Publishes a value of the member. The first `member_threads` threads call this
// function, and each sends the value to one block, where at least a word is reserved
// for it.
template <class T, class Value> __device__ __forceinline__ void publish(T *to, Value value) {
  const T stored = value;
  if constexpr (sends_messages)
    send(to, stored, member_barrier::values(), threadIdx.x);
  else
    *to = stored;
}

// The value of row `row`, which may be in another block.
template <class T> __device__ __forceinline__ T value_of_row(const T *values, long long row, long long rows) {
  if constexpr (sends_messages) {
    const int panel = rows < panels ? row : static_cast<unsigned>(row * panels + panels - 1) / static_cast<unsigned>(rows);
    return fetch(values + position().first_row + (row - first_row_of_panel(panel, rows)), panel);
  } else {
    return values[row];
  }
}

} // namespace heddle
