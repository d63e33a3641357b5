// Tests of mbarriers, copies in bulk, the fences between proxies and registers that change hands on the SIMT model: which mistakes
// it finds, and which right kernels it leaves alone. Tensor maps and their boxes are in ctest/tma_test.cu.
#include <string>

#include "common/cuda/ptx_bulk.hpp"
#include "ctest/model_tests.hpp"

MODEL_TESTS("tests of mbarriers")
TEST_SUITE_BEGIN("model");

namespace ptx = tile::ptx;

// --- Phases ---------------------------------------------------------------------------------------------------------------

enum class Handing { right, no_wait, arrives_first, one_lane_arrives_for_all, one_lane_waits_for_all };

// Thread by thread, the first warp hands words to the second, which hands them back, so many times.
__global__ void hand_over(float* out, int times, Handing how) {
  const bool one_arrives = how == Handing::one_lane_arrives_for_all;
  __shared__ float words[32];
  __shared__ std::uint64_t filled, taken;
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&filled, one_arrives ? 1 : 32);
    ptx::mbarrier_init(&taken, 32);
  }
  __syncthreads();  // the mbarriers are there for all
  for (int i = 0; i < times; ++i) {
    if (threadIdx.x < 32) {
      ptx::mbarrier_wait_parity(&taken, unsigned(i + 1) % 2);
      if (how == Handing::arrives_first) ptx::mbarrier_arrive(&filled);
      words[lane] = float(i);
      if (one_arrives) __syncwarp();  // the first lane speaks for all
      if (how != Handing::arrives_first && (!one_arrives || lane == 0)) ptx::mbarrier_arrive(&filled);
    } else {
      const bool one_waits = how == Handing::one_lane_waits_for_all;
      if (how != Handing::no_wait && (!one_waits || lane == 0)) ptx::mbarrier_wait_parity(&filled, unsigned(i) % 2);
      if (one_waits) __syncwarp();  // what the first lane has learnt, all know
      out[lane] = words[31 - lane];
      ptx::mbarrier_arrive(&taken);
    }
  }
}

TEST_CASE("who waits for a phase has learnt what was done before it") {
  auto out = tile::array<float>("out", 32);
  CHECK(says(said_of(hand_over, 1, 64, out, 5, Handing::right), ""));
  CHECK(out.host()[0] == 4);
  CHECK(says(said_of(hand_over, 1, 64, out, 5, Handing::one_lane_arrives_for_all), ""));
  CHECK(says(said_of(hand_over, 1, 64, out, 5, Handing::one_lane_waits_for_all), ""));
  CHECK(says(said_of(hand_over, 1, 64, out, 1, Handing::no_wait), "race: hand_over"));
  CHECK(says(said_of(hand_over, 1, 64, out, 5, Handing::arrives_first), "race: hand_over"));
}

TEST_CASE("phases do not wrap") {
  auto out = tile::array<float>("out", 32);
  CHECK(says(said_of(hand_over, 1, 64, out, 3000, Handing::right), ""));
  CHECK(out.host()[0] == 2999);
}

