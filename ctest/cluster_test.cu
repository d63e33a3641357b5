// Tests of clusters, on both machines: blocks that reach into each other's shared memory, and what goes wrong when they do. On the
// model they are traced.
#include <stdexcept>
#include <string>
#include <utility>

#include "common/cuda/cluster.hpp"
#include "common/cuda/device.hpp"
#include "common/report/chapter.hpp"
#include "common/count/count.hpp"
#if TILE_ON_GPU
#include <cooperative_groups.h>
#else
#include "common/cuda/words/cooperative_groups.hpp"
#endif

// Gives this program the command line of the chapters.
TILE_CHAPTER(.number = 0, .title = "tests of clusters", .kernels = {}, .counted = {1, 1, 1}, .sizes = {})

namespace {

namespace ptx = tile::ptx;
namespace cg = cooperative_groups;

// Runs it, on the model with all checks.
template <class Work>
void run(Work work) {
#if TILE_ON_MODEL
  simt::trace(work);
#else
  work();
#endif
}

__device__ __forceinline__ void cluster_barrier() {
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
}

// --- A halo that neighbours read ------------------------------------------------------------------------------------------

enum class Halo {
  right,
  split,             // the first barrier, with work between arriving and waiting
  no_first_barrier,  // neighbours read before the tile is there
  block_barrier,     // for the first
  no_last_barrier,   // a block may end while its neighbour reads
  overwritten,       // the tile is used again while neighbours may still read it
  written_late,      // after the thread has arrived at the first barrier
};

// out = the sum of each element and its two neighbours, around the cluster.
template <Halo HOW>
__global__ void sum_with_neighbours(const float* in, float* out) {
  __shared__ float words[64];
  const unsigned t = threadIdx.x, rank = ptx::cluster_ctarank(), blocks = ptx::cluster_nctarank();
  const unsigned first = blockIdx.x * 64;
  if (HOW == Halo::written_late) ptx::barrier_cluster_arrive();
  words[t] = in[first + t];
  if (HOW == Halo::split) ptx::barrier_cluster_arrive();
  if (HOW != Halo::no_first_barrier) __syncthreads();  // the block's own tile is there
  float sum = words[t];
  if (t > 0) sum += words[t - 1];
  if (t < 63) sum += words[t + 1];
  if (HOW == Halo::split || HOW == Halo::written_late)
    ptx::barrier_cluster_wait();
  else if (HOW != Halo::block_barrier && HOW != Halo::no_first_barrier)
    cluster_barrier();  // all tiles are there
  if (t == 0) sum += ptx::mapa(words, (rank + blocks - 1) % blocks)[63];
  if (t == 63) sum += *ptx::mapa(&words[0], (rank + 1) % blocks);
  out[first + t] = sum;
  if (HOW == Halo::overwritten) words[t] = 0;
  if (HOW != Halo::no_last_barrier) cluster_barrier();  // nobody reads the tile any more
}

template <Halo HOW>
std::vector<float> sums() {
  constexpr int BLOCKS = 8, CLUSTER = 4;
  auto in = tile::array<float>("in", 64 * BLOCKS), out = tile::array<float>("out", 64 * BLOCKS);
  in.set(tile::make_values(64 * BLOCKS, tile::Fill::integers, 1));
  run([&] {
    tile::launch_in_clusters(sum_with_neighbours<HOW>, dim3(BLOCKS), dim3(CLUSTER), dim3(64), 0, in.device(),
                             out.device());
  });
  return out.host();
}

// --- The same by cooperative groups ---------------------------------------------------------------------------------------

// out = what the next block of the cluster has, and where it stands.
template <bool WAITS>
__global__ void pass_on(const float* in, float* out, unsigned* ranks) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // older GPUs have neither clusters nor these words
  __shared__ float words[64];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned t = threadIdx.x, at = blockIdx.x * 64 + t;
  words[t] = in[at];
  if (WAITS) cluster.sync();
  out[at] = *cluster.map_shared_rank(&words[t], int((cluster.block_rank() + 1) % cluster.num_blocks()));
  ranks[at] = cluster.thread_rank() + 1000 * cluster.num_threads();
  auto token = cluster.barrier_arrive();
  cluster.barrier_wait(std::move(token));
#endif
}

