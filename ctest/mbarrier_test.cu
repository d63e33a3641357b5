// Tests of mbarriers, copies in bulk, the fences between proxies and registers that change hands on the SIMT model: which mistakes
// it finds, and which right kernels it leaves alone. A whole GEMM is in ctest/tma_test.cu.
#include <string>

#include "common/cuda/ptx_bulk.hpp"
#include "common/report/chapter.hpp"
#include "common/count/count.hpp"

// Gives this program the command line of the chapters.
TILE_CHAPTER(.number = 0, .title = "tests of mbarriers", .kernels = {}, .counted = {1, 1, 1}, .sizes = {})

namespace {

namespace ptx = tile::ptx;

template <class... Parameters, class... Arguments>
std::string said_of(void (*kernel)(Parameters...), dim3 block, Arguments&&... arguments) {
  try {
    simt::trace([&] { tile::launch(kernel, dim3(1), block, 0, arguments...); });
  } catch (const simt::Error& e) {
    return e.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// --- Phases ---------------------------------------------------------------------------------------------------------------

enum class Handing { right, no_wait, arrives_first, one_lane_arrives_for_all, one_lane_waits_for_all };

// Thread by thread, the first warp hands words to the second, which hands them back, `turns` times.
template <Handing HOW>
__global__ void hand_over(float* out, int turns) {
  constexpr bool one_arrives = HOW == Handing::one_lane_arrives_for_all;
  __shared__ float words[32];
  __shared__ std::uint64_t filled, taken;
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&filled, one_arrives ? 1 : 32);
    ptx::mbarrier_init(&taken, 32);
  }
  __syncthreads();  // the mbarriers are there for all
  for (int i = 0; i < turns; ++i) {
    if (threadIdx.x < 32) {
      ptx::mbarrier_wait_parity(&taken, unsigned(i + 1) % 2);
      if (HOW == Handing::arrives_first) ptx::mbarrier_arrive(&filled);
      words[lane] = float(i);
      if (one_arrives) __syncwarp();  // the first lane speaks for all
      if (HOW != Handing::arrives_first && (!one_arrives || lane == 0)) ptx::mbarrier_arrive(&filled);
    } else {
      if (HOW == Handing::one_lane_waits_for_all) {
        if (lane == 0) ptx::mbarrier_wait_parity(&filled, unsigned(i) % 2);
        __syncwarp();  // what the first lane has learnt, all know
      } else if (HOW != Handing::no_wait) {
        ptx::mbarrier_wait_parity(&filled, unsigned(i) % 2);
      }
      out[lane] = words[31 - lane];
      ptx::mbarrier_arrive(&taken);
    }
  }
}

// Thread 0 starts a copy of 64 bytes, but announces so many only when it may go on: when another copy has come, and before it
// the first, for which thread 32 waits.
template <unsigned ANNOUNCED>
__global__ void announce_late(const float* in, float* out) {
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
    ptx::mbarrier_arrive_expect_tx(&full, ANNOUNCED);
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

// The first warp of each block writes parts and fences them; who has waited for its mbarrier counts the block. The last block reads what
// all wrote.
template <bool FENCE>
__global__ void reduce_behind_mbarriers(int* parts, unsigned* finished, int* out) {
  __shared__ std::uint64_t written;
  if (threadIdx.x == 0) ptx::mbarrier_init(&written, 32);
  __syncthreads();  // the mbarrier is there for all
  if (threadIdx.x < 32) {
    parts[blockIdx.x * 32 + threadIdx.x] = 1;
    if (FENCE) __threadfence();
    ptx::mbarrier_arrive(&written);
  } else if (threadIdx.x == 32) {
    ptx::mbarrier_wait_parity(&written, 0);
    if (atomicAdd(finished, 1u) != gridDim.x - 1) return;
    __threadfence();
    int sum = 0;
    for (unsigned i = 0; i < 32 * gridDim.x; ++i) sum += parts[i];
    out[0] = sum;
  }
}

enum class Use {
  twice_initialised,
  for_nobody,
  invalidated,
  misaligned,
  of_global_memory,
  beyond_its_array,
  third_parity,
  as_memory,
  many_bytes
};

template <Use HOW>
__global__ void use(std::uint64_t* global) {
  __shared__ std::uint64_t mbarrier[2];
  std::uint64_t* where = mbarrier;
  if (HOW == Use::misaligned) where = reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(mbarrier) + 4);
  if (HOW == Use::of_global_memory) where = global;
  if (HOW == Use::beyond_its_array) where = mbarrier + 2 + blockDim.x;
  ptx::mbarrier_init(where, HOW == Use::for_nobody ? 0 : 1);
  if (HOW == Use::twice_initialised) ptx::mbarrier_init(where, 1);
  if (HOW == Use::invalidated) ptx::mbarrier_inval(where);
  if (HOW == Use::as_memory) global[0] = mbarrier[0];
  if (HOW == Use::many_bytes) ptx::mbarrier_expect_tx(where, 1 << 20);
  ptx::mbarrier_arrive(where);
  ptx::mbarrier_wait_parity(where, HOW == Use::third_parity ? 2 : 0);
}

// The memory of an mbarrier is used again, for another one and for words.
__global__ void use_again(int* out) {
  __shared__ std::uint64_t mbarrier;
  for (int turn = 0; turn < 3; ++turn) {
    if (threadIdx.x == 0) ptx::mbarrier_init(&mbarrier, 64);
    __syncthreads();  // it is there for all
    ptx::mbarrier_arrive(&mbarrier);
    ptx::mbarrier_wait_parity(&mbarrier, 0);
    __syncthreads();  // all are done with it
    if (threadIdx.x == 0) {
      ptx::mbarrier_inval(&mbarrier);
      mbarrier = std::uint64_t(turn);
      out[turn] = int(mbarrier);
    }
  }
}

__global__ void lanes_that_part(float* out) {
  __shared__ std::uint64_t mbarrier;
  if (threadIdx.x == 0) ptx::mbarrier_init(&mbarrier, 1);
  __syncwarp();
  if (threadIdx.x == 0) ptx::mbarrier_wait_parity(&mbarrier, 0);
  __syncwarp();
  out[threadIdx.x] = 1;
}

// Two copies of 16 bytes, of which the bytes of one are announced.
__global__ void announce_one_of_two(const float* in) {
  __shared__ __align__(16) float words[8];
  __shared__ std::uint64_t full;
  if (threadIdx.x != 0) return;
  ptx::mbarrier_init(&full, 1);
  ptx::fence_mbarrier_init();
  ptx::mbarrier_arrive_expect_tx(&full, 16);
  ptx::cp_async_bulk(words, in, 16, &full);
  ptx::cp_async_bulk(words + 4, in + 4, 16, &full);
  ptx::mbarrier_wait_parity(&full, 0);
}

// One thread asks for two phases in turn, the later first.
__global__ void ask_in_turn(const float* in, float* out) {
  __shared__ __align__(16) float words[2][4];
  __shared__ std::uint64_t full[2];
  if (threadIdx.x != 0) return;
  for (auto& mbarrier : full) ptx::mbarrier_init(&mbarrier, 1);
  ptx::fence_mbarrier_init();
  for (int i = 0; i < 2; ++i) {
    ptx::mbarrier_arrive_expect_tx(&full[i], sizeof words[i]);
    ptx::cp_async_bulk(words[i], in + 4 * i, sizeof words[i], &full[i]);
  }
  bool there[2] = {};
  while (!there[0] || !there[1])
    for (int i = 1; i >= 0; --i) there[i] = there[i] || ptx::mbarrier_try_wait_parity(&full[i], 0);
  for (int i = 0; i < 2; ++i) out[i] = words[i][0];
}

// One thread tries four times before it does what it waits for.
__global__ void arrive_in_the_end(float* out) {
  __shared__ std::uint64_t mbarrier;
  if (threadIdx.x != 0) return;
  ptx::mbarrier_init(&mbarrier, 1);
  int tries = 0;
  while (!ptx::mbarrier_try_wait_parity(&mbarrier, 0))
    if (++tries == 4) ptx::mbarrier_arrive(&mbarrier);
  out[0] = float(tries);
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

// --- Copies into shared memory ------------------------------------------------------------------------------------------

enum class Loading {
  right,
  never_waited,
  ends_before,  // another mbarrier is waited for
  over_words,   // the threads wrote where the copy goes
  over_words_fenced,
  of_words,  // a thread wrote what is copied, in global memory
  of_words_fenced,
  of_words_fenced_in_shared,
  of_an_odd_row,  // 60 bytes
  to_an_odd_place,
  beyond_the_end,
  over_an_mbarrier,
  invalidated  // before the copy has come
};

template <Loading HOW>
__global__ void load(float* in, float* out) {
  __shared__ __align__(128) float words[64];
  __shared__ __align__(128) std::uint64_t full[2];
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full[0], 1);
    ptx::mbarrier_init(&full[1], 1);
    ptx::fence_mbarrier_init();
  }
  if (HOW == Loading::over_words || HOW == Loading::over_words_fenced) words[threadIdx.x] = 1;
  if (HOW == Loading::of_words || HOW == Loading::of_words_fenced || HOW == Loading::of_words_fenced_in_shared)
    in[threadIdx.x] = 7;
  if (HOW == Loading::over_words_fenced || HOW == Loading::of_words_fenced_in_shared)
    ptx::fence_proxy_async_shared_cta();
  if (HOW == Loading::of_words_fenced) ptx::fence_proxy_async();
  __syncthreads();  // the mbarriers are there for all
  if (threadIdx.x == 0) {
    const unsigned bytes = HOW == Loading::of_an_odd_row ? 60 : sizeof words;
    ptx::mbarrier_arrive_expect_tx(&full[0], bytes);
    void* to = words;
    if (HOW == Loading::to_an_odd_place) to = &words[1];
    if (HOW == Loading::beyond_the_end) to = &words[32];
    if (HOW == Loading::over_an_mbarrier) to = full;
    ptx::cp_async_bulk(to, in, HOW == Loading::over_an_mbarrier ? 16 : bytes, &full[0]);
    if (HOW == Loading::ends_before) ptx::mbarrier_arrive(&full[1]);
    if (HOW == Loading::invalidated) ptx::mbarrier_inval(&full[0]);
  }
  if (HOW == Loading::never_waited) return;
  ptx::mbarrier_wait_parity(&full[HOW == Loading::ends_before], 0);
  if (HOW != Loading::ends_before) out[threadIdx.x] = words[63 - threadIdx.x];
}

