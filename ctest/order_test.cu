// Tests of the SIMT model's order: the unordered accesses and endless waits that it finds, and the ordered ones that it accepts.
#include <fmt/format.h>

#include <set>
#include <string>

#include "common/cuda/ptx.hpp"
#include "common/cuda/ptx_mbarrier.hpp"
#include "ctest/model_tests.hpp"

MODEL_TESTS("tests of the SIMT model's order")
TEST_SUITE_BEGIN("model");

namespace ptx = tile::ptx;

// --- Barriers of some lanes, some warps -----------------------------------------------------------------------------------

// Each half of the warp exchanges words with itself, or (mixed) one half reads the other's.
__global__ void halves_of_a_warp(float* out, bool mixed) {
  __shared__ float words[32];
  const unsigned lane = threadIdx.x, half = lane / 16;
  words[lane] = float(lane);
  __syncwarp(half == 0 ? 0x0000ffffu : 0xffff0000u);
  out[lane] = words[mixed ? 31 - lane : half * 16 + 15 - lane % 16];
}

TEST_CASE("a barrier of some lanes orders only those lanes") {
  auto out = tile::array<float>("out", 32);
  CHECK(says(said_of(halves_of_a_warp, 1, 32, out, false), ""));
  CHECK(says(said_of(halves_of_a_warp, 1, 32, out, true), "race: halves_of_a_warp, order_test.cu:"));
}

// Without the last barrier, after many iterations one thread reads what another writes at the same time.
__global__ void many_barriers(int* out, int iterations, bool last_barrier) {
  __shared__ int word;
  for (int i = 0; i < iterations; ++i) {
    if (threadIdx.x == 0) word = i;
    __syncthreads();
  }
  if (threadIdx.x == 0) word = iterations;
  if (last_barrier) __syncthreads();
  if (threadIdx.x == 1) out[0] = word;
}

TEST_CASE("the count of barriers does not wrap") {
  auto out = tile::array<int>("out", 1);
  CHECK(says(said_of(many_barriers, 1, 2, out, 1 << 18, true), ""));
  CHECK(says(said_of(many_barriers, 1, 2, out, 1 << 10, false), "race: many_barriers"));
}

// The first warp fills, the second takes; `ahead`: it takes before the other has filled.
__global__ void exchange(float* out, int iterations, bool ahead) {
  __shared__ float words[32];
  const unsigned lane = threadIdx.x % 32;
  for (int i = 0; i < iterations; ++i) {
    if (threadIdx.x < 32) {
      words[lane] = float(i);
      ptx::barrier_arrive(1, 64);
      ptx::barrier_sync_aligned(2, 64);
    } else {
      if (!ahead) ptx::barrier_sync_aligned(1, 64);
      out[lane] = words[31 - lane];
      if (ahead) ptx::barrier_sync_aligned(1, 64);
      ptx::barrier_arrive(2, 64);
    }
  }
}

TEST_CASE("named barriers order the threads that reach them") {
  auto out = tile::array<float>("out", 64);
  CHECK(says(said_of(exchange, 1, 64, out, 5, false), ""));
  CHECK(says(said_of(exchange, 1, 64, out, 5, true), "race: exchange"));
}

TEST_KERNEL("a named barrier at which fewer threads arrive than it is for", barrier_for_too_many, float, 1, 64,
            "deadlock: barrier_for_too_many, order_test.cu:",
            "waits at barrier 3: 32 of 96 threads have arrived, with 31 threads more; 32 threads have returned") {
  if (threadIdx.x < 32) ptx::barrier_sync_aligned(3, 96);
  out[threadIdx.x] = 1;
}

// The first warp fills, arrives and proceeds without waiting: it writes the words again, which the second warp reads after the
// barrier, or, once that one has signalled without a fence, it reads what the second wrote before the barrier.
enum class GoesOn { waits, writes, reads };
__global__ void arrive_and_go_on(float* out, int* flag, GoesOn how) {
  __shared__ float words[32], others[32];
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    words[lane] = 1;
    if (how == GoesOn::waits)
      ptx::barrier_sync_aligned(1, 64);
    else
      ptx::barrier_arrive(1, 64);
    if (how == GoesOn::writes) {
      words[lane] = 2;
      return;
    }
    while (atomicCAS(flag, 1, 1) == 0) __nanosleep(20);
    out[lane] = others[lane];
  } else {
    others[lane] = 1;
    ptx::barrier_sync_aligned(1, 64);
    out[32 + lane] = words[lane];
    atomicExch(flag, 1);
  }
}

