// Tile by Tile, chapter 20: a row or a column.
//
// Question: how fast can a product be in which A has one to sixteen rows, or B one to four
// columns? Each element of the large matrix is used only that many times, so bytes decide: warps
// stream it from DRAM into registers, past shared memory. There are few block tiles of C, so K
// is split across blocks; the last block of a tile adds the partials in a fixed order.
// Previous chapter: 19, whose tile kernels this one replaces where tiles would stay empty.
//
// Build, run, verify:   ./tile run 20      ctest --preset model -R chapter20
#include <cmath>

#include "common/report/chapter.hpp"

namespace {

// [snippet config]
// What the lanes of a warp divide among themselves.
enum class Lanes {
  columns,  // neighbouring columns of B, for few rows; all lanes have the same k-steps
  k_steps  // neighbouring k-steps, for few columns; the sums of the lanes are added at the end
};

template <Lanes LANES_, int BM_, int BN_, bool SPLIT_ = true>
struct Config {
  static constexpr Lanes LANES = LANES_;
  static constexpr int BM = BM_, BN = BN_;  // block tile
  static constexpr bool SPLIT = SPLIT_;     // whether several blocks may share a block tile
  static constexpr int WARPS = 8, NUM_THREADS = 32 * WARPS;
  static constexpr int WIDTH = 128;  // neighbouring elements that a warp loads: four per lane
  static constexpr int BLOCKS = LANES == Lanes::columns ? 2 : 4;  // resident blocks per SM
  // k-steps of a warp in an iteration
  static constexpr int STEPS = LANES == Lanes::k_steps ? WIDTH : BM <= 4 ? 8 : 4;
  static constexpr int BK = WARPS * STEPS;                       // k-tile of the block
  static constexpr int COLS = LANES == Lanes::columns ? 4 : BN;  // of a thread's accumulators
  // rows of the block tile that are multiplied, and later added up, at a time
  static constexpr int ROWS_AT_ONCE = std::min(BM, 4);
  // Whether float4s are worth it. With several columns they are not: lanes side by side would
  // read rows of B four apart, and L1 would have to deliver words from many lines.
  static constexpr bool FLOAT4S = LANES == Lanes::columns || BN == 1;
  static constexpr int EACH =
      (BM * BN + NUM_THREADS - 1) / NUM_THREADS;  // elements per thread
  static constexpr int SMEM_BYTES = WARPS * ROWS_AT_ONCE * BN * 4;
  static_assert(
      LANES == Lanes::k_steps || BN == WIDTH,
      "a warp must cover the columns of its block tile: other warps have other k-steps");
  static_assert(STEPS % 4 == 0, "STEPS must be a multiple of 4: A is loaded as float4s");
  static_assert(BM * COLS + 4 * (LANES == Lanes::columns ? STEPS : BM) <=
                    65536 / (BLOCKS * NUM_THREADS),
                "accumulators and loads in flight must fit in registers, or they are spilled");
  static_assert(SMEM_BYTES <= 48 * 1024,
                "a block declares at most 48 KB of shared memory: ptxas would refuse more");
};

template <int BM>
using Rows = Config<Lanes::columns, BM, 128>;
using Unsplit = Config<Lanes::columns, 1, 128, false>;
using Column = Config<Lanes::k_steps, 8, 1>;
using Columns = Config<Lanes::k_steps, 4, 4>;
// [/snippet config]

// [snippet maps]
// Where the j-th of the four elements lies that a lane loads of WIDTH neighbours.
template <bool VECTORISED>
constexpr __host__ __device__ int offset_of(int lane, int j) {
  return VECTORISED ? 4 * lane + j : lane + 32 * j;
}
// The first k-step of a thread's warp in a k-tile.
template <class C>
constexpr __host__ __device__ int step_of(int thread) {
  return thread / 32 * C::STEPS;
}
// The k-steps of a work unit.
struct Range {
  int begin, end;
};
constexpr __host__ __device__ Range range_of(int split, int depth, int K) {
  const int begin = split * depth;
  return {begin, begin + (K - begin < depth ? K - begin : depth)};
}
// Where the partial of an element of C is kept.
constexpr __host__ __device__ std::size_t partial_at(int split, int row, int col, int M,
                                                     int N) {
  return (std::size_t(split) * M + row) * N + col;
}
// [/snippet maps]

// [snippet split]
// Each block tile is split along K into this many work units, of `depth` k-steps each.
struct Split {
  int splits, depth;
};
// As many as fill the GPU with resident blocks, but none without a k-tile.
template <class C>
constexpr Split split_for(int M, int N, int K, int sms) {
  const std::int64_t tiles = std::int64_t(tile::ceil_div(M, C::BM)) * tile::ceil_div(N, C::BN);
  const std::int64_t blocks = C::SPLIT ? sms * C::BLOCKS : 1;
  const int k_tiles = tile::ceil_div(K, C::BK);
  const int wanted = int(std::clamp<std::int64_t>(blocks / tiles, 1, k_tiles));
  const int depth = tile::ceil_div(k_tiles, wanted) * C::BK;
  return {tile::ceil_div(K, depth), depth};
}
// [/snippet split]

// [snippet load]
// Loads a lane's four of WIDTH neighbours, as one float4 if VECTORISED; zeros for those from
// number `left` on, of which a float4 then has none or four.
template <bool VECTORISED>
__device__ __forceinline__ void load_four(const float* from, int left, float (&four)[4]) {
  const int laneId = threadIdx.x % 32;
  if constexpr (VECTORISED) {
    float4 all{};
    if (4 * laneId < left)
      all = *reinterpret_cast<const float4*>(&from[4 * laneId]);  //@ load-stream
    four[0] = all.x, four[1] = all.y, four[2] = all.z, four[3] = all.w;
  } else {
    for (int j = 0; j < 4; ++j) {
      const int n = offset_of<false>(laneId, j);
      four[j] = n < left ? from[n] : 0.0f;  //@ load-stream-words
    }
  }
}
// [/snippet load]

// [snippet head]
// VECTORISED: the rows that lanes load side by side are float4s, and so is A for few rows.
// Partials: splits x M x N. Tickets: how many blocks of each block tile have finished.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, Config::BLOCKS)
    sgemm_skinny(int depth, float* partials, unsigned* tickets, int M, int N, int K,
                 float alpha,                      //
                 const float* A, int lda,          // M x K
                 const float* B, int ldb,          // K x N
                 float beta, float* C, int ldc) {  // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, COLS = Config::COLS;
  constexpr int STEPS = Config::STEPS, WARPS = Config::WARPS;
  constexpr int ROWS_AT_ONCE = Config::ROWS_AT_ONCE;
  alignas(16) __shared__ float sums[WARPS][ROWS_AT_ONCE * BN];  // row-major, of each warp
  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const int warpId = threadIdx.x / 32, laneId = threadIdx.x % 32;
  const auto [k_begin, k_end] = range_of(blockIdx.z, depth, K);
  float acc[BM][COLS] = {};
  // [/snippet head]
  // [snippet rows]
  if constexpr (Config::LANES == Lanes::columns) {
#pragma unroll 1
    for (int k = k_begin + step_of<Config>(threadIdx.x); k < k_end; k += BK) {
      float regN[STEPS][4] = {};  // of STEPS rows of B: all these loads are in flight together
#pragma unroll
      for (int s = 0; s < STEPS; ++s)
        if (k + s < k_end)
          load_four<VECTORISED>(&B[std::size_t(k + s) * ldb + blockCol], N - blockCol,
                                regN[s]);
#pragma unroll
      for (int first = 0; first < BM; first += ROWS_AT_ONCE) {
        float regM[ROWS_AT_ONCE][STEPS] = {};  // of rows of A, the same for all lanes
#pragma unroll
        for (int i = 0; i < ROWS_AT_ONCE; ++i)
#pragma unroll
          for (int s = 0; s < STEPS; s += VECTORISED ? 4 : 1) {
            const float* from = &A[std::size_t(blockRow + first + i) * lda + k + s];
            if (blockRow + first + i >= M || k + s >= k_end) continue;
            if constexpr (VECTORISED) {
              const float4 four = *reinterpret_cast<const float4*>(from);  //@ load-A
              regM[i][s] = four.x, regM[i][s + 1] = four.y;
              regM[i][s + 2] = four.z, regM[i][s + 3] = four.w;
            } else {
              regM[i][s] = *from;  //@ load-A-words
            }
          }
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
#pragma unroll
          for (int i = 0; i < ROWS_AT_ONCE; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) acc[first + i][j] += regM[i][s] * regN[s][j];
      }
    }
  }
  // [/snippet rows]
  // [snippet columns]
  if constexpr (Config::LANES == Lanes::k_steps) {
#pragma unroll 1
    for (int k = k_begin + step_of<Config>(threadIdx.x); k < k_end; k += BK) {
      float regM[BM][4] = {};  // of BM rows of A: all these loads are in flight together
#pragma unroll
      for (int i = 0; i < BM; ++i)
        if (blockRow + i < M)
          load_four<VECTORISED>(&A[std::size_t(blockRow + i) * lda + k], k_end - k, regM[i]);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int row = k + offset_of<VECTORISED>(laneId, j);  // of B, another in each lane
        float regN[BN] = {};
#pragma unroll
        for (int n = 0; n < BN; ++n)
          if (row < k_end && blockCol + n < N)
            regN[n] = B[std::size_t(row) * ldb + blockCol + n];  //@ load-B-words
#pragma unroll
        for (int i = 0; i < BM; ++i)
#pragma unroll
          for (int n = 0; n < BN; ++n) acc[i][n] += regM[i][j] * regN[n];
      }
    }
  }
  // [/snippet columns]
  // [snippet add]
  const auto store = [&](int row, int col, float sum) {
    float& c = C[std::size_t(row) * ldc + col];
    float result = alpha * sum;
    if (beta != 0.0f) result += beta * c;  //@ load-C-words
    c = result;                            //@ store-C-words
  };
#pragma unroll
  for (int first = 0; first < BM; first += ROWS_AT_ONCE) {
    if (first > 0) __syncthreads();  // all have read the sums of the rows before
#pragma unroll
    for (int i = 0; i < ROWS_AT_ONCE; ++i) {
      float* row = &sums[warpId][i * BN];
      if constexpr (Config::LANES == Lanes::k_steps) {
#pragma unroll
        for (int n = 0; n < BN; ++n) {
          float sum = acc[first + i][n];
#pragma unroll
          for (int mask = 16; mask > 0; mask /= 2)
            sum += __shfl_xor_sync(0xffffffff, sum, mask);  // of all lanes
          if (laneId == 0) row[n] = sum;                    //@ store-sums
        }
      } else if constexpr (VECTORISED) {
        const float* a = acc[first + i];
        const float4 four{a[0], a[1], a[2], a[3]};
        *reinterpret_cast<float4*>(&row[4 * laneId]) = four;  //@ store-sums
      } else {
        for (int j = 0; j < 4; ++j)
          row[offset_of<false>(laneId, j)] = acc[first + i][j];  //@ store-sums
      }
    }
    __syncthreads();  // the sums of all warps are complete
    for (int n = threadIdx.x; n < ROWS_AT_ONCE * BN; n += Config::NUM_THREADS) {
      const int row = blockRow + first + n / BN, col = blockCol + n % BN;
      if (row >= M || col >= N) continue;
      float sum = 0.0f;
      for (int warp = 0; warp < WARPS; ++warp) sum += sums[warp][n];  //@ load-sums
      if (gridDim.z == 1)
        store(row, col, sum);
      else
        partials[partial_at(blockIdx.z, row, col, M, N)] = sum;  //@ store-partial
    }
  }
  // [/snippet add]
  // [snippet fixup]
  if (gridDim.z == 1) return;
  __syncthreads();  // the block has written its partials
  bool last = false;
  if (threadIdx.x == 0) {
    const unsigned tile = blockIdx.y * gridDim.x + blockIdx.x;
    __threadfence();  // they are visible to the GPU before the ticket is taken
    // atomicInc wraps: the counter is zero again for the next run
    last = atomicInc(&tickets[tile], gridDim.z - 1) == gridDim.z - 1;  //@ take-ticket
    __threadfence();  // no partial is read before
  }
  if (!__syncthreads_or(last)) return;
  const auto for_each_element = [&](auto&& f) {
#pragma unroll
    for (int e = 0; e < Config::EACH; ++e) {
      const int n = threadIdx.x + e * Config::NUM_THREADS;
      if (const int row = blockRow + n / BN, col = blockCol + n % BN;
          n < BM * BN && row < M && col < N)
        f(e, row, col);
    }
  };
  float totals[Config::EACH] = {};
#pragma unroll 8  // so many loads per element are in flight, and added in the order of splits
  for (int split = 0; split < int(gridDim.z); ++split)
    for_each_element([&](int e, int row, int col) {
      totals[e] += partials[partial_at(split, row, col, M, N)];  //@ load-partial
    });
  for_each_element([&](int e, int row, int col) { store(row, col, totals[e]); });
}
// [/snippet fixup]