template <Loading HOW>
std::string said_of_loading() {
  auto in = tile::array<float>("in", 64), out = tile::array<float>("out", 64);
  return said_of(load<HOW>, dim3(64), in.device(), out.device());
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

template <Storing HOW>
__global__ void store(float* out, float* result) {
  constexpr bool reads_back = HOW == Storing::read_back || HOW == Storing::read_back_after_reads;
  __shared__ __align__(16) float words[64];
  if (HOW == Storing::fence_before_the_writes) ptx::fence_proxy_async_shared_cta();
  words[threadIdx.x] = float(threadIdx.x);
  const bool all_fence =
      HOW != Storing::no_fence && HOW != Storing::fence_before_the_writes && HOW != Storing::fence_by_who_copies;
  if (all_fence) ptx::fence_proxy_async_shared_cta();
  if (HOW != Storing::no_barrier) __syncthreads();  // all words are there
  if (threadIdx.x == 0) {
    if (HOW == Storing::fence_by_who_copies) ptx::fence_proxy_async_shared_cta();
    ptx::cp_async_bulk(out, words, sizeof words);
    ptx::cp_async_bulk_commit_group();
    if (HOW == Storing::overwritten) words[5] = 1;
    if (HOW == Storing::read_back)
      ptx::cp_async_bulk_wait_group<0>();
    else if (HOW != Storing::never_waited)
      ptx::cp_async_bulk_wait_group_read<0>();
    if (HOW == Storing::overwritten_after_the_wait) words[5] = 1;
  }
  if (HOW == Storing::overwritten_by_others && threadIdx.x == 5) words[5] = 1;
  if (!reads_back) return;
  __syncthreads();  // the copy has been waited for
  result[threadIdx.x] = out[63 - threadIdx.x];
}

template <Storing HOW>
std::string said_of_storing(std::vector<float>* stored = nullptr) {
  auto out = tile::array<float>("out", 64), result = tile::array<float>("result", 64);
  out.set(std::vector<float>(64, -1.0f));
  const std::string said = said_of(store<HOW>, dim3(64), out.device(), result.device());
  if (stored != nullptr) *stored = out.host();
  return said;
}

// Two groups: the words of the first may be overwritten when one is under way, those of the second may not.
template <int PENDING, int OVERWRITTEN>
__global__ void two_groups(float* out) {
  __shared__ __align__(16) float words[8];
  if (threadIdx.x != 0) return;
  for (int group = 0; group < 2; ++group) {
    for (int i = 0; i < 4; ++i) words[group * 4 + i] = 1;
    ptx::fence_proxy_async_shared_cta();
    ptx::cp_async_bulk(out + group * 4, words + group * 4, 16);
    ptx::cp_async_bulk_commit_group();
  }
  ptx::cp_async_bulk_wait_group_read<PENDING>();
  words[OVERWRITTEN] = 2;
  ptx::cp_async_bulk_wait_group_read<0>();
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

// How not all change alike.
enum class Unlike { other_number, one_warp_none, one_lane_none, fewer_by_inc, more_by_dec };
template <Unlike HOW>
__global__ void change_unlike(float* out) {
  const unsigned warp = threadIdx.x / 32;
  if (HOW == Unlike::other_number && warp == 2)
    ptx::setmaxnreg_dec<32>();
  else if (!(HOW == Unlike::one_warp_none && warp == 2) && !(HOW == Unlike::one_lane_none && threadIdx.x == 70))
    ptx::setmaxnreg_dec<40>();
  if (HOW == Unlike::fewer_by_inc) ptx::setmaxnreg_inc<32>();
  if (HOW == Unlike::more_by_dec) ptx::setmaxnreg_dec<48>();
  out[threadIdx.x] = 1;
}

// How what all change alike are two instructions: by one warp of the four and the others, by lanes of a warp, or where they wait.
enum class Twice { by_warp, by_lane, waiting };
template <Twice HOW>
__global__ void change_by_two_instructions(float* out) {
  const unsigned warp = threadIdx.x / 32;
  if (HOW == Twice::waiting ? warp < 8 : HOW == Twice::by_warp ? warp == 2 : threadIdx.x % 32 == 7) {
    if (HOW == Twice::waiting && warp == 2)
      ptx::setmaxnreg_inc<240>();
    else if (HOW == Twice::waiting)
      ptx::setmaxnreg_inc<240>();
    else
      ptx::setmaxnreg_dec<40>();
  } else {
    ptx::setmaxnreg_dec<40>();
  }
  out[threadIdx.x] = 1;
}

// Each group of four warps has an instruction of its own, and in one that lies in a loop all come to it in every turn.
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

// All give what they cannot have.
template <int FEWER>
__global__ void give_registers(float* out) {
  ptx::setmaxnreg_dec<FEWER>();
  out[threadIdx.x] = 1;
}

}  // namespace

TEST_CASE("a fence counts for the thread that counts the block behind an mbarrier" * doctest::test_suite("model")) {
  auto parts = tile::array<int>("parts", 5 * 32), out = tile::array<int>("out", 1);
  auto finished = tile::array<unsigned>("finished", 1);
  const auto said = [&](void (*kernel)(int*, unsigned*, int*)) -> std::string {
    finished.set({0});
    try {
      simt::trace([&] { tile::launch(kernel, dim3(5), dim3(64), 0, parts.device(), finished.device(), out.device()); });
    } catch (const simt::Error& e) {
      return e.what();
    }
    return "";
  };
  CHECK(said(reduce_behind_mbarriers<true>) == "");
  CHECK(out.host()[0] == 5 * 32);
  CHECK(contains(said(reduce_behind_mbarriers<false>), "reads parts["));
}

TEST_CASE("who waits for a phase has learnt what was done before it" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 32);
  CHECK(said_of(hand_over<Handing::right>, dim3(64), out.device(), 5) == "");
  CHECK(out.host()[0] == 4);
  CHECK(said_of(hand_over<Handing::one_lane_arrives_for_all>, dim3(64), out.device(), 5) == "");
  CHECK(said_of(hand_over<Handing::one_lane_waits_for_all>, dim3(64), out.device(), 5) == "");
  CHECK(contains(said_of(hand_over<Handing::no_wait>, dim3(64), out.device(), 1), "race: hand_over"));
  CHECK(contains(said_of(hand_over<Handing::arrives_first>, dim3(64), out.device(), 5), "race: hand_over"));
}