template <bool WAITS>
void check_passing_on() {
  constexpr int BLOCKS = 8, CLUSTER = 4, COUNT = 64 * BLOCKS;
  auto in = tile::array<float>("in", COUNT), out = tile::array<float>("out", COUNT);
  auto ranks = tile::array<unsigned>("ranks", COUNT);
  const std::vector<float> values = tile::make_values(COUNT, tile::Fill::integers, 1);
  in.set(values);
  run([&] {
    tile::launch_in_clusters(pass_on<WAITS>, dim3(BLOCKS), dim3(CLUSTER), dim3(64), 0, in.device(), out.device(),
                             ranks.device());
  });
  const std::vector<float> passed = out.host();
  const std::vector<unsigned> at = ranks.host();
  for (int i = 0; i < COUNT; ++i) {
    const int cluster = i / (64 * CLUSTER) * 64 * CLUSTER, within = i - cluster;
    REQUIRE(passed[std::size_t(i)] == values[std::size_t(cluster + (within + 64) % (64 * CLUSTER))]);
    REQUIRE(at[std::size_t(i)] == unsigned(within + 1000 * 64 * CLUSTER));
  }
}

// Each thread of a cluster writes a part and fences it; behind the cluster's barrier one counts the cluster. All of the last cluster
// read what all wrote.
template <bool FENCE>
__global__ void reduce_by_clusters(int* parts, unsigned* finished, int* out) {
  __shared__ bool last;
  const unsigned me = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
  parts[me] = 1;
  if (FENCE) __threadfence();
  cluster_barrier();
  const bool first = ptx::cluster_ctarank() == 0;
  if (first && threadIdx.x == 0) last = atomicAdd(finished, 1u) == gridDim.x / ptx::cluster_nctarank() - 1;
  __syncthreads();
  if (!first || !last) return;
  __threadfence();
  int sum = 0;
  for (unsigned i = 0; i < all; ++i) sum += parts[(i + threadIdx.x) % all];
  out[threadIdx.x] = sum;
}

// --- A histogram spread over the cluster ------------------------------------------------------------------------------------

template <bool ATOMIC>
__global__ void histogram(const int* in, int* out, int count) {
  __shared__ int bins[32];
  const unsigned t = threadIdx.x, blocks = ptx::cluster_nctarank();
  if (t < 32) bins[t] = 0;
  cluster_barrier();  // all bins are there
  for (int i = int(blockIdx.x * blockDim.x + t); i < count; i += int(gridDim.x * blockDim.x)) {
    const auto bin = unsigned(in[i]) % (32 * blocks);
    int* const there = &ptx::mapa(bins, bin / 32)[bin % 32];
    if (ATOMIC)
      atomicAdd(there, 1);
    else
      *there += 1;
  }
  cluster_barrier();  // all is counted
  if (t < 32) out[ptx::cluster_ctarank() * 32 + t] = bins[t];
}

// --- A producer block ---------------------------------------------------------------------------------------------------------

enum class Producing { right, arrives_first, no_begin, nobody_waits_for_end };

// Block 0 fills the other blocks' words, and says so at their mbarriers.
template <Producing HOW>
__global__ void produce(float* out) {
  __shared__ float words[32];
  __shared__ std::uint64_t full;
  const unsigned t = threadIdx.x, rank = ptx::cluster_ctarank();
  if (t == 0) ptx::mbarrier_init(&full, 32);
  if (HOW == Producing::no_begin)
    __syncthreads();
  else
    cluster_barrier();  // the mbarriers are there for all
  if (rank == 0) {
    for (unsigned to = 1; to < ptx::cluster_nctarank(); ++to) {
      if (HOW == Producing::arrives_first) ptx::mbarrier_arrive_cluster(ptx::mapa(&full, to));
      ptx::mapa(words, to)[t] = float(100 * to + t);
      if (HOW != Producing::arrives_first) ptx::mbarrier_arrive_cluster(ptx::mapa(&full, to));
    }
  } else {
    ptx::mbarrier_wait_parity_cluster(&full, 0);
    out[blockIdx.x * 32 + t] = words[31 - t];
  }
}

// --- A tile that a copy brings to all ---------------------------------------------------------------------------------------

