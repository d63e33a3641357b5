// Tests of the SIMT model's order: which unordered accesses and endless waits it finds, and which ordered ones it leaves alone.
#include <fmt/format.h>

#include <string>

#include "common/cuda/ptx.hpp"
#include "common/cuda/ptx_mbarrier.hpp"
#include "common/report/chapter.hpp"
#include "common/count/count.hpp"

// Gives this program the command line of the chapters.
TILE_CHAPTER(.number = 0, .title = "tests of the SIMT model's order", .kernels = {}, .counted = {1, 1, 1}, .sizes = {})

namespace {

// What the model says of a launch with so much dynamic shared memory, or "" where it says nothing.
template <class... Parameters, class... Arguments>
std::string said_with(std::size_t shared, void (*kernel)(Parameters...), dim3 grid, dim3 block,
                      Arguments&&... arguments) {
  try {
    simt::trace([&] { tile::launch(kernel, grid, block, shared, arguments...); });
  } catch (const simt::Error& e) {
    return e.what();
  }
  return "";
}
template <class... Parameters, class... Arguments>
std::string said_of(void (*kernel)(Parameters...), dim3 grid, dim3 block, Arguments&&... arguments) {
  return said_with(0, kernel, grid, block, arguments...);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// --- Barriers of some lanes, some warps -----------------------------------------------------------------------------------

// Each half of the warp exchanges words with itself, or (mixed) one half reads the other's.
template <bool MIXED>
__global__ void halves_of_a_warp(float* out) {
  __shared__ float words[32];
  const unsigned lane = threadIdx.x, half = lane / 16;
  words[lane] = float(lane);
  __syncwarp(half == 0 ? 0x0000ffffu : 0xffff0000u);
  out[lane] = words[(MIXED ? 31 - lane : half * 16 + 15 - lane % 16)];
}

__global__ void table_in_a_long_loop(float* out, int turns) {
  __shared__ float table[32];
  table[threadIdx.x] = float(threadIdx.x);
  __syncwarp();
  float sum = 0;
  for (int i = 0; i < turns; ++i) {
    sum += table[(threadIdx.x + unsigned(i)) % 32];
    __syncwarp();
  }
  table[threadIdx.x] = sum;
  __syncwarp();
  out[threadIdx.x] = table[31 - threadIdx.x];
}

// With `barrier` false one thread reads what another writes at the same time, in a late turn.
template <bool BARRIER>
__global__ void many_barriers(int* out, int turns) {
  __shared__ int word;
  for (int i = 0; i < turns; ++i) {
    if (threadIdx.x == 0) word = i;
    __syncthreads();
  }
  if (threadIdx.x == 0) word = turns;
  if (BARRIER) __syncthreads();
  if (threadIdx.x == 1) out[0] = word;
}

// The first warp fills, the second takes; AHEAD: it takes before the other has filled.
template <bool AHEAD>
__global__ void hand_over(float* out, int turns) {
  __shared__ float words[32];
  const unsigned lane = threadIdx.x % 32;
  for (int i = 0; i < turns; ++i) {
    if (threadIdx.x < 32) {
      words[lane] = float(i);
      tile::ptx::barrier_arrive(1, 64);
      tile::ptx::barrier_sync(2, 64);
    } else {
      if (!AHEAD) tile::ptx::barrier_sync(1, 64);
      out[lane] = words[31 - lane];
      if (AHEAD) tile::ptx::barrier_sync(1, 64);
      tile::ptx::barrier_arrive(2, 64);
    }
  }
}

// The first warp fills, arrives and goes on without waiting: by writing the words again, which the second warp reads behind the
// barrier, or, once that has let it through without a fence, by reading what the second wrote before the barrier.
enum class GoesOn { waits, writes, reads };
template <GoesOn HOW>
__global__ void arrive_and_go_on(float* out, int* flag) {
  __shared__ float words[32], others[32];
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    words[lane] = 1;
    if (HOW == GoesOn::waits)
      tile::ptx::barrier_sync(1, 64);
    else
      tile::ptx::barrier_arrive(1, 64);
    if (HOW == GoesOn::writes) words[lane] = 2;
    if (HOW == GoesOn::writes) return;
    while (atomicCAS(flag, 1, 1) == 0) __nanosleep(20);
    out[lane] = others[lane];
  } else {
    others[lane] = 1;
    tile::ptx::barrier_sync(1, 64);
    out[32 + lane] = words[lane];
    atomicExch(flag, 1);
  }
}

__global__ void barrier_for_more_than_come(float* out) {
  if (threadIdx.x < 32) tile::ptx::barrier_sync(3, 96);
  out[threadIdx.x] = 1;
}

// The first warp waits at a barrier for 64 threads, the second comes to it for `threads`, and waits there as well or arrives
// without waiting.
template <bool ARRIVES>
__global__ void barrier_for(float* out, int threads) {
  if (threadIdx.x < 32) {
    tile::ptx::barrier_sync(4, 64);
  } else if (ARRIVES) {
    tile::ptx::barrier_arrive(4, threads);
  } else {
    tile::ptx::barrier_sync(4, threads);
  }
  out[threadIdx.x] = 1;
}

// One barrier for two warps and then for four, with all in step in between.
__global__ void barrier_for_two_then_four(float* out) {
  if (threadIdx.x < 64) tile::ptx::barrier_sync(4, 64);
  __syncthreads();
  tile::ptx::barrier_sync(4, 128);
  out[threadIdx.x] = 1;
}

__global__ void shuffle_from_outside(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0x0000ffffu, int(threadIdx.x), 20);
}
__global__ void shuffle_for_others(int* out) {
  out[threadIdx.x] = __shfl_sync(threadIdx.x < 16 ? 0xffff0000u : 0xffff0000u, int(threadIdx.x), 16);
}