TEST_CASE("phases do not wrap" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 32);
  CHECK(said_of(hand_over<Handing::right>, dim3(64), out.device(), 3000) == "");
  CHECK(out.host()[0] == 2999);
}

TEST_CASE("bytes may come before they are announced" * doctest::test_suite("model")) {
  auto in = tile::array<float>("in", 16), out = tile::array<float>("out", 1);
  CHECK(said_of(announce_late<64>, dim3(96), in.device(), out.device()) == "");
  CHECK(out.host()[0] == 15);
  CHECK(contains(said_of(announce_late<48>, dim3(96), in.device(), out.device()),
                 ": 16 bytes more have come in phase 0 than were announced"));
}

TEST_CASE("bytes that come when their phase is over are too many" * doctest::test_suite("model")) {
  auto in = tile::array<float>("in", 8);
  const std::string said = said_of(announce_one_of_two, dim3(32), in.device());
  CHECK(contains(said, "bulk copy: announce_one_of_two, mbarrier_test.cu:"));
  CHECK(contains(said, "copies 16 bytes for mbarrier full[0] (address 0x"));
  CHECK(contains(said, " in phase 0, which was over before they came: fewer bytes were announced than copied"));
}

TEST_CASE("an mbarrier is used as one" * doctest::test_suite("model")) {
  auto global = tile::array<std::uint64_t>("global", 4);
  const auto said = [&](void (*kernel)(std::uint64_t*)) { return said_of(kernel, dim3(1), global.device()); };
  CHECK(contains(said(use<Use::twice_initialised>), "initialises mbarrier mbarrier[0] (address 0x"));
  CHECK(contains(said(use<Use::twice_initialised>), ", which it is already"));
  CHECK(contains(said(use<Use::for_nobody>), " for 0 arrivals; 1 to 1048575 are possible"));
  CHECK(contains(said(use<Use::invalidated>), "arrives at mbarrier mbarrier[0] (address 0x"));
  CHECK(contains(said(use<Use::invalidated>), ", which nobody has initialised"));
  CHECK(contains(said(use<Use::misaligned>), ", which is not a multiple of 8"));
  CHECK(contains(said(use<Use::of_global_memory>), ", which is not in shared memory"));
  CHECK(contains(said(use<Use::beyond_its_array>), "out of bounds: use<"));
  CHECK(contains(said(use<Use::third_parity>), " with parity 2, which is 0 or 1"));
  CHECK(contains(said(use<Use::as_memory>), "reads mbarrier mbarrier[0]"));
  CHECK(contains(said(use<Use::as_memory>), " as ordinary memory"));
  CHECK(contains(said(use<Use::many_bytes>), ": 1048576 bytes are announced, and a phase takes 1048575 at most"));
}