enum class Multicast {
  right,
  no_begin,         // mbarriers of other blocks may not be there
  no_init_fence,    // nor seen by copies
  no_empty_wait,    // a block overwrites what others still read
  few_bytes,        // announced
  one_bit_missing,  // a block is not among the destinations
  bit_too_many,
};

struct Tiles {
  static constexpr int ROWS = 8, COLS = 32, STEPS = 3;
  static constexpr std::size_t ELEMENTS = STEPS * ROWS * COLS;
};

// Each of two blocks fetches half of each tile for both; out gets every tile, by both.
template <Multicast HOW>
__global__ void share_tiles(const __grid_constant__ CUtensorMap map, float* out) {
  using T = Tiles;
  __shared__ __align__(128) float words[T::ROWS * T::COLS];
  __shared__ std::uint64_t full, empty;
  const int t = int(threadIdx.x), rank = int(ptx::cluster_ctarank());
  if (t == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::mbarrier_init(&empty, 2 * 32);
    if (HOW != Multicast::no_init_fence) ptx::fence_mbarrier_init();
  }
  if (HOW == Multicast::no_begin)
    __syncthreads();
  else
    cluster_barrier();  // the mbarriers are there for all
  for (int step = 0; step < T::STEPS; ++step) {
    if (t == 0) {
      if (HOW != Multicast::no_empty_wait) ptx::mbarrier_wait_parity_cluster(&empty, unsigned(step + 1) % 2);
      ptx::mbarrier_arrive_expect_tx(&full, unsigned(sizeof words) - (HOW == Multicast::few_bytes ? 64 : 0));
      const unsigned both = HOW == Multicast::one_bit_missing ? 1u : HOW == Multicast::bit_too_many ? 7u : 3u;
      ptx::cp_async_bulk_tensor_multicast(&words[rank * T::ROWS / 2 * T::COLS], map, 0,
                                          step * T::ROWS + rank * T::ROWS / 2, &full, std::uint16_t(both));
    }
    __syncwarp();
    ptx::mbarrier_wait_parity_cluster(&full, unsigned(step) % 2);
    for (int row = 0; row < T::ROWS; ++row)
      out[((rank * T::STEPS + step) * T::ROWS + row) * T::COLS + t] = words[row * T::COLS + t];
    for (unsigned to = 0; to < 2; ++to) ptx::mbarrier_arrive_cluster(ptx::mapa(&empty, to));  // read by this thread
  }
  cluster_barrier();  // copies and arrivals have reached all
}

template <Multicast HOW>
std::pair<std::vector<float>, std::vector<float>> shared_tiles() {
  using T = Tiles;
  auto in = tile::array<float>("in", T::ELEMENTS), out = tile::array<float>("out", 2 * T::ELEMENTS);
  std::vector<float> values = tile::make_values(T::ELEMENTS, tile::Fill::integers, 3);
  in.set(values);
  const auto map = tile::tensor_map(in.device(), {T::STEPS * T::ROWS, T::COLS, T::COLS, T::ROWS / 2, T::COLS});
  run([&] { tile::launch_in_clusters(share_tiles<HOW>, dim3(2), dim3(2), dim3(32), 0, map, out.device()); });
  values.insert(values.end(), values.begin(), values.end());
  return {out.host(), values};
}

// --- Ranks ----------------------------------------------------------------------------------------------------------------------

__global__ void write_ranks(int* out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  out[2 * block] = int(ptx::cluster_ctarank());
  out[2 * block + 1] = int(ptx::cluster_nctarank());
}

// Threads that have returned are not waited for.
__global__ void leave_early(int* out) {
  __shared__ int word;
  const unsigned rank = ptx::cluster_ctarank();
  if (threadIdx.x >= 32) return;
  if (threadIdx.x == 0) word = int(rank) + 1;
  cluster_barrier();  // the words are there
  if (threadIdx.x == 0) out[blockIdx.x] = *ptx::mapa(&word, 1 - rank);
  cluster_barrier();  // nobody reads them any more
}

#if TILE_ON_MODEL

// --- Mistakes -------------------------------------------------------------------------------------------------------------------

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

template <class Work>
std::string said_of(Work work) {
  try {
    work();
  } catch (const simt::Error& e) {
    return e.what();
  }
  return "";
}

