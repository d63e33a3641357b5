// Tests of mbarriers, TMA copies, proxy fences and setmaxnreg on the SIMT model: the mistakes that it finds, and the
// correct kernels that it accepts. Tensor maps and their boxes are in ctest/tma_test.cu.

#include "common/cuda/ptx.hpp"
#include "common/cuda/ptx_bulk.hpp"
#include "ctest/model_tests.hpp"

MODEL_TESTS("tests of mbarriers")
TEST_SUITE_BEGIN("model");

namespace ptx = tile::ptx;

// `words` words, which are copied in boxes of so many.
CUtensorMap row_of(const tile::DeviceArray<float>& array, int words, int box) {
  return tile::tensor_map(array.device(), {1, words, words, 1, box});
}

// --- Phases ---------------------------------------------------------------------------------------------------------------

enum class Exchange { right, no_wait, arrives_first, one_lane_arrives_for_all, one_lane_waits_for_all };

// Thread by thread, `times` times, the first warp passes words to the second, which then releases them.
__global__ void exchange(float* out, int times, Exchange how) {
  const bool one_arrives = how == Exchange::one_lane_arrives_for_all;
  __shared__ float words[32];
  __shared__ std::uint64_t filled, taken;
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&filled, one_arrives ? 1 : 32);
    ptx::mbarrier_init(&taken, 32);
  }
  __syncthreads();  // the mbarriers are initialised for all
  for (int i = 0; i < times; ++i) {
    if (threadIdx.x < 32) {
      ptx::mbarrier_wait_parity(&taken, unsigned(i + 1) % 2);
      if (how == Exchange::arrives_first) ptx::mbarrier_arrive(&filled);
      words[lane] = float(i);
      if (one_arrives) __syncwarp();  // the first lane arrives for all
      if (how != Exchange::arrives_first && (!one_arrives || lane == 0)) ptx::mbarrier_arrive(&filled);
    } else {
      const bool one_waits = how == Exchange::one_lane_waits_for_all;
      if (how != Exchange::no_wait && (!one_waits || lane == 0)) ptx::mbarrier_wait_parity(&filled, unsigned(i) % 2);
      if (one_waits) __syncwarp();  // now all lanes know what the first has learnt
      out[lane] = words[31 - lane];
      ptx::mbarrier_arrive(&taken);
    }
  }
}

enum class Passed { copies_noinc, copies_plain, stores_noinc };

// The first warp copies or stores words, and arrives as soon as its copies have landed, or at once.
__global__ void pass(const float* in, float* out, Passed how) {
  __shared__ float words[32];
  __shared__ std::uint64_t filled;
  if (threadIdx.x == 0) ptx::mbarrier_init(&filled, 32);
  __syncthreads();  // the mbarrier is initialised for all
  if (threadIdx.x < 32) {
    if (how == Passed::stores_noinc)
      words[threadIdx.x] = in[threadIdx.x];
    else
      ptx::cp_async_ca<4>(&words[threadIdx.x], &in[threadIdx.x], threadIdx.x < 31);
    if (how == Passed::copies_plain)
      ptx::mbarrier_arrive(&filled);
    else
      ptx::cp_async_mbarrier_arrive_noinc(&filled);
  } else {
    ptx::mbarrier_wait_parity(&filled, 0);
    out[threadIdx.x % 32] = words[63 - threadIdx.x];
  }
}

TEST_CASE("an mbarrier that copies arrive at orders them alone") {
  auto in = tile::array<float>("in", 32), out = tile::array<float>("out", 32);
  CHECK(says(said_of(pass, 1, 64, in, out, Passed::copies_noinc), ""));
  CHECK(out.host()[0] == 0);  // instead of the last word
  CHECK(out.host()[1] == 30);
  CHECK(says(said_of(pass, 1, 64, in, out, Passed::copies_plain), "race: pass"));
  CHECK(says(said_of(pass, 1, 64, in, out, Passed::stores_noinc), "race: pass"));
}