TEST_CASE("a thread that arrives at a named barrier without waiting acquires nothing") {
  auto out = tile::array<float>("out", 64);
  auto flag = tile::array<int>("flag", 1);
  const auto said = [&](GoesOn how) {
    flag.set({0});
    return said_of(arrive_and_go_on, 1, 64, out, flag, how);
  };
  CHECK(says(said(GoesOn::waits), ""));
  CHECK(says(said(GoesOn::writes), "race: arrive_and_go_on"));
  CHECK(says(said(GoesOn::reads), "reads others["));
}

// Some threads come to a named barrier, all others to __syncthreads.
__global__ void come_to_barrier(int number, int threads, unsigned begin, unsigned end) {
  if (threadIdx.x < begin || threadIdx.x >= end) return __syncthreads();
  ptx::barrier_sync_aligned(number, threads);
}

TEST_CASE("misuse of a named barrier, by the rules of PTX, is reported") {
  const auto said = [&](int number, int threads, unsigned block = 64, unsigned begin = 0, unsigned end = 256) {
    return said_of(come_to_barrier, 1, block, number, threads, begin, end);
  };
  for (const int number : {0, 15}) CHECK(says(said(number, 64), ""));
  CHECK(says(said(1, 64, 48), ""));  // a warp of 16 lanes counts for 32
  for (const int number : {-1, 16, 17})
    CHECK(says(said(number, 64), "barrier: come_to_barrier, order_test.cu:", "block (0,0,0), thread (0,0,0) comes to ",
               fmt::format("barrier {} for 64 threads: a block has barriers 0 to 15", number)));
  for (const int threads : {-32, 0, 40, 100})
    CHECK(says(said(1, threads), fmt::format("comes to barrier 1 for {} threads: the number of threads must be a "
                                             "positive multiple of 32",
                                             threads)));
  CHECK(says(said(1, 128, 256),
             "thread (128,0,0) comes to barrier 1 for 128 threads, and thread (0,0,0) came to it for 128",
             ", which is complete: groups that may overlap need a barrier each"));
  CHECK(says(said(0, 64, 128, 0, 64),
             "thread (64,0,0) comes to barrier 0 for 128 threads, and thread (0,0,0) came to it for 64",
             "; __syncthreads is barrier 0, for all threads"));
  CHECK(says(said(0, 64, 128, 64, 128),
             "thread (64,0,0) comes to barrier 0 for 64 threads, and thread (0,0,0) came to it for 128"));
  CHECK(says(said(0, 128, 128, 64, 128), "barrier: come_to_barrier",
             "at __syncthreads while thread (64,0,0) waits at the one of"));
}

// In each warp, `lanes` lanes have not returned when they reach operations for all 32; the last warp of a block may have
// no more.
__global__ void without_some_lanes(unsigned* out, unsigned lanes) {
  __shared__ unsigned words[64];
  words[threadIdx.x] = 1;
  if (threadIdx.x % 32 >= lanes) return;
  __syncwarp();
  const unsigned neighbour = words[threadIdx.x ^ 1];
  const unsigned sum = __reduce_add_sync(~0u, 1u) + __shfl_xor_sync(~0u, neighbour, 1) + unsigned(__all_sync(~0u, 1));
  out[threadIdx.x] = sum + __ballot_sync(0x00ffffffu, 1);
}

TEST_CASE("operations of a warp wait for the lanes of their mask that exist and have not returned") {
  auto out = tile::array<unsigned>("out", 64);
  for (const unsigned lanes : {12u, 16u}) {
    const auto counts = counted(without_some_lanes, 1, 48, out, lanes);
    for (const unsigned thread : {0u, 32u + lanes - 1}) CHECK(out.host()[thread] == lanes + 2 + (1u << lanes) - 1);
    CHECK(only_site(counts, simt::Op::store, simt::Space::shared).requests == 2);
  }
}

TEST_KERNEL(
    "a lane that does not reach an operation of its warp is reported", waits_elsewhere, int, 1, 32,
    "for lanes 0x00008000 of the mask 0xffffffff, which never arrive at it: thread (15,0,0) waits at order_test.cu:") {
  if (threadIdx.x < 15) return;
  if (threadIdx.x == 15) __syncthreads();
  out[threadIdx.x] = __any_sync(~0u, 1);
}

TEST_KERNEL("a possible cause of a deadlock is reported first", led_astray, float, 1, 34, "uninitialised: led_astray",
            "\ndeadlock: led_astray, ", ": 33 of 64 threads have arrived, with 32 threads more; 1 thread has") {
  __shared__ float word;
  if (threadIdx.x < 33 && word != 1.5f) ptx::barrier_sync_aligned(1, 64);
  out[threadIdx.x] = 1;
}