enum class Use {
  arrives_twice,
  waits_without,
  rank_outside,
  beyond_its_array,
  global_address,
  address_of_another,
  missing_block,
  at_another_barrier,
  after_the_end,
  before_the_end,
  overwritten_after_read,
  written_between_halves,
};

template <Use HOW>
__global__ void use(int** addresses, int* out) {
  __shared__ int words[4];
  __shared__ std::uint64_t never;
  const unsigned rank = ptx::cluster_ctarank();
  words[threadIdx.x % 4] = 0;
  if (threadIdx.x == 0) ptx::mbarrier_init(&never, 1);
  if (HOW == Use::waits_without) ptx::barrier_cluster_wait();
  cluster_barrier();  // all have begun
  if (HOW == Use::arrives_twice) {
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_arrive();
  }
  if (HOW == Use::rank_outside) out[0] = *ptx::mapa(words, rank + 1);
  if (HOW == Use::beyond_its_array) out[0] = *(ptx::mapa(words, 1 - rank) + 4 + blockDim.x);
  if (HOW == Use::global_address) out[0] = *ptx::mapa(out, 1 - rank);
  if (HOW == Use::address_of_another) {
    if (rank == 0 && threadIdx.x == 0) addresses[0] = ptx::mapa(words, 1);
    cluster_barrier();  // the address is there
    if (rank == 1 && threadIdx.x == 0) out[0] = *addresses[0];
  }
  if (HOW == Use::missing_block && rank == 1) ptx::mbarrier_wait_parity(&never, 0);
  if (HOW == Use::at_another_barrier && rank == 1 && threadIdx.x != 0) __syncthreads();
  if (HOW == Use::after_the_end || HOW == Use::before_the_end) {  // nothing says which it is
    if (HOW == Use::after_the_end)
      for (int turn = 0; rank == 0 && turn < 100; ++turn) __nanosleep(20);
    if (rank == (HOW == Use::after_the_end ? 0 : 1)) out[0] = *ptx::mapa(words, 1 - rank);
    return;
  }
  if (HOW == Use::overwritten_after_read && threadIdx.x == 0) {
    if (rank == 1) out[0] = *ptx::mapa(words, 0);
    if (rank == 0) words[0] = 1;
  }
  if (HOW == Use::written_between_halves) {  // of a barrier, which does not order it for the block either
    ptx::barrier_cluster_arrive();
    if (threadIdx.x == 0) words[0] = 1;
    ptx::barrier_cluster_wait();
    if (threadIdx.x == 1) out[rank] = words[0];
  }
  cluster_barrier();
}

template <Use HOW>
std::string said_of_use(bool traced = true) {
  auto out = tile::array<int>("out", 4);
  auto addresses = tile::array<int*>("addresses", 1);
  const auto work = [&] {
    tile::launch_in_clusters(use<HOW>, dim3(2), dim3(2), dim3(32), 0, addresses.device(), out.device());
  };
  return said_of([&] {
    if (traced)
      simt::trace(work);
    else
      work();
  });
}

// The third block gets an address of the second one's, who waits for it: by mapa from the first, or as the second itself has it.
template <bool BY_MAPA>
__global__ void hand_over(int* volatile* address, volatile int* taken, int* out) {
  __shared__ int words[4];
  const unsigned rank = ptx::cluster_ctarank();
  words[threadIdx.x] = 1;
  cluster_barrier();  // all have begun
  if (threadIdx.x == 0) {
    if (blockIdx.x == (BY_MAPA ? 0 : 1)) *address = BY_MAPA ? ptx::mapa(words, 1) : words;
    while (blockIdx.x < 2 && *taken == 0) {
    }
    if (blockIdx.x == 2) {
      while (*address == nullptr) {
      }
      out[rank] = **address;
      *taken = 1;
    }
  }
  cluster_barrier();  // nobody is gone before
}
template <bool BY_MAPA>
std::string said_of_foreign(bool traced) {
  auto address = tile::array<int*>("address", 1);
  auto taken = tile::array<int>("taken", 1), out = tile::array<int>("out", 1);
  const auto work = [&] {
    tile::launch_in_clusters(hand_over<BY_MAPA>, dim3(4), dim3(2), dim3(4), 0, address.device(), taken.device(),
                             out.device());
  };
  return said_of([&] {
    if (traced)
      simt::trace(work);
    else
      work();
  });
}