TEST_CASE("a thread that waits for a phase sees what was done before its arrivals") {
  auto out = tile::array<float>("out", 32);
  CHECK(says(said_of(exchange, 1, 64, out, 5, Exchange::right), ""));
  CHECK(out.host()[0] == 4);
  CHECK(says(said_of(exchange, 1, 64, out, 5, Exchange::one_lane_arrives_for_all), ""));
  CHECK(says(said_of(exchange, 1, 64, out, 5, Exchange::one_lane_waits_for_all), ""));
  CHECK(says(said_of(exchange, 1, 64, out, 1, Exchange::no_wait), "race: exchange"));
  CHECK(says(said_of(exchange, 1, 64, out, 5, Exchange::arrives_first), "race: exchange"));
  CHECK(says(said_of(exchange, 1, 64, out, 3000, Exchange::right), ""));  // phases do not wrap
  CHECK(out.host()[0] == 2999);
}

// Thread 0 starts a copy of 64 bytes, but expects them only after another copy has landed, and so after the first one, for
// which thread 32 waits.
__global__ void announce_late(const __grid_constant__ CUtensorMap in, float* out, unsigned announced) {
  __shared__ __align__(128) float words[16], others[16];
  __shared__ std::uint64_t full, others_full, go;
  if (threadIdx.x == 0) {
    for (std::uint64_t* mbarrier : {&full, &others_full, &go}) ptx::mbarrier_init(mbarrier, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();  // the mbarriers are initialised for all
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk_tensor(words, in, 0, 0, &full);
    ptx::mbarrier_wait_parity(&go, 0);
    ptx::mbarrier_arrive_expect_tx(&full, announced);
  }
  if (threadIdx.x == 32) {
    ptx::mbarrier_wait_parity(&full, 0);
    out[0] = words[15];
  }
  if (threadIdx.x == 64) {
    ptx::mbarrier_arrive_expect_tx(&others_full, sizeof others);
    ptx::cp_async_bulk_tensor(others, in, 0, 0, &others_full);
    ptx::mbarrier_wait_parity(&others_full, 0);
    ptx::mbarrier_arrive(&go);
  }
}

TEST_CASE("bytes may land before they are expected") {
  auto in = tile::array<float>("in", 16), out = tile::array<float>("out", 1);
  CHECK(says(said_of(announce_late, 1, 96, row_of(in, 16, 16), out, 64), ""));
  CHECK(out.host()[0] == 15);
  CHECK(says(said_of(announce_late, 1, 96, row_of(in, 16, 16), out, 48),
             ": 16 more bytes arrived in phase 0 than were expected"));
}

__global__ void announce_one_of_two(const __grid_constant__ CUtensorMap in) {
  __shared__ __align__(128) float words[2][32];
  __shared__ std::uint64_t full;
  ptx::mbarrier_init(&full, 1);
  ptx::fence_mbarrier_init();
  ptx::mbarrier_arrive_expect_tx(&full, 16);
  for (int i = 0; i < 2; ++i) ptx::cp_async_bulk_tensor(words[i], in, 4 * i, 0, &full);
  ptx::mbarrier_wait_parity(&full, 0);
}

TEST_CASE("bytes that land after their phase is over are too many") {
  auto in = tile::array<float>("in", 8);
  CHECK(says(said_of(announce_one_of_two, 1, 1, row_of(in, 8, 4)),
             "bulk copy: announce_one_of_two, mbarrier_test.cu:", "copies 16 bytes for mbarrier full[0] (address 0x",
             " in phase 0, which was over before they landed: fewer bytes were expected than copied"));
}

enum class Use { twice, for_nobody, uninitialised, misaligned, global, beyond, third_parity, as_memory };
__global__ void use(std::uint64_t* global, Use how) {
  __shared__ std::uint64_t mbarrier[2];
  std::uint64_t* where = mbarrier;
  if (how == Use::misaligned) where = reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(mbarrier) + 4);
  if (how == Use::global) where = global;
  if (how == Use::beyond) where = mbarrier + 2 + blockDim.x;
  if (how != Use::uninitialised) ptx::mbarrier_init(where, how == Use::for_nobody ? 0 : 1);
  if (how == Use::twice) ptx::mbarrier_init(where, 1);
  if (how == Use::as_memory) global[0] = mbarrier[0];
  ptx::mbarrier_arrive(where);
  ptx::mbarrier_wait_parity(where, how == Use::third_parity ? 2 : 0);
}

