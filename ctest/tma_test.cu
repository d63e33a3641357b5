// Tests of copies by the tensor memory accelerator, on both machines: a GEMM, what goes wrong in it, and where the bytes of a box
// lie. On the model they are traced.
#include <stdexcept>
#include <string>

#include "common/cuda/ptx_bulk.hpp"
#include "ctest/model_tests.hpp"

MODEL_TESTS("tests of copies by tensor maps")

namespace ptx = tile::ptx;

// --- A GEMM whose tiles come by TMA -------------------------------------------------------------------------------------

enum class Mistake {
  none,
  no_full_wait,   // consumers read before the tile is there
  no_empty_wait,  // the producer overwrites what consumers may still read
  too_few_bytes,  // announced
  too_many_bytes,
  wrong_parity,     // consumers begin with parity 1
  arrives_early,    // consumers say that they have read the stage before they do
  missing_arrival,  // one warp of consumers does not say that it has read the stage
  no_init_fence,    // mbarriers are not fenced for the copies
  no_init_barrier,  // nor do the threads wait for their initialisation
  no_init,
  tries_once,  // a wait that does not try again
};

struct Config {
  static constexpr int BM = 32, BN = 64, BK = 16, STAGES = 2, CONSUMERS = 64;
  static constexpr int NUM_THREADS = CONSUMERS + 32;
  static constexpr unsigned BYTES = (BM * BK + BK * BN) * sizeof(float);
};

// C = A*B: a producer warp fetches tiles of A and B, 64 consumers multiply them, each a column of the tile of C.
__global__ void gemm_by_tma(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB,
                            float* C, int M, int N, int K, Mistake mistake) {
  using C_ = Config;
  __shared__ __align__(128) float As[C_::STAGES][C_::BM * C_::BK];
  __shared__ __align__(128) float Bs[C_::STAGES][C_::BK * C_::BN];
  __shared__ std::uint64_t full[C_::STAGES], empty[C_::STAGES];
  const int t = int(threadIdx.x), steps = (K + C_::BK - 1) / C_::BK;
  const int blockRow = int(blockIdx.y) * C_::BM, blockCol = int(blockIdx.x) * C_::BN;
  if (t == 0) {
    for (int s = 0; s < C_::STAGES && mistake != Mistake::no_init; ++s) {
      ptx::mbarrier_init(&full[s], 1);
      ptx::mbarrier_init(&empty[s], C_::CONSUMERS / 32);
    }
    if (mistake != Mistake::no_init_fence) ptx::fence_mbarrier_init();
  }
  if (mistake != Mistake::no_init_barrier) __syncthreads();  // the mbarriers are there for all

  if (t >= C_::CONSUMERS) {
    if (t != C_::CONSUMERS) return;
    for (int step = 0; step < steps; ++step) {
      const int s = step % C_::STAGES, turn = step / C_::STAGES;
      if (mistake != Mistake::no_empty_wait) ptx::mbarrier_wait_parity(&empty[s], unsigned(turn + 1) % 2);
      const int off = mistake == Mistake::too_few_bytes ? -64 : mistake == Mistake::too_many_bytes ? 64 : 0;
      ptx::mbarrier_arrive_expect_tx(&full[s], C_::BYTES + unsigned(off));
      ptx::cp_async_bulk_tensor(As[s], mapA, step * C_::BK, blockRow, &full[s]);
      ptx::cp_async_bulk_tensor(Bs[s], mapB, blockCol, step * C_::BK, &full[s]);
    }
    return;
  }

  float acc[C_::BM] = {};
  for (int step = 0; step < steps; ++step) {
    const int s = step % C_::STAGES, turn = step / C_::STAGES;
    const unsigned parity = unsigned(turn + (mistake == Mistake::wrong_parity)) % 2;
    if (mistake == Mistake::tries_once)
      (void)ptx::mbarrier_try_wait_parity(&full[s], parity);
    else if (mistake != Mistake::no_full_wait)
      ptx::mbarrier_wait_parity(&full[s], parity);
    if (mistake == Mistake::arrives_early && t % 32 == 0) ptx::mbarrier_arrive(&empty[s]);
    for (int k = 0; k < C_::BK; ++k) {
      const float b = Bs[s][k * C_::BN + t];
      for (int m = 0; m < C_::BM; ++m) acc[m] += As[s][m * C_::BK + k] * b;
    }
    __syncwarp();  // the warp has read the stage
    const bool stays_away = mistake == Mistake::arrives_early || (mistake == Mistake::missing_arrival && t >= 32);
    if (t % 32 == 0 && !stays_away) ptx::mbarrier_arrive(&empty[s]);
  }
  for (int m = 0; m < C_::BM; ++m)
    if (blockRow + m < M && blockCol + t < N) C[(blockRow + m) * N + blockCol + t] = acc[m];
}