TEST_KERNEL("a shuffle must take its value from a lane that takes part", shuffle_from_outside, int, 1, 32,
            "takes a value from lane 20, which does not take part: the mask is 0x0000ffff") {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0x0000ffffu, int(threadIdx.x), 20);
}

TEST_KERNEL("the mask of a shuffle must include the lane itself", shuffle_for_others, int, 1, 32,
            "takes part for lanes 0xffff0000 without being one of them") {
  out[threadIdx.x] = __shfl_sync(0xffff0000u, int(threadIdx.x), 16);
}

TEST_KERNEL("a kernel cannot launch a kernel", launch_another, int, 1, 1, "unsupported: launch_another, ",
            " launches a kernel, which only the host may") {
  tile::launch(shuffle_for_others, dim3(1), dim3(32), 0, out);
}

__global__ void all_lanes_store(int* out, int different) {
  __shared__ int word;
  word = different * int(threadIdx.x);
  out[0] = 7 + different * int(threadIdx.x);
  __syncthreads();  // thread 1 also reads what the others stored
  if (threadIdx.x == 1) out[1] = word;
}

TEST_CASE("lanes of a warp may store the same value, but not different ones") {
  auto out = tile::array<int>("out", 2);
  CHECK(says(said_of(all_lanes_store, 1, 32, out, 0), ""));
  CHECK(out.host()[0] == 7);
  CHECK(says(said_of(all_lanes_store, 1, 32, out, 1), "writes word[0]", "writes out[0]"));
  CHECK(says(said_of(all_lanes_store, 1, 64, out, 0), "race: all_lanes_store"));  // two warps
}

// --- Between blocks -------------------------------------------------------------------------------------------------------

enum class Fence { none, of_block, of_gpu };
__device__ void fence(Fence which) {
  if (which == Fence::of_block) __threadfence_block();
  if (which == Fence::of_gpu) __threadfence();
}