// Thread 0 starts a copy of 64 bytes, but announces so many only when it may go on: when another copy has landed, and before it
// the first, for which thread 32 waits.
__global__ void announce_late(const float* in, float* out, unsigned announced) {
  __shared__ __align__(16) float words[16], others[16];
  __shared__ std::uint64_t full, others_full, go;
  if (threadIdx.x == 0) {
    for (std::uint64_t* mbarrier : {&full, &others_full, &go}) ptx::mbarrier_init(mbarrier, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();  // the mbarriers are there for all
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(words, in, sizeof words, &full);
    ptx::mbarrier_wait_parity(&go, 0);
    ptx::mbarrier_arrive_expect_tx(&full, announced);
  }
  if (threadIdx.x == 32) {
    ptx::mbarrier_wait_parity(&full, 0);
    out[0] = words[15];
  }
  if (threadIdx.x == 64) {
    ptx::mbarrier_arrive_expect_tx(&others_full, sizeof others);
    ptx::cp_async_bulk(others, in, sizeof others, &others_full);
    ptx::mbarrier_wait_parity(&others_full, 0);
    ptx::mbarrier_arrive(&go);
  }
}

TEST_CASE("bytes may come before they are announced") {
  auto in = tile::array<float>("in", 16), out = tile::array<float>("out", 1);
  CHECK(says(said_of(announce_late, 1, 96, in, out, 64), ""));
  CHECK(out.host()[0] == 15);
  CHECK(says(said_of(announce_late, 1, 96, in, out, 48), ": 16 bytes more have come in phase 0 than were announced"));
}

// Two copies of 16 bytes, of which the bytes of one are announced.
__global__ void announce_one_of_two(const float* in) {
  __shared__ __align__(16) float words[8];
  __shared__ std::uint64_t full;
  ptx::mbarrier_init(&full, 1);
  ptx::fence_mbarrier_init();
  ptx::mbarrier_arrive_expect_tx(&full, 16);
  ptx::cp_async_bulk(words, in, 16, &full);
  ptx::cp_async_bulk(words + 4, in + 4, 16, &full);
  ptx::mbarrier_wait_parity(&full, 0);
}

TEST_CASE("bytes that come when their phase is over are too many") {
  auto in = tile::array<float>("in", 8);
  CHECK(says(said_of(announce_one_of_two, 1, 1, in),
             "bulk copy: announce_one_of_two, mbarrier_test.cu:", "copies 16 bytes for mbarrier full[0] (address 0x",
             " in phase 0, which was over before they came: fewer bytes were announced than copied"));
}

enum class Use {
  initialised_twice,
  for_nobody,
  invalidated,
  misaligned,
  of_global_memory,
  beyond_its_array,
  third_parity,
  as_memory,
  many_bytes
};
__global__ void use(std::uint64_t* global, Use how) {
  __shared__ std::uint64_t mbarrier[2];
  std::uint64_t* where = mbarrier;
  if (how == Use::misaligned) where = reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(mbarrier) + 4);
  if (how == Use::of_global_memory) where = global;
  if (how == Use::beyond_its_array) where = mbarrier + 2 + blockDim.x;
  ptx::mbarrier_init(where, how == Use::for_nobody ? 0 : 1);
  if (how == Use::initialised_twice) ptx::mbarrier_init(where, 1);
  if (how == Use::invalidated) ptx::mbarrier_inval(where);
  if (how == Use::as_memory) global[0] = mbarrier[0];
  if (how == Use::many_bytes) ptx::mbarrier_expect_tx(where, 1 << 20);
  ptx::mbarrier_arrive(where);
  ptx::mbarrier_wait_parity(where, how == Use::third_parity ? 2 : 0);
}

TEST_CASE("an mbarrier is used as one") {
  auto global = tile::array<std::uint64_t>("global", 4);
  const auto said = [&](Use how) { return said_of(use, 1, 1, global, how); };
  CHECK(says(said(Use::initialised_twice), "initialises mbarrier mbarrier[0] (address 0x", ", which it is already"));
  CHECK(says(said(Use::for_nobody), " for 0 arrivals; 1 to 1048575 are possible"));
  CHECK(says(said(Use::invalidated), "arrives at mbarrier mbarrier[0] (address 0x", ", which nobody has initialised"));
  CHECK(says(said(Use::misaligned), ", which is not a multiple of 8"));
  CHECK(says(said(Use::of_global_memory), ", which is not in shared memory"));
  CHECK(says(said(Use::beyond_its_array), "out of bounds: use"));
  CHECK(says(said(Use::third_parity), " with parity 2, which is 0 or 1"));
  CHECK(says(said(Use::as_memory), "reads mbarrier mbarrier[0]", " as ordinary memory"));
  CHECK(says(said(Use::many_bytes), ": 1048576 bytes are announced, and a phase takes 1048575 at most"));
}

// The memory of an mbarrier is used again, for another one and for words.
__global__ void use_again(int* out) {
  __shared__ std::uint64_t mbarrier;
  for (int i = 0; i < 3; ++i) {
    if (threadIdx.x == 0) ptx::mbarrier_init(&mbarrier, 64);
    __syncthreads();  // it is there for all
    ptx::mbarrier_arrive(&mbarrier);
    ptx::mbarrier_wait_parity(&mbarrier, 0);
    __syncthreads();  // all are done with it
    if (threadIdx.x == 0) {
      ptx::mbarrier_inval(&mbarrier);
      mbarrier = std::uint64_t(i);
      out[i] = int(mbarrier);
    }
  }
}