// The GEMM of M x N x K whole numbers.
struct Problem {
  int M, N, K;
  std::vector<float> a = tile::make_values(std::size_t(M * K), tile::Fill::integers, 1),
                     b = tile::make_values(std::size_t(K * N), tile::Fill::integers, 2);

  std::vector<float> product() const {
    std::vector<float> c(std::size_t(M * N));
    for (int m = 0; m < M; ++m)
      for (int k = 0; k < K; ++k)
        for (int n = 0; n < N; ++n) c[std::size_t(m * N + n)] += a[std::size_t(m * K + k)] * b[std::size_t(k * N + n)];
    return c;
  }
};

static std::vector<float> product_by_tma(const Problem& p, Mistake mistake) {
  auto A = tile::array<float>("A", p.a.size()), B = tile::array<float>("B", p.b.size()),
       C = tile::array<float>("C", std::size_t(p.M * p.N));
  A.set(p.a);
  B.set(p.b);
  const auto mapA = tile::tensor_map(A.device(), {p.M, p.K, p.K, Config::BM, Config::BK}),
             mapB = tile::tensor_map(B.device(), {p.K, p.N, p.N, Config::BK, Config::BN});
  const dim3 grid(unsigned(tile::ceil_div(p.N, Config::BN)), unsigned(tile::ceil_div(p.M, Config::BM)));
  run([&] { tile::launch(gemm_by_tma, grid, Config::NUM_THREADS, 0, mapA, mapB, C.device(), p.M, p.N, p.K, mistake); });
  return C.host();
}

// --- Boxes ----------------------------------------------------------------------------------------------------------------

// Brings the box at (x, y) to shared memory, `OFFSET` bytes after a multiple of 1024, and shows how it lies there.
template <int BYTES, int OFFSET>
__global__ void show_box(const __grid_constant__ CUtensorMap map, int x, int y, float* out) {
  __shared__ __align__(1024) float box[(OFFSET + BYTES) / 4];
  __shared__ std::uint64_t full;
  // What the copy brings is told from what was there before.
  for (unsigned i = threadIdx.x; i < BYTES / 4; i += blockDim.x) box[OFFSET / 4 + i] = -1;
  ptx::fence_proxy_async_shared_cta();
  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(map);
    ptx::mbarrier_init(&full, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();  // the mbarrier and the old words are there for all
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(&full, BYTES);
    ptx::cp_async_bulk_tensor(&box[OFFSET / 4], map, x, y, &full);
  }
  ptx::mbarrier_wait_parity(&full, 0);
  for (unsigned i = threadIdx.x; i < BYTES / 4; i += blockDim.x) out[i] = box[OFFSET / 4 + i];
}

// Stores a box whose words are 0, 1, 2 ... in the order of the matrix.
template <int BYTES, tile::Swizzle SWIZZLE>
__global__ void store_box(const __grid_constant__ CUtensorMap map, int x, int y) {
  __shared__ __align__(1024) float box[BYTES / 4];
  for (unsigned i = threadIdx.x; i < BYTES / 4; i += blockDim.x) box[tile::swizzled(SWIZZLE, 4 * i) / 4] = float(i);
  ptx::fence_proxy_async_shared_cta();
  __syncthreads();  // all of the box is there
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk_tensor(map, x, y, box);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read<0>();
  }
}

// out = in, by way of shared memory.
template <int WORDS>
__global__ void copy_rows(const float* in, float* out) {
  __shared__ __align__(16) float words[WORDS];
  __shared__ std::uint64_t full;
  if (threadIdx.x != 0) return;
  ptx::mbarrier_init(&full, 1);
  ptx::fence_mbarrier_init();
  ptx::mbarrier_expect_tx(&full, sizeof words);
  ptx::mbarrier_arrive(&full);
  ptx::cp_async_bulk(words, in, sizeof words, &full);
  ptx::mbarrier_wait_parity(&full, 0);
  ptx::cp_async_bulk(out, words, sizeof words);
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group<0>();
}

