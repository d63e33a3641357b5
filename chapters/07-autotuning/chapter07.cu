// Tile by Tile, chapter 07: autotuning.
//
// Question: five numbers, BM BN BK TM TN, have been chosen by hand so far. Which choice is
// best on this GPU? Idea: make them template parameters and generate every configuration that
// the constraints allow. An upper bound from arithmetic drops those that must be slow, and
// timing chooses among the others.
// Previous chapter: 06, vectorised access. The kernel is the same, with its configuration as a
// template parameter; everything around it is new.
//
// Build, run, verify:   ./tile run 07      ctest --preset model -R chapter07
// On a GPU, to tune:    ./tile run 07 --tune
#include <algorithm>
#include <map>

#include "chapters/07-autotuning/tuning.hpp"
#include "common/report/chapter.hpp"

namespace {

// [snippet constraints]
// A configuration: rows and columns of C per block, depth of a k-tile, rows and columns of C
// per thread.
struct Shape {
  int BM, BN, BK, TM, TN;
  constexpr int threads() const { return BM * BN / (TM * TN); }
  constexpr int shared_bytes() const { return (BM + BN) * BK * 4; }
};

constexpr bool thread_tiles_fit(Shape s) { return s.BM % s.TM == 0 && s.BN % s.TN == 0; }
constexpr bool float4s_fit_rows(Shape s) {
  return s.BK % 4 == 0 && s.TM % 4 == 0 && s.TN % 4 == 0;
}
constexpr bool loads_of_A_fit(Shape s) {
  return s.BM * s.BK % (4 * s.threads()) == 0 && 4 * s.threads() % s.BK == 0;
}
constexpr bool loads_of_B_fit(Shape s) {
  return s.BK * s.BN % (4 * s.threads()) == 0 && 4 * s.threads() % s.BN == 0;
}
constexpr bool warps_are_whole(Shape s) { return s.threads() % 32 == 0; }
constexpr bool block_fits(Shape s) {
  return s.threads() <= 1024 && s.shared_bytes() <= 48 * 1024;
}

constexpr bool valid(Shape s) {
  return thread_tiles_fit(s) && warps_are_whole(s) && float4s_fit_rows(s) &&
         loads_of_A_fit(s) && loads_of_B_fit(s) && block_fits(s);
}
// [/snippet constraints]

// [snippet config]
template <int BM_, int BN_, int BK_, int TM_, int TN_>
struct Config {
  static constexpr Shape shape{BM_, BN_, BK_, TM_, TN_};
  static constexpr int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_,
                       NUM_THREADS = shape.threads();
  // rows of the tile of A that all threads load with one float4 each
  static constexpr int ROWS_A = 4 * NUM_THREADS / BK;
  static constexpr int ROWS_B = 4 * NUM_THREADS / BN;  // and of the tile of B
  static_assert(thread_tiles_fit(shape),
                "a thread's tile of C must not cross the edge of the block's tile");
  static_assert(warps_are_whole(shape),
                "a block must consist of whole warps, or lanes of the last one idle");
  static_assert(float4s_fit_rows(shape),
                "a float4 lies in one row: all tiles must be multiples of 4 wide");
  static_assert(
      loads_of_A_fit(shape),
      "BM*BK must be divisible by 4*NUM_THREADS: else threads copy past the tile of A or leave parts out");
  static_assert(
      loads_of_B_fit(shape),
      "BK*BN must be divisible by 4*NUM_THREADS: else threads copy past the tile of B or leave parts out");
  static_assert(block_fits(shape),
                "a block has at most 1024 threads and 48 KB of shared memory");
};
using Default = Config<128, 128, 16, 8, 8>;  // chapter 06's
// [/snippet config]
static_assert(valid(Default::shape));  // so that a wrong one is reported here

struct Position {
  int row, col;
};
// Where a thread's TM x TN elements of C begin in the block's tile.
constexpr __host__ __device__ Position thread_tile_of(int thread, int BN, int TM, int TN) {
  return {thread / (BN / TN) * TM, thread % (BN / TN) * TN};
}
// The first element of a thread's first float4 in the tile of A, and in the tile of B.
constexpr __host__ __device__ Position load_A_of(int thread, int BK) {
  return {thread / (BK / 4), thread % (BK / 4) * 4};
}
constexpr __host__ __device__ Position load_B_of(int thread, int BN) {
  return {thread / (BN / 4), thread % (BN / 4) * 4};
}

// [snippet kernel]
// VECTORISED: all tiles are whole and all addresses divisible by 16; otherwise predicated.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS)  //
    sgemm_tuned(int M, int N, int K, float alpha,       //
                const float* A, int lda,                // M x K
                const float* B, int ldb,                // K x N
                float beta,                             //
                float* C, int ldc) {                    // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM,
                TN = Config::TN;
  alignas(16) __shared__ float As[BK * BM];  // BK x BM: the tile of A, transposed
  alignas(16) __shared__ float Bs[BK * BN];  // BK x BN, row-major
  // [/snippet kernel]

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [threadRow, threadCol] = thread_tile_of(threadIdx.x, BN, TM, TN);
  const auto [rowA, colA] = load_A_of(threadIdx.x, BK);
  const auto [rowB, colB] = load_B_of(threadIdx.x, BN);

  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  float acc[TM][TN] = {};  // TM x TN accumulators
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    for (int down = 0; down < BM; down += Config::ROWS_A) {
      const float* from = nextA + std::size_t(down) * lda;
      float a[4] = {};
      if constexpr (VECTORISED) {
        const float4 four = *reinterpret_cast<const float4*>(from);  //@ load-A
        a[0] = four.x, a[1] = four.y, a[2] = four.z, a[3] = four.w;
      } else {
        for (int i = 0; i < 4; ++i)
          if (blockRow + rowA + down < M && bkIdx + colA + i < K)
            a[i] = from[i];  //@ load-A-words
      }
      for (int i = 0; i < 4; ++i) As[(colA + i) * BM + rowA + down] = a[i];  //@ store-As
    }
    for (int down = 0; down < BK; down += Config::ROWS_B) {
      const float* from = nextB + std::size_t(down) * ldb;
      float4 four{};
      if constexpr (VECTORISED) {
        four = *reinterpret_cast<const float4*>(from);  //@ load-B
      } else {
        float b[4] = {};
        for (int j = 0; j < 4; ++j)
          if (bkIdx + rowB + down < K && blockCol + colB + j < N)
            b[j] = from[j];  //@ load-B-words
        four = {b[0], b[1], b[2], b[3]};
      }
      *reinterpret_cast<float4*>(&Bs[(rowB + down) * BN + colB]) = four;  //@ store-Bs
    }
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
    // a thread reads what others stored: no thread may start before all have stored
    __syncthreads();

    // [snippet multiply]
#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      const float* rowOfAs = &As[dotIdx * BM + threadRow];
      const float* rowOfBs = &Bs[dotIdx * BN + threadCol];
      float regM[TM], regN[TN];  // one row of As, one row of Bs: this thread's parts
      for (int i = 0; i < TM; i += 4) {
        const float4 four = *reinterpret_cast<const float4*>(rowOfAs + i);  //@ load-As
        regM[i] = four.x, regM[i + 1] = four.y, regM[i + 2] = four.z, regM[i + 3] = four.w;
      }
      for (int j = 0; j < TN; j += 4) {
        const float4 four = *reinterpret_cast<const float4*>(rowOfBs + j);  //@ load-Bs
        regN[j] = four.x, regN[j + 1] = four.y, regN[j + 2] = four.z, regN[j + 3] = four.w;
      }
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) acc[i][j] += regM[i] * regN[j];
    }
    // [/snippet multiply]
    // the next iteration overwrites the tiles: no thread may store while another still reads
    __syncthreads();
  }

  // Unrolled, because registers cannot be indexed: an accumulator chosen at run time would
  // have to live in local memory.
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int row = blockRow + threadRow + i, col = blockCol + threadCol;
    float* c = &C[std::size_t(row) * ldc + col];
    if constexpr (VECTORISED) {
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        const float* sum = &acc[i][j];
        float4 result{alpha * sum[0], alpha * sum[1], alpha * sum[2], alpha * sum[3]};
        if (beta != 0.0f) {
          const float4 old = *reinterpret_cast<const float4*>(c + j);  //@ load-C
          result = {result.x + beta * old.x, result.y + beta * old.y, result.z + beta * old.z,
                    result.w + beta * old.w};
        }
        *reinterpret_cast<float4*>(c + j) = result;  //@ store-C
      }
    } else {
#pragma unroll
      for (int j = 0; j < TN; ++j) {
        if (row >= M || col + j >= N) continue;
        float result = alpha * acc[i][j];
        if (beta != 0.0f) result += beta * c[j];  //@ load-C-words
        c[j] = result;                            //@ store-C-words
      }
    }
  }
}