TEST_CASE("misuse of an mbarrier is reported") {
  auto global = tile::array<std::uint64_t>("global", 4);
  const auto said = [&](Use how) { return said_of(use, 1, 1, global, how); };
  CHECK(says(said(Use::twice), "initialises mbarrier mbarrier[0] (address 0x", ", which has already been initialised"));
  CHECK(says(said(Use::for_nobody), " for 0 arrivals"));
  CHECK(says(said(Use::uninitialised), "arrives at mbarrier mbarrier[0] (address 0x",
             ", which has not been initialised"));
  CHECK(says(said(Use::misaligned), ", whose address is not a multiple of 8"));
  CHECK(says(said(Use::global), ", which is not in shared memory"));
  CHECK(says(said(Use::beyond), "out of bounds: use"));
  CHECK(says(said(Use::third_parity), " with parity 2, which must be 0 or 1"));
  CHECK(says(said(Use::as_memory), "reads mbarrier mbarrier[0]", " as ordinary memory"));
}

TEST_KERNEL("a lane that waits forever is reported, not those that wait for it", lanes_that_part, float, 1, 32,
            "deadlock: lanes_that_part, mbarrier_test.cu:",
            "thread (0,0,0) waits for phase 0 (parity 0) of mbarrier mbarrier[0]",
            ": 1 of 1 arrivals and 0 bytes are missing") {
  __shared__ std::uint64_t mbarrier;
  if (threadIdx.x == 0) ptx::mbarrier_init(&mbarrier, 1);
  __syncwarp();
  if (threadIdx.x == 0) ptx::mbarrier_wait_parity(&mbarrier, 0);
  __syncwarp();
  out[threadIdx.x] = 1;
}

// One thread polls two phases, the later first.
__global__ void poll_both(const __grid_constant__ CUtensorMap in, float* out) {
  __shared__ __align__(128) float words[2][32];
  __shared__ std::uint64_t full[2];
  for (auto& mbarrier : full) ptx::mbarrier_init(&mbarrier, 1);
  ptx::fence_mbarrier_init();
  for (int i = 0; i < 2; ++i) {
    ptx::mbarrier_arrive_expect_tx(&full[i], 16);
    ptx::cp_async_bulk_tensor(words[i], in, 4 * i, 0, &full[i]);
  }
  bool over[2] = {};
  while (!over[0] || !over[1])
    for (int i = 1; i >= 0; --i) over[i] = over[i] || ptx::mbarrier_try_wait_parity(&full[i], 0);
  for (int i = 0; i < 2; ++i) out[i] = words[i][0];
}

TEST_KERNEL("a thread may try four times before it makes the arrival itself", arrive_in_the_end, int, 1, 1, "") {
  __shared__ std::uint64_t mbarrier;
  ptx::mbarrier_init(&mbarrier, 1);
  while (!ptx::mbarrier_try_wait_parity(&mbarrier, 0))
    if (++out[0] == 4) ptx::mbarrier_arrive(&mbarrier);
}

TEST_CASE("a wait that gives up may be retried, with other work in between") {
  auto in = tile::array<float>("in", 8), out = tile::array<float>("out", 2);
  CHECK(says(said_of(poll_both, 1, 1, row_of(in, 8, 4), out), ""));
  CHECK(out.host() == std::vector<float>{0, 4});
}

// One lane waits before it reads with the others; they wait afterwards.
__global__ void one_lane_is_late(float* out) {
  __shared__ float words[32];
  __shared__ std::uint64_t early, late;
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x < 32) words[lane] = float(lane);
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&early, 1);
    ptx::mbarrier_init(&late, 1);
  }
  __syncthreads();  // words and mbarriers are initialised for all
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

TEST_CASE("accesses of a warp are counted together although its lanes wait separately") {
  auto out = tile::array<float>("out", 32);
  for (const simt::Site& site : counted(one_lane_is_late, 1, 64, out).sites) {
    CHECK(site.requests == 1);
    CHECK(site.accesses == 32);
  }
}

