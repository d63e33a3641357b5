// Tests of clusters, on both machines: blocks that access each other's shared memory, and their mistakes. On the model they are
// traced.
#include <stdexcept>
#include <string>
#include <utility>

#include "common/cuda/cluster.hpp"
#include "common/cuda/machine.hpp"
#include "ctest/model_tests.hpp"
#if TILE_ON_GPU
#include <cooperative_groups.h>
#else
#include "common/cuda/words/cooperative_groups.hpp"
#endif

MODEL_TESTS("tests of clusters")

namespace ptx = tile::ptx;
namespace cg = cooperative_groups;

__device__ __forceinline__ void cluster_barrier() {
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
}

#if TILE_ON_MODEL
// The model's findings about a launch in clusters.
template <class... Parameters, class... Arguments>
std::string said_in_clusters(void (*kernel)(Parameters...), dim3 grid, dim3 cluster, dim3 block, bool traced,
                             Arguments&&... arguments) {
  const auto launch = [&] { tile::launch_in_clusters(kernel, grid, cluster, block, 0, argument(arguments)...); };
  return said_by([&] { traced ? run(launch) : launch(); });
}
TEST_SUITE_BEGIN("model");
#else
TEST_SUITE_BEGIN("gpu");
#endif

// --- A halo that neighbours read ------------------------------------------------------------------------------------------

// `split`: work between arriving and waiting is allowed. The mistakes: neighbours read before the tile is written, or after its block
// may have ended; the tile is overwritten while they may read it, or written after the thread has arrived.
enum class Halo { right, split, no_first_barrier, block_barrier, no_last_barrier, overwritten, written_late };

// out = the sum of each element and its two neighbours, around the cluster.
__global__ void sum_with_neighbours(const float* in, float* out, Halo how) {
  __shared__ float words[64];
  const unsigned t = threadIdx.x, rank = ptx::cluster_ctarank(), blocks = ptx::cluster_nctarank();
  const unsigned first = blockIdx.x * 64;
  if (how == Halo::written_late) ptx::barrier_cluster_arrive();
  words[t] = in[first + t];
  if (how == Halo::split) ptx::barrier_cluster_arrive();
  if (how != Halo::no_first_barrier) __syncthreads();  // the block's own tile is written
  float sum = words[t];
  if (t > 0) sum += words[t - 1];
  if (t < 63) sum += words[t + 1];
  if (how == Halo::split || how == Halo::written_late)
    ptx::barrier_cluster_wait();
  else if (how != Halo::block_barrier && how != Halo::no_first_barrier)
    cluster_barrier();  // all tiles are written
  if (t == 0) sum += ptx::mapa(words, (rank + blocks - 1) % blocks)[63];
  if (t == 63) sum += *ptx::mapa(&words[0], (rank + 1) % blocks);
  out[first + t] = sum;
  if (how == Halo::overwritten) words[t] = 0;
  if (how != Halo::no_last_barrier) cluster_barrier();  // nobody reads the tile any more
}

struct HaloSums {
  static constexpr int BLOCKS = 8, CLUSTER = 4, COUNT = 64 * BLOCKS;
  std::vector<float> values = tile::make_values(COUNT, tile::Fill::integers, 1);
  tile::DeviceArray<float> in{"in", COUNT}, out{"out", COUNT};

  HaloSums() { in.set(values); }
  void launch(Halo how) {
    tile::launch_in_clusters(sum_with_neighbours, BLOCKS, CLUSTER, 64, 0, in.device(), out.device(), how);
  }
};

TEST_CASE("neighbours may read a halo between two cluster barriers") {
  HaloSums sums;
  for (const Halo how : {Halo::right, Halo::split}) {
    run([&] { sums.launch(how); });
    const std::vector<float> result = sums.out.host(), &in = sums.values;
    for (std::size_t i = 0; i < 512; ++i) {
      const std::size_t cluster = i / 256 * 256, at = i - cluster;
      CHECK(result[i] == in[cluster + (at + 255) % 256] + in[i] + in[cluster + (at + 1) % 256]);
    }
  }
}