__global__ void launch_another(int* out) { tile::launch(shuffle_for_others, dim3(1), dim3(32), 0, out); }

__global__ void all_lanes_store(int* out, int different) {
  __shared__ int word;
  word = different * int(threadIdx.x);
  out[0] = 7 + different * int(threadIdx.x);
  __syncthreads();  // thread 1 reads what the others stored as well
  if (threadIdx.x == 1) out[1] = word;
}

// --- Between blocks -------------------------------------------------------------------------------------------------------

enum class Fence { none, of_block, of_gpu };
template <Fence FENCE>
__device__ void fence() {
  if (FENCE == Fence::of_block) __threadfence_block();
  if (FENCE == Fence::of_gpu) __threadfence();
}

// Each block writes a part; the last to finish adds them up.
template <Fence FENCE>
__global__ void reduce(const float* in, float* parts, unsigned* finished, float* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    float sum = 0;
    for (unsigned i = 0; i < blockDim.x; ++i) sum += in[blockIdx.x * blockDim.x + i];
    parts[blockIdx.x] = sum;
    fence<FENCE>();
    last = atomicAdd(finished, 1u) == gridDim.x - 1;
  }
  __syncthreads();  // all learn whether theirs is the last block
  if (!last) return;
  if (threadIdx.x == 1) {
    float sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += parts[b];
    out[0] = sum;
  }
}

// Each thread writes a part and fences it, or fences before it writes; behind a barrier (of the block, of its only warp, or with a
// number) one counts the block. All of the last block read what all wrote.
enum class Meeting { block, warp, numbered };
template <Meeting MEETING>
__device__ void meet() {
  if (MEETING == Meeting::block)
    __syncthreads();
  else if (MEETING == Meeting::warp)
    __syncwarp();
  else
    tile::ptx::barrier_sync(5, int(blockDim.x));
}
template <Meeting MEETING, Fence FENCE, bool EARLY = false>
__global__ void reduce_by_all(int* parts, unsigned* finished, int* out) {
  __shared__ bool last;
  if (EARLY) fence<FENCE>();
  parts[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  if (!EARLY) fence<FENCE>();
  meet<MEETING>();
  if (threadIdx.x == 0) last = atomicAdd(finished, 1u) == gridDim.x - 1;
  meet<MEETING>();
  if (!last) return;
  __threadfence();
  int sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += parts[b * blockDim.x + (blockDim.x - 1 - threadIdx.x)];
  out[threadIdx.x] = sum;
}

// One warp hands a word to another of its block (or, with two blocks, to one of the other), through a flag.
template <Fence FENCE>
__global__ void hand_a_word(int* flag, int* word, int* out) {
  if (threadIdx.x % 32 != 0) return;
  const unsigned who = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (who == 0) {
    word[0] = 42;
    fence<FENCE>();
    atomicExch(flag, 1);
  } else {
    while (atomicCAS(flag, 1, 1) == 0) __nanosleep(20);
    fence<FENCE>();
    out[0] = word[0];
  }
}

__global__ void tickets(int* next, int* owner, int tiles) {
  __shared__ int tile_number;
  while (true) {
    __syncthreads();  // the others have read the last number
    if (threadIdx.x == 0) tile_number = atomicAdd(next, 1);
    __syncthreads();  // all read the new one
    if (tile_number >= tiles) return;
    if (threadIdx.x == 0) owner[tile_number] = int(blockIdx.x);
  }
}

template <bool FENCE>
__global__ void count_under_a_lock(int* lock, int* total) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
  if (FENCE) __threadfence();
  total[0] += 1;
  if (FENCE) __threadfence();
  atomicExch(lock, 0);
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

// Blocks hand a number on, each to the next. How often a block looks before it is there is a matter of the host's time.
template <bool VOLATILE>
__global__ void hand_on(int* numbers, int* out) {
  if (threadIdx.x != 0) return;
  int* const mine = numbers + blockIdx.x;
  if (VOLATILE)
    while (*static_cast<volatile int*>(mine) == 0) {
    }
  else
    while (atomicCAS(mine, 1, 1) == 0) __nanosleep(20);
  __threadfence();
  int sum = 0;
  for (int i = 0; i < 3000; ++i) sum += numbers[gridDim.x + unsigned(i) % 7];
  out[blockIdx.x] = sum;
  __threadfence();
  if (blockIdx.x > 0) atomicExch(&numbers[blockIdx.x - 1], 1);
}

// Looks so often, and then goes on without.
__global__ void give_up_looking(volatile int* flag, int* out) {
  int looks = 0;
  while (flag[0] == 0 && looks < 1000) ++looks;
  out[blockIdx.x] = looks;
}

// Block 0 hands a word on through a flag in its own shared memory; block 1 looks at one of its own, at the same address.
__global__ void flags_of_their_own(int* word, int* out) {
  __shared__ int flag;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    word[0] = 42;
    __threadfence();
    atomicExch(&flag, 1);
  } else {
    flag = 0;
    atomicCAS(&flag, 1, 1);
    __threadfence();
    out[0] = word[0];
  }
}

__global__ void go_round(unsigned number, unsigned* out) {
  while (number != 0) number = number * 3 | 1;
  out[0] = number;
}

// The last block sets the flags, after it has looked at `ahead` words, or with a negative number never; the others wait for all of them, in one of four ways.
enum class Waiting { by_volatile, by_atomic, in_turn, counting };
template <Waiting HOW>
__global__ void wait_for_flags(int* flags, int* words, int ahead, unsigned* looks) {
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
  if (HOW == Waiting::by_volatile)
    while (seen[0] == 0 || seen[1] == 0 || seen[2] == 0) {
    }
  if (HOW == Waiting::by_atomic)
    while (atomicAdd(&flags[0], 0) == 0 || atomicAdd(&flags[1], 0) == 0 || atomicAdd(&flags[2], 0) == 0) {
    }
  if (HOW == Waiting::in_turn)
    for (int i = 0; seen[i % 3] == 0; ++i) {
    }
  if (HOW == Waiting::counting)
    while (seen[0] == 0) looks[blockIdx.x] += 1;
  __threadfence();
  if (HOW != Waiting::in_turn && HOW != Waiting::counting) looks[blockIdx.x] = unsigned(words[7]);
}