// [snippet launch]
bool rows_are_float4s(const float* matrix, int cols, int ld) {
  return reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0 && cols % 4 == 0 && ld % 4 == 0;
}
template <class C>
bool can_vectorise(const tile::Gemm& g) {
  return C::FLOAT4S && rows_are_float4s(g.A, g.K, g.lda) &&
         (C::LANES == Lanes::k_steps || rows_are_float4s(g.B, g.N, g.ldb));
}

struct Release {
  void operator()(void* memory) const { tile::machine::release(memory); }
};
template <class T>
using Memory = std::unique_ptr<T[], Release>;
template <class T>
Memory<T> allocate(std::size_t rows, std::size_t cols, const char* name) {
  void* const memory = tile::machine::allocate(rows * cols * sizeof(T), sizeof(T), name);
  tile::machine::declare_matrix(memory, 0, rows, cols, cols);
  return Memory<T>(static_cast<T*>(memory));
}

// A kernel bound to its operands, with the memory for partials and tickets.
template <class C>
class Skinny : public tile::BoundKernel {
 public:
  explicit Skinny(const tile::Gemm& g)
      : g_(g), split_(split_for<C>(g.M, g.N, g.K, tile::machine::device().sms)) {
    grid_ = dim3(tile::ceil_div(g.N, C::BN), tile::ceil_div(g.M, C::BM), split_.splits);
    if (split_.splits == 1) return;
    const std::vector<unsigned> none(std::size_t(grid_.x) * grid_.y);
    partials_ = allocate<float>(std::size_t(split_.splits) * g.M, g.N, "partials");
    tickets_ = allocate<unsigned>(1, none.size(), "tickets");
    tile::machine::copy_to_device(tickets_.get(), none.data(), none.size() * sizeof(unsigned));
  }
  void run() override {
    tile::launch(can_vectorise<C>(g_) ? sgemm_skinny<C, C::FLOAT4S> : sgemm_skinny<C, false>,
                 grid_, dim3(C::NUM_THREADS), 0, split_.depth, partials_.get(), tickets_.get(),
                 g_.M, g_.N, g_.K, g_.alpha, g_.A, g_.lda, g_.B, g_.ldb, g_.beta, g_.C,
                 g_.ldc);
  }