TEST_CASE("the memory of an mbarrier may be used again") {
  auto out = tile::array<int>("out", 3);
  CHECK(says(said_of(use_again, 1, 64, out), ""));
  CHECK(out.host() == std::vector{0, 1, 2});
}

__global__ void lanes_that_part(float* out) {
  __shared__ std::uint64_t mbarrier;
  if (threadIdx.x == 0) ptx::mbarrier_init(&mbarrier, 1);
  __syncwarp();
  if (threadIdx.x == 0) ptx::mbarrier_wait_parity(&mbarrier, 0);
  __syncwarp();
  out[threadIdx.x] = 1;
}

TEST_CASE("a lane that waits for ever is told, not those that wait for it") {
  auto out = tile::array<float>("out", 32);
  CHECK(says(said_of(lanes_that_part, 1, 32, out), "deadlock: lanes_that_part, mbarrier_test.cu:",
             "thread (0,0,0) waits for phase 0 (parity 0) of mbarrier mbarrier[0]",
             ": 1 of 1 arrivals and 0 bytes are missing"));
}

// One thread asks for two phases in turn, the later first.
__global__ void ask_in_turn(const float* in, float* out) {
  __shared__ __align__(16) float words[2][4];
  __shared__ std::uint64_t full[2];
  for (auto& mbarrier : full) ptx::mbarrier_init(&mbarrier, 1);
  ptx::fence_mbarrier_init();
  for (int i = 0; i < 2; ++i) {
    ptx::mbarrier_arrive_expect_tx(&full[i], sizeof words[i]);
    ptx::cp_async_bulk(words[i], in + 4 * i, sizeof words[i], &full[i]);
  }
  bool over[2] = {};
  while (!over[0] || !over[1])
    for (int i = 1; i >= 0; --i) over[i] = over[i] || ptx::mbarrier_try_wait_parity(&full[i], 0);
  for (int i = 0; i < 2; ++i) out[i] = words[i][0];
}

// One thread tries four times before it does what it waits for.
__global__ void arrive_in_the_end(float* out) {
  __shared__ std::uint64_t mbarrier;
  ptx::mbarrier_init(&mbarrier, 1);
  int tries = 0;
  while (!ptx::mbarrier_try_wait_parity(&mbarrier, 0))
    if (++tries == 4) ptx::mbarrier_arrive(&mbarrier);
  out[0] = float(tries);
}

TEST_CASE("a wait that gives up is tried again, with other work in between") {
  auto in = tile::array<float>("in", 8), out = tile::array<float>("out", 2);
  CHECK(says(said_of(ask_in_turn, 1, 1, in, out), ""));
  CHECK(out.host() == std::vector<float>{0, 4});
  CHECK(says(said_of(arrive_in_the_end, 1, 1, out), ""));
  CHECK(out.host()[0] >= 4);
}

// One lane waits before it reads with the others, who wait after it.
__global__ void one_lane_is_late(float* out) {
  __shared__ float words[32];
  __shared__ std::uint64_t early, late;
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x < 32) words[lane] = float(lane);
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&early, 1);
    ptx::mbarrier_init(&late, 1);
  }
  __syncthreads();  // words and mbarriers are there for all
  if (threadIdx.x == 32) {
    ptx::mbarrier_arrive(&early);
    ptx::mbarrier_arrive(&late);
  }
  if (threadIdx.x >= 32) return;
  if (lane == 0) ptx::mbarrier_wait_parity(&early, 0);
  const float word = words[31 - lane];
  ptx::mbarrier_wait_parity(&late, 0);
  out[lane] = word;
}

TEST_CASE("what a warp does is counted together though its lanes wait apart") {
  auto out = tile::array<float>("out", 32);
  for (const simt::Site& site : counted(one_lane_is_late, 1, 64, out).sites) {
    CHECK(site.requests == 1);
    CHECK(site.accesses == 32);
  }
}

// --- A ring of one stage --------------------------------------------------------------------------------------------------