// Loops that do something in each turn, and do not end unless `turns` of them are enough.
enum class Endless { stores, counts, follows, meets, shuffles };
template <Endless HOW>
__global__ void go_on(unsigned* words, const int* next, unsigned turns) {
  __shared__ unsigned shared[32];
  if (HOW == Endless::stores)
    while (words[0] != turns) words[0] = (words[0] + 2) & 0xfe;
  if (HOW == Endless::counts)
    while (*static_cast<volatile const int*>(next) != int(turns)) atomicAdd(words, 1u);
  if (HOW == Endless::follows) {
    int at = 0;
    while (at >= 0) at = next[at];
    words[0] = unsigned(at);
  }
  if (HOW == Endless::meets)
    for (unsigned k = 0; k != turns; k = (k + 1) & 0xff) {
      shared[threadIdx.x] = k;
      __syncthreads();
    }
  if (HOW == Endless::shuffles)
    for (unsigned k = 0; k != turns;) k = __shfl_sync(0xffffffffu, k, 0) & 0xff;
}

// Longer than any loop may take that touches no memory.
__global__ void count_for_long(unsigned* words) {
  for (unsigned turn = 0; turn < 1u << 30; ++turn)
    if (turn % 4096 == 0) words[turn / 4096 % 2] = turn + 4096;
  words[0] = 1u << 30;
}

__global__ void wait_for_nobody(volatile int* flag) {
  if (blockIdx.x > 0) return;
  while (flag[threadIdx.x] == 0) {
  }
}

// --- Several readers ------------------------------------------------------------------------------------------------------
// Two warps read, one lane of each arrives at the mbarrier for which the writer waits: for the others as well, if (TOLD) it has met them.
template <bool TOLD>
__global__ void one_lane_arrives(float* x, float* out) {
  __shared__ std::uint64_t read;
  if (threadIdx.x == 0) tile::ptx::mbarrier_init(&read, 2);
  __syncthreads();
  if (threadIdx.x < 64) {
    out[threadIdx.x] = x[0];
    if (TOLD) __syncwarp();
    if (threadIdx.x % 32 == 31) tile::ptx::mbarrier_arrive(&read);
  } else {
    tile::ptx::mbarrier_wait_parity(&read, 0);
    if (threadIdx.x == 64) x[0] = 9;
  }
}

// Two warps read an element, and come to something (`TOLD` false: the second one does not); the third warp then writes it.
enum class By { named_barrier, mbarrier };
template <By HOW, bool SHARED, bool TOLD>
__global__ void two_warps_read(float* words, float* out) {
  __shared__ float own[1];
  __shared__ std::uint64_t read;
  const unsigned warp = threadIdx.x / 32;
  if (threadIdx.x == 0) own[0] = 1;
  if (threadIdx.x == 0) tile::ptx::mbarrier_init(&read, TOLD ? 64 : 32);
  __syncthreads();  // the word is written, and the mbarrier there
  float* const word = SHARED ? own : words;
  if (warp < 2) out[threadIdx.x] = word[0];
  const bool comes = warp != 1 || TOLD;
  if (HOW == By::named_barrier && comes) tile::ptx::barrier_sync(1, TOLD ? 96 : 64);
  if (HOW == By::mbarrier && comes && warp < 2) tile::ptx::mbarrier_arrive(&read);
  if (HOW == By::mbarrier && warp == 2) tile::ptx::mbarrier_wait_parity(&read, 0);
  if (threadIdx.x == 64) word[0] = 9;
}

// The upper half reads, all meet, the lower half reads and meets (or does not), and one of it writes.
template <bool MEETS>
__global__ void halves_read(int* out) {
  __shared__ int word;
  if (threadIdx.x == 0) word = 1;
  __syncwarp();
  int mine = 0;
  if (threadIdx.x >= 16) mine = word;
  __syncwarp();
  if (threadIdx.x < 16) {
    mine = word;
    if (MEETS) __syncwarp(0x0000ffffu);
    if (threadIdx.x == 3) word = 2;
  }
  out[threadIdx.x] = mine;
}

// All lanes read and arrive; lane 0 reads once more, and arrives (or does not) where the writer waits as well.
template <bool ARRIVES>
__global__ void one_lane_reads_again(int* out) {
  __shared__ int word;
  __shared__ std::uint64_t read, again;
  if (threadIdx.x == 0) {
    word = 1;
    tile::ptx::mbarrier_init(&read, 32);
    tile::ptx::mbarrier_init(&again, 1);
  }
  __syncthreads();  // the word is written, and the mbarriers are there
  if (threadIdx.x < 32) {
    out[threadIdx.x] = word;
    tile::ptx::mbarrier_arrive(&read);
    if (threadIdx.x == 0) out[0] = word;
    if (threadIdx.x == 0 && ARRIVES) tile::ptx::mbarrier_arrive(&again);
  } else {
    tile::ptx::mbarrier_wait_parity(&read, 0);
    if (ARRIVES) tile::ptx::mbarrier_wait_parity(&again, 0);
    if (threadIdx.x == 32) word = 2;
  }
}