TEST_CASE("the memory of an mbarrier may be used again" * doctest::test_suite("model")) {
  auto out = tile::array<int>("out", 3);
  CHECK(said_of(use_again, dim3(64), out.device()) == "");
  CHECK(out.host() == std::vector{0, 1, 2});
}

TEST_CASE("a lane that waits for ever is told, not those that wait for it" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 32);
  const std::string said = said_of(lanes_that_part, dim3(32), out.device());
  CHECK(contains(said, "deadlock: lanes_that_part, mbarrier_test.cu:"));
  CHECK(contains(said, "thread (0,0,0) waits for phase 0 (parity 0) of mbarrier mbarrier[0]"));
  CHECK(contains(said, ": 1 of 1 arrivals and 0 bytes are missing"));
}

TEST_CASE("a wait that gives up is tried again, with other work in between" * doctest::test_suite("model")) {
  auto in = tile::array<float>("in", 8), out = tile::array<float>("out", 2);
  CHECK(said_of(ask_in_turn, dim3(32), in.device(), out.device()) == "");
  CHECK(out.host() == std::vector<float>{0, 4});
  CHECK(said_of(arrive_in_the_end, dim3(32), out.device()) == "");
  CHECK(out.host()[0] >= 4);
}

TEST_CASE("what a warp does is counted together though its lanes wait apart" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 32);
  const auto counts = simt::trace([&] { tile::launch(one_lane_is_late, dim3(1), dim3(64), 0, out.device()); });
  for (const simt::Site& site : counts.at(0).sites) {
    CHECK(site.requests == 1);
    CHECK(site.accesses == 32);
  }
}