// Each thread writes a part and fences it, or fences before it writes; after a barrier (of the block, of its only warp, a named
// one, or an mbarrier) one thread counts the block. All threads of the last block read what all threads wrote.
enum class Barrier { block, warp, numbered, mbarrier };
__global__ void reduce_by_all(int* parts, unsigned* finished, int* out, Barrier barrier, Fence which, bool early) {
  __shared__ bool last;
  __shared__ std::uint64_t written;
  if (threadIdx.x == 0) ptx::mbarrier_init(&written, blockDim.x);
  __syncthreads();  // the mbarrier is initialised
  unsigned phase = 0;
  const auto synchronise = [&] {
    if (barrier == Barrier::block) __syncthreads();
    if (barrier == Barrier::warp) __syncwarp();
    if (barrier == Barrier::numbered) ptx::barrier_sync_aligned(5, int(blockDim.x));
    if (barrier != Barrier::mbarrier) return;
    ptx::mbarrier_arrive(&written);
    ptx::mbarrier_wait_parity(&written, phase++);
  };
  if (early) fence(which);
  parts[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  if (!early) fence(which);
  synchronise();
  if (threadIdx.x == 0) last = atomicAdd(finished, 1u) == gridDim.x - 1;
  synchronise();
  if (!last) return;
  __threadfence();
  int sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += parts[b * blockDim.x + (blockDim.x - 1 - threadIdx.x)];
  out[threadIdx.x] = sum;
}

TEST_CASE("a fence holds for the thread that counts the block after a barrier") {
  constexpr unsigned BLOCKS = 5;
  auto parts = tile::array<int>("parts", BLOCKS * 64), out = tile::array<int>("out", 64);
  auto finished = tile::array<unsigned>("finished", 1);
  on_host_threads({1, 3}, [&] {
    for (const Barrier barrier : {Barrier::block, Barrier::warp, Barrier::numbered, Barrier::mbarrier}) {
      CAPTURE(int(barrier));
      const auto said = [&](Fence which, bool early) {
        finished.set({0});
        return said_of(reduce_by_all, BLOCKS, barrier == Barrier::warp ? 32 : 64, parts, finished, out, barrier, which,
                       early);
      };
      CHECK(says(said(Fence::of_gpu, false), ""));
      CHECK(out.host()[0] == int(BLOCKS));
      CHECK(says(said(Fence::none, false), "reads parts["));
      CHECK(says(said(Fence::of_block, false), "reads parts["));
      CHECK(says(said(Fence::of_gpu, true), "reads parts["));
    }
  });
}

// One warp passes a word to another of its block (or, with two blocks, to one of the other), through a flag.
__global__ void publish_word(int* flag, int* word, int* out, Fence which) {
  if (threadIdx.x % 32 != 0) return;
  const unsigned who = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (who == 0) {
    word[0] = 42;
    fence(which);
    atomicExch(flag, 1);
  } else {
    while (atomicCAS(flag, 1, 1) == 0) __nanosleep(20);
    fence(which);
    out[0] = word[0];
  }
}

TEST_CASE("a fence of the block holds only for the block") {
  auto flag = tile::array<int>("flag", 1), word = tile::array<int>("word", 1), out = tile::array<int>("out", 1);
  const auto said = [&](Fence which, unsigned blocks) {
    flag.set({0});
    return said_of(publish_word, blocks, 64 / blocks, flag, word, out, which);
  };
  CHECK(says(said(Fence::of_block, 1), ""));
  CHECK(out.host()[0] == 42);
  CHECK(says(said(Fence::none, 1), "reads word[0]"));
  CHECK(says(said(Fence::of_gpu, 2), ""));
  CHECK(says(said(Fence::of_block, 2), "reads word[0]"));
  CHECK(says(said(Fence::none, 2), "reads word[0]"));
}

// --- Several readers ------------------------------------------------------------------------------------------------------

// Two warps read, and one lane of each arrives at the mbarrier for which the writer waits: also for the other lanes, if it
// has synchronised with them.
__global__ void one_lane_arrives(float* x, float* out, bool synchronises) {
  __shared__ std::uint64_t read;
  if (threadIdx.x == 0) ptx::mbarrier_init(&read, 2);
  __syncthreads();
  if (threadIdx.x < 64) {
    out[threadIdx.x] = x[0];
    if (synchronises) __syncwarp();
    if (threadIdx.x % 32 == 31) ptx::mbarrier_arrive(&read);
  } else {
    ptx::mbarrier_wait_parity(&read, 0);
    if (threadIdx.x == 64) x[0] = 9;
  }
}

TEST_CASE("each lane of a warp that has read is known, not only the last") {
  auto x = tile::array<float>("x", 1), out = tile::array<float>("out", 96);
  CHECK(says(said_of(one_lane_arrives, 1, 96, x, out, true), ""));
  CHECK(says(said_of(one_lane_arrives, 1, 96, x, out, false), "race: one_lane_arrives"));
}

// Two warps read an element, in shared or global memory, and reach a named barrier or an mbarrier (`both` false: the second one
// does not); the third warp then writes it.
__global__ void two_warps_read(float* words, float* out, bool named, bool shared, bool both) {
  __shared__ float own[1];
  __shared__ std::uint64_t read;
  const unsigned warp = threadIdx.x / 32;
  if (threadIdx.x == 0) own[0] = 1;
  if (threadIdx.x == 0) ptx::mbarrier_init(&read, both ? 64 : 32);
  __syncthreads();  // the word is written, and the mbarrier initialised
  float* const word = shared ? own : words;
  if (warp < 2) out[threadIdx.x] = word[0];
  const bool comes = warp != 1 || both;
  if (named && comes) ptx::barrier_sync_aligned(1, both ? 96 : 64);
  if (!named && comes && warp < 2) ptx::mbarrier_arrive(&read);
  if (!named && warp == 2) ptx::mbarrier_wait_parity(&read, 0);
  if (threadIdx.x == 64) word[0] = 9;
}

TEST_CASE("a writer that is not ordered after each of several readers is reported") {
  auto word = tile::array<float>("word", 1), out = tile::array<float>("out", 96);
  for (const bool named : {false, true})
    for (const bool shared : {false, true}) {
      CHECK(says(said_of(two_warps_read, 1, 96, word, out, named, shared, true), ""));
      CHECK(says(said_of(two_warps_read, 1, 96, word, out, named, shared, false), "race: two_warps_read",
                 "thread (64,0,0) writes ", "with no barrier between that orders the two"));
    }
}

// The upper half reads, all synchronise, the lower half reads and synchronises (or does not), and one lane of it writes.
__global__ void halves_read(int* out, bool synchronises) {
  __shared__ int word;
  if (threadIdx.x == 0) word = 1;
  __syncwarp();
  int mine = 0;
  if (threadIdx.x >= 16) mine = word;
  __syncwarp();
  if (threadIdx.x < 16) {
    mine = word;
    if (synchronises) __syncwarp(0x0000ffffu);
    if (threadIdx.x == 3) word = 2;
  }
  out[threadIdx.x] = mine;
}

// All lanes read and arrive; lane 0 reads once more, and arrives (or does not) at a second mbarrier of the writer.
__global__ void one_lane_reads_again(int* out, bool arrives) {
  __shared__ int word;
  __shared__ std::uint64_t read, again;
  if (threadIdx.x == 0) {
    word = 1;
    ptx::mbarrier_init(&read, 32);
    ptx::mbarrier_init(&again, 1);
  }
  __syncthreads();  // the word is written, and the mbarriers are initialised
  if (threadIdx.x < 32) {
    out[threadIdx.x] = word;
    ptx::mbarrier_arrive(&read);
    if (threadIdx.x == 0) out[0] = word;
    if (threadIdx.x == 0 && arrives) ptx::mbarrier_arrive(&again);
  } else {
    ptx::mbarrier_wait_parity(&read, 0);
    if (arrives) ptx::mbarrier_wait_parity(&again, 0);
    if (threadIdx.x == 32) word = 2;
  }
}

TEST_CASE("lanes of a warp that read at different times are distinguished") {
  auto out = tile::array<int>("out", 64);
  CHECK(says(said_of(halves_read, 1, 32, out, true), ""));
  CHECK(says(said_of(halves_read, 1, 32, out, false), "race: halves_read"));
  CHECK(says(said_of(one_lane_reads_again, 1, 64, out, true), ""));
  CHECK(says(said_of(one_lane_reads_again, 1, 64, out, false), "thread (32,0,0) writes word[0]"));
}

// All blocks read the words, and the last one to finish writes them.
__global__ void last_block_clears(float* words, unsigned* finished, float* out, bool fences) {
  __shared__ bool last;
  out[blockIdx.x * blockDim.x + threadIdx.x] = words[threadIdx.x];
  if (fences) __threadfence();
  __syncthreads();  // all of the block have read
  if (threadIdx.x == 0) last = atomicAdd(finished, 1u) == gridDim.x - 1;
  __syncthreads();  // all know whether theirs is the last block
  if (last) words[threadIdx.x] = 0;
}

TEST_CASE("a block that writes without being ordered after the blocks that have read is reported") {
  auto words = tile::array<float>("words", 64), out = tile::array<float>("out", 64 * 12);
  auto count = tile::array<unsigned>("count", 1);
  on_host_threads({1, 2}, [&] {
    for (const unsigned blocks : {2u, 3u, 12u})
      for (const bool fences : {true, false}) {
        count.set({0});
        CHECK(says(said_of(last_block_clears, blocks, 64, words, count, out, fences), fences ? "" : "writes words["));
      }
  });
}

// A word passed in shared memory through a volatile flag.
__global__ void volatile_flag(int* out, Fence before, Fence after) {
  __shared__ volatile int flag;
  __shared__ int word;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();  // the flag is down
  if (threadIdx.x == 32) {
    word = 42;
    fence(before);
    flag = 1;
  }
  if (threadIdx.x == 0) {
    while (flag == 0) {
    }
    fence(after);
    out[0] = word;
  }
}

// After some work, one block reads what another writes, and a third writes what a fourth reads.
__global__ void unordered_blocks(float* common, float* out) {
  for (int i = 0; i < 10000; ++i) out[blockIdx.x] += 1;
  if (blockIdx.x % 2 == 0)
    out[blockIdx.x] += common[blockIdx.x / 2];
  else
    common[blockIdx.x == 1 ? 0 : 1] = out[blockIdx.x];
}

TEST_CASE("the finding about blocks that nothing orders does not depend on which of them run at the same time") {
  auto common = tile::array<float>("common", 2), out = tile::array<float>("out", 4);
  const std::string first = said_of(unordered_blocks, 4, 1, common, out);
  CHECK(says(first, "race: unordered_blocks"));
  for (int i = 0; i < 20; ++i) CHECK(said_of(unordered_blocks, 4, 1, common, out) == first);
}

TEST_CASE("a volatile flag in shared memory counts as atomic after a fence") {
  auto out = tile::array<int>("out", 1);
  const auto said = [&](Fence before, Fence after) { return said_of(volatile_flag, 1, 64, out, before, after); };
  CHECK(says(said(Fence::of_block, Fence::of_block), ""));
  CHECK(out.host()[0] == 42);
  CHECK(says(said(Fence::of_gpu, Fence::of_gpu), ""));
  CHECK(says(said(Fence::none, Fence::none), "writes flag[0]"));
  CHECK(says(said(Fence::none, Fence::of_block), "race: "));
}

// A thread signals to the others that it has found what all look for.
enum class Found { by_plain_looks, by_volatile_looks, by_volatile_writes };
__global__ void early_exit(int* out, Found how) {
  __shared__ int found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  volatile int& flag = found;
  for (int i = 0; i < 4; ++i) {
    if ((how == Found::by_plain_looks && found != 0) || (how != Found::by_plain_looks && flag != 0)) return;
    if (threadIdx.x == 5 && i == 1 && how == Found::by_volatile_writes) flag = 1;
    if (threadIdx.x == 5 && i == 1 && how != Found::by_volatile_writes) atomicExch(&found, 1);
    out[threadIdx.x] = i;
  }
}

TEST_CASE("threads may poll what others update without a barrier") {
  auto out = tile::array<int>("out", 64);
  CHECK(says(said_of(early_exit, 1, 64, out, Found::by_plain_looks), "reads found[0]",
             "order_test.cu:", " (a read that may come between atomic updates must be atomic or volatile as well)"));
  CHECK(says(said_of(early_exit, 1, 64, out, Found::by_volatile_looks), ""));
  CHECK(says(said_of(early_exit, 1, 64, out, Found::by_volatile_writes), "writes found[0]",
             " (a volatile flag in shared memory must be written atomically, or after a __threadfence_block())"));
}

__global__ void count_under_a_lock(int* lock, int* total, bool fences) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
  if (fences) __threadfence();
  total[0] += 1;
  if (fences) __threadfence();
  atomicExch(lock, 0);
}