#if TILE_ON_MODEL
TEST_CASE("a halo without one of its barriers is reported") {
  HaloSums sums;
  const auto said = [&](Halo how) { return said_by([&] { run([&] { sums.launch(how); }); }); };
  CHECK(says(said(Halo::no_first_barrier), "cluster: sum_with_neighbours, cluster_test.cu:",
             "reads shared memory of block (", "which may not have started: no cluster barrier precedes"));
  for (const Halo how : {Halo::block_barrier, Halo::written_late, Halo::overwritten})
    CHECK(says(said(how), "race: sum_with_neighbours, cluster_test.cu:", "with no cluster barrier between"));
  CHECK(says(said(Halo::no_last_barrier), "which has ended: no cluster barrier makes it wait"));
}

TEST_CASE("accesses to another block's shared memory are counted as such") {
  HaloSums sums;
  const simt::Counts counts = simt::trace([&] { sums.launch(Halo::right); }).front();
  CHECK(counts.cluster.x == 4);
  int distributed = 0;
  for (const simt::Site& site : counts.sites) {
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
#endif

// --- The same by cooperative groups ---------------------------------------------------------------------------------------

// out = the values of the next block of the cluster, and ranks.
__global__ void pass_on(const float* in, float* out, unsigned* ranks, bool waits) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // older GPUs have neither clusters nor these functions
  __shared__ float words[64];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned t = threadIdx.x, at = blockIdx.x * 64 + t;
  words[t] = in[at];
  if (waits) cluster.sync();
  out[at] = *cluster.map_shared_rank(&words[t], int((cluster.block_rank() + 1) % cluster.num_blocks()));
  ranks[at] = cluster.block_rank() + 1000 * cluster.num_blocks();
  cluster.sync();
#endif
}

TEST_CASE("cooperative groups have clusters, with their barrier and shared memory") {
  constexpr int BLOCKS = 8, CLUSTER = 4, COUNT = 64 * BLOCKS;
  auto in = tile::array<float>("in", COUNT), out = tile::array<float>("out", COUNT);
  auto ranks = tile::array<unsigned>("ranks", COUNT);
  run([&] {
    tile::launch_in_clusters(pass_on, BLOCKS, CLUSTER, 64, 0, in.device(), out.device(), ranks.device(), true);
  });
  const std::vector<float> values = in.host(), passed = out.host();
  const std::vector<unsigned> at = ranks.host();
  for (int i = 0; i < COUNT; ++i) {
    const int cluster = i / (64 * CLUSTER) * 64 * CLUSTER, within = i - cluster;
    REQUIRE(passed[std::size_t(i)] == values[std::size_t(cluster + (within + 64) % (64 * CLUSTER))]);
    REQUIRE(at[std::size_t(i)] == unsigned(within / 64 + 1000 * CLUSTER));
  }
#if TILE_ON_MODEL
  CHECK(says(said_in_clusters(pass_on, BLOCKS, CLUSTER, 64, true, in, out, ranks, false),
             "which may not have started: no cluster barrier precedes"));
#endif
}

// --- Ranks ----------------------------------------------------------------------------------------------------------------------

__global__ void write_ranks(int* out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  out[2 * block] = int(ptx::cluster_ctarank());
  out[2 * block + 1] = int(ptx::cluster_nctarank());
}

TEST_CASE("a block knows its rank in a cluster of three dimensions") {
  auto out = tile::array<int>("out", 2 * 24);
  run([&] { tile::launch_in_clusters(write_ranks, dim3(2, 6, 2), dim3(2, 2, 2), 1, 0, out.device()); });
  const std::vector<int> ranks = out.host();
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 6; ++y)
      for (int x = 0; x < 2; ++x) {
        const auto block = std::size_t((z * 6 + y) * 2 + x);
        CHECK(ranks[2 * block] == (z * 2 + y % 2) * 2 + x);
        CHECK(ranks[2 * block + 1] == 8);
      }
}