// [snippet launch]
bool is_aligned_16(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
}

// Whether every tile of a problem is whole and every float4 begins at a multiple of 16 bytes.
bool can_vectorise(const tile::Gemm& g, Shape s) {
  return g.M % s.BM == 0 && g.N % s.BN == 0 && g.K % s.BK == 0 &&  //
         g.lda % 4 == 0 && g.ldb % 4 == 0 && g.ldc % 4 == 0 &&     //
         is_aligned_16(g.A) && is_aligned_16(g.B) && is_aligned_16(g.C);
}

template <class Config, bool VECTORISED>
void start(const tile::Gemm& g) {
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  tile::launch(sgemm_tuned<Config, VECTORISED>, grid, dim3(Config::NUM_THREADS), 0, g.M, g.N,
               g.K, g.alpha, g.A, g.lda, g.B, g.ldb, g.beta, g.C, g.ldc);
}

// A problem that does not fit the configuration goes to Default's predicated kernel: a second
// kernel for each configuration would double the build time.
template <class Config>
void launch_tuned(const tile::Gemm& g) {
  tile::require_valid(g);
  can_vectorise(g, Config::shape) ? start<Config, true>(g) : start<Default, false>(g);
}
[[maybe_unused]] constexpr auto launch_default = launch_tuned<Default>;
// [/snippet launch]