TEST_CASE("blocks may hold locks") {
  auto lock = tile::array<int>("lock", 1), total = tile::array<int>("total", 1);
  CHECK(says(said_of(count_under_a_lock, 20, 32, lock, total, true), ""));
  CHECK(total.host()[0] == 20);
  CHECK(says(said_of(count_under_a_lock, 20, 32, lock, total, false), "total[0]"));
}

// Each block draws a number, block 0 after a long time, and stores so many words; or the first number must be block 0's.
__global__ void draw_numbers(unsigned* next, unsigned* out, Fence which, bool in_order) {
  unsigned work = 0;
  for (unsigned i = 0; i < (blockIdx.x == 0 ? 200000 : 1); ++i) work += out[i % 8];
  fence(which);
  const unsigned number = atomicAdd(next, 1u);
  for (unsigned i = 0; i <= number % (blockIdx.x + 1); ++i) out[8 + number] = i + work;
  if (in_order && number == 0 && blockIdx.x != 0) out[99] = 1;
}

TEST_CASE("counts and findings do not depend on which block draws a number first, with a fence and without") {
  auto next = tile::array<unsigned>("next", 1), out = tile::array<unsigned>("out", 48);
  std::set<std::uint64_t> stores;
  on_host_threads({1, 5}, [&] {
    for (const Fence which : {Fence::none, Fence::of_gpu}) {
      CHECK(says(said_of(draw_numbers, 40, 1, next, out, which, true), "out of bounds: draw_numbers"));
      next.set({0});
      const auto counts = counted(draw_numbers, 40, 1, next, out, which, false);
      stores.insert(only_site(counts, simt::Op::store, simt::Space::global).accesses);
      next.set({0});
    }
  });
  CHECK(stores.size() == 1);
}