// All blocks read the words, and the last one to finish writes them.
template <Fence FENCE>
__global__ void last_block_clears(float* words, unsigned* finished, float* out) {
  __shared__ bool last;
  out[blockIdx.x * blockDim.x + threadIdx.x] = words[threadIdx.x];
  fence<FENCE>();
  __syncthreads();  // all of the block have read
  if (threadIdx.x == 0) last = atomicAdd(finished, 1u) == gridDim.x - 1;
  __syncthreads();  // all learn whether theirs is the last block
  if (last) words[threadIdx.x] = 0;
}

// In each turn all blocks read a word, which one of them then counts up. With OFTEN false, the second turn's reads are not waited for.
__device__ void meet_all(unsigned* arrived, unsigned turn) {
  __syncthreads();  // all of the block are here
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (atomicAdd(arrived, 0u) < gridDim.x * (turn + 1)) __nanosleep(20);
    __threadfence();
  }
  __syncthreads();  // all blocks are
}
template <bool OFTEN>
__global__ void all_read_one_writes(float* word, unsigned* arrived, float* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = word[0];
  meet_all(arrived, 0);
  out[blockIdx.x * blockDim.x + threadIdx.x] += word[0];
  if (OFTEN) meet_all(arrived, 1);
  if (blockIdx.x == 0 && threadIdx.x == 0) word[0] += 1;
}

// A word handed over in shared memory through a volatile flag.
template <Fence BEFORE, Fence BEHIND>
__global__ void volatile_flag(int* out) {
  __shared__ volatile int flag;
  __shared__ int word;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();  // the flag is down
  if (threadIdx.x == 32) {
    word = 42;
    fence<BEFORE>();
    flag = 1;
  }
  if (threadIdx.x == 0) {
    while (flag == 0) {
    }
    fence<BEHIND>();
    out[0] = word;
  }
}

// --- Asynchronous copies ----------------------------------------------------------------------------------------------------

enum class Copying { right, no_wait, lax, no_barrier, overwritten };

// Sums up tiles of 64 floats that come in three stages.
template <Copying HOW>
__global__ void staged_sum(const float* in, float* out, int tiles) {
  constexpr int STAGES = 3, TILE = 64;
  __shared__ float stage[STAGES * TILE];
  const int t = int(threadIdx.x);
  const auto fetch = [&](int tile) {
    if (tile < tiles) tile::ptx::cp_async_ca<4>(&stage[tile % STAGES * TILE + t], &in[tile * TILE + t]);
    tile::ptx::cp_async_commit_group();
  };
  for (int tile = 0; tile < STAGES - 1; ++tile) fetch(tile);
  float sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    if (HOW == Copying::overwritten) fetch(tile + STAGES - 1);
    if (HOW == Copying::lax)
      tile::ptx::cp_async_wait_group<STAGES - 1>();
    else if (HOW == Copying::overwritten)
      tile::ptx::cp_async_wait_group<STAGES - 1>();
    else if (HOW != Copying::no_wait)
      tile::ptx::cp_async_wait_group<STAGES - 2>();
    if (HOW != Copying::no_barrier)
      __syncthreads();  // the tile is there for all, and the one before it was read by all
    if (HOW != Copying::overwritten) fetch(tile + STAGES - 1);
    sum += stage[tile % STAGES * TILE + 63 - t];
  }
  out[t] = sum;
}

std::string said_of_copying(void (*kernel)(const float*, float*, int), std::vector<float>* result = nullptr) {
  auto in = tile::array<float>("in", 64 * 7), out = tile::array<float>("out", 64);
  const std::string said = said_of(kernel, dim3(1), dim3(64), in.device(), out.device(), 7);
  if (result != nullptr) *result = out.host();
  return said;
}

}  // namespace

TEST_CASE("a barrier of some lanes orders those lanes alone" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 32);
  CHECK(said_of(halves_of_a_warp<false>, dim3(1), dim3(32), out.device()) == "");
  CHECK(contains(said_of(halves_of_a_warp<true>, dim3(1), dim3(32), out.device()), "race: halves_of_a_warp<true>"));
}

TEST_CASE("no number of barriers wraps" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 32);
  CHECK(said_of(table_in_a_long_loop, dim3(1), dim3(32), out.device(), 600) == "");
  auto words = tile::array<int>("words", 1);
  CHECK(said_of(many_barriers<true>, dim3(1), dim3(2), words.device(), 1 << 18) == "");
  CHECK(contains(said_of(many_barriers<false>, dim3(1), dim3(2), words.device(), 1 << 10), "race: many_barriers"));
}

TEST_CASE("named barriers order those who come to them" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 64);
  CHECK(said_of(hand_over<false>, dim3(1), dim3(64), out.device(), 5) == "");
  CHECK(contains(said_of(hand_over<true>, dim3(1), dim3(64), out.device(), 5), "race: hand_over"));
  const std::string stuck = said_of(barrier_for_more_than_come, dim3(1), dim3(64), out.device());
  CHECK(contains(stuck, "deadlock: barrier_for_more_than_come, order_test.cu:"));
  CHECK(contains(stuck,
                 "waits at barrier 3: 32 of 96 threads are there, with 31 threads more; 32 threads have returned"));
}

TEST_CASE("who arrives at a named barrier without waiting has learnt nothing there" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 64);
  auto flag = tile::array<int>("flag", 1);
  const auto said = [&](void (*kernel)(float*, int*)) {
    flag.set({0});
    return said_of(kernel, dim3(1), dim3(64), out.device(), flag.device());
  };
  CHECK(said(arrive_and_go_on<GoesOn::waits>) == "");
  CHECK(contains(said(arrive_and_go_on<GoesOn::writes>), "race: arrive_and_go_on"));
  CHECK(contains(said(arrive_and_go_on<GoesOn::reads>), "reads others["));
}