constexpr int SIZE = 4096;  // of the problem that is tuned for: M, N and K

// [snippet bound]
// One warp-wide access; `word(lane)` is the first word that a lane accesses.
template <class Word>
constexpr simt::WarpAccess access_of(int bytes, Word word) {
  simt::WarpAccess access{.active = ~0u, .size = bytes};
  for (int lane = 0; lane < 32; ++lane)
    access.address[std::size_t(lane)] = std::uint64_t(4 * word(lane));
  return access;
}

// What one warp does in one iteration of the main loop.
struct WarpWork {
  int fmas, shared_loads, shared_stores, global_loads;
  int load_wavefronts, store_wavefronts;  // of shared memory
  int l1_cycles;  // of the loads from global memory: tag passes, or wavefronts if more
};

constexpr WarpWork warp_work_of(Shape s) {
  const auto word = [](Position p, int stride) { return p.row * stride + p.col; };
  const int float4s_A = s.BM * s.BK / 4 / s.threads(),
            float4s_B = s.BK * s.BN / 4 / s.threads();
  const auto load_As =
      access_of(16, [&](int lane) { return thread_tile_of(lane, s.BN, s.TM, s.TN).row; });
  const auto load_Bs =
      access_of(16, [&](int lane) { return thread_tile_of(lane, s.BN, s.TM, s.TN).col; });
  const auto store_As = access_of(4, [&](int lane) {
    const auto [row, col] = load_A_of(lane, s.BK);
    return col * s.BM + row;  // transposed
  });
  const auto store_Bs =
      access_of(16, [&](int lane) { return word(load_B_of(lane, s.BN), s.BN); });
  const auto load_A =
      access_of(16, [&](int lane) { return word(load_A_of(lane, s.BK), SIZE); });
  const auto load_B =
      access_of(16, [&](int lane) { return word(load_B_of(lane, s.BN), SIZE); });
  const auto l1 = [](const auto& access) {
    return std::max(simt::tag_passes(access), simt::global_wavefronts(access));
  };
  using simt::shared_wavefronts;
  return {.fmas = s.BK * s.TM * s.TN,
          .shared_loads = s.BK * (s.TM + s.TN) / 4,
          .shared_stores = 4 * float4s_A + float4s_B,
          .global_loads = float4s_A + float4s_B,
          .load_wavefronts = s.BK * (s.TM / 4 * shared_wavefronts(load_As, true) +
                                     s.TN / 4 * shared_wavefronts(load_Bs, true)),
          .store_wavefronts = 4 * float4s_A * shared_wavefronts(store_As, false) +
                              float4s_B * shared_wavefronts(store_Bs, false),
          .l1_cycles = float4s_A * l1(load_A) + float4s_B * l1(load_B)};
}