// All blocks wait for what the last one writes: they must be resident at once.
__global__ void wait_for_the_last_block(volatile int* flag, int* data, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == gridDim.x - 1) {
    data[0] = 42;
    __threadfence();
    flag[0] = 1;
  }
  while (flag[0] == 0) {
  }
  __threadfence();
  out[blockIdx.x] = data[0];
}

TEST_CASE("blocks that wait for each other are resident together, as many as the GPU holds" *
          doctest::test_suite("model thorough")) {
  auto flag = tile::array<int>("flag", 1), data = tile::array<int>("data", 1), out = tile::array<int>("out", 133);
  const auto said = [&](unsigned blocks) {
    flag.set({0});
    constexpr std::size_t half_an_sm = 120 << 10;  // one block to an SM
    const auto launch = [&] {
      tile::launch(wait_for_the_last_block, blocks, 32, half_an_sm, flag.device(), data.device(), out.device());
    };
    return said_by([&] { simt::trace(launch); });
  };
  on_host_threads({2, 1}, [&] {
    CHECK(says(said(132), ""));
    CHECK(out.host()[0] == 42);
  });
  on_host_threads({1}, [&] {
    CHECK(says(said(133), "deadlock: wait_for_the_last_block, order_test.cu:",
               " loads flag[0], which is 0, again and again; thread (0,0,0)",
               " of block (1,0,0), with 130 threads more, loads flag[0], which is 0, again and again at order_test.cu:",
               "; 31 threads have returned; blocks: 132 resident, 0 ended, 1 not started: the GPU holds no more"));
  });
}

// --- Waiting for a value in memory ----------------------------------------------------------------------------------------