enum class Ring {
  right,
  no_full_wait,   // consumers read before the tile has landed
  no_empty_wait,  // the producer overwrites what consumers may still read
  wrong_parity,   // consumers begin with parity 1
  tries_once,     // a wait that does not try again
  too_few_bytes,  // announced
  too_many_bytes,
  arrives_early,    // consumers release the stage before they have read it
  missing_arrival,  // one warp of consumers does not release it
  no_init_fence,    // mbarriers are not fenced for the copies
  no_init_barrier,  // nor do the threads wait for their initialisation
  no_init
};

// One producer thread fetches tiles, two consumer warps sum them up.
__global__ void sum_tiles(const float* in, float* out, int tiles, Ring how) {
  __shared__ __align__(16) float stage[32];
  __shared__ std::uint64_t full, empty;
  const unsigned t = threadIdx.x, lane = t % 32;
  if (t == 0 && how != Ring::no_init) {
    ptx::mbarrier_init(&full, 1);
    ptx::mbarrier_init(&empty, 2);
    if (how != Ring::no_init_fence) ptx::fence_mbarrier_init();
  }
  if (how != Ring::no_init_barrier) __syncthreads();  // the mbarriers are there for all
  if (t == 64) {
    const int off = how == Ring::too_few_bytes ? -64 : how == Ring::too_many_bytes ? 64 : 0;
    for (int i = 0; i < tiles; ++i) {
      if (how != Ring::no_empty_wait) ptx::mbarrier_wait_parity(&empty, unsigned(i + 1) % 2);
      ptx::mbarrier_arrive_expect_tx(&full, unsigned(int(sizeof stage) + off));
      ptx::cp_async_bulk(stage, in + 32 * i, sizeof stage, &full);
    }
    return;
  }
  float sum = 0;
  for (int i = 0; i < tiles; ++i) {
    const unsigned parity = unsigned(i + (how == Ring::wrong_parity)) % 2;
    if (how == Ring::tries_once)
      (void)ptx::mbarrier_try_wait_parity(&full, parity);
    else if (how != Ring::no_full_wait)
      ptx::mbarrier_wait_parity(&full, parity);
    if (how == Ring::arrives_early && lane == 0) ptx::mbarrier_arrive(&empty);
    sum += stage[lane];
    __syncwarp();  // the warp has read the stage
    const bool stays_away = how == Ring::arrives_early || (how == Ring::missing_arrival && t >= 32);
    if (lane == 0 && !stays_away) ptx::mbarrier_arrive(&empty);
  }
  out[t] = sum;
}

std::string said_of_ring(Ring how) {
  auto in = tile::array<float>("in", 5 * 32), out = tile::array<float>("out", 64);
  const std::string said = said_of(sum_tiles, 1, 65, in, out, 5, how);
  if (how == Ring::right) CHECK(out.host()[33] == 32 * (0 + 1 + 2 + 3 + 4) + 5 * 1);
  return said;
}

TEST_CASE("who reads before the tile is there is found") {
  CHECK(says(said_of_ring(Ring::right), ""));
  CHECK(says(said_of_ring(Ring::no_full_wait), "reads stage[0]"));
  CHECK(says(said_of_ring(Ring::wrong_parity), "reads stage[0]"));
  CHECK(says(said_of_ring(Ring::tries_once), "reads stage[0]"));
  CHECK(says(said_of_ring(Ring::arrives_early), "asynchronously writes stage[0]"));
}

TEST_CASE("a phase that lacks something is a deadlock that says what") {
  CHECK(says(said_of_ring(Ring::too_many_bytes), "deadlock: sum_tiles, ",
             "waits for phase 0 (parity 0) of mbarrier full[0] (address 0x",
             ", of which no phase has ended: 0 of 1 arrivals and 64 bytes are missing at mbarrier_test.cu:"));
  CHECK(says(said_of_ring(Ring::missing_arrival), "waits for phase 0 (parity 0) of mbarrier empty[0] (address 0x",
             ": 1 of 2 arrivals and 0 bytes are missing",
             "thread (0,0,0), with 63 threads more, waits for phase 1 (parity 1) of mbarrier full[0]",
             ", of which phase 0 has ended: "));
}

TEST_CASE("more bytes or arrivals than a phase takes are found") {
  CHECK(says(said_of_ring(Ring::too_few_bytes), "copies 128 bytes for mbarrier full[0] (address 0x",
             ": 64 bytes more have come in phase 0 than were announced"));
  CHECK(says(said_of_ring(Ring::no_empty_wait), ": all 1 arrivals of phase 0 were there, which lacks 256 bytes"));
}