TEST_CASE("who comes to a named barrier says for how many threads it is, as the others do" *
          doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 128);
  for (const auto kernel : {barrier_for<false>, barrier_for<true>}) {
    CHECK(said_of(kernel, dim3(1), dim3(64), out.device(), 64) == "");
    for (const int threads : {32, 96}) {
      const std::string different = said_of(kernel, dim3(1), dim3(64), out.device(), threads);
      CHECK(contains(different, "barrier: barrier_for<"));
      CHECK(contains(different, fmt::format("thread (32,0,0) comes to barrier 4 for {} threads, and thread (0,0,0) "
                                            "came to it for 64 at order_test.cu:",
                                            threads)));
    }
  }
  CHECK(said_of(barrier_for_two_then_four, dim3(1), dim3(128), out.device()) == "");
}

TEST_CASE("a shuffle takes part among its own" * doctest::test_suite("model")) {
  auto out = tile::array<int>("out", 32);
  CHECK(contains(said_of(shuffle_from_outside, dim3(1), dim3(32), out.device()),
                 "takes a value from lane 20, which takes no part: the mask is 0x0000ffff"));
  CHECK(contains(said_of(shuffle_for_others, dim3(1), dim3(32), out.device()),
                 "takes part for lanes 0xffff0000, of which it is none"));
}

TEST_CASE("a kernel that launches another is told" * doctest::test_suite("model")) {
  auto out = tile::array<int>("out", 32);
  const std::string said = said_of(launch_another, dim3(1), dim3(1), out.device());
  CHECK(contains(said, "unsupported: launch_another, "));
  CHECK(contains(said, " launches a kernel, which only the host may"));
}

TEST_CASE("lanes of a warp may store the same value, but not different ones" * doctest::test_suite("model")) {
  auto out = tile::array<int>("out", 2);
  CHECK(said_of(all_lanes_store, dim3(1), dim3(32), out.device(), 0) == "");
  CHECK(out.host()[0] == 7);
  const std::string race = said_of(all_lanes_store, dim3(1), dim3(32), out.device(), 1);
  CHECK(contains(race, "writes word[0]"));
  CHECK(contains(race, "writes out[0]"));
  CHECK(contains(said_of(all_lanes_store, dim3(1), dim3(64), out.device(), 0), "race: all_lanes_store"));  // two warps
}

TEST_CASE("the last block of a reduction reads what the others fenced" * doctest::test_suite("model")) {
  auto in = tile::array<float>("in", 64 * 9), parts = tile::array<float>("parts", 9),
       out = tile::array<float>("out", 1);
  for (const char* threads : {"1", "3"}) {
    setenv("SIMT_THREADS", threads, 1);
    auto finished = tile::array<unsigned>("finished", 1), again = tile::array<unsigned>("again", 1);
    finished.set({0});
    again.set({0});
    CHECK(said_of(reduce<Fence::of_gpu>, dim3(9), dim3(64), in.device(), parts.device(), finished.device(),
                  out.device()) == "");
    for (const auto kernel : {reduce<Fence::none>, reduce<Fence::of_block>}) {
      again.set({0});
      CHECK(contains(said_of(kernel, dim3(9), dim3(64), in.device(), parts.device(), again.device(), out.device()),
                     "reads parts["));
    }
  }
  unsetenv("SIMT_THREADS");
}

TEST_CASE("a fence counts for the thread that counts the block behind a barrier" * doctest::test_suite("model")) {
  constexpr unsigned BLOCKS = 5;
  auto parts = tile::array<int>("parts", BLOCKS * 64), out = tile::array<int>("out", 64);
  auto finished = tile::array<unsigned>("finished", 1);
  const auto said = [&](void (*kernel)(int*, unsigned*, int*), unsigned threads) {
    finished.set({0});
    return said_of(kernel, dim3(BLOCKS), dim3(threads), parts.device(), finished.device(), out.device());
  };
  for (const char* workers : {"1", "3"}) {
    setenv("SIMT_THREADS", workers, 1);
    CHECK(said(reduce_by_all<Meeting::block, Fence::of_gpu>, 64) == "");
    CHECK(out.host() == std::vector<int>(64, BLOCKS));
    CHECK(said(reduce_by_all<Meeting::warp, Fence::of_gpu>, 32) == "");
    CHECK(said(reduce_by_all<Meeting::numbered, Fence::of_gpu>, 64) == "");
    for (const auto kernel :
         {reduce_by_all<Meeting::block, Fence::none>, reduce_by_all<Meeting::block, Fence::of_block>,
          reduce_by_all<Meeting::block, Fence::of_gpu, true>, reduce_by_all<Meeting::numbered, Fence::none>,
          reduce_by_all<Meeting::numbered, Fence::of_gpu, true>})
      CHECK(contains(said(kernel, 64), "reads parts["));
    for (const auto kernel : {reduce_by_all<Meeting::warp, Fence::none>, reduce_by_all<Meeting::warp, Fence::of_block>,
                              reduce_by_all<Meeting::warp, Fence::of_gpu, true>})
      CHECK(contains(said(kernel, 32), "reads parts["));
  }
  unsetenv("SIMT_THREADS");
}

TEST_CASE("a fence of the block counts for the block alone" * doctest::test_suite("model")) {
  auto flag = tile::array<int>("flag", 1), word = tile::array<int>("word", 1), out = tile::array<int>("out", 1);
  const auto said = [&](void (*kernel)(int*, int*, int*), unsigned blocks) {
    flag.set({0});
    return said_of(kernel, dim3(blocks), dim3(64 / blocks), flag.device(), word.device(), out.device());
  };
  CHECK(said(hand_a_word<Fence::of_block>, 1) == "");
  CHECK(out.host()[0] == 42);
  CHECK(contains(said(hand_a_word<Fence::none>, 1), "reads word[0]"));
  CHECK(said(hand_a_word<Fence::of_gpu>, 2) == "");
  CHECK(contains(said(hand_a_word<Fence::of_block>, 2), "reads word[0]"));
}