// A matrix of 20 x 40 words 0, 1, 2 ..., with two more words in each row.
constexpr int ROWS = 20, COLS = 40, LD = 44;
float word(int row, int col) { return float(row * LD + col); }

template <int BYTES, int OFFSET>
std::vector<float> shown(const tile::BoxedMatrix& boxed, int x, int y) {
  auto in = tile::array<float>("in", ROWS * LD), out = tile::array<float>("out", BYTES / 4);
  const auto map = tile::tensor_map(in.device(), boxed);
  run([&] { tile::launch(show_box<BYTES, OFFSET>, dim3(1), dim3(64), 0, map, x, y, out.device()); });
  return out.host();
}

// The rows that a box of 8 x COLUMNS words at (0, 0) consists of, each as the numbers of the chunks of 16 bytes that it holds.
template <int COLUMNS, int OFFSET = 0>
std::vector<std::vector<int>> chunks_of(tile::Swizzle swizzle) {
  const auto box = shown<8 * COLUMNS * 4, OFFSET>({ROWS, COLS, LD, 8, COLUMNS, swizzle}, 0, 0);
  std::vector<std::vector<int>> chunks(8);
  for (int row = 0; row < 8; ++row)
    for (int at = 0; at < COLUMNS; at += 4) {
      const int chunk = (int(box[std::size_t(row * COLUMNS + at)]) % LD) / 4;
      for (int i = 0; i < 4; ++i) REQUIRE(box[std::size_t(row * COLUMNS + at + i)] == word(row, 4 * chunk + i));
      chunks[std::size_t(row)].push_back(chunk);
    }
  return chunks;
}

TEST_CASE("a GEMM whose tiles come by TMA is right") {
  for (const Problem& p : {Problem{64, 128, 96}, Problem{40, 72, 20}, Problem{1, 4, 4}})
    CHECK(product_by_tma(p, Mistake::none) == p.product());
}

TEST_CASE("a swizzled box lies as CUDA documents it") {
  using Chunks = std::vector<std::vector<int>>;
  CHECK(chunks_of<32>(tile::Swizzle::bytes128) == Chunks{{0, 1, 2, 3, 4, 5, 6, 7},
                                                         {1, 0, 3, 2, 5, 4, 7, 6},
                                                         {2, 3, 0, 1, 6, 7, 4, 5},
                                                         {3, 2, 1, 0, 7, 6, 5, 4},
                                                         {4, 5, 6, 7, 0, 1, 2, 3},
                                                         {5, 4, 7, 6, 1, 0, 3, 2},
                                                         {6, 7, 4, 5, 2, 3, 0, 1},
                                                         {7, 6, 5, 4, 3, 2, 1, 0}});
  CHECK(chunks_of<16>(tile::Swizzle::bytes64) == Chunks{{0, 1, 2, 3},
                                                        {0, 1, 2, 3},
                                                        {1, 0, 3, 2},
                                                        {1, 0, 3, 2},
                                                        {2, 3, 0, 1},
                                                        {2, 3, 0, 1},
                                                        {3, 2, 1, 0},
                                                        {3, 2, 1, 0}});
  CHECK(chunks_of<8>(tile::Swizzle::bytes32) == Chunks{{0, 1}, {0, 1}, {0, 1}, {0, 1}, {1, 0}, {1, 0}, {1, 0}, {1, 0}});
  CHECK(chunks_of<8>(tile::Swizzle::none) == Chunks{{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}});
}