TEST_CASE("copies into shared memory" * doctest::test_suite("model")) {
  CHECK(said_of_loading<Loading::right>() == "");
  CHECK(contains(said_of_loading<Loading::never_waited>(), "bulk copy: load<"));
  CHECK(
      contains(said_of_loading<Loading::never_waited>(),
               "starts a copy to words[0] that may still be on its way when the block ends: nobody waits for mbarrier "
               "full[0]"));
  CHECK(contains(said_of_loading<Loading::ends_before>(), "may still be on its way when the block ends"));
  CHECK(contains(said_of_loading<Loading::of_an_odd_row>(), "copies 60 bytes in bulk, which must be a multiple of 16"));
  CHECK(contains(said_of_loading<Loading::to_an_odd_place>(), "misaligned: load<"));
  CHECK(contains(said_of_loading<Loading::beyond_the_end>(), "128 bytes past the end of words"));
  CHECK(contains(said_of_loading<Loading::over_an_mbarrier>(), "asynchronously writes mbarrier full[0]"));
  CHECK(contains(said_of_loading<Loading::invalidated>(), ", for which a copy is on its way"));
}

TEST_CASE("what threads wrote is the copies' after a fence" * doctest::test_suite("model")) {
  CHECK(contains(said_of_loading<Loading::over_words>(), "missing proxy fence: load<"));
  CHECK(contains(said_of_loading<Loading::over_words>(), "asynchronously writes words[0]"));
  CHECK(said_of_loading<Loading::over_words_fenced>() == "");
  CHECK(contains(said_of_loading<Loading::of_words>(), "asynchronously reads in[0]"));
  CHECK(contains(said_of_loading<Loading::of_words>(), "with no fence.proxy.async between"));
  CHECK(said_of_loading<Loading::of_words_fenced>() == "");
  CHECK(contains(said_of_loading<Loading::of_words_fenced_in_shared>(), "missing proxy fence: load<"));
}