TEST_CASE("a flag in shared memory is the block's own" * doctest::test_suite("model")) {
  auto word = tile::array<int>("word", 1), out = tile::array<int>("out", 1);
  for (const char* threads : {"1", "2"}) {
    setenv("SIMT_THREADS", threads, 1);
    CHECK(contains(said_of(flags_of_their_own, dim3(2), dim3(32), word.device(), out.device()), "word[0]"));
  }
  unsetenv("SIMT_THREADS");
}

TEST_CASE("a warp's lanes that have read are known each, not the last alone" * doctest::test_suite("model")) {
  auto x = tile::array<float>("x", 1), out = tile::array<float>("out", 96);
  CHECK(said_of(one_lane_arrives<true>, dim3(1), dim3(96), x.device(), out.device()) == "");
  CHECK(contains(said_of(one_lane_arrives<false>, dim3(1), dim3(96), x.device(), out.device()),
                 "race: one_lane_arrives<false>"));
}

TEST_CASE("who writes is ordered after each of several readers, or accused" * doctest::test_suite("model")) {
  auto word = tile::array<float>("word", 1), out = tile::array<float>("out", 96);
  const auto said = [&](void (*kernel)(float*, float*)) {
    return said_of(kernel, dim3(1), dim3(96), word.device(), out.device());
  };
  for (const auto kernel :
       {two_warps_read<By::named_barrier, false, true>, two_warps_read<By::named_barrier, true, true>,
        two_warps_read<By::mbarrier, false, true>, two_warps_read<By::mbarrier, true, true>})
    CHECK(said(kernel) == "");
  for (const auto kernel :
       {two_warps_read<By::named_barrier, false, false>, two_warps_read<By::named_barrier, true, false>,
        two_warps_read<By::mbarrier, false, false>, two_warps_read<By::mbarrier, true, false>}) {
    const std::string race = said(kernel);
    CHECK(contains(race, "race: two_warps_read<"));
    CHECK(contains(race, "thread (64,0,0) writes "));
    CHECK(contains(race, "with no barrier between that orders the two"));
  }
}

TEST_CASE("lanes of a warp that read at different moments are told apart" * doctest::test_suite("model")) {
  auto out = tile::array<int>("out", 64);
  CHECK(said_of(halves_read<true>, dim3(1), dim3(32), out.device()) == "");
  CHECK(contains(said_of(halves_read<false>, dim3(1), dim3(32), out.device()), "race: halves_read<false>"));
  CHECK(said_of(one_lane_reads_again<true>, dim3(1), dim3(64), out.device()) == "");
  CHECK(contains(said_of(one_lane_reads_again<false>, dim3(1), dim3(64), out.device()),
                 "thread (32,0,0) writes word[0]"));
}

TEST_CASE("blocks that have read are ordered before the one that writes, or it is accused" *
          doctest::test_suite("model")) {
  auto words = tile::array<float>("words", 64), out = tile::array<float>("out", 64 * 12);
  auto count = tile::array<unsigned>("count", 1);
  const auto said = [&](void (*kernel)(float*, unsigned*, float*), unsigned blocks) {
    count.set({0});
    return said_of(kernel, dim3(blocks), dim3(64), words.device(), count.device(), out.device());
  };
  for (const char* workers : {"1", "2"}) {
    setenv("SIMT_THREADS", workers, 1);
    for (const unsigned blocks : {2u, 3u, 12u}) {
      CHECK(said(last_block_clears<Fence::of_gpu>, blocks) == "");
      CHECK(contains(said(last_block_clears<Fence::none>, blocks), "writes words["));
      CHECK(said(all_read_one_writes<true>, blocks) == "");
      CHECK(contains(said(all_read_one_writes<false>, blocks), "words[0]"));
    }
  }
  unsetenv("SIMT_THREADS");
}

TEST_CASE("a volatile flag in shared memory counts behind a fence" * doctest::test_suite("model")) {
  auto out = tile::array<int>("out", 1);
  CHECK(said_of(volatile_flag<Fence::of_block, Fence::of_block>, dim3(1), dim3(64), out.device()) == "");
  CHECK(out.host()[0] == 42);
  CHECK(said_of(volatile_flag<Fence::of_gpu, Fence::of_gpu>, dim3(1), dim3(64), out.device()) == "");
  const std::string none = said_of(volatile_flag<Fence::none, Fence::none>, dim3(1), dim3(64), out.device());
  CHECK(contains(none, "writes flag[0]"));
  CHECK(contains(said_of(volatile_flag<Fence::none, Fence::of_block>, dim3(1), dim3(64), out.device()), "race: "));
}

TEST_CASE("blocks may take tickets and hold locks" * doctest::test_suite("model")) {
  auto next = tile::array<int>("next", 1), owner = tile::array<int>("owner", 50);
  next.set({0});
  CHECK(said_of(tickets, dim3(4), dim3(64), next.device(), owner.device(), 50) == "");
  auto lock = tile::array<int>("lock", 1), total = tile::array<int>("total", 1);
  lock.set({0});
  total.set({0});
  CHECK(said_of(count_under_a_lock<true>, dim3(20), dim3(32), lock.device(), total.device()) == "");
  CHECK(total.host()[0] == 20);
  lock.set({0});
  CHECK(contains(said_of(count_under_a_lock<false>, dim3(20), dim3(32), lock.device(), total.device()), "total[0]"));
}