// The last block sets the flags, after it has looked at `ahead` words; or never if that is negative; the others wait
// for all of them.
enum class Waiting { by_volatile, by_atomic, interleaved, counting };
__global__ void wait_for_flags(int* flags, int* words, int ahead, unsigned* looks, Waiting how) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == gridDim.x - 1) {
    if (ahead < 0) return;
    int sum = 0;
    for (int i = 0; i < ahead; ++i) sum += words[i % 7];
    words[7] = sum;
    for (int i = 0; i < 3; ++i) {
      __threadfence();
      atomicExch(&flags[i], 1);
    }
    return;
  }
  const volatile int* const seen = flags;
  if (how == Waiting::by_volatile)
    while (seen[0] == 0 || seen[1] == 0 || seen[2] == 0) {
    }
  if (how == Waiting::by_atomic)
    while (atomicAdd(&flags[0], 0) == 0 || atomicAdd(&flags[1], 0) == 0 || atomicAdd(&flags[2], 0) == 0) {
    }
  if (how == Waiting::interleaved)
    for (int i = 0; seen[i % 3] == 0; ++i) {
    }
  if (how == Waiting::counting)
    while (seen[0] == 0) looks[blockIdx.x] += 1;
  __threadfence();
  if (how != Waiting::interleaved && how != Waiting::counting) looks[blockIdx.x] = unsigned(words[7]);
}

struct Flags {
  tile::DeviceArray<int> flags{"flags", 3}, words{"words", 8};
  tile::DeviceArray<unsigned> looks{"looks", 6};

  // "line op requests accesses estimated" of each site.
  std::string account(Waiting how) {
    flags.set({0, 0, 0});
    std::string text;
    for (const simt::Site& s : counted(wait_for_flags, 6, 32, flags, words, 2000, looks, how).sites)
      text += fmt::format("{} {} {} {} {}\n", s.line, simt::name_of(s.op), s.requests, s.accesses, s.estimated);
    return text;
  }
};

TEST_CASE("polls of a value are counted once, however long the wait is") {
  Flags blocks;
  for (const Waiting how : {Waiting::by_volatile, Waiting::by_atomic}) {
    std::string first;
    on_host_threads({1}, [&] { first = blocks.account(how); });
    CHECK(says(first, how == Waiting::by_atomic ? " atomic 15 15 false" : " load 15 15 false"));
    for (int i = 0; i < 3; ++i) on_host_threads({1, 2, 4}, [&] { CHECK(blocks.account(how) == first); });
  }
}

TEST_CASE("a thread that counts its polls in memory lets others run, and is marked as a guess") {
  Flags blocks;
  // With more host threads, the flag may be set at once.
  on_host_threads({1}, [&] { CHECK(says(blocks.account(Waiting::counting), " true\n")); });
  on_host_threads({1, 2, 4}, [&] {
    CHECK(blocks.account(Waiting::counting) != "");
    CHECK(blocks.account(Waiting::interleaved) != "");
  });
}

TEST_CASE("a thread that polls several values that nobody writes is reported, with all of them") {
  Flags blocks;
  const auto said = [&](std::vector<int> values, Waiting how) {
    blocks.flags.set(values);
    return said_of(wait_for_flags, 2, 1, blocks.flags, blocks.words, -1, blocks.looks, how);
  };
  for (const Waiting how : {Waiting::by_volatile, Waiting::by_atomic})
    CHECK(says(said({1, 1, 0}, how), "deadlock: wait_for_flags", "flags[0], which is 1,", "flags[2], which is 0,"));
  CHECK(says(said({0, 0, 0}, Waiting::interleaved), "flags[0], which is 0,", "flags[1], which is 0,",
             "flags[2], which is 0,"));
}

// Polls a number of times, and then gives up.
__global__ void give_up_polling(volatile int* flag, int* out) {
  int looks = 0;
  while (flag[0] == 0 && looks < 1000) ++looks;
  out[blockIdx.x] = looks;
}

TEST_CASE("a lane that polls a thousand times may go on") {
  auto flag = tile::array<int>("flag", 1), out = tile::array<int>("out", 3);
  CHECK(says(said_of(give_up_polling, 3, 1, flag, out), ""));
  CHECK(out.host() == std::vector<int>(3, 1000));
}