TEST_CASE("mbarriers are initialised, fenced and then used") {
  CHECK(says(said_of_ring(Ring::no_init), ", which nobody has initialised"));
  CHECK(says(said_of_ring(Ring::no_init_fence), "missing proxy fence: sum_tiles, ",
             "with no fence.mbarrier_init between"));
  CHECK(says(said_of_ring(Ring::no_init_barrier), "race: sum_tiles, "));
}

// --- Copies into shared memory ------------------------------------------------------------------------------------------

enum class Loading {
  right,
  never_waited,
  waits_for_another,  // mbarrier
  over_words,         // the threads wrote where the copy goes
  over_words_fenced,
  of_words,  // a thread wrote what is copied, in global memory
  of_words_fenced,
  of_words_fenced_in_shared,
  of_an_odd_row,  // 60 bytes
  to_an_odd_address,
  beyond_the_end,
  over_an_mbarrier,
  invalidated  // before the copy has landed
};

__global__ void load(float* in, float* out, Loading how) {
  __shared__ __align__(128) float words[64];
  __shared__ __align__(128) std::uint64_t full[2];
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full[0], 1);
    ptx::mbarrier_init(&full[1], 1);
    ptx::fence_mbarrier_init();
  }
  if (how == Loading::over_words || how == Loading::over_words_fenced) words[threadIdx.x] = 1;
  if (how == Loading::of_words || how == Loading::of_words_fenced || how == Loading::of_words_fenced_in_shared)
    in[threadIdx.x] = 7;
  if (how == Loading::over_words_fenced || how == Loading::of_words_fenced_in_shared)
    ptx::fence_proxy_async_shared_cta();
  if (how == Loading::of_words_fenced) ptx::fence_proxy_async();
  __syncthreads();  // the mbarriers are there for all
  const bool other = how == Loading::waits_for_another;
  if (threadIdx.x == 0) {
    const unsigned bytes = how == Loading::of_an_odd_row ? 60 : sizeof words;
    ptx::mbarrier_arrive_expect_tx(&full[0], bytes);
    void* const to = how == Loading::to_an_odd_address  ? &words[1]
                     : how == Loading::beyond_the_end   ? &words[32]
                     : how == Loading::over_an_mbarrier ? static_cast<void*>(full)
                                                        : words;
    ptx::cp_async_bulk(to, in, how == Loading::over_an_mbarrier ? 16 : bytes, &full[0]);
    if (other) ptx::mbarrier_arrive(&full[1]);
    if (how == Loading::invalidated) ptx::mbarrier_inval(&full[0]);
  }
  if (how == Loading::never_waited) return;
  ptx::mbarrier_wait_parity(&full[other], 0);
  if (!other) out[threadIdx.x] = words[63 - threadIdx.x];
}

std::string said_of_loading(Loading how) {
  auto in = tile::array<float>("in", 64), out = tile::array<float>("out", 64);
  return said_of(load, 1, 64, in, out, how);
}

TEST_CASE("copies into shared memory") {
  CHECK(says(said_of_loading(Loading::right), ""));
  CHECK(says(
      said_of_loading(Loading::never_waited), "bulk copy: load, mbarrier_test.cu:",
      "starts a copy to words[0] that may still be on its way when the block ends: nobody waits for mbarrier full[0]"));
  CHECK(says(said_of_loading(Loading::waits_for_another), "may still be on its way when the block ends"));
  CHECK(says(said_of_loading(Loading::of_an_odd_row), "copies 60 bytes in bulk, which must be a multiple of 16"));
  CHECK(says(said_of_loading(Loading::to_an_odd_address), "misaligned: load"));
  CHECK(says(said_of_loading(Loading::beyond_the_end), "128 bytes past the end of words"));
  CHECK(says(said_of_loading(Loading::over_an_mbarrier), "asynchronously writes mbarrier full[0]"));
  CHECK(says(said_of_loading(Loading::invalidated), ", for which a copy is on its way"));
}