 private:
  tile::Gemm g_;
  Split split_;
  dim3 grid_;
  Memory<float> partials_;
  Memory<unsigned> tickets_;
};

template <class C>
std::unique_ptr<tile::BoundKernel> prepare(const tile::Product& product) {
  const tile::Gemm g = tile::gemm_of(product);
  tile::require_valid(g);
  return std::make_unique<Skinny<C>>(g);
}
// The smallest block tile that has all rows, or else as many groups of 16 as it takes.
std::unique_ptr<tile::BoundKernel> prepare_rows(const tile::Product& product) {
  const int M = product.problem.M;
  return M <= 1   ? prepare<Rows<1>>(product)
         : M <= 2 ? prepare<Rows<2>>(product)
         : M <= 4 ? prepare<Rows<4>>(product)
         : M <= 8 ? prepare<Rows<8>>(product)
                  : prepare<Rows<16>>(product);
}
// [/snippet launch]
#ifdef TILE_KERNELS_ONLY  // chapter 19 needs no more
}  // namespace
#else

template <class C>
tile::Kernel kernel(const char* name, tile::Prepare prepare_it = prepare<C>) {
  tile::Kernel kernel{.name = name, .prepare = prepare_it};
  kernel.address = reinterpret_cast<const void*>(sgemm_skinny<C, C::FLOAT4S>);
  kernel.block_threads = C::NUM_THREADS, kernel.static_shared = C::SMEM_BYTES;
  kernel.tile = {C::BM, C::BN, C::BK, tile::Alignment::other};
  return kernel;
}
std::vector<tile::Kernel> kernels() {
  return {kernel<Unsplit>("unsplit"), kernel<Rows<16>>("rows", prepare_rows),
          kernel<Column>("column"), kernel<Columns>("columns")};
}