// TFLOP/s at which an H200's shared memory, its L1 or its issue slots would be busy in every
// cycle, whichever is lowest.
constexpr double bound_of(Shape s) {
  const WarpWork w = warp_work_of(s);
  // in the cycle of one wavefront, an SM issues four FFMAs
  const double ffma_cycles = w.fmas / 4.0;
  const double by_wavefronts = ffma_cycles / (w.load_wavefronts + w.store_wavefronts);
  const double by_l1 = ffma_cycles / w.l1_cycles;
  const double by_slots =
      double(w.fmas) / (w.fmas + w.shared_loads + w.shared_stores + w.global_loads);
  return tile::h200.peak_tflops() * std::min({1.0, by_wavefronts, by_l1, by_slots});
}
// [/snippet bound]

// [snippet prune]
// Estimate of a thread's registers: accumulators, the operands of one k-step, and 24 more, as
// many as kernels compiled earlier needed for addresses. The page gives the error.
constexpr int registers_of(Shape s) { return s.TM * s.TN + s.TM + s.TN + 24; }
constexpr int warps_of(Shape s) {
  const auto o = tile::occupancy(tile::h200, s.threads(), registers_of(s), s.shared_bytes());
  return o.blocks * s.threads() / 32;
}
constexpr int FEWEST_WARPS = 8;       // two per scheduler: with one, nothing hides its latency
constexpr double LOWEST_BOUND = 0.6;  // of the FFMA peak: about what chapter 06 reaches

struct Prediction {
  int registers, warps;
  double bound;
  const char* pruned;  // the reason, or ""
};
constexpr Prediction prediction_of(Shape s) {
  Prediction p{registers_of(s), warps_of(s), bound_of(s), ""};
  if (p.registers > 255)
    p.pruned = "registers";
  else if (p.warps < FEWEST_WARPS)
    p.pruned = "occupancy";
  else if (p.bound < LOWEST_BOUND * tile::h200.peak_tflops())
    p.pruned = "bound";
  return p;
}
// [/snippet prune]

// [snippet generate]
constexpr int TILE[]{32, 64, 128, 256}, DEPTH[]{8, 16, 32}, SIDE[]{4, 8, 16};
constexpr int COMBINATIONS = 4 * 4 * 3 * 3 * 3;
constexpr Shape shape_of(int i) {
  return {TILE[i / 108], TILE[i / 27 % 4], DEPTH[i / 9 % 3], SIDE[i / 3 % 3], SIDE[i % 3]};
}
// [/snippet generate]

template <class Config>
tile::Kernel kernel_of(const std::string& name, tile::Launcher launch = launch_tuned<Config>) {
  return {name,
          launch,
          reinterpret_cast<const void*>(sgemm_tuned<Config, true>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Alignment::float4s},
          std::size_t(Config::shape.shared_bytes())};
}

[[maybe_unused]] std::string name_of(Shape s) {
  return std::to_string(s.BM) + "x" + std::to_string(s.BN) + "x" + std::to_string(s.BK) + " " +
         std::to_string(s.TM) + "x" + std::to_string(s.TN);
}

// [snippet compile]
// The GPU's program has every valid configuration, so that --tune-pruned can check the
// pruning; the model's program has those that were not pruned.
template <int I>
void add_candidate(std::vector<tile::Candidate>& candidates) {
  constexpr Shape s = shape_of(I);
  if constexpr (valid(s)) {
    constexpr Prediction p = prediction_of(s);
    if constexpr (!TILE_ON_MODEL || *p.pruned == '\0')
      candidates.push_back(
          {kernel_of<Config<s.BM, s.BN, s.BK, s.TM, s.TN>>(name_of(s)),
           {{"BM", s.BM}, {"BN", s.BN}, {"BK", s.BK}, {"TM", s.TM}, {"TN", s.TN}},
           p.registers,
           p.warps,
           p.bound,
           p.pruned});
  }
}

}  // namespace