// --- A ring of one stage --------------------------------------------------------------------------------------------------

enum class Ring { right, tries_once, arrives_early, missing_arrival, no_init_barrier };

// One producer thread loads tiles, two consumer warps sum them up. The mistakes: a wait that is not retried; consumers
// that release the stage before they have read it, or one warp of which does not; threads that do not wait until the
// mbarriers are initialised. The experiments of chapters 15 to 17 have further mistakes.
__global__ void sum_tiles(const __grid_constant__ CUtensorMap in, float* out, int tiles, Ring how) {
  __shared__ __align__(128) float stage[32];
  __shared__ std::uint64_t full, empty;
  const unsigned t = threadIdx.x, lane = t % 32;
  if (t == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::mbarrier_init(&empty, 2);
    ptx::fence_mbarrier_init();
  }
  if (how != Ring::no_init_barrier) __syncthreads();  // the mbarriers are initialised for all
  if (t == 64) {
    for (int i = 0; i < tiles; ++i) {
      ptx::mbarrier_wait_parity(&empty, unsigned(i + 1) % 2);
      ptx::mbarrier_arrive_expect_tx(&full, sizeof stage);
      ptx::cp_async_bulk_tensor(stage, in, 32 * i, 0, &full);
    }
    return;
  }
  float sum = 0;
  for (int i = 0; i < tiles; ++i) {
    if (how == Ring::tries_once)
      (void)ptx::mbarrier_try_wait_parity(&full, unsigned(i) % 2);
    else
      ptx::mbarrier_wait_parity(&full, unsigned(i) % 2);
    if (how == Ring::arrives_early && lane == 0) ptx::mbarrier_arrive(&empty);
    sum += stage[lane];
    __syncwarp();  // the warp has read the stage
    const bool stays_away = how == Ring::arrives_early || (how == Ring::missing_arrival && t >= 32);
    if (lane == 0 && !stays_away) ptx::mbarrier_arrive(&empty);
  }
  out[t] = sum;
}

TEST_CASE("a ring of one stage") {
  auto in = tile::array<float>("in", 5 * 32), out = tile::array<float>("out", 64);
  const auto said = [&](Ring how) { return said_of(sum_tiles, 1, 65, row_of(in, 160, 32), out, 5, how); };
  CHECK(says(said(Ring::right), ""));
  CHECK(out.host()[33] == 32 * (0 + 1 + 2 + 3 + 4) + 5 * 1);
  CHECK(says(said(Ring::tries_once), "reads stage[0]"));
  CHECK(says(said(Ring::arrives_early), "asynchronously writes stage[0]"));
  CHECK(says(said(Ring::missing_arrival), "waits for phase 0 (parity 0) of mbarrier empty[0] (address 0x",
             ": 1 of 2 arrivals and 0 bytes are missing",
             "thread (0,0,0), with 63 threads more, waits for phase 1 (parity 1) of mbarrier full[0]",
             ", of which phase 0 has ended: "));
  CHECK(says(said(Ring::no_init_barrier), "race: sum_tiles, "));
}

// --- Copies into shared memory ------------------------------------------------------------------------------------------

// A copy into shared memory: its destination, what threads write before it, with which fence, and who waits.
enum class Written { nothing, words, in };  // the copy's destination, or its source
enum class Fence { none, shared, all };
struct Loading {
  unsigned to = 0;  // the element of `words` at which the copy begins
  Written written = Written::nothing;
  Fence fence = Fence::none;
  bool waits = true, for_another = false, over_an_mbarrier = false;
};