const std::vector<tile::Case> problems{{1, 4096, 4096},  {2, 4096, 4096},  {4, 4096, 4096},
                                       {8, 4096, 4096},  {16, 4096, 4096}, {32, 4096, 4096},
                                       {1, 1024, 16384}, {1, 4097, 4097},  {4096, 1, 4096},
                                       {4096, 4, 4096},  {16, 16, 65536}};

}  // namespace

TILE_CHAPTER(.number = 20, .title = "A row or a column", .kernels = kernels(),
             .counted = {16, 512, 2048}, .sizes = {},
             .constants = {{"BN", Rows<16>::BN},
                           {"WARPS", Rows<16>::WARPS},
                           {"STEPS", Rows<1>::STEPS},
                           {"BLOCKS", Rows<16>::BLOCKS},
                           {"COLUMN_BM", Column::BM},
                           {"COLUMNS_BM", Columns::BM},
                           {"COLUMN_BLOCKS", Column::BLOCKS}},
             .shapes = problems, .baseline = tile::Baseline::stronger)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

// Calls f(configuration) for each that a launcher may choose.
template <class F>
void for_each_config(F&& f) {
  f(Unsplit{}), f(Rows<1>{}), f(Rows<2>{}), f(Rows<4>{}), f(Rows<8>{}), f(Rows<16>{});
  f(Column{}), f(Columns{});
}