// A single nvcc would need minutes for all candidates. The build therefore compiles this file
// TILE_UNITS more times, in parallel; each TILE_UNIT instantiates its part of the candidates.
#ifndef TILE_UNITS
#define TILE_UNITS 1
#endif
template <int UNIT>
void add_candidates_of_unit(std::vector<tile::Candidate>& candidates)
#if TILE_UNITS > 1 && !defined(TILE_UNIT)
    ;
#else
{
  constexpr int begin = COMBINATIONS * UNIT / TILE_UNITS,
                end = COMBINATIONS * (UNIT + 1) / TILE_UNITS;
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (add_candidate<begin + I>(candidates), ...);
  }
  (std::make_integer_sequence<int, end - begin>());
}
#endif
// [/snippet compile]

#ifdef TILE_UNIT
template void add_candidates_of_unit<TILE_UNIT>(std::vector<tile::Candidate>&);
#else

namespace {

const std::vector<tile::Candidate>& candidates() {
  static const auto all = []<int... UNIT>(std::integer_sequence<int, UNIT...>) {
    std::vector<tile::Candidate> found;
    (add_candidates_of_unit<UNIT>(found), ...);
    return found;
  }
  (std::make_integer_sequence<int, TILE_UNITS>());
  return all;
}

std::vector<tile::Kernel> kernels() {
  return {kernel_of<Default>("default", launch_default), tile::tuned_kernel(candidates())};
}

// Predicts how many configurations each rule drops, and the bounds.
void predict(tile::Facts& facts) {
  std::map<std::string, int> dropped;  // by reason; "" for those that are left
  for (int i = 0; i < COMBINATIONS; ++i)
    ++dropped[valid(shape_of(i)) ? prediction_of(shape_of(i)).pruned : "invalid"];
  facts.predicted("space.all", COMBINATIONS);
  facts.predicted("space.invalid", dropped["invalid"]);
  facts.predicted("space.by_registers", dropped["registers"]);
  facts.predicted("space.by_occupancy", dropped["occupancy"]);
  facts.predicted("space.by_bound", dropped["bound"]);
  facts.predicted("space.left", dropped[""]);
  facts.predicted("default.bound", bound_of(Default::shape));
  const WarpWork work = warp_work_of(Default::shape);
  facts.predicted("default.wavefronts", work.load_wavefronts + work.store_wavefronts);
  const tile::Candidate& tuned = tile::tuned_choice(candidates());
  facts.predicted("tuned.bound", tuned.bound);
  facts.predicted("tuned.predicted_registers", tuned.registers);
}

}  // namespace

TILE_CHAPTER(.number = 7, .title = "Autotuning", .kernels = kernels(),
             .counted = {256, 256, 256}, .sizes = {1024, 2048, 4092, 4096, 8192},
             .constants = {{"FEWEST_WARPS", FEWEST_WARPS}, {"LOWEST_BOUND", LOWEST_BOUND}},
             .predict = predict, .extension = tile::extension_of(candidates()))

TILE_GEMM_TESTS(kernels())

TEST_CASE("every configuration computes the same" * doctest::test_suite("thorough")) {
  for (const tile::Candidate& c : candidates()) {
    const tile::Case problem{256, 256, 32, 2, 1, 4, tile::Fill::integers};
    CHECK_MESSAGE(tile::check(c.kernel.launch, problem).ok(), c.kernel.name);
  }
}

TEST_CASE("in every valid configuration the loads cover both tiles once") {
  const auto covered = [](int rows, int cols, int threads, auto load_of) {
    return tile::covers_once(rows, cols, threads, [&](int thread, auto take) {
      const auto [row, col] = load_of(thread, cols);
      for (int down = 0; down < rows; down += 4 * threads / cols)
        for (int i = 0; i < 4; ++i) take(row + down, col + i);
    });
  };
  for (int i = 0; i < COMBINATIONS; ++i) {
    const Shape s = shape_of(i);
    if (!valid(s)) continue;
    CHECK(covered(s.BM, s.BK, s.threads(), load_A_of) == "");
    CHECK(covered(s.BK, s.BN, s.threads(), load_B_of) == "");
  }
}