TEST_CASE("a tensor map is one that the host has made, and in the device's memory" * doctest::test_suite("model")) {
  auto in = tile::array<float>("in", 64), out = tile::array<float>("out", 1);
  auto maps = tile::array<CUtensorMap>("maps", 2);
  const auto map = tile::tensor_map(in.device(), {8, 8, 8, 4, 8});
  maps.set({map, {}});
  CHECK(said_of(load_with, dim3(1), maps.device(), out.device()) == "");
  CHECK(contains(said_of(load_with, dim3(1), maps.device() + 1, out.device()), "that tensor_map has not made"));
  CHECK(contains(said_of(load_with, dim3(1), &map, out.device()), "out of bounds: load_with"));
}

TEST_CASE("copies out of shared memory" * doctest::test_suite("model")) {
  std::vector<float> stored;
  CHECK(said_of_storing<Storing::right>(&stored) == "");
  for (int i = 0; i < 64; ++i) CHECK(stored[std::size_t(i)] == float(i));
  CHECK(contains(said_of_storing<Storing::no_fence>(), "missing proxy fence: store<"));
  CHECK(contains(said_of_storing<Storing::no_fence>(), "asynchronously reads words[0]"));
  CHECK(contains(said_of_storing<Storing::fence_before_the_writes>(), "missing proxy fence: store<"));
  CHECK(said_of_storing<Storing::fence_by_who_copies>() == "");
  CHECK(contains(said_of_storing<Storing::no_barrier>(), "race: store<"));
  CHECK(
      contains(said_of_storing<Storing::never_waited>(), "may still read it when the block ends: wait for its group"));
  CHECK(contains(said_of_storing<Storing::overwritten>(), "which a copy in bulk of thread (0,0,0) read"));
  CHECK(said_of_storing<Storing::overwritten_after_the_wait>() == "");
  CHECK(contains(said_of_storing<Storing::overwritten_by_others>(), "which a copy in bulk of thread (0,0,0) read"));
  CHECK(said_of_storing<Storing::read_back>() == "");
  CHECK(contains(said_of_storing<Storing::read_back_after_reads>(), "which a copy in bulk of thread (0,0,0) wrote"));
}

TEST_CASE("a group is waited for in its turn" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 8);
  CHECK(said_of(two_groups<1, 0>, dim3(32), out.device()) == "");
  CHECK(out.host()[0] == 1);
  CHECK(contains(said_of(two_groups<2, 0>, dim3(32), out.device()), "writes words[0]"));
  CHECK(contains(said_of(two_groups<1, 4>, dim3(32), out.device()), "writes words[4]"));
  // Where nothing is checked, what is read too late shows in the result.
  tile::launch(two_groups<1, 4>, dim3(1), dim3(32), 0, out.device());
  CHECK(out.host()[4] == 2);
}