TEST_CASE("blocks that wait for each other are resident together, as many as the GPU holds" *
          doctest::test_suite("model thorough")) {
  auto flag = tile::array<int>("flag", 1), data = tile::array<int>("data", 1), out = tile::array<int>("out", 133);
  constexpr std::size_t half_an_sm = 120 << 10;  // one block to an SM
  for (const char* threads : {"2", "1"}) {
    setenv("SIMT_THREADS", threads, 1);
    flag.set({0});
    CHECK(said_with(half_an_sm, wait_for_the_last_block, dim3(132), dim3(32), flag.device(), data.device(),
                    out.device()) == "");
    CHECK(out.host()[0] == 42);
  }
  flag.set({0});
  const std::string stuck =
      said_with(half_an_sm, wait_for_the_last_block, dim3(133), dim3(32), flag.device(), data.device(), out.device());
  CHECK(contains(stuck, "deadlock: wait_for_the_last_block, order_test.cu:"));
  CHECK(contains(stuck, " loads flag[0], which is 0, again and again; 31 threads have returned; "));
  CHECK(contains(stuck, " of block (1,0,0) loads flag[0], which is 0, again and again at order_test.cu:"));
  CHECK(contains(stuck,
                 ", as do others in 130 blocks more; 132 blocks are resident, and 1 have not begun: the GPU "
                 "holds no more"));
  unsetenv("SIMT_THREADS");
}

// "line op requests accesses estimated" of each site.
std::string account_of(void (*kernel)(int*, int*)) {
  constexpr int BLOCKS = 12;
  auto numbers = tile::array<int>("numbers", BLOCKS + 7), out = tile::array<int>("out", BLOCKS);
  std::vector<int> none(BLOCKS + 7, 0);
  none[BLOCKS - 1] = 1;
  numbers.set(none);
  const auto runs =
      simt::trace([&] { tile::launch(kernel, dim3(BLOCKS), dim3(32), 0, numbers.device(), out.device()); });
  std::string text;
  for (const simt::Site& s : runs.at(0).sites)
    text += fmt::format("{} {} {} {} {}\n", s.line, simt::name_of(s.op), s.requests, s.accesses, s.estimated);
  return text;
}

TEST_CASE("a value that is waited for is counted once, however long it takes" * doctest::test_suite("model")) {
  for (const auto kernel : {hand_on<false>, hand_on<true>}) {
    const std::string first = account_of(kernel);
    CHECK(contains(first, kernel == hand_on<true> ? "load 12 12 false" : "atomic 12 12 false"));
    CHECK(contains(first, " 36000 36000 false"));
    for (const char* threads : {"1", "2", "3", "2", "4", "2", "2", "3", "2"}) {
      setenv("SIMT_THREADS", threads, 1);
      CHECK(account_of(kernel) == first);
    }
    unsetenv("SIMT_THREADS");
  }
}

// What is counted of blocks that wait for flags, "line op requests accesses estimated" of each site.
std::string account_of_waiting(void (*kernel)(int*, int*, int, unsigned*)) {
  auto flags = tile::array<int>("flags", 3), words = tile::array<int>("words", 8);
  auto looks = tile::array<unsigned>("looks", 6);
  flags.set({0, 0, 0});
  words.set(std::vector<int>(8, 1));
  looks.set(std::vector<unsigned>(6, 0));
  const auto runs = simt::trace(
      [&] { tile::launch(kernel, dim3(6), dim3(32), 0, flags.device(), words.device(), 2000, looks.device()); });
  std::string text;
  for (const simt::Site& s : runs.at(0).sites)
    text += fmt::format("{} {} {} {} {}\n", s.line, simt::name_of(s.op), s.requests, s.accesses, s.estimated);
  return text;
}

TEST_CASE("several values that are waited for are counted once each, however long it takes" *
          doctest::test_suite("model")) {
  for (const auto kernel : {wait_for_flags<Waiting::by_volatile>, wait_for_flags<Waiting::by_atomic>}) {
    setenv("SIMT_THREADS", "1", 1);
    const std::string first = account_of_waiting(kernel);
    CHECK(contains(first, kernel == wait_for_flags<Waiting::by_atomic> ? " atomic 15 15 false" : " load 15 15 false"));
    for (int run = 0; run < 20; ++run) {
      setenv("SIMT_THREADS", run % 3 == 0 ? "1" : run % 3 == 1 ? "2" : "4", 1);
      CHECK(account_of_waiting(kernel) == first);
    }
    unsetenv("SIMT_THREADS");
  }
}

TEST_CASE("who counts its looks in memory lets others run, and is marked as a guess" * doctest::test_suite("model")) {
  for (const char* threads : {"1", "2", "4"}) {
    setenv("SIMT_THREADS", threads, 1);
    const std::string account = account_of_waiting(wait_for_flags<Waiting::counting>);
    if (threads == std::string("1")) CHECK(contains(account, " true\n"));  // with more, the flag may be there at once
    CHECK(account_of_waiting(wait_for_flags<Waiting::in_turn>) != "");
  }
  unsetenv("SIMT_THREADS");
}

TEST_CASE("who waits for several values that nobody writes is told, with all of them" * doctest::test_suite("model")) {
  auto flags = tile::array<int>("flags", 3), words = tile::array<int>("words", 8);
  auto looks = tile::array<unsigned>("looks", 2);
  words.set(std::vector<int>(8, 1));
  const auto all_wait = [&](void (*kernel)(int*, int*, int, unsigned*), std::vector<int> values) {
    flags.set(values);
    try {
      simt::trace([&] { tile::launch(kernel, dim3(2), dim3(1), 0, flags.device(), words.device(), -1, looks.device()); });
      return std::string();
    } catch (const simt::Error& error) {
      return std::string(error.what());
    }
  };
  for (const auto kernel : {wait_for_flags<Waiting::by_volatile>, wait_for_flags<Waiting::by_atomic>}) {
    const std::string stuck = all_wait(kernel, {1, 1, 0});
    CHECK(contains(stuck, "deadlock: wait_for_flags<"));
    CHECK(contains(stuck, "flags[0], which is 1,"));
    CHECK(contains(stuck, "flags[2], which is 0,"));
  }
  const std::string in_turn = all_wait(wait_for_flags<Waiting::in_turn>, {0, 0, 0});
  for (const char* flag : {"flags[0], which is 0,", "flags[1], which is 0,", "flags[2], which is 0,"})
    CHECK(contains(in_turn, flag));
}