TEST_CASE("a grid must consist of whole clusters") {
  auto out = tile::array<int>("out", 2 * 24);
  for (const auto& [grid, cluster] :
       {std::pair{dim3(7), dim3(2)}, {dim3(2, 3, 3), dim3(1, 1, 2)}, {dim3(16), dim3(16)}})
    CHECK_THROWS_AS(tile::launch_in_clusters(write_ranks, grid, cluster, 1, 0, out.device()), std::runtime_error);
}

// Threads that have returned are not waited for.
__global__ void leave_early(int* out) {
  __shared__ int word;
  const unsigned rank = ptx::cluster_ctarank();
  if (threadIdx.x >= 32) return;
  if (threadIdx.x == 0) word = int(rank) + 1;
  cluster_barrier();  // the words are written
  if (threadIdx.x == 0) out[blockIdx.x] = *ptx::mapa(&word, 1 - rank);
  cluster_barrier();  // nobody reads them any more
}

TEST_CASE("a cluster barrier does not wait for threads that have returned") {
  auto out = tile::array<int>("out", 2);
  run([&] { tile::launch_in_clusters(leave_early, 2, 2, 64, 0, out.device()); });
  CHECK(out.host() == std::vector<int>{2, 1});
}

// --- Multicast --------------------------------------------------------------------------------------------------------------

// The mistakes: mbarriers of other blocks may not be initialised, or not visible to copies; a block overwrites what others still read;
// too few bytes are expected; a block is not among the destinations, or one that does not exist.
enum class Multicast { right, no_begin, no_init_fence, no_empty_wait, few_bytes, one_bit_missing, bit_too_many };

// Each of two blocks loads half of each tile for both; both write every tile to out.
constexpr int ROWS = 8, COLS = 32, TILES = 3, ELEMENTS = TILES * ROWS * COLS;
__global__ void share_tiles(const __grid_constant__ CUtensorMap map, float* out, Multicast how) {
  __shared__ __align__(128) float words[ROWS * COLS];
  __shared__ std::uint64_t full, empty;
  const int t = int(threadIdx.x), rank = int(ptx::cluster_ctarank());
  if (t == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::mbarrier_init(&empty, 2 * 32);
    if (how != Multicast::no_init_fence) ptx::fence_mbarrier_init();
  }
  if (how == Multicast::no_begin)
    __syncthreads();
  else
    cluster_barrier();  // the mbarriers are initialised for all
  for (int tile = 0; tile < TILES; ++tile) {
    if (t == 0) {
      if (how != Multicast::no_empty_wait) ptx::mbarrier_wait_parity_cluster(&empty, unsigned(tile + 1) % 2);
      ptx::mbarrier_arrive_expect_tx(&full, unsigned(sizeof words) - (how == Multicast::few_bytes ? 64 : 0));
      const unsigned both = how == Multicast::one_bit_missing ? 1u : how == Multicast::bit_too_many ? 7u : 3u;
      ptx::cp_async_bulk_tensor_multicast(&words[rank * ROWS / 2 * COLS], map, 0, tile * ROWS + rank * ROWS / 2, &full,
                                          std::uint16_t(both));
    }
    __syncwarp();
    ptx::mbarrier_wait_parity_cluster(&full, unsigned(tile) % 2);
    for (int row = 0; row < ROWS; ++row) out[((rank * TILES + tile) * ROWS + row) * COLS + t] = words[row * COLS + t];
    for (unsigned to = 0; to < 2; ++to) ptx::mbarrier_arrive_cluster(ptx::mapa(&empty, to));  // read by this thread
  }
  cluster_barrier();  // copies and arrivals have reached all
}