TEST_CASE("registers move within a block, and who wants more than it has waits for ever" *
          doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 1024);
  const auto said = [&](void (*kernel)(float*), unsigned threads) {
    return said_of(kernel, dim3(threads), out.device());
  };
  CHECK(said(share_registers<240, 24>, 384) == "");
  CHECK(said(share_registers<224, 56>, 384) == "");
  CHECK(said(give_and_take_registers, 256) == "");
  // Of 168 each for 384 threads, 240 for 256 leave 24 for 128. With 248 seven of eight warps get theirs.
  const std::string too_many = said(share_registers<248, 24>, 384);
  INFO(too_many);
  CHECK(contains(too_many, "deadlock: share_registers"));
  CHECK(contains(
      too_many,
      "waits at setmaxnreg.inc 248: its warp wants 2560 registers more, and 512 of the 64512 that its block has "
      "at most are free"));
  CHECK(contains(said(share_registers<240, 32>, 384), "waits at setmaxnreg.inc 240: "));
  // Where nothing is traced it is found as well.
  CHECK_THROWS_WITH_AS(tile::launch(share_registers<248, 24>, dim3(1), dim3(384), 0, out.device()),
                       doctest::Contains("setmaxnreg.inc 248"), simt::Error);
}

TEST_CASE("four warps change their registers alike" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 1024);
  const auto said = [&](void (*kernel)(float*), unsigned threads) {
    return said_of(kernel, dim3(threads), out.device());
  };
  const std::string group = said(share_registers<200, 24>, 320);
  INFO(group);
  CHECK(contains(group, "registers: share_registers"));
  CHECK(contains(group, "four warps must, from a multiple of four on: the block has 10"));
  CHECK(contains(said(change_unlike<Unlike::other_number>, 128),
                 " executes setmaxnreg.dec 40, and warp 2 setmaxnreg.dec 32 at mbarrier_test.cu:"));
  CHECK(contains(said(change_unlike<Unlike::one_warp_none>, 128),
                 "setmaxnreg.dec 40 in warp 0, and warp 2 of the same four has ended without"));
  CHECK(contains(said(change_unlike<Unlike::one_lane_none>, 128),
                 "waits at setmaxnreg.dec 40 for the other lanes of its warp"));
}

TEST_CASE("four warps change their registers by one instruction" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 1024);
  const auto said = [&](void (*kernel)(float*), unsigned threads) {
    return said_of(kernel, dim3(threads), out.device());
  };
  const std::string by_warp = said(change_by_two_instructions<Twice::by_warp>, 128);
  INFO(by_warp);
  CHECK(contains(by_warp, "registers: change_by_two_instructions"));
  CHECK(contains(by_warp, " executes setmaxnreg.dec 40, and warp 2 setmaxnreg.dec 40 at mbarrier_test.cu:"));
  CHECK(contains(by_warp, ": four warps execute one instruction"));
  const std::string by_lane = said(change_by_two_instructions<Twice::by_lane>, 128);
  INFO(by_lane);
  CHECK(contains(by_lane, " executes setmaxnreg.dec 40, and thread (7,0,0) setmaxnreg.dec 40 at mbarrier_test.cu:"));
  // Where there are not enough for all of them, too.
  const std::string waiting = said(change_by_two_instructions<Twice::waiting>, 384);
  INFO(waiting);
  CHECK(contains(waiting, " executes setmaxnreg.inc 240, and warp 2 setmaxnreg.inc 240 at mbarrier_test.cu:"));
  CHECK(said(change_by_group, 256) == "");
}

TEST_CASE("registers are given by who has them, and taken by who has fewer" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 1024);
  const auto said = [&](void (*kernel)(float*), unsigned threads) {
    return said_of(kernel, dim3(threads), out.device());
  };
  CHECK(contains(said(change_unlike<Unlike::fewer_by_inc>, 128),
                 "executes setmaxnreg.inc 32 with 40 registers: 32 would be fewer of them"));
  CHECK(contains(said(change_unlike<Unlike::more_by_dec>, 128),
                 "executes setmaxnreg.dec 48 with 40 registers: 48 would be more of them"));
  CHECK(said(give_registers<168>, 384) == "");
  CHECK(contains(said(give_registers<176>, 384),
                 "executes setmaxnreg.dec 176 with 168 registers at most, as each of 384 threads has at launch: "
                 "176 would be more of them"));
  CHECK(contains(said(share_registers<256, 240>, 384), "executes setmaxnreg.dec 240 with 168 registers at most"));
}