TEST_CASE("a loop that does something in each turn and does not end is told" * doctest::test_suite("model thorough")) {
  auto words = tile::array<unsigned>("words", 4);
  auto next = tile::array<int>("next", 4);
  next.set({1, 2, 3, 0});
  constexpr unsigned never = 257;
  const auto told = [&](void (*kernel)(unsigned*, const int*, unsigned), int threads, const char* what) {
    const std::string said = said_of(kernel, dim3(1), dim3(unsigned(threads)), words.device(), next.device(), never);
    CHECK(contains(said, "endless: go_on<"));
    CHECK(contains(said, what));
    CHECK(contains(said, "SIMT_PATIENCE=2 "));
  };
  const auto told_untraced = [&](void (*kernel)(unsigned*, const int*, unsigned), int threads) {
    CHECK_THROWS_AS(tile::launch(kernel, dim3(1), dim3(unsigned(threads)), 0, words.device(), next.device(), never),
                    simt::Error);
  };
  told_untraced(go_on<Endless::stores>, 1);
  told_untraced(go_on<Endless::meets>, 2);
  told(go_on<Endless::stores>, 1, "touches memory without a wait for others of its block, more than 4194304 times");
  told(go_on<Endless::counts>, 1, "touches memory without a wait for others of its block");
  told(go_on<Endless::follows>, 1, "touches memory without a wait for others of its block");
  told(go_on<Endless::meets>, 2, "waits for others, more than 2097152 times");
  told(go_on<Endless::shuffles>, 32, "waits for others, more than 2097152 times");
}

TEST_CASE("a lane that looks a thousand times in vain may go on" * doctest::test_suite("model")) {
  auto flag = tile::array<int>("flag", 1), out = tile::array<int>("out", 3);
  flag.set({0});
  CHECK(said_of(give_up_looking, dim3(3), dim3(1), flag.device(), out.device()) == "");
  CHECK(out.host() == std::vector<int>(3, 1000));
}

TEST_CASE("a block that waits for nobody is told" * doctest::test_suite("model")) {
  auto flag = tile::array<int>("flag", 32);
  flag.set(std::vector<int>(32, 0));
  const std::string stuck = said_of(wait_for_nobody, dim3(1), dim3(32), flag.device());
  CHECK(contains(stuck, "deadlock: wait_for_nobody, order_test.cu:"));
  CHECK(contains(stuck, "loads flag[0], which is 0, again and again, with 31 threads more"));
  CHECK(contains(said_of(wait_for_nobody, dim3(3), dim3(32), flag.device()), "; 1 block is resident, 2 have ended"));
}

TEST_CASE("a loop that touches no memory and does not end is told" * doctest::test_suite("model")) {
  auto out = tile::array<unsigned>("out", 1);
  CHECK(said_of(go_round, dim3(1), dim3(1), 0u, out.device()) == "");
  const std::string stuck = said_of(go_round, dim3(1), dim3(1), 1u, out.device());
  CHECK(contains(stuck, "deadlock: go_round, order_test.cu:"));
  CHECK(contains(stuck, "goes round a loop, more than 67108864 times, and touches no memory"));
}

TEST_CASE("in an untraced run, too, but not of one that touches memory" * doctest::test_suite("model")) {
  auto out = tile::array<unsigned>("out", 1);
  const auto said_untraced = [&](unsigned number) -> std::string {
    try {
      tile::launch(go_round, dim3(1), dim3(1), 0, number, out.device());
      return "";
    } catch (const simt::Error& error) {
      return error.what();
    }
  };
  CHECK(said_untraced(0) == "");
  CHECK(contains(said_untraced(1), "deadlock: go_round, order_test.cu:"));

  auto words = tile::array<unsigned>("words", 2);
  words.set({0, 0});
  tile::launch(count_for_long, dim3(1), dim3(1), 0, words.device());
  CHECK(words.host()[0] == 1u << 30);
}

TEST_CASE("an asynchronous copy is there after the wait, and for others after a barrier" *
          doctest::test_suite("model")) {
  std::vector<float> sums;
  CHECK(said_of_copying(staged_sum<Copying::right>, &sums) == "");
  float expected = 0;
  for (int tile = 0; tile < 7; ++tile) expected += float(tile * 64 + 63);
  CHECK(sums[0] == expected);
  CHECK(contains(said_of_copying(staged_sum<Copying::no_wait>), "an asynchronous copy of thread ("));
  CHECK(contains(said_of_copying(staged_sum<Copying::lax>), "an asynchronous copy of thread ("));
  CHECK(contains(said_of_copying(staged_sum<Copying::no_barrier>), "race: staged_sum"));
  CHECK(contains(said_of_copying(staged_sum<Copying::overwritten>), "asynchronously writes stage["));
}

TEST_CASE("the account knows accesses by asynchronous copies" * doctest::test_suite("model")) {
  auto in = tile::array<float>("in", 64 * 7), out = tile::array<float>("out", 64);
  const auto runs = simt::trace(
      [&] { tile::launch(staged_sum<Copying::right>, dim3(1), dim3(64), 0, in.device(), out.device(), 7); });
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].sites.size() == 4);
  for (const simt::Site& site : runs[0].sites) {
    INFO(site.line, " ", site.array);
    CHECK(site.by_copy == (site.array == "in" || (site.array == "stage" && site.op == simt::Op::store)));
    CHECK(site.requests == (site.array == "out" ? 2 : 14));
  }
  CHECK(runs[0].waits_for_copies == std::vector<std::uint64_t>{0, 64 * 7});  // one group is under way behind each
}