__global__ void load(const __grid_constant__ CUtensorMap map, const __grid_constant__ CUtensorMap four_words, float* in,
                     float* out, Loading how) {
  __shared__ __align__(128) float words[64];
  __shared__ __align__(128) std::uint64_t full[2];
  if (threadIdx.x == 0) {
    for (std::uint64_t& mbarrier : full) ptx::mbarrier_init(&mbarrier, 1);
    ptx::fence_mbarrier_init();
  }
  if (how.written == Written::words) words[threadIdx.x] = 1;
  if (how.written == Written::in) in[threadIdx.x] = 7;
  if (how.fence == Fence::shared) ptx::fence_proxy_async_shared_cta();
  if (how.fence == Fence::all) ptx::fence_proxy_async();
  __syncthreads();  // the mbarriers are initialised for all
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(&full[0], sizeof words);
    if (how.over_an_mbarrier)
      ptx::cp_async_bulk_tensor(full, four_words, 0, 0, &full[0]);
    else
      ptx::cp_async_bulk_tensor(&words[how.to], map, 0, 0, &full[0]);
    if (how.for_another) ptx::mbarrier_arrive(&full[1]);
  }
  if (!how.waits) return;
  ptx::mbarrier_wait_parity(&full[how.for_another], 0);
  if (!how.for_another) out[threadIdx.x] = words[63 - threadIdx.x];
}