TEST_CASE("the warps of a block load each element of a k-tile once") {
  for_each_config([]<class C>(C) {
    constexpr bool columns = C::LANES == Lanes::columns;
    const auto elements_of = [](int t, auto take) {
      for (int s = 0; s < (columns ? C::STEPS : 1); ++s)
        for (int j = 0; j < 4; ++j) {
          const int n = offset_of<C::FLOAT4S>(t % 32, j);
          take(step_of<C>(t) + (columns ? s : n), columns ? n : 0);
        }
    };
    CHECK(tile::covers_once(C::BK, columns ? C::BN : 1, C::NUM_THREADS, elements_of) == "");
  });
}

TEST_CASE("the work units of a block tile cover K once, and fill the GPU") {
  for_each_config([]<class C>(C) {
    for (const int sms : {1, 132})
      for (const int M : {1, 8, 100})
        for (const int N : {1, 8, 4096})
          for (const int K : {1, 31, 1025, 4096, 2000000000}) {
            const auto [splits, depth] = split_for<C>(M, N, K, sms);
            int k = 0;
            for (int split = 0; split < splits; ++split) {
              const Range range = range_of(split, depth, K);
              REQUIRE(range.begin == k);
              REQUIRE(range.end > k);
              k = range.end;
            }
            REQUIRE(k == K);
            REQUIRE(depth % C::BK == 0);
          }
  });
  CHECK(split_for<Rows<1>>(1, 4096, 4096, 132).splits == 8);  // of 32 block tiles: 256 blocks
  CHECK(split_for<Column>(8, 1, 1320 << 10, 132).splits == 440);
  CHECK(split_for<Unsplit>(1, 4096, 4096, 132).splits == 1);
  CHECK(partial_at(263, 15, 7, 16, 1 << 20) == ((263ull * 16 + 15) << 20) + 7);
}

TEST_CASE("warps and splits are added in a fixed order: the bits of C can be predicted") {
  using C = Rows<1>;
  const tile::BoundCase bound(kernels()[1], {1, 132, 700});
  for (int run = 0; run < 3; ++run) bound.kernel->run();
  tile::machine::synchronize();
  const tile::Operands& of = bound.operands;
  const bool fused = tile::machine::kind() == "gpu";  // the model rounds products as well
  const auto [splits, depth] = split_for<C>(1, 132, 700, tile::machine::device().sms);
  for (int col = 0; col < 132; ++col) {
    float total = 0.0f;
    for (int split = 0; split < splits; ++split) {
      const auto [begin, end] = range_of(split, depth, 700);
      float partial = 0.0f;
      for (int warp = 0; warp < C::WARPS; ++warp) {
        float sum = 0.0f;
        for (int first = begin + step_of<C>(32 * warp); first < end; first += C::BK)
          for (int k = first; k < std::min(first + C::STEPS, end); ++k)
            sum = fused ? std::fma(of.A[k], of.B[k * 132 + col], sum)
                        : sum + of.A[k] * of.B[k * 132 + col];
        partial += sum;
      }
      total += partial;
    }
    REQUIRE(of.download_C()[col] == total);
  }
}