TEST_CASE("what threads wrote is the copies' after a fence") {
  CHECK(says(said_of_loading(Loading::over_words), "missing proxy fence: load", "asynchronously writes words[0]"));
  CHECK(says(said_of_loading(Loading::over_words_fenced), ""));
  CHECK(says(said_of_loading(Loading::of_words), "asynchronously reads in[0]", "with no fence.proxy.async between"));
  CHECK(says(said_of_loading(Loading::of_words_fenced), ""));
  CHECK(says(said_of_loading(Loading::of_words_fenced_in_shared), "missing proxy fence: load"));
}

__global__ void load_with(const CUtensorMap* map, float* out) {
  __shared__ __align__(128) float box[32];
  __shared__ std::uint64_t full;
  ptx::mbarrier_init(&full, 1);
  ptx::fence_mbarrier_init();
  ptx::mbarrier_arrive_expect_tx(&full, sizeof box);
  ptx::cp_async_bulk_tensor(box, *map, 0, 0, &full);
  ptx::mbarrier_wait_parity(&full, 0);
  out[0] = box[0];
}

TEST_CASE("a tensor map is one that the host has made, and in the device's memory") {
  auto in = tile::array<float>("in", 64), out = tile::array<float>("out", 1);
  auto maps = tile::array<CUtensorMap>("maps", 2);
  const auto map = tile::tensor_map(in.device(), {8, 8, 8, 4, 8});
  maps.set({map, {}});
  CHECK(says(said_of(load_with, 1, 1, maps, out), ""));
  CHECK(says(said_of(load_with, 1, 1, maps.device() + 1, out), "that tensor_map has not made"));
  CHECK(says(said_of(load_with, 1, 1, &map, out), "out of bounds: load_with"));
}

// --- Copies out of shared memory ----------------------------------------------------------------------------------------

enum class Storing {
  right,
  no_fence,
  fence_before_the_writes,
  fence_by_who_copies,  // after the barrier
  no_barrier,
  never_waited,
  overwritten,
  overwritten_after_the_wait,
  overwritten_by_others,  // after the wait, but with no barrier
  read_back,              // by another thread, from global memory
  read_back_after_reads   // its wait is for reads alone
};

__global__ void store(float* out, float* result, Storing how) {
  __shared__ __align__(16) float words[64];
  if (how == Storing::fence_before_the_writes) ptx::fence_proxy_async_shared_cta();
  words[threadIdx.x] = float(threadIdx.x);
  if (how != Storing::no_fence && how != Storing::fence_before_the_writes && how != Storing::fence_by_who_copies)
    ptx::fence_proxy_async_shared_cta();
  if (how != Storing::no_barrier) __syncthreads();  // all words are there
  if (threadIdx.x == 0) {
    if (how == Storing::fence_by_who_copies) ptx::fence_proxy_async_shared_cta();
    ptx::cp_async_bulk(out, words, sizeof words);
    ptx::cp_async_bulk_commit_group();
    if (how == Storing::overwritten) words[5] = 1;
    if (how == Storing::read_back)
      ptx::cp_async_bulk_wait_group<0>();
    else if (how != Storing::never_waited)
      ptx::cp_async_bulk_wait_group_read<0>();
    if (how == Storing::overwritten_after_the_wait) words[5] = 1;
  }
  if (how == Storing::overwritten_by_others && threadIdx.x == 5) words[5] = 1;
  if (how != Storing::read_back && how != Storing::read_back_after_reads) return;
  __syncthreads();  // the copy has been waited for
  result[threadIdx.x] = out[63 - threadIdx.x];
}

TEST_CASE("copies out of shared memory") {
  auto out = tile::array<float>("out", 64), result = tile::array<float>("result", 64);
  const std::vector<float> in_order = out.host();
  out.set(std::vector<float>(64, -1.0f));
  const auto said = [&](Storing how) { return said_of(store, 1, 64, out, result, how); };
  CHECK(says(said(Storing::right), ""));
  CHECK(out.host() == in_order);
  CHECK(says(said(Storing::no_fence), "missing proxy fence: store", "asynchronously reads words[0]"));
  CHECK(says(said(Storing::fence_before_the_writes), "missing proxy fence: store"));
  CHECK(says(said(Storing::fence_by_who_copies), ""));
  CHECK(says(said(Storing::no_barrier), "race: store"));
  CHECK(says(said(Storing::never_waited), "may still read it when the block ends: wait for its group"));
  CHECK(says(said(Storing::overwritten), "which a copy in bulk of thread (0,0,0) read"));
  CHECK(says(said(Storing::overwritten_after_the_wait), ""));
  CHECK(says(said(Storing::overwritten_by_others), "which a copy in bulk of thread (0,0,0) read"));
  CHECK(says(said(Storing::read_back), ""));
  CHECK(says(said(Storing::read_back_after_reads), "which a copy in bulk of thread (0,0,0) wrote"));
}