template <bool ATOMIC>
std::string said_of_histogram(std::vector<int>* bins = nullptr) {
  auto in = tile::array<int>("in", 1000), out = tile::array<int>("out", 64);
  std::vector<int> values(1000);
  for (int i = 0; i < 1000; ++i) values[std::size_t(i)] = i * i;
  in.set(values);
  const std::string said = said_of([&] {
    run([&] {
      tile::launch_in_clusters(histogram<ATOMIC>, dim3(2), dim3(2), dim3(64), 0, in.device(), out.device(), 1000);
    });
  });
  if (bins != nullptr) *bins = out.host();
  return said;
}

template <Producing HOW>
std::string said_of_producing(std::vector<float>* words = nullptr) {
  auto out = tile::array<float>("out", 96);
  const std::string said = said_of(
      [&] { run([&] { tile::launch_in_clusters(produce<HOW>, dim3(3), dim3(3), dim3(32), 0, out.device()); }); });
  if (words != nullptr) *words = out.host();
  return said;
}
#endif

}  // namespace

#if TILE_ON_MODEL
#define ON_BOTH "model"
#else
#define ON_BOTH "gpu"
#endif

TEST_CASE("neighbours read a halo between two cluster barriers" * doctest::test_suite(ON_BOTH)) {
  const std::vector<float> in = tile::make_values(512, tile::Fill::integers, 1);
  for (const auto& result : {sums<Halo::right>(), sums<Halo::split>()})
    for (std::size_t i = 0; i < 512; ++i) {
      const std::size_t cluster = i / 256 * 256, at = i - cluster;
      CHECK(result[i] == in[cluster + (at + 255) % 256] + in[i] + in[cluster + (at + 1) % 256]);
    }
}

TEST_CASE("cooperative groups know a cluster, its barrier and its shared memory" * doctest::test_suite(ON_BOTH)) {
  check_passing_on<true>();
#if TILE_ON_MODEL
  CHECK(
      contains(said_of([] { check_passing_on<false>(); }), "which may not have begun: no cluster barrier lies before"));
#endif
}
TEST_CASE("a block knows its rank in a cluster of three dimensions" * doctest::test_suite(ON_BOTH)) {
  auto out = tile::array<int>("out", 2 * 24);
  run([&] { tile::launch_in_clusters(write_ranks, dim3(2, 6, 2), dim3(2, 2, 2), dim3(1), 0, out.device()); });
  const std::vector<int> ranks = out.host();
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 6; ++y)
      for (int x = 0; x < 2; ++x) {
        const auto block = std::size_t((z * 6 + y) * 2 + x);
        CHECK(ranks[2 * block] == (z * 2 + y % 2) * 2 + x);
        CHECK(ranks[2 * block + 1] == 8);
      }
}

TEST_CASE("a cluster's barrier does not wait for threads that have returned" * doctest::test_suite(ON_BOTH)) {
  auto out = tile::array<int>("out", 2);
  run([&] { tile::launch_in_clusters(leave_early, dim3(2), dim3(2), dim3(64), 0, out.device()); });
  CHECK(out.host() == std::vector<int>{2, 1});
}

TEST_CASE("a copy brings a tile to all blocks of a cluster" * doctest::test_suite(ON_BOTH)) {
  if (!tile::machine::device().copies_in_bulk) return;
  const auto [result, expected] = shared_tiles<Multicast::right>();
  CHECK(result == expected);
}