struct SharedTiles {
  tile::DeviceArray<float> in{"in", ELEMENTS}, out{"out", 2 * ELEMENTS};
  CUtensorMap map = tile::tensor_map(in.device(), {TILES * ROWS, COLS, COLS, ROWS / 2, COLS});

  void launch(Multicast how) { tile::launch_in_clusters(share_tiles, 2, 2, 32, 0, map, out.device(), how); }
};

TEST_CASE("a multicast copies a tile to all blocks of a cluster") {
  if (!tile::machine::device().copies_in_bulk) return;
  SharedTiles tiles;
  run([&] { tiles.launch(Multicast::right); });
  const std::vector<float> in = tiles.in.host(), out = tiles.out.host();
  for (std::size_t i = 0; i < 2 * ELEMENTS; ++i) CHECK(out[i] == in[i % ELEMENTS]);
}

#if TILE_ON_MODEL
TEST_CASE("mistakes in a multicast are reported") {
  SharedTiles tiles;
  const auto said = [&](Multicast how) { return said_by([&] { run([&] { tiles.launch(how); }); }); };
  CHECK(says(said(Multicast::no_begin), "full[0] of block (1,0,0)"));
  CHECK(says(said(Multicast::no_init_fence), "with no fence.mbarrier_init between"));
  CHECK(says(said(Multicast::no_empty_wait), "asynchronously writes words["));
  CHECK(says(said(Multicast::few_bytes), "bytes"));
  CHECK(says(said(Multicast::one_bit_missing), "bytes are missing"));
  CHECK(says(said(Multicast::bit_too_many), "copies to blocks 0x7 of a cluster that has 2"));
}

TEST_CASE("a multicast is counted as one copy, with its bytes in each block") {
  SharedTiles tiles;
  const auto runs = simt::trace([&] { tiles.launch(Multicast::right); });
  for (const simt::Site& site : runs.front().sites) {
    if (site.op != simt::Op::bulk_load) continue;
    CHECK(site.requests == 2 * TILES);
    CHECK(site.bytes() == (site.space == simt::Space::global ? 1 : 2) * ELEMENTS * sizeof(float));
  }
}

// --- Order within a cluster -----------------------------------------------------------------------------------------------