// Two groups: the words of the first may be overwritten when one is under way, those of the second may not.
template <int PENDING>
__global__ void two_groups(float* out, int overwritten) {
  __shared__ __align__(16) float words[8];
  for (int group = 0; group < 2; ++group) {
    for (int i = 0; i < 4; ++i) words[group * 4 + i] = 1;
    ptx::fence_proxy_async_shared_cta();
    ptx::cp_async_bulk(out + group * 4, words + group * 4, 16);
    ptx::cp_async_bulk_commit_group();
  }
  ptx::cp_async_bulk_wait_group_read<PENDING>();
  words[overwritten] = 2;
  ptx::cp_async_bulk_wait_group_read<0>();
}

TEST_CASE("a group is waited for in its turn") {
  auto out = tile::array<float>("out", 8);
  CHECK(says(said_of(two_groups<1>, 1, 1, out, 0), ""));
  CHECK(out.host()[0] == 1);
  CHECK(says(said_of(two_groups<2>, 1, 1, out, 0), "writes words[0]"));
  CHECK(says(said_of(two_groups<1>, 1, 1, out, 4), "writes words[4]"));
  // Where nothing is checked, what is read too late shows in the result.
  CHECK(says(said_untraced(two_groups<1>, 1, 1, out, 4), ""));
  CHECK(out.host()[4] == 2);
}

// --- Registers that change hands ------------------------------------------------------------------------------------------

// Four warps have FEWER registers a thread, eight have MORE. At launch 384 threads have 168 each at most.
template <int MORE, int FEWER>
__global__ void share_registers(float* out) {
  if (threadIdx.x < 256)
    ptx::setmaxnreg_inc<MORE>();
  else
    ptx::setmaxnreg_dec<FEWER>();
  out[threadIdx.x] = 1;
}

// All give, take what was given, and give again.
__global__ void give_and_take_registers(float* out) {
  ptx::setmaxnreg_dec<80>();
  __syncthreads();  // all have given
  if (threadIdx.x < 128) ptx::setmaxnreg_inc<128>();
  __syncthreads();
  if (threadIdx.x < 128) ptx::setmaxnreg_dec<40>();
  out[threadIdx.x] = 1;
}

TEST_CASE("registers move within a block, and who wants more than it has waits for ever") {
  auto out = tile::array<float>("out", 384);
  CHECK(says(said_of(share_registers<240, 24>, 1, 384, out), ""));
  CHECK(says(said_of(share_registers<224, 56>, 1, 384, out), ""));
  CHECK(says(said_of(give_and_take_registers, 1, 256, out), ""));
  // Of 168 each for 384 threads, 240 for 256 leave 24 for 128. With 248 seven of eight warps get theirs.
  CHECK(says(
      said_of(share_registers<248, 24>, 1, 384, out), "deadlock: share_registers",
      "waits at setmaxnreg.inc 248: its warp wants 2560 registers more, and 512 of the 64512 that its block has at "
      "most are free"));
  CHECK(says(said_of(share_registers<240, 32>, 1, 384, out), "waits at setmaxnreg.inc 240: "));
  CHECK(says(said_untraced(share_registers<248, 24>, 1, 384, out), "setmaxnreg.inc 248"));
}

// How not all change alike.
enum class Unlike { other_number, one_warp_none, one_lane_none, fewer_by_inc, more_by_dec };
__global__ void change_unlike(float* out, Unlike how) {
  const unsigned warp = threadIdx.x / 32;
  if (how == Unlike::other_number && warp == 2)
    ptx::setmaxnreg_dec<32>();
  else if (!(how == Unlike::one_warp_none && warp == 2) && !(how == Unlike::one_lane_none && threadIdx.x == 70))
    ptx::setmaxnreg_dec<40>();
  if (how == Unlike::fewer_by_inc) ptx::setmaxnreg_inc<32>();
  if (how == Unlike::more_by_dec) ptx::setmaxnreg_dec<48>();
  out[threadIdx.x] = 1;
}