#if TILE_ON_MODEL
TEST_CASE("float4s are loaded where rows are float4s, and nowhere else" *
          doctest::test_suite("model")) {
  // bytes per lane of the loads of A, and of those of B
  const auto loads_of = [](int n, int M, int N, int K, tile::PerMatrix pads = {},
                           tile::PerMatrix offsets = {}) {
    tile::Case c{M, N, K, 1, 2, 0, tile::Fill::integers};
    c.pads = pads, c.offsets = offsets;
    int A = 0, B = 0;  // sums of all widths, if there are several
    for (const simt::Site& site : tile::traced_run(kernels()[std::size_t(n)], c).sites)
      (site.array == "A" ? A : B) += site.array == "A" || site.array == "B" ? site.width : 0;
    return std::to_string(A) + " and " + std::to_string(B);
  };
  const std::string float4s = "16 and 16", of_A = "16 and 4", words = "4 and 4";
  for (const int rows : {0, 1}) {
    CHECK(loads_of(rows, 3, 132, 100, {4, 8, 1}, {4, 8, 1}) == float4s);
    CHECK(loads_of(rows, 3, 130, 100, {0, 2, 0}) == words);
    CHECK(loads_of(rows, 3, 132, 101, {3, 0, 0}) == words);
    for (const int elements : {1, 2}) {
      CHECK(loads_of(rows, 3, 132, 100, {elements, 0, 0}) == words);
      CHECK(loads_of(rows, 3, 132, 100, {0, elements, 0}) == words);
      CHECK(loads_of(rows, 3, 132, 100, {}, {elements, 0, 0}) == words);
      CHECK(loads_of(rows, 3, 132, 100, {}, {0, elements, 0}) == words);
    }
  }
  CHECK(loads_of(2, 9, 1, 100) == of_A);
  CHECK(loads_of(2, 9, 3, 100, {4, 1, 1}, {4, 1, 1}) == of_A);
  CHECK(loads_of(2, 9, 1, 102, {2, 0, 0}) == words);
  CHECK(loads_of(2, 9, 1, 100, {2, 0, 0}) == words);
  CHECK(loads_of(2, 9, 1, 100, {}, {2, 0, 0}) == words);
  for (const int N : {1, 2, 4}) CHECK(loads_of(3, 8, N, 100) == words);
}

TEST_CASE("few rows get the smallest block tile that has them all" *
          doctest::test_suite("model")) {
  for (const auto& [M, BM] : std::vector<std::pair<int, std::string>>{
           {1, "1"}, {2, "2"}, {3, "4"}, {4, "4"}, {5, "8"}, {8, "8"}, {9, "16"}, {17, "16"}})
    CHECK(tile::launched(kernels()[1], {M, 64, 64}).kernel ==
          "sgemm_skinny<Config<(Lanes)0, " + BM + ", 128, true>, true>");
}

TEST_CASE("each sector of the large matrix is loaded once, and sums have no bank conflicts" *
          doctest::test_suite("model")) {
  const simt::Counts rows = tile::count(kernels()[1], {16, 256, 1024}),
                     column = tile::count(kernels()[2], {64, 1, 2048}),
                     columns = tile::count(kernels()[3], {64, 4, 2048});
  CHECK(tile::site(rows, "load-stream").sectors == 256 * 1024 / 8);
  CHECK(tile::site(column, "load-stream").sectors == 64 * 2048 / 8);
  CHECK(tile::site(columns, "load-stream-words").sectors == 64 * 2048 / 8);
  CHECK(tile::bank_conflict(rows, "store-sums") == "");
}

TEST_CASE("of the blocks of a tile, the last one adds the partials" *
          doctest::test_suite("model")) {
  for (const tile::Kernel& kernel : {kernels()[1], kernels()[3]}) {
    INFO(kernel.name);
    const simt::Counts run = tile::traced_run(
        kernel, {13, 5, 3 * kernel.tile.BK + 1, 1, 2, 1, tile::Fill::integers});
    CHECK(run.grid.z == 4);
    CHECK(tile::site(run, "take-ticket").accesses == run.grid.x * run.grid.y * run.grid.z);
    CHECK(tile::site(run, "load-partial").accesses == 4 * 13 * 5);
    CHECK(tile::site(run, "store-C-words").accesses == 13 * 5);
  }
}
#endif
#endif