// Each thread of a cluster writes a part and fences it; after the cluster barrier one thread counts the cluster. All threads of the
// last cluster read what all threads wrote.
__global__ void reduce_by_clusters(int* parts, unsigned* finished, int* out, bool fences) {
  __shared__ bool last;
  const unsigned me = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
  parts[me] = 1;
  if (fences) __threadfence();
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

TEST_CASE("a fence holds for the thread that counts the cluster after its barrier") {
  auto parts = tile::array<int>("parts", 6 * 32), out = tile::array<int>("out", 32);
  auto finished = tile::array<unsigned>("finished", 1);
  CHECK(says(said_in_clusters(reduce_by_clusters, 6, 2, 32, true, parts, finished, out, true), ""));
  CHECK(out.host() == std::vector<int>(32, 6 * 32));
  finished.set({0});
  CHECK(says(said_in_clusters(reduce_by_clusters, 6, 2, 32, true, parts, finished, out, false), "reads parts["));
}

__global__ void histogram(const int* in, int* out, int count, bool atomic) {
  __shared__ int bins[32];
  const unsigned t = threadIdx.x, blocks = ptx::cluster_nctarank();
  if (t < 32) bins[t] = 0;
  cluster_barrier();  // all bins are initialised
  for (int i = int(blockIdx.x * blockDim.x + t); i < count; i += int(gridDim.x * blockDim.x)) {
    const auto bin = unsigned(in[i] * in[i]) % (32 * blocks);
    int* const there = &ptx::mapa(bins, bin / 32)[bin % 32];
    if (atomic)
      atomicAdd(there, 1);
    else
      *there += 1;
  }
  cluster_barrier();  // all is counted
  if (t < 32) out[ptx::cluster_ctarank() * 32 + t] = bins[t];
}

TEST_CASE("atomic operations work on a histogram that is distributed over a cluster") {
  auto in = tile::array<int>("in", 1000), out = tile::array<int>("out", 64);
  CHECK(says(said_in_clusters(histogram, 2, 2, 64, true, in, out, 1000, true), ""));
  std::vector<int> expected(64);
  for (int i = 0; i < 1000; ++i) ++expected[std::size_t(i * i % 64)];
  CHECK(out.host() == expected);
  CHECK(says(said_in_clusters(histogram, 2, 2, 64, true, in, out, 1000, false), "race: histogram"));
}

enum class Producing { right, arrives_first, no_begin };

// Block 0 fills the other blocks' words, and arrives at their mbarriers.
__global__ void produce(float* out, Producing how) {
  __shared__ float words[32];
  __shared__ std::uint64_t full;
  const unsigned t = threadIdx.x, rank = ptx::cluster_ctarank();
  if (t == 0) ptx::mbarrier_init(&full, 32);
  if (how == Producing::no_begin)
    __syncthreads();
  else
    cluster_barrier();  // the mbarriers are initialised for all
  if (rank == 0) {
    for (unsigned to = 1; to < ptx::cluster_nctarank(); ++to) {
      if (how == Producing::arrives_first) ptx::mbarrier_arrive_cluster(ptx::mapa(&full, to));
      ptx::mapa(words, to)[t] = float(100 * to + t);
      if (how != Producing::arrives_first) ptx::mbarrier_arrive_cluster(ptx::mapa(&full, to));
    }
  } else {
    ptx::mbarrier_wait_parity_cluster(&full, 0);
    out[blockIdx.x * 32 + t] = words[31 - t];
  }
}

TEST_CASE("a block may arrive at the mbarriers of others") {
  auto out = tile::array<float>("out", 96);
  const auto said = [&](Producing how) { return said_in_clusters(produce, 3, 3, 32, true, out, how); };
  CHECK(says(said(Producing::right), ""));
  CHECK(out.host()[32] == 131);
  CHECK(out.host()[95] == 200);
  CHECK(says(said(Producing::arrives_first), "race: produce"));
  CHECK(says(said(Producing::no_begin), "of block (1,0,0)"));
}

// --- Mistakes -------------------------------------------------------------------------------------------------------------------

// A thread arrives twice, or waits without having arrived; it maps an address to a block that does not exist, or an address
// past the end of an array or not in shared memory; it reads at an address that another block has mapped to it; a block does
// not arrive, or waits elsewhere; a block reads another's memory after or before its end, or while that is overwritten, or
// writes between the halves of a barrier.
enum class Use { twice, unarrived, rank, past, global, anothers, missing, elsewhere, after, before, rewritten, split };

__global__ void use(int** addresses, int* out, Use how) {
  __shared__ int words[4];
  __shared__ std::uint64_t never;
  const unsigned rank = ptx::cluster_ctarank();
  words[threadIdx.x % 4] = 0;
  if (threadIdx.x == 0) ptx::mbarrier_init(&never, 1);
  if (how == Use::unarrived) ptx::barrier_cluster_wait();
  cluster_barrier();  // all have begun
  if (how == Use::twice) {
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_arrive();
  }
  if (how == Use::rank) out[0] = *ptx::mapa(words, rank + 1);
  if (how == Use::past) out[0] = *(ptx::mapa(words, 1 - rank) + 4 + blockDim.x);
  if (how == Use::global) out[0] = *ptx::mapa(out, 1 - rank);
  if (how == Use::anothers) {
    if (rank == 0 && threadIdx.x == 0) addresses[0] = ptx::mapa(words, 1);
    cluster_barrier();  // the address is written
    if (rank == 1 && threadIdx.x == 0) out[0] = *addresses[0];
  }
  if (how == Use::missing && rank == 1) ptx::mbarrier_wait_parity(&never, 0);
  if (how == Use::elsewhere && rank == 1 && threadIdx.x != 0) __syncthreads();
  if (how == Use::after || how == Use::before) {  // nothing says which it is
    if (how == Use::after)
      for (int i = 0; rank == 0 && i < 100; ++i) __nanosleep(20);
    if (rank == (how == Use::after ? 0 : 1)) out[0] = *ptx::mapa(words, 1 - rank);
    return;
  }
  if (how == Use::rewritten && threadIdx.x == 0) {
    if (rank == 1) out[0] = *ptx::mapa(words, 0);
    if (rank == 0) words[0] = 1;
  }
  if (how == Use::split) {  // of a barrier, which does not order it for the block either
    ptx::barrier_cluster_arrive();
    if (threadIdx.x == 0) words[0] = 1;
    ptx::barrier_cluster_wait();
    if (threadIdx.x == 1) out[rank] = words[0];
  }
  cluster_barrier();
}

// The third block gets an address in the second block, which waits for it, from the first, which has mapped it.
__global__ void pass_address(int* volatile* address, volatile int* taken, int* out) {
  __shared__ int words[4];
  words[threadIdx.x] = 1;
  cluster_barrier();  // all have begun
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) *address = ptx::mapa(words, 1);
    while (blockIdx.x < 2 && *taken == 0) {
    }
    if (blockIdx.x == 2) {
      while (*address == nullptr) {
      }
      out[0] = **address;
      *taken = 1;
    }
  }
  cluster_barrier();  // no block ends before this
}