TEST_CASE("copies into shared memory") {
  auto in = tile::array<float>("in", 64), out = tile::array<float>("out", 64);
  const auto said = [&](const Loading& how) {
    return said_of(load, 1, 64, row_of(in, 64, 64), row_of(in, 64, 4), in, out, how);
  };
  CHECK(says(said({}), ""));
  CHECK(
      says(said({.waits = false}), "bulk copy: load, mbarrier_test.cu:",
           "a copy to words[0] that may still be in flight when the block ends: no thread waits for mbarrier full[0]"));
  CHECK(says(said({.for_another = true}), "may still be in flight when the block ends"));
  CHECK(says(said({.to = 1}), "misaligned: load"));
  CHECK(says(said({.to = 32}), "128 bytes past the end of words"));
  CHECK(says(said({.over_an_mbarrier = true}), "asynchronously writes mbarrier full[0]"));
  // Copies may access what threads wrote after a proxy fence.
  CHECK(says(said({.written = Written::words, .fence = Fence::shared}), ""));
  CHECK(says(said({.written = Written::words}), "missing proxy fence: load", "asynchronously writes words[0]"));
  CHECK(says(said({.written = Written::in, .fence = Fence::all}), ""));
  CHECK(says(said({.written = Written::in, .fence = Fence::shared}), "missing proxy fence: load"));
  CHECK(says(said({.written = Written::in}), "asynchronously reads in[0]", "with no fence.proxy.async between"));
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

TEST_CASE("a tensor map must be made by the host, and lie in device memory") {
  auto in = tile::array<float>("in", 64), out = tile::array<float>("out", 1);
  auto maps = tile::array<CUtensorMap>("maps", 2);
  const auto map = tile::tensor_map(in.device(), {8, 8, 8, 4, 8});
  maps.set({map, {}});
  CHECK(says(said_of(load_with, 1, 1, maps, out), ""));
  CHECK(says(said_of(load_with, 1, 1, maps.device() + 1, out), "that was not made by tensor_map"));
  CHECK(says(said_of(load_with, 1, 1, &map, out), "out of bounds: load_with"));
}

// --- Copies out of shared memory ----------------------------------------------------------------------------------------

// A copy out of shared memory: which thread executes a fence and when, which wait follows, and what is done afterwards, by
// which thread.
enum class Fenced { after, never, before, by_copier };  // the words are written; `by_copier`: after the barrier
enum class Wait { reads, none, all };
struct Storing {
  Fenced fenced = Fenced::after;
  Wait wait = Wait::reads;
  bool barrier = true, overwrites_early = false, overwrites = false, others_overwrite = false, others_read = false;
};

__global__ void store(const __grid_constant__ CUtensorMap map, float* out, float* result, Storing how) {
  __shared__ __align__(128) float words[64];
  if (how.fenced == Fenced::before) ptx::fence_proxy_async_shared_cta();
  words[threadIdx.x] = float(threadIdx.x);
  if (how.fenced == Fenced::after) ptx::fence_proxy_async_shared_cta();
  if (how.barrier) __syncthreads();  // all words are written
  if (threadIdx.x == 0) {
    if (how.fenced == Fenced::by_copier) ptx::fence_proxy_async_shared_cta();
    ptx::cp_async_bulk_tensor(map, 0, 0, words);
    ptx::cp_async_bulk_commit_group();
    if (how.overwrites_early) words[5] = 1;
    if (how.wait == Wait::all) ptx::cp_async_bulk_wait_group<0>();
    if (how.wait == Wait::reads) ptx::cp_async_bulk_wait_group_read<0>();
    if (how.overwrites) words[5] = 1;
  }
  if (how.others_overwrite && threadIdx.x == 5) words[5] = 1;  // with no barrier
  if (!how.others_read) return;
  __syncthreads();  // the copy is complete
  result[threadIdx.x] = out[63 - threadIdx.x];
}

TEST_CASE("copies out of shared memory") {
  auto out = tile::array<float>("out", 64), result = tile::array<float>("result", 64);
  const std::vector<float> in_order = out.host();
  out.set(std::vector<float>(64, -1.0f));
  const auto said = [&](const Storing& how) { return said_of(store, 1, 64, row_of(out, 64, 64), out, result, how); };
  CHECK(says(said({}), ""));
  CHECK(out.host() == in_order);
  CHECK(says(said({.fenced = Fenced::never}), "missing proxy fence: store", "asynchronously reads words[0]"));
  CHECK(says(said({.fenced = Fenced::before}), "missing proxy fence: store"));
  CHECK(says(said({.fenced = Fenced::by_copier}), ""));
  CHECK(says(said({.barrier = false}), "race: store"));
  CHECK(says(said({.wait = Wait::none}), "may still read it when the block ends: wait for its group"));
  CHECK(says(said({.overwrites_early = true}), "which a TMA copy of thread (0,0,0) read"));
  CHECK(says(said({.overwrites = true}), ""));
  CHECK(says(said({.others_overwrite = true}), "which a TMA copy of thread (0,0,0) read"));
  CHECK(says(said({.wait = Wait::all, .others_read = true}), ""));
  CHECK(says(said({.others_read = true}), "which a TMA copy of thread (0,0,0) wrote"));
}

// Two groups: while one is pending, the words of the first may be overwritten, those of the second may not.
template <int PENDING>
__global__ void two_groups(const __grid_constant__ CUtensorMap out, int overwritten) {
  __shared__ __align__(128) float words[2][32];
  for (int group = 0; group < 2; ++group) {
    for (int i = 0; i < 4; ++i) words[group][i] = 1;
    ptx::fence_proxy_async_shared_cta();
    ptx::cp_async_bulk_tensor(out, 4 * group, 0, words[group]);
    ptx::cp_async_bulk_commit_group();
  }
  ptx::cp_async_bulk_wait_group_read<PENDING>();
  words[overwritten][0] = 2;
  ptx::cp_async_bulk_wait_group_read<0>();
}

TEST_CASE("groups complete in the order of their commits") {
  auto out = tile::array<float>("out", 8);
  const CUtensorMap map = row_of(out, 8, 4);
  CHECK(says(said_of(two_groups<1>, 1, 1, map, 0), ""));
  CHECK(out.host()[0] == 1);
  CHECK(says(said_of(two_groups<2>, 1, 1, map, 0), "writes words[0][0]"));
  CHECK(says(said_of(two_groups<1>, 1, 1, map, 1), "writes words[1][0]"));
  // Without checks, a copy that reads too late shows in the result.
  CHECK(says(said_untraced(two_groups<1>, 1, 1, map, 1), ""));
  CHECK(out.host()[4] == 2);
}

// --- setmaxnreg ------------------------------------------------------------------------------------------

// Four warps have FEWER registers per thread, eight have MORE. At launch, 384 threads have at most 168 each.
template <int MORE, int FEWER>
__global__ void share_registers(float* out) {
  if (threadIdx.x < 256)
    ptx::setmaxnreg_inc<MORE>();
  else
    ptx::setmaxnreg_dec<FEWER>();
  out[threadIdx.x] = 1;
}

TEST_KERNEL("all warps release registers, some take them, and release them again", give_and_take, float, 1, 256, "") {
  ptx::setmaxnreg_dec<80>();
  __syncthreads();  // all have released
  if (threadIdx.x < 128) ptx::setmaxnreg_inc<128>();
  __syncthreads();
  if (threadIdx.x < 128) ptx::setmaxnreg_dec<40>();
  out[threadIdx.x] = 1;
}

TEST_CASE("registers move within a block, and a warp that needs more than it has waits forever") {
  auto out = tile::array<float>("out", 384);
  CHECK(says(said_of(share_registers<240, 24>, 1, 384, out), ""));
  CHECK(says(said_of(share_registers<224, 56>, 1, 384, out), ""));
  // With 168 each for 384 threads, 240 for 256 of them leave 24 for 128. With 248, seven of eight warps get theirs.
  CHECK(says(said_of(share_registers<248, 24>, 1, 384, out), "deadlock: share_registers",
             "waits at setmaxnreg.inc 248: its warp needs 2560 more registers, and 512 of at most 64512 of its block"));
  CHECK(says(said_of(share_registers<240, 32>, 1, 384, out), "waits at setmaxnreg.inc 240: "));
  CHECK(says(said_untraced(share_registers<248, 24>, 1, 384, out), "setmaxnreg.inc 248"));
}

// Ways in which not all warps make the same change.
enum class Unlike { other_number, other_line, one_warp_none, one_lane_none };
__global__ void change_unlike(float* out, Unlike how) {
  const unsigned warp = threadIdx.x / 32;
  if (how == Unlike::other_number && warp == 2)
    ptx::setmaxnreg_dec<32>();
  else if (how == Unlike::other_line && warp == 2)
    ptx::setmaxnreg_dec<40>();
  else if (!(how == Unlike::one_warp_none && warp == 2) && !(how == Unlike::one_lane_none && threadIdx.x == 70))
    ptx::setmaxnreg_dec<40>();
  out[threadIdx.x] = 1;
}

TEST_CASE("the four warps of a warpgroup must make the same changes of registers") {
  auto out = tile::array<float>("out", 384);
  CHECK(says(said_of(share_registers<200, 24>, 1, 320, out), "registers: share_registers",
             "but a whole warpgroup of four warps must: the block has 10"));
  const auto said = [&](Unlike how) { return said_of(change_unlike, 1, 128, out, how); };
  CHECK(says(said(Unlike::other_number),
             "thread (64,0,0) executes setmaxnreg.dec 32, and thread (0,0,0) setmaxnreg.dec 40 at mbarrier_test.cu:"));
  CHECK(says(said(Unlike::other_line), ": the warps of a warpgroup must execute the same instruction"));
  CHECK(says(said(Unlike::one_warp_none),
             "setmaxnreg.dec 40 in warp 0, but warp 2 of the same warpgroup has ended without"));
  CHECK(says(said(Unlike::one_lane_none), "waits at setmaxnreg.dec 40 for the other lanes of its warp"));
}

TEST_KERNEL("warpgroups may execute different instructions, or the same one in a loop", change_by_group, float, 1, 256,
            "") {
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

// A number of registers, and then another.
template <int FIRST, int THEN, bool MORE>
__global__ void change_twice(float* out) {
  ptx::setmaxnreg_dec<FIRST>();
  MORE ? ptx::setmaxnreg_inc<THEN>() : ptx::setmaxnreg_dec<THEN>();
  out[threadIdx.x] = 1;
}

TEST_CASE("setmaxnreg.inc does not take registers away, .dec does not add any, and a launch has so many at most") {
  auto out = tile::array<float>("out", 384);
  CHECK(says(said_of(change_twice<40, 32, true>, 1, 128, out), "inc 32 with 40 registers: 32 would be fewer of them"));
  CHECK(says(said_of(change_twice<40, 48, false>, 1, 128, out), "dec 48 with 40 registers: 48 would be more of them"));
  CHECK(says(said_of(change_twice<176, 40, false>, 1, 384, out),
             "executes setmaxnreg.dec 176 with 168 registers at "
             "most, as each of 384 threads has at launch: 176 would be more of them"));
}

TEST_SUITE_END();