TEST_CASE("four warps change their registers alike") {
  auto out = tile::array<float>("out", 384);
  CHECK(says(said_of(share_registers<200, 24>, 1, 320, out), "registers: share_registers",
             "four warps must, from a multiple of four on: the block has 10"));
  const auto said = [&](Unlike how) { return said_of(change_unlike, 1, 128, out, how); };
  CHECK(says(said(Unlike::other_number),
             "thread (64,0,0) executes setmaxnreg.dec 32, and thread (0,0,0) setmaxnreg.dec 40 at mbarrier_test.cu:"));
  CHECK(
      says(said(Unlike::one_warp_none), "setmaxnreg.dec 40 in warp 0, and warp 2 of the same four has ended without"));
  CHECK(says(said(Unlike::one_lane_none), "waits at setmaxnreg.dec 40 for the other lanes of its warp"));
}

// How what all change alike are two instructions: by one warp of the four and the others, by lanes of a warp, or where they wait.
enum class Twice { by_warp, by_lane, waiting };
__global__ void change_by_two_instructions(float* out, Twice how) {
  const unsigned warp = threadIdx.x / 32;
  if (how == Twice::waiting ? warp < 8 : how == Twice::by_warp ? warp == 2 : threadIdx.x % 32 == 7) {
    if (how == Twice::waiting && warp == 2)
      ptx::setmaxnreg_inc<240>();
    else if (how == Twice::waiting)
      ptx::setmaxnreg_inc<240>();
    else
      ptx::setmaxnreg_dec<40>();
  } else {
    ptx::setmaxnreg_dec<40>();
  }
  out[threadIdx.x] = 1;
}

// Each group of four warps has an instruction of its own, and in one that lies in a loop all come to it in every iteration.
__global__ void change_by_group(float* out) {
  if (threadIdx.x < 128)
    ptx::setmaxnreg_dec<40>();
  else
    ptx::setmaxnreg_dec<40>();
  for (int i = 0; i < 3; ++i) {
    __syncthreads();
    ptx::setmaxnreg_dec<32>();
  }
  out[threadIdx.x] = 1;
}

TEST_CASE("four warps change their registers by one instruction") {
  auto out = tile::array<float>("out", 384);
  const auto said = [&](Twice how, unsigned threads) {
    return said_of(change_by_two_instructions, 1, threads, out, how);
  };
  CHECK(says(said(Twice::by_warp, 128), "registers: change_by_two_instructions",
             "thread (64,0,0) executes setmaxnreg.dec 40, and thread (0,0,0) setmaxnreg.dec 40 at mbarrier_test.cu:",
             ": four warps execute one instruction"));
  CHECK(says(said(Twice::by_lane, 128),
             "thread (7,0,0) executes setmaxnreg.dec 40, and thread (0,0,0) setmaxnreg.dec 40 at mbarrier_test.cu:"));
  CHECK(
      says(said(Twice::waiting, 384),
           "thread (64,0,0) executes setmaxnreg.inc 240, and thread (0,0,0) setmaxnreg.inc 240 at mbarrier_test.cu:"));
  CHECK(says(said_of(change_by_group, 1, 256, out), ""));
}

// All give what they cannot have.
template <int FEWER>
__global__ void give_registers(float* out) {
  ptx::setmaxnreg_dec<FEWER>();
  out[threadIdx.x] = 1;
}

TEST_CASE("registers are given by who has them, and taken by who has fewer") {
  auto out = tile::array<float>("out", 384);
  CHECK(says(said_of(change_unlike, 1, 128, out, Unlike::fewer_by_inc),
             "executes setmaxnreg.inc 32 with 40 registers: 32 would be fewer of them"));
  CHECK(says(said_of(change_unlike, 1, 128, out, Unlike::more_by_dec),
             "executes setmaxnreg.dec 48 with 40 registers: 48 would be more of them"));
  CHECK(says(said_of(give_registers<168>, 1, 384, out), ""));
  CHECK(
      says(said_of(give_registers<176>, 1, 384, out),
           "executes setmaxnreg.dec 176 with 168 registers at most, as each of 384 threads has at launch: 176 would be "
           "more of them"));
}

TEST_SUITE_END();