TEST_CASE("the pattern of a swizzle belongs to addresses, not to the box") {
  const auto chunks = chunks_of<32, 384>(tile::Swizzle::bytes128);
  CHECK(chunks[0] == std::vector{3, 2, 1, 0, 7, 6, 5, 4});
  CHECK(chunks[5] == std::vector{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("the function for kernels is the pattern") {
  for (const auto swizzle : {tile::Swizzle::none, tile::Swizzle::bytes128}) {
    const auto box = shown<8 * 32 * 4, 0>({ROWS, COLS, LD, 8, 32, swizzle}, 4, 2);
    for (int row = 0; row < 8; ++row)
      for (int col = 0; col < 32; ++col)
        REQUIRE(box[tile::swizzled(swizzle, unsigned(row * 32 + col) * 4) / 4] == word(row + 2, col + 4));
  }
}

TEST_CASE("what lies outside the matrix is 0, and counts its bytes") {
  for (const auto& [x, y] : {std::pair{-4, -2}, {COLS - 4, ROWS - 3}, {-40, 0}, {0, ROWS}, {4, 1}}) {
    const auto box = shown<8 * 16 * 4, 0>({ROWS, COLS, LD, 8, 16}, x, y);
    for (int row = 0; row < 8; ++row)
      for (int col = 0; col < 16; ++col) {
        const bool inside = y + row >= 0 && y + row < ROWS && x + col >= 0 && x + col < COLS;
        REQUIRE(box[std::size_t(row * 16 + col)] == (inside ? word(y + row, x + col) : 0));
      }
  }
}

template <tile::Swizzle SWIZZLE>
void check_stored(int x, int y) {
  auto out = tile::array<float>("out", ROWS * LD);
  out.set(std::vector<float>(ROWS * LD, -1.0f));
  const auto map = tile::tensor_map(out.device(), {ROWS, COLS, LD, 8, 16, SWIZZLE});
  run([&] { tile::launch(store_box<8 * 16 * 4, SWIZZLE>, dim3(1), dim3(64), 0, map, x, y); });
  const auto stored = out.host();
  for (int row = 0; row < ROWS; ++row)
    for (int col = 0; col < LD; ++col) {
      const bool inside = row >= y && row < y + 8 && col >= x && col < x + 16 && col < COLS;
      REQUIRE(stored[std::size_t(row * LD + col)] == (inside ? float((row - y) * 16 + col - x) : -1.0f));
    }
}

TEST_CASE("a box is stored where the map says, and nowhere outside the matrix") {
  check_stored<tile::Swizzle::none>(4, 5);
  check_stored<tile::Swizzle::none>(COLS - 8, ROWS - 3);
  check_stored<tile::Swizzle::bytes64>(8, ROWS - 1);
}

TEST_CASE("rows of bytes are copied both ways") {
  auto in = tile::array<float>("in", 512), out = tile::array<float>("out", 512);
  out.set(std::vector<float>(512));
  run([&] { tile::launch(copy_rows<256>, dim3(1), dim3(32), 0, in.device() + 128, out.device() + 64); });
  const auto copied = out.host();
  for (int i = 0; i < 512; ++i) REQUIRE(copied[std::size_t(i)] == (i >= 64 && i < 320 ? float(i + 64) : 0));
}

TEST_CASE("a tensor map that cannot be is refused in one line") {
  auto in = tile::array<float>("in", 4096);
  const auto make = [&](int offset, const tile::BoxedMatrix& matrix) {
    tile::tensor_map(in.device() + offset, matrix);
  };
  CHECK_NOTHROW(make(0, {16, 64, 64, 8, 32}));
  struct Refused {
    tile::BoxedMatrix matrix;
    const char* why;
    int offset = 0;
  };
  for (const auto& [matrix, why, offset] :
       {Refused{{16, 60, 64, 8, 32},
                "a tensor map of 16 x 60 elements, ld 64, in boxes of 8 x 32: it must begin at a multiple of 16 bytes",
                1},
        Refused{{0, 64, 64, 8, 32}, "at least one row"}, Refused{{16, 65, 64, 8, 32}, "less than a row"},
        Refused{{16, 62, 62, 8, 32}, "248 bytes after the one before, which must be a multiple of 16"},
        Refused{{16, 64, std::int64_t(1) << 38, 8, 32}, "must be less than 2^40"},
        Refused{{16, 64, 64, 257, 32}, "1 to 256"}, Refused{{16, 64, 64, 8, 0}, "1 to 256"},
        Refused{{16, 64, 64, 8, 30}, "120 bytes, which must be a multiple of 16"},
        Refused{{16, 64, 64, 8, 64, tile::Swizzle::bytes128}, "256 bytes, and a swizzle over 128 needs as many"}})
    CHECK_THROWS_WITH_AS(make(offset, matrix), doctest::Contains(why), std::invalid_argument);
}

#if TILE_ON_MODEL
TEST_SUITE_BEGIN("model");

TEST_CASE("copies in bulk are counted by sectors and bytes") {
  auto in = tile::array<float>("in", ROWS * LD), out = tile::array<float>("out", 8 * 16);
  const auto map = tile::tensor_map(in.device(), {ROWS, COLS, LD, 8, 16});
  const simt::Counts counts = counted(show_box<8 * 16 * 4, 0>, 1, 64, map, COLS - 12, 2, out);
  const simt::Site global = only_site(counts, simt::Op::bulk_load, simt::Space::global),
                   shared = only_site(counts, simt::Op::bulk_load, simt::Space::shared);
  CHECK(global.array == "in");
  CHECK(global.requests == 1);
  CHECK(global.bytes() == 8 * 12 * 4);
  // Where 48 bytes touch two sectors or three depends on where they begin.
  std::uint64_t sectors = 0;
  for (int row = 2; row < 10; ++row) sectors += (row * 176 + 160 - 1) / 32 - (row * 176 + 112) / 32 + 1;
  CHECK(global.sectors == sectors);
  CHECK(global.tag_passes == 0);
  CHECK(counts.block_sectors == sectors);
  CHECK(shared.array == "box");
  CHECK(shared.bytes() == 8 * 16 * 4);
  for (const simt::Site& s : counts.sites) CHECK_FALSE(s.estimated);
}

TEST_CASE("a box begins where the GPU lets it") {
  CHECK(says(said_by([] {
               shown<8 * 16 * 4, 0>({ROWS, COLS, LD, 8, 16}, 1, 0);
             }),
             "begins at column 1 of 4 bytes: it must begin at a multiple of 16 bytes"));
  const auto said = [](int x, int y) { return said_by([&] { check_stored<tile::Swizzle::none>(x, y); }); };
  CHECK(says(said(6, 0), "begins at column 6 of 4 bytes"));
  CHECK(says(said(-4, 0), "stores a box at column -4 and row 0"));
  CHECK(says(said(4, -1), "stores a box at column 4 and row -1"));
}

// Each of these is what the GEMM does wrong, and what is said of it.
static std::string said(Mistake mistake) {
  return said_by([&] { product_by_tma({64, 128, 96}, mistake); });
}

TEST_CASE("who reads before the tile is there is found") {
  CHECK(says(said(Mistake::no_full_wait), "reads Bs[0]"));
  CHECK(says(said(Mistake::wrong_parity), "reads Bs[0]"));
  CHECK(says(said(Mistake::tries_once), "reads Bs[0]"));
  CHECK(says(said(Mistake::arrives_early), "asynchronously writes As[0]"));
}

TEST_CASE("a phase that lacks something is a deadlock that says what") {
  CHECK(says(said(Mistake::too_many_bytes), "deadlock: gemm_by_tma, ",
             "waits for phase 0 (parity 0) of mbarrier full[0] (address 0x",
             ", of which no phase has ended: 0 of 1 arrivals and 64 bytes are missing at tma_test.cu:"));
  CHECK(says(said(Mistake::missing_arrival), "waits for phase 0 (parity 0) of mbarrier empty[0] (address 0x",
             ": 1 of 2 arrivals and 0 bytes are missing",
             "thread (0,0,0), with 63 threads more, waits for phase 1 (parity 1) of mbarrier full[0]",
             ", of which phase 0 has ended: "));
}

TEST_CASE("more bytes or arrivals than a phase takes are found") {
  CHECK(says(said(Mistake::too_few_bytes), "copies 4096 bytes for mbarrier full[0] (address 0x",
             ": 64 bytes more have come in phase 0 than were announced"));
  CHECK(says(said(Mistake::no_empty_wait), ": all 1 arrivals of phase 0 were there, which lacks 12288 bytes"));
}

TEST_CASE("mbarriers are initialised, fenced and then used") {
  CHECK(says(said(Mistake::no_init), ", which nobody has initialised"));
  CHECK(
      says(said(Mistake::no_init_fence), "missing proxy fence: gemm_by_tma, ", "with no fence.mbarrier_init between"));
  CHECK(says(said(Mistake::no_init_barrier), "race: gemm_by_tma, "));
}

TEST_SUITE_END();
#endif