TEST_CASE("each constraint refuses what it is about, and nothing else") {
  CHECK(Shape{64, 128, 16, 8, 4}.threads() == 256);
  CHECK(Shape{64, 128, 16, 8, 4}.shared_bytes() == (64 * 16 + 16 * 128) * 4);
  CHECK(thread_tiles_fit({24, 20, 16, 8, 4}));
  CHECK(thread_tiles_fit({20, 24, 16, 4, 8}));
  CHECK_FALSE(thread_tiles_fit({20, 24, 16, 8, 8}));
  CHECK_FALSE(thread_tiles_fit({24, 20, 16, 8, 8}));
  CHECK(float4s_fit_rows({30, 30, 4, 12, 20}));
  for (const Shape s :
       {Shape{32, 32, 6, 8, 8}, Shape{32, 32, 8, 6, 8}, Shape{32, 32, 8, 8, 6}})
    CHECK_FALSE(float4s_fit_rows(s));
  CHECK(warps_are_whole({32, 64, 8, 4, 8}));
  CHECK_FALSE(warps_are_whole({32, 32, 8, 4, 16}));
  CHECK(block_fits({128, 128, 48, 4, 4}));  // 1024 threads, 48 KB
  CHECK_FALSE(block_fits({128, 136, 8, 4, 4}));
  CHECK_FALSE(block_fits({128, 128, 49, 8, 8}));
  // Each violates one constraint alone, in the order of `valid`.
  for (const Shape s :
       {Shape{48, 32, 8, 4, 12}, Shape{32, 32, 4, 4, 16}, Shape{32, 32, 4, 2, 16},
        Shape{32, 32, 20, 4, 8}, Shape{32, 48, 4, 4, 12}, Shape{32, 80, 8, 4, 20},
        Shape{32, 256, 64, 4, 4}})
    CHECK_FALSE(valid(s));
  CHECK(valid({32, 32, 8, 4, 8}));
}

TEST_CASE("64,8,256 is not valid: 256 threads load 1024 elements at once, the tile has 512") {
  constexpr Shape s{64, 64, 8, 4, 4};
  CHECK((4 * s.threads() == 1024 && s.BM * s.BK == 512));
  CHECK(!loads_of_A_fit(s));
  CHECK(!valid(s));
}

#if TILE_ON_MODEL
TEST_CASE("the arithmetic that prunes counts what the model counts" *
          doctest::test_suite("model thorough")) {
  for (std::size_t i = 0; i < candidates().size(); i += 7) {
    const auto& p = candidates()[i].parameters;
    const Shape s{p[0].second, p[1].second, p[2].second, p[3].second, p[4].second};
    const auto counts = tile::count(candidates()[i].kernel.launch, {256, 256, 32});
    const int iterations = 256 / s.BM * (256 / s.BN) * s.threads() / 32 * (32 / s.BK);
    const auto check = [&](simt::Space space, simt::Op op, auto counter, int predicted) {
      std::uint64_t counted = 0;
      for (const simt::Site& site : counts.sites)
        if (site.space == space && site.op == op) counted += site.*counter;
      CHECK(counted == std::uint64_t(iterations * predicted));
    };
    using enum simt::Space;
    using enum simt::Op;
    INFO(name_of(s));
    const WarpWork w = warp_work_of(s);
    check(shared, load, &simt::Site::wavefronts, w.load_wavefronts);
    check(shared, store, &simt::Site::wavefronts, w.store_wavefronts);
    check(shared, load, &simt::Site::requests, w.shared_loads);
    check(shared, store, &simt::Site::requests, w.shared_stores);
    check(global, load, &simt::Site::requests, w.global_loads);
    check(global, load, &simt::Site::l1_cycles, w.l1_cycles);
  }
}
#endif

#endif  // TILE_UNIT