TEST_CASE("a grid is cut into whole clusters" * doctest::test_suite(ON_BOTH)) {
  const auto launch = [](dim3 grid, dim3 cluster) {
    auto out = tile::array<int>("out", 2 * 24);
    tile::launch_in_clusters(write_ranks, grid, cluster, dim3(1), 0, out.device());
  };
  CHECK_THROWS_WITH_AS(launch(dim3(7), dim3(2)),
                       "grid.x is 7, not a multiple of the 2 blocks of a cluster along it: round the grid up",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(launch(dim3(2, 3, 3), dim3(1, 1, 2)),
                       "grid.z is 3, not a multiple of the 2 blocks of a cluster along it: round the grid up",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(launch(dim3(16), dim3(16)),
                       "a cluster of 16 blocks: 1 to 8 are what every GPU with clusters takes", std::invalid_argument);
}

#if TILE_ON_MODEL
TEST_CASE("what a halo's barriers are for" * doctest::test_suite("model")) {
  const std::string early = said_of([] { sums<Halo::no_first_barrier>(); });
  CHECK(contains(early, "cluster: sum_with_neighbours<(Halo)2>, cluster_test.cu:"));
  CHECK(contains(early, "reads shared memory of block ("));
  CHECK(contains(early, "which may not have begun: no cluster barrier lies before"));
  CHECK(contains(said_of([] { sums<Halo::block_barrier>(); }), "with no cluster barrier between"));
  CHECK(contains(said_of([] { sums<Halo::written_late>(); }), "with no cluster barrier between"));
  CHECK(contains(said_of([] { sums<Halo::no_last_barrier>(); }), "which has ended: no cluster barrier keeps it"));
  const std::string race = said_of([] { sums<Halo::overwritten>(); });
  CHECK(contains(race, "race: sum_with_neighbours<(Halo)5>, cluster_test.cu:"));
  CHECK(contains(race, "with no cluster barrier between"));
}

TEST_CASE("a fence counts for the thread that counts the cluster behind its barrier" * doctest::test_suite("model")) {
  auto parts = tile::array<int>("parts", 6 * 32), out = tile::array<int>("out", 32);
  auto finished = tile::array<unsigned>("finished", 1);
  const auto launch = [&](void (*kernel)(int*, unsigned*, int*)) {
    finished.set({0});
    run([&] {
      tile::launch_in_clusters(kernel, dim3(6), dim3(2), dim3(32), 0, parts.device(), finished.device(), out.device());
    });
  };
  CHECK_NOTHROW(launch(reduce_by_clusters<true>));
  CHECK(out.host() == std::vector<int>(32, 6 * 32));
  CHECK_THROWS_WITH(launch(reduce_by_clusters<false>), doctest::Contains("reads parts["));
}

TEST_CASE("atomic operations reach a histogram that is spread over a cluster" * doctest::test_suite("model")) {
  std::vector<int> bins, expected(64);
  CHECK(said_of_histogram<true>(&bins) == "");
  for (int i = 0; i < 1000; ++i) ++expected[std::size_t(i * i % 64)];
  CHECK(bins == expected);
  CHECK(contains(said_of_histogram<false>(), "race: histogram<false>"));
}

TEST_CASE("a block arrives at the mbarriers of others" * doctest::test_suite("model")) {
  std::vector<float> words;
  CHECK(said_of_producing<Producing::right>(&words) == "");
  CHECK(words[32] == 131);
  CHECK(words[95] == 200);
  CHECK(contains(said_of_producing<Producing::arrives_first>(), "race: produce<"));
  CHECK(contains(said_of_producing<Producing::no_begin>(), "of block (1,0,0)"));
}

TEST_CASE("what a copy to several blocks needs" * doctest::test_suite("model")) {
  CHECK(contains(said_of([] { shared_tiles<Multicast::no_begin>(); }), "full[0] of block (1,0,0)"));
  CHECK(contains(said_of([] { shared_tiles<Multicast::no_init_fence>(); }), "with no fence.mbarrier_init between"));
  CHECK(contains(said_of([] { shared_tiles<Multicast::no_empty_wait>(); }), "asynchronously writes words["));
  CHECK(contains(said_of([] { shared_tiles<Multicast::few_bytes>(); }), "bytes"));
  CHECK(contains(said_of([] { shared_tiles<Multicast::one_bit_missing>(); }), "bytes are missing"));
  CHECK(contains(said_of([] { shared_tiles<Multicast::bit_too_many>(); }), "copies to blocks 0x7, of a cluster of 2"));
}

TEST_CASE("what is wrong with the use of a cluster" * doctest::test_suite("model")) {
  for (const bool traced : {true, false}) {
    CAPTURE(traced);
    CHECK(contains(said_of_use<Use::arrives_twice>(traced), "arrives at the cluster's barrier again"));
    CHECK(contains(said_of_use<Use::waits_without>(traced), "at which it has not arrived"));
    CHECK(contains(said_of_use<Use::rank_outside>(traced), "maps words[0] to block 2 of its cluster, which has 2"));
    CHECK(contains(said_of_use<Use::beyond_its_array>(traced), "bytes past the end of "));
    CHECK(contains(said_of_use<Use::global_address>(traced), "which is in none of its __shared__ arrays"));
    CHECK(said_of_use<Use::address_of_another>(traced) == "");  // handed to the block whose memory it is
    for (const std::string& said : {said_of_foreign<true>(traced), said_of_foreign<false>(traced)}) {
      CAPTURE(said);
      CHECK(contains(said, "cluster: hand_over<"));
      CHECK(contains(said, "block (2,0,0), thread (0,0,0) reads shared memory of block (1,0,0) at address"));
      CHECK(contains(said, ": only blocks of one cluster reach each other's"));
    }
    const std::string missing = said_of_use<Use::missing_block>(traced);
    CHECK(contains(missing, "deadlock: use<(Use)6>, cluster_test.cu:"));
    CHECK(contains(missing, "waits at the cluster's barrier: 32 of 64 threads that have not returned are there"));
    CHECK(
        contains(missing, "of block (1,0,0), with 31 threads more, waits for phase 0 (parity 0) of mbarrier never[0]"));
    CHECK(contains(said_of_use<Use::at_another_barrier>(traced), "of block (1,0,0), with 30 threads more, waits at"));
  }
  CHECK(contains(said_of_use<Use::before_the_end>(),
                 "reads shared memory of block (0,0,0), which may have ended: no cluster barrier lies behind"));
  const std::string overwritten = said_of_use<Use::overwritten_after_read>();
  CHECK(contains(overwritten, "block (0,0,0), thread (0,0,0) writes words[0]"));
  CHECK(contains(overwritten, "which thread (0,0,0) of block number 1 read at cluster_test.cu:"));
  CHECK(contains(said_of_use<Use::written_between_halves>(), "race: use<(Use)11>"));
  CHECK(contains(said_of_use<Use::after_the_end>(), "of block (1,0,0)"));
  CHECK(contains(said_of_use<Use::after_the_end>(false), "which has ended: no cluster barrier keeps it"));
}

TEST_CASE("accesses to another block's shared memory are counted as what they are" * doctest::test_suite("model")) {
  auto in = tile::array<float>("in", 512), out = tile::array<float>("out", 512);
  const auto runs = simt::trace([&] {
    tile::launch_in_clusters(sum_with_neighbours<Halo::right>, dim3(8), dim3(4), dim3(64), 0, in.device(),
                             out.device());
  });
  CHECK(runs.at(0).cluster.x == 4);
  int distributed = 0;
  for (const simt::Site& site : runs[0].sites) {
    if (site.space != simt::Space::distributed) continue;
    ++distributed;
    CHECK(site.array == "words");
    CHECK(site.op == simt::Op::load);
    CHECK(site.requests == 8);
    CHECK(site.bytes() == 8 * 4);
    CHECK(site.wavefronts + site.sectors + site.tag_passes == 0);
    CHECK_FALSE(site.estimated);
  }
  CHECK(distributed == 2);
}

TEST_CASE("a multicast is one copy, and its bytes come to each block" * doctest::test_suite("model")) {
  using T = Tiles;
  auto in = tile::array<float>("in", T::ELEMENTS), out = tile::array<float>("out", 2 * T::ELEMENTS);
  const auto map = tile::tensor_map(in.device(), {T::STEPS * T::ROWS, T::COLS, T::COLS, T::ROWS / 2, T::COLS});
  const auto runs = simt::trace([&] {
    tile::launch_in_clusters(share_tiles<Multicast::right>, dim3(2), dim3(2), dim3(32), 0, map, out.device());
  });
  for (const simt::Site& site : runs.at(0).sites) {
    if (site.op != simt::Op::bulk_load) continue;
    CHECK(site.requests == 2 * T::STEPS);
    CHECK(site.bytes() == (site.space == simt::Space::global ? 1 : 2) * T::ELEMENTS * sizeof(float));
  }
}
#endif