// Blocks, or two warps of one, that signal each other through counters: results must not depend on which runs first.
enum class Signals { grid_barrier, reused_buffer, mailbox, mailbox_with_reply, locks_in_order, locks_crossed };
__device__ void await(unsigned* counter, unsigned least) {
  while (atomicAdd(counter, 0u) < least) {
  }
  __threadfence();
}
__device__ void announce(unsigned* counter) {
  __threadfence();
  atomicAdd(counter, 1u);
}
__device__ void lock(unsigned* taken) {
  while (atomicCAS(taken, 0u, 1u) != 0) {
  }
}
__global__ void signal_each_other(unsigned* counters, float* words, float* out, unsigned sides, Signals how) {
  const unsigned me = sides == gridDim.x ? blockIdx.x : threadIdx.x / 32;
  if (threadIdx.x % 32 != 0) return;
  for (unsigned k = 1; k <= 3; ++k) {
    if (how == Signals::grid_barrier || how == Signals::reused_buffer) {
      float* const mine = how == Signals::grid_barrier ? words + k * sides : words;
      mine[me] = float(k);
      announce(counters);
      await(counters, k * sides);
      for (unsigned other = 0; other < sides; ++other) out[me] += mine[other];
    } else if (how == Signals::mailbox || how == Signals::mailbox_with_reply) {
      if (me == 0) words[0] = float(k);
      if (me == 0) announce(counters);
      if (me == 1) await(counters, k);
      if (me == 1) out[0] += words[0];
      if (me == 1) announce(counters + 1);
      if (me == 0 && how == Signals::mailbox_with_reply) await(counters + 1, k);
    } else {
      unsigned* const first = counters + (how == Signals::locks_crossed ? me % 2 : 0);
      unsigned* const second = counters + (first == counters ? 1 : 0);
      lock(first);
      lock(second);
      atomicExch(second, 0u);
      atomicExch(first, 0u);
    }
  }
}

TEST_CASE("findings about signals do not depend on which block runs first") {
  auto counters = tile::array<unsigned>("counters", 2);
  auto words = tile::array<float>("words", 32), out = tile::array<float>("out", 8);
  for (const auto& [how, verdict] :
       {std::pair(Signals::grid_barrier, ""), std::pair(Signals::reused_buffer, "race: signal_each_other"),
        std::pair(Signals::mailbox, "race: signal_each_other"), std::pair(Signals::mailbox_with_reply, ""),
        std::pair(Signals::locks_in_order, ""), std::pair(Signals::locks_crossed, "deadlock: signal_each_other")})
    for (const unsigned blocks : {1u, 2u, 5u}) {
      CAPTURE(blocks);
      const unsigned sides = blocks == 1 ? 2 : blocks;
      for (int again = 0; again < 4; ++again) {
        counters.set({0, 0});
        CHECK(
            says(said_of(signal_each_other, blocks, blocks == 1 ? 64 : 32, counters, words, out, sides, how), verdict));
      }
    }
}

// Loops that do something in each iteration, and do not end unless `iterations` of them are enough.
enum class Endless { stores, counts, synchronises, shuffles };
__global__ void go_on(unsigned* words, const int* next, unsigned iterations, Endless how) {
  __shared__ unsigned shared[32];
  if (how == Endless::stores)
    while (words[0] != iterations) words[0] = (words[0] + 2) & 0xfe;
  if (how == Endless::counts)
    while (*static_cast<volatile const int*>(next) != int(iterations)) atomicAdd(words, 1u);
  if (how == Endless::synchronises)
    for (unsigned k = 0; k != iterations; k = (k + 1) & 0xff) {
      shared[threadIdx.x] = k;
      __syncthreads();
    }
  if (how == Endless::shuffles)
    for (unsigned k = 0; k != iterations;) k = __shfl_sync(0x3u, k, 0) & 0xff;
}

TEST_CASE("an endless loop that does something in each iteration is reported" * doctest::test_suite("model thorough")) {
  auto words = tile::array<unsigned>("words", 4);
  auto next = tile::array<int>("next", 4);
  constexpr unsigned never = 257;
  const std::string memory = "accesses memory without waiting for other threads of its block, more than 4194304 times",
                    waits = "waits for other threads, more than 2097152 times";
  for (const auto& [how, threads, what] :
       {std::tuple(Endless::stores, 1u, memory), std::tuple(Endless::counts, 1u, memory),
        std::tuple(Endless::synchronises, 2u, waits), std::tuple(Endless::shuffles, 2u, waits)})
    CHECK(says(said_of(go_on, 1, threads, words, next, never, how), "endless: go_on", what));
  CHECK(says(said_untraced(go_on, 1, 2, words, next, never, Endless::synchronises), "endless: go_on"));
}

__global__ void spin(unsigned number, unsigned* out) {
  while (number != 0) number = number * 3 | 1;
  out[0] = number;
}

TEST_CASE("an endless loop without memory accesses is reported") {
  auto out = tile::array<unsigned>("out", 2);
  CHECK(says(said_of(spin, 1, 1, 0u, out), ""));
  CHECK(says(said_of(spin, 1, 1, 1u, out),
             "deadlock: spin, order_test.cu:", "executes a loop more than 67108864 times without an access to memory"));
}

TEST_SUITE_END();