TEST_CASE("misuse of a cluster is reported") {
  for (const bool traced : {true, false}) {
    CAPTURE(traced);
    const auto said = [&](Use how) {
      auto out = tile::array<int>("out", 4);
      auto addresses = tile::array<int*>("addresses", 1);
      return said_in_clusters(use, 2, 2, 32, traced, addresses, out, how);
    };
    CHECK(says(said(Use::twice), "arrives at the cluster barrier a second time"));
    CHECK(says(said(Use::unarrived), "without having arrived"));
    CHECK(says(said(Use::rank), "maps words[0] to block 2 of its cluster, which has 2"));
    CHECK(says(said(Use::past), "bytes past the end of "));
    CHECK(says(said(Use::global), "but it is in none of its __shared__ arrays"));
    CHECK(says(said(Use::anothers), ""));  // passed to the block whose memory it is
    CHECK(says(said(Use::missing), "deadlock: use, cluster_test.cu:",
               "waits at the cluster barrier: 32 of 64 threads that have not returned have arrived",
               "of block (1,0,0), with 31 threads more, waits for phase 0 (parity 0) of mbarrier never[0]"));
    CHECK(says(said(Use::elsewhere), "of block (1,0,0), with 30 threads more, waits at"));
    auto address = tile::array<int*>("address", 1);
    auto taken = tile::array<int>("taken", 1), out = tile::array<int>("out", 1);
    CHECK(says(said_in_clusters(pass_address, 4, 2, 4, traced, address, taken, out), "cluster: pass_address",
               "block (2,0,0), thread (0,0,0) reads shared memory of block (1,0,0) at address",
               ": only blocks of one cluster can access each other's"));
    if (!traced) {
      CHECK(says(said(Use::after), "which has ended: no cluster barrier makes it wait"));
      continue;
    }
    CHECK(says(said(Use::after), "of block (1,0,0)"));
    CHECK(says(said(Use::before),
               "reads shared memory of block (0,0,0), which may have ended: no cluster barrier follows"));
    CHECK(says(said(Use::rewritten), "block (0,0,0), thread (0,0,0) writes words[0]",
               "which thread (0,0,0) of block number 1 read at cluster_test.cu:"));
    CHECK(says(said(Use::split), "race: use, cluster_test.cu:"));
  }
}
#endif

TEST_SUITE_END();
