// Tile by Tile, chapter 07: autotuning.
//
// Question: five numbers, BM BN BK TM TN, were chosen by hand so far. Which choice is best on
// this GPU? Idea: generate every configuration that the constraints allow, drop those that
// arithmetic shows to be slow, compile the rest ahead of time, and time them.
// Previous chapter: 06, vectorised access. The kernel is its, with shared memory read as
// float4 in the source and with the configuration as a template parameter; new is everything
// around it.
//
// Build, run, verify:   ./tile run 07      ctest --preset model -R chapter07      on a GPU:
// ./tile run 07 --tune
#include <algorithm>
#include <array>

#include "chapters/07-autotuning/tuning.hpp"
#include "common/report/chapter.hpp"
#if TILE_ON_GPU
#include "common/bench/timing.hpp"
#include "common/report/facts.hpp"
#endif

namespace {

// [snippet constraints]
// A configuration: rows and columns of C per block, depth of a tile, rows and columns of
// results per thread.
struct Shape {
  int BM, BN, BK, TM, TN;
  constexpr int threads() const { return BM * BN / (TM * TN); }
  constexpr int shared_bytes() const { return (BM + BN) * BK * 4; }
};

constexpr bool squares_fit(Shape s) { return s.BM % s.TM == 0 && s.BN % s.TN == 0; }
constexpr bool float4s_fit_rows(Shape s) {
  return s.BK % 4 == 0 && s.TM % 4 == 0 && s.TN % 4 == 0;
}
constexpr bool copies_of_A_fit(Shape s) {
  return s.BM * s.BK % (4 * s.threads()) == 0 && 4 * s.threads() % s.BK == 0;
}
constexpr bool copies_of_B_fit(Shape s) {
  return s.BK * s.BN % (4 * s.threads()) == 0 && 4 * s.threads() % s.BN == 0;
}
constexpr bool warps_are_whole(Shape s) { return s.threads() % 32 == 0; }
constexpr bool block_fits(Shape s) {
  return s.threads() <= 1024 && s.shared_bytes() <= 48 * 1024;
}

constexpr bool valid(Shape s) {
  return squares_fit(s) && warps_are_whole(s) && float4s_fit_rows(s) && copies_of_A_fit(s) &&
         copies_of_B_fit(s) && block_fits(s);
}
// [/snippet constraints]

// [snippet config]
template <int BM_, int BN_, int BK_, int TM_, int TN_>
struct Config {
  static constexpr Shape shape{BM_, BN_, BK_, TM_, TN_};
  static constexpr int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_,
                       NUM_THREADS = shape.threads();
  // rows of a tile of A that all threads together copy at once
  static constexpr int ROWS_A = 4 * NUM_THREADS / BK;
  static constexpr int ROWS_B = 4 * NUM_THREADS / BN;  // rows of a tile of B
  // Where in a row of As the element of that row and column of A goes. (An experiment below
  // sends it elsewhere.)
  static constexpr __host__ __device__ int place_in_As(int row, int /*col*/) { return row; }
  static_assert(squares_fit(shape),
                "a thread's square of results must not cross the edge of the tile");
  static_assert(
      warps_are_whole(shape),
      "a block must consist of whole warps: the idle lanes of the last would be paid for");
  static_assert(float4s_fit_rows(shape),
                "a float4 lies in one row: tiles and squares must be multiples of 4 wide");
  static_assert(
      copies_of_A_fit(shape),
      "BM*BK must be divisible by 4*NUM_THREADS: else threads copy past the tile of A or leave parts out");
  static_assert(
      copies_of_B_fit(shape),
      "BK*BN must be divisible by 4*NUM_THREADS: else threads copy past the tile of B or leave parts out");
  static_assert(block_fits(shape),
                "a block has at most 1024 threads and 48 KB of shared memory");
};
using Default = Config<128, 128, 16, 8, 8>;  // chapter 06's
// [/snippet config]

struct Position {
  int row, col;
};
// Where a thread's TM x TN results begin in the block's tile.
constexpr __host__ __device__ Position thread_tile_of(int thread, int BN, int TM, int TN) {
  return {thread / (BN / TN) * TM, thread % (BN / TN) * TN};
}
// The first word of a thread's first float4 in the tile of A, and in the tile of B.
constexpr __host__ __device__ Position load_A_of(int thread, int BK) {
  return {thread / (BK / 4), thread % (BK / 4) * 4};
}
constexpr __host__ __device__ Position load_B_of(int thread, int BN) {
  return {thread / (BN / 4), thread % (BN / 4) * 4};
}

// VECTORISED: tiles are whole and addresses divisible by 16.
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

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [threadRow, threadCol] = thread_tile_of(threadIdx.x, BN, TM, TN);
  const auto [rowA, colA] = load_A_of(threadIdx.x, BK);
  const auto [rowB, colB] = load_B_of(threadIdx.x, BN);

  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  float acc[TM][TN] = {};  // TM x TN results
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
      for (int i = 0; i < 4; ++i)
        As[(colA + i) * BM + Config::place_in_As(rowA + down, colA)] = a[i];  //@ store-As
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
    // a thread reads what others wrote: nobody may start before all have stored
    __syncthreads();

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
    // the next round overwrites the tiles: nobody may store while another still reads
    __syncthreads();
  }

  // Unrolled, because a register has no index: a sum that is chosen at run time would have to
  // live in local memory.
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

// Whether every tile is whole and every float4 of a problem begins at a multiple of 16 bytes.
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

// What does not fit a configuration goes to one kernel with guards: a second kernel for each
// would double the build.
template <class Config>
void launch_tuned(const tile::Gemm& g) {
  tile::require_valid(g);
  if (can_vectorise(g, Config::shape))
    start<Config, true>(g);
  else
    start<Default, false>(g);
}
// [/snippet launch]

constexpr int SIZE = 4096;  // of the problem that is tuned for: M, N and K

// [snippet bound]
// One warp-wide access; `word(lane)` is the first word that a lane touches.
template <class Word>
constexpr simt::WarpAccess access_of(int bytes, Word word) {
  simt::WarpAccess access{.active = ~0u, .size = bytes};
  for (int lane = 0; lane < 32; ++lane)
    access.address[std::size_t(lane)] = std::uint64_t(4 * word(lane));
  return access;
}

// What one warp does in one round of the loop over K: first it copies (loads from global
// memory, stores to shared memory), then, after a barrier, it multiplies (loads from shared
// memory, FMAs).
struct Round {
  int fmas, shared_loads, shared_stores, global_loads;
  int load_wavefronts, store_wavefronts;  // of shared memory
  int l1_cycles;  // of the loads from global memory: passes of the tags, or wavefronts if more
};

constexpr Round round_of(Shape s, int lda = SIZE) {
  const int float4s_A = s.BM * s.BK / 4 / s.threads(),
            float4s_B = s.BK * s.BN / 4 / s.threads();
  const auto load_As =
      access_of(16, [&](int lane) { return thread_tile_of(lane, s.BN, s.TM, s.TN).row; });
  const auto load_Bs =
      access_of(16, [&](int lane) { return thread_tile_of(lane, s.BN, s.TM, s.TN).col; });
  const auto store_As = access_of(4, [&](int lane) {
    return load_A_of(lane, s.BK).col * s.BM + load_A_of(lane, s.BK).row;
  });
  const auto store_Bs = access_of(16, [&](int lane) {
    return load_B_of(lane, s.BN).row * s.BN + load_B_of(lane, s.BN).col;
  });
  const auto load_A = access_of(16, [&](int lane) {
    return load_A_of(lane, s.BK).row * lda + load_A_of(lane, s.BK).col;
  });
  const auto load_B = access_of(16, [&](int lane) {
    return load_B_of(lane, s.BN).row * SIZE + load_B_of(lane, s.BN).col;
  });
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

// TFLOP/s at which an H200's shared memory, or its L1, or its issue slots, would be busy all
// the time, whichever is least.
constexpr double bound_of(Shape s) {
  const Round r = round_of(s);
  // an SM issues four FFMAs in the time of a wavefront
  const double ffma_cycles = r.fmas / 4.0;
  const double by_wavefronts = ffma_cycles / (r.load_wavefronts + r.store_wavefronts);
  const double by_l1 = ffma_cycles / r.l1_cycles;
  const double by_slots =
      double(r.fmas) / (r.fmas + r.shared_loads + r.shared_stores + r.global_loads);
  return tile::h200.peak_tflops() * std::min({1.0, by_wavefronts, by_l1, by_slots});
}
// [/snippet bound]

// [snippet prune]
// Registers a thread will need: its results, the operands of one step, and addresses. The
// constant is measured; how far the sum is off, the prose says.
constexpr int registers_of(Shape s) { return s.TM * s.TN + s.TM + s.TN + 24; }
constexpr int warps_of(Shape s) {
  const auto o = tile::occupancy(tile::h200, s.threads(), registers_of(s), s.shared_bytes());
  return o.blocks * s.threads() / 32;
}
constexpr int FEWEST_WARPS = 8;  // two for each scheduler: with fewer, nothing hides a wait
// of the FFMA peak: chapter 06 has reached more than half
constexpr double LOWEST_BOUND = 0.6;

struct Prediction {
  int registers, warps;
  double bound;
  const char* reason;  // to prune; "" for none
  constexpr bool pruned() const { return *reason != '\0'; }
};

constexpr Prediction prediction_of(Shape s) {
  Prediction p{registers_of(s), warps_of(s), bound_of(s), ""};
  if (p.registers > 255)
    p.reason = "registers";
  else if (p.warps < FEWEST_WARPS)
    p.reason = "occupancy";
  else if (p.bound < LOWEST_BOUND * tile::h200.peak_tflops())
    p.reason = "bound";
  return p;
}
// [/snippet prune]

// [snippet generate]
constexpr int TILES[]{32, 64, 128, 256}, DEPTHS[]{8, 16, 32}, SQUARES[]{4, 8, 16};

// Calls `visit` with every combination of the five numbers.
template <class Visit>
constexpr void for_each_shape(Visit visit) {
  for (const int BM : TILES)
    for (const int BN : TILES)
      for (const int BK : DEPTHS)
        for (const int TM : SQUARES)
          for (const int TN : SQUARES) visit(Shape{BM, BN, BK, TM, TN});
}

constexpr std::size_t VALID = [] {
  std::size_t count = 0;
  for_each_shape([&](Shape s) { count += valid(s); });
  return count;
}();
constexpr std::array<Shape, VALID> SHAPES = [] {
  std::array<Shape, VALID> shapes{};
  std::size_t count = 0;
  for_each_shape([&](Shape s) {
    if (valid(s)) shapes[count++] = s;
  });
  return shapes;
}();
// [/snippet generate]

std::string name_of(Shape s) {
  return std::to_string(s.BM) + "x" + std::to_string(s.BN) + "x" + std::to_string(s.BK) + " " +
         std::to_string(s.TM) + "x" + std::to_string(s.TN);
}

[[maybe_unused]] tile::Candidate describe(Shape s, Prediction p, tile::Launcher launch,
                                          const void* address) {
  return {{name_of(s),
           launch,
           address,
           s.threads(),
           {s.BM, s.BN, s.BK, tile::Alignment::float4s},
           std::size_t(s.shared_bytes())},
          {{"BM", s.BM}, {"BN", s.BN}, {"BK", s.BK}, {"TM", s.TM}, {"TN", s.TN}},
          p.registers,
          p.warps,
          p.bound,
          p.reason};
}

// [snippet compile]
// A GPU program is compiled for every valid configuration, so that --tune-pruned can check the
// pruning; the model's for those that were not pruned.
template <std::size_t I>
void add_candidate(std::vector<tile::Candidate>& candidates) {
  constexpr Shape s = SHAPES[I];
  constexpr Prediction p = prediction_of(s);
  if constexpr (!TILE_ON_MODEL || !p.pruned()) {
    using Chosen = Config<s.BM, s.BN, s.BK, s.TM, s.TN>;
    candidates.push_back(describe(s, p, launch_tuned<Chosen>,
                                  reinterpret_cast<const void*>(sgemm_tuned<Chosen, true>)));
  }
}

}  // namespace

// nvcc would need minutes for all of them: the build compiles this file TILE_UNITS times
// more, in parallel, each TILE_UNIT for its part of the candidates. Compiled alone, the file
// has them all.
#ifndef TILE_UNITS
#define TILE_UNITS 1
#endif
template <std::size_t UNIT>
std::vector<tile::Candidate> candidates_of_unit()
#if TILE_UNITS > 1 && !defined(TILE_UNIT)
    ;
#else
{
  constexpr std::size_t begin = VALID * UNIT / TILE_UNITS,
                        end = VALID * (UNIT + 1) / TILE_UNITS;
  std::vector<tile::Candidate> found;
  [&]<std::size_t... I>(std::index_sequence<I...>) { (add_candidate<begin + I>(found), ...); }
  (std::make_index_sequence<end - begin>());
  return found;
}
#endif
// [/snippet compile]

#ifdef TILE_UNIT
template std::vector<tile::Candidate> candidates_of_unit<TILE_UNIT>();
#else

namespace {

const std::vector<tile::Candidate>& candidates() {
  static const std::vector<tile::Candidate> all =
      []<std::size_t... UNIT>(std::index_sequence<UNIT...>) {
    std::vector<tile::Candidate> found;
    for (const auto& part : {candidates_of_unit<UNIT>()...})
      found.insert(found.end(), part.begin(), part.end());
    return found;
  }
  (std::make_index_sequence<TILE_UNITS>());
  return all;
}

std::string underscored(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

// [snippet costs]
// What a round costs if its parts take turns: cycles of an SM for each warp-wide FMA.
tile::Costs costs_of(Shape s) {
  const Round r = round_of(s);
  const double multiply = std::max(double(r.load_wavefronts), (r.fmas + r.shared_loads) / 4.0);
  return {name_of(s), multiply / r.fmas, double(r.l1_cycles) / r.fmas,
          double(r.store_wavefronts) / r.fmas};
}
// [/snippet costs]

// Of every valid configuration: what was pruned is a test of what the costs say.
std::vector<tile::Costs> costs() {
  std::vector<tile::Costs> all;
  for (const Shape s : SHAPES) all.push_back(costs_of(s));
  return all;
}

std::vector<tile::Kernel> kernels() {
  return {{"default",
           launch_tuned<Default>,
           reinterpret_cast<const void*>(sgemm_tuned<Default, true>),
           Default::NUM_THREADS,
           {Default::BM, Default::BN, Default::BK, tile::Alignment::float4s},
           std::size_t(Default::shape.shared_bytes())},
          tile::tuned_kernel(candidates())};
}

const tile::Case counted{256, 256, 256};

// [snippet experiment]
// The same kernel, but the stores of A find WAYS words in a bank: as many stores, as many
// words, wrong results.
template <class Chosen, int WAYS>
struct WithConflicts : Chosen {
  static constexpr __host__ __device__ int place_in_As(int row, int col) {
    // columns of float4s of A that get banks of their own
    constexpr int apart = Chosen::BK / 4 / WAYS;
    return row ^ (128 / Chosen::BK * (col / 4 % apart));
  }
};
// [/snippet experiment]

// One thing is varied: a variant, and what it changes: cycles of an SM for each warp-wide FMA,
// if each has its price.
struct Variant {
  std::string key;
  tile::Launcher launch;
  int lda;
  double cost;
};
struct Experiment {
  std::string key, label;
  std::vector<Variant> variants;
};

// The model need not compile what only a GPU times.
template <class Chosen>
tile::Launcher on_gpu() {
  if constexpr (TILE_ON_MODEL)
    return nullptr;
  else
    return launch_tuned<Chosen>;
}

// The conflicts of the stores of A. A warp stores one word of each lane for every BN
// multiply-adds.
template <class Chosen, int... WAYS>
Experiment of_conflicts() {
  const std::string name = underscored(name_of(Chosen::shape));
  return {"stores." + name,
          "cycles for a wavefront of the stores of A, " + name_of(Chosen::shape),
          {{std::to_string(WAYS), on_gpu<WithConflicts<Chosen, WAYS>>(), SIZE,
            double(WAYS) / Chosen::BN}...}};
}

// The wavefronts of the loads of A in L1, by the leading dimension.
template <class Chosen>
Experiment of_lda() {
  Experiment e{"loads." + underscored(name_of(Chosen::shape)),
               "cycles for a cycle of the loads of A in L1, " + name_of(Chosen::shape),
               {}};
  for (const int pad : {0, 8, 16, 32}) {
    const Round r = round_of(Chosen::shape, SIZE + pad);
    e.variants.push_back({std::to_string(SIZE + pad), on_gpu<Chosen>(), SIZE + pad,
                          double(r.l1_cycles) / r.fmas});
  }
  return e;
}

std::vector<Experiment> experiments() {
  return {of_conflicts<Config<128, 128, 32, 8, 8>, 1, 2, 4, 8>(),
          of_conflicts<Config<128, 64, 32, 16, 4>, 1, 2, 4, 8>(),
          of_conflicts<Config<128, 32, 32, 4, 16>, 1, 2, 4, 8>(),
          of_lda<Config<128, 128, 8, 8, 8>>(),
          of_lda<Config<128, 64, 8, 16, 4>>(),
          of_lda<Config<128, 32, 8, 4, 16>>()};
}

// For each variant its cycles for a warp-wide FMA, and of each experiment the price of a
// cycle, fitted to them.
std::vector<tile::Chapter::Rate> experiment_rates() {
  std::vector<tile::Chapter::Rate> rates;
  for (const Experiment& e : experiments()) {
    rates.push_back({e.key + ".price", e.label});
    for (const Variant& v : e.variants)
      rates.push_back({e.key + "." + v.key, e.label + ", " + v.key});
  }
  return rates;
}

#if TILE_ON_GPU
void measure_experiments(tile::RateSink& sink) {
  int sms = 0, khz = 0;
  tile::cuda_check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0),
                   "multiprocessor count");
  tile::cuda_check(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0), "clock rate");
  const std::size_t n = SIZE, words_of_A = n * (n + 32);
  float *A, *B, *C;
  tile::cuda_check(cudaMalloc(&A, words_of_A * sizeof(float)), "cudaMalloc");
  tile::cuda_check(cudaMalloc(&B, n * n * sizeof(float)), "cudaMalloc");
  tile::cuda_check(cudaMalloc(&C, n * n * sizeof(float)), "cudaMalloc");
  const std::vector<float> values = tile::make_values(words_of_A, tile::Fill::random, 11);
  tile::cuda_check(
      cudaMemcpy(A, values.data(), words_of_A * sizeof(float), cudaMemcpyHostToDevice),
      "fill A");
  tile::cuda_check(cudaMemcpy(B, values.data(), n * n * sizeof(float), cudaMemcpyHostToDevice),
                   "fill B");
  for (const Experiment& e : experiments()) {
    std::vector<double> costs, cycles;
    for (const Variant& v : e.variants) {
      const tile::Gemm g{SIZE, SIZE, SIZE, 1, A, v.lda, B, SIZE, 0, C, SIZE};
      const double ms = tile::time_ms([&](int) { v.launch(g); }).median;
      costs.push_back(v.cost);
      cycles.push_back(ms * khz * sms / (double(n) * n * n / 32));
      sink.rate(e.key + "." + v.key, cycles.back());
    }
    sink.rate(e.key + ".price", tile::slope_of(costs, cycles));
  }
  cudaFree(A), cudaFree(B), cudaFree(C);
}
#else
constexpr void (*measure_experiments)(tile::RateSink&) = nullptr;
#endif

// The arithmetic of the prose.
void predict(tile::Facts& facts) {
  int all = 0, allowed = 0, registers = 0, occupancy = 0, bound = 0, left = 0;
  for_each_shape([&](Shape s) {
    ++all;
    if (!valid(s)) return;
    ++allowed;
    const Prediction prediction = prediction_of(s);
    const std::string reason = prediction.reason;
    left += !prediction.pruned();
    registers += reason == "registers", occupancy += reason == "occupancy",
        bound += reason == "bound";
  });
  facts.predicted("space.all", all);
  facts.predicted("space.valid", allowed);
  facts.predicted("space.by_registers", registers);
  facts.predicted("space.by_occupancy", occupancy);
  facts.predicted("space.by_bound", bound);
  facts.predicted("space.left", left);
  facts.predicted("fewest_warps", FEWEST_WARPS);
  facts.predicted("lowest_bound.tflops", LOWEST_BOUND * tile::h200.peak_tflops());
  facts.predicted("default.bound", bound_of(Default::shape));
  const Round round = round_of(Default::shape);
  facts.predicted("default.wavefronts", round.load_wavefronts + round.store_wavefronts);
  facts.predicted("default.fmas", round.fmas);
  facts.predicted("invalid.elements", 64 * 8);
  facts.predicted("invalid.at_once", 4 * 256);
  const double BM = Default::BM, BN = Default::BN, TM = Default::TM, TN = Default::TN;
  facts.predicted_loads("default", 1 / BM + 1 / BN, (TM + TN) / (TM * TN), 4, 4);
  const auto& chosen = tile::tuned_choice(candidates());
  const auto parameter = [&](const char* name) {
    for (const auto& [key, value] : chosen.parameters)
      if (key == name) return double(value);
    throw std::logic_error(name);
  };
  const double bm = parameter("BM"), bn = parameter("BN"), tm = parameter("TM"),
               tn = parameter("TN");
  facts.predicted_loads("tuned", 1 / bm + 1 / bn, (tm + tn) / (tm * tn), 4, 4);
  facts.predicted("tuned.bound", chosen.bound);
  facts.predicted("tuned.predicted_registers", chosen.registers);
}

}  // namespace

TILE_CHAPTER(.number = 7, .title = "Autotuning", .kernels = kernels(), .counted = counted,
             .sizes = {1024, 2048, 4092, 4096, 8192}, .predict = predict,
             .measure_rates = measure_experiments, .rates = experiment_rates(),
             .extension = tile::extension_of(tile::Tuner{candidates(), costs()}))

TILE_GEMM_TESTS(kernels())

TEST_CASE("every configuration computes the same" * doctest::test_suite("thorough")) {
  for (const tile::Candidate& c : candidates()) {
    const auto verdict =
        tile::check(c.kernel.launch, {256, 256, 32, 2, 1, 4, tile::Fill::integers});
    CHECK_MESSAGE(verdict.ok(), c.kernel.name, ": ", verdict.message);
  }
}

// Whether `threads` threads, each with a float4 at a time, copy every word of a rows x cols
// tile once and none beside it.
bool copies_cover(int rows, int cols, int threads) {
  std::vector<int> copies(std::size_t(rows * cols));
  const int rows_at_once = 4 * threads / cols;
  if (rows_at_once == 0) return false;
  for (int thread = 0; thread < threads; ++thread)
    for (int down = 0; down < rows; down += rows_at_once) {
      const int row = thread / (cols / 4) + down, col = thread % (cols / 4) * 4;
      if (row >= rows) return false;
      for (int i = 0; i < 4; ++i) ++copies[std::size_t(row * cols + col + i)];
    }
  return copies == std::vector<int>(copies.size(), 1);
}

TEST_CASE("a copy fits where every word is copied once") {
  int fit = 0;
  for (const int BM : {16, 24, 32, 64})
    for (const int BN : {16, 32, 48})
      for (const int BK : {4, 8, 12, 16})
        for (const int TM : {2, 4, 8})
          for (const int TN : {2, 8}) {
            const Shape s{BM, BN, BK, TM, TN};
            CHECK(copies_of_A_fit(s) == copies_cover(BM, BK, s.threads()));
            CHECK(copies_of_B_fit(s) == copies_cover(BK, BN, s.threads()));
            fit += copies_of_A_fit(s) && copies_of_B_fit(s);
          }
  CHECK(fit > 10);
}

TEST_CASE("each constraint refuses what it is about, and nothing else") {
  CHECK(Shape{64, 128, 16, 8, 4}.threads() == 256);
  CHECK(Shape{64, 128, 16, 8, 4}.shared_bytes() == (64 * 16 + 16 * 128) * 4);
  CHECK(squares_fit({24, 20, 16, 8, 4}));
  CHECK(squares_fit({20, 24, 16, 4, 8}));
  CHECK_FALSE(squares_fit({20, 24, 16, 8, 8}));
  CHECK_FALSE(squares_fit({24, 20, 16, 8, 8}));
  CHECK(float4s_fit_rows({30, 30, 4, 12, 20}));
  CHECK_FALSE(float4s_fit_rows({32, 32, 6, 8, 8}));
  CHECK_FALSE(float4s_fit_rows({32, 32, 8, 6, 8}));
  CHECK_FALSE(float4s_fit_rows({32, 32, 8, 8, 6}));
  CHECK(warps_are_whole({32, 64, 8, 4, 8}));
  CHECK_FALSE(warps_are_whole({32, 32, 8, 4, 16}));
  CHECK(block_fits({128, 128, 48, 4, 4}));  // 1024 threads, 48 KB
  CHECK_FALSE(block_fits({128, 136, 8, 4, 4}));
  CHECK_FALSE(block_fits({128, 128, 49, 8, 8}));
  // Each violates one constraint alone, in the order of `valid`.
  for (const Shape s :
       {Shape{48, 32, 8, 4, 12}, Shape{32, 32, 4, 4, 16}, Shape{32, 32, 4, 2, 16},
        Shape{32, 32, 12, 4, 8}, Shape{32, 48, 4, 4, 12}, Shape{32, 256, 64, 4, 4}})
    CHECK_FALSE(valid(s));
  CHECK(valid({32, 32, 8, 4, 8}));
}

TEST_CASE("64,8,256 is not valid: 256 threads copy 1024 elements at once, the tile has 512") {
  constexpr Shape s{64, 64, 8, 4, 4};
  CHECK(s.threads() == 256);
  CHECK(s.BM * s.BK == 512);
  CHECK(!copies_of_A_fit(s));
  CHECK(!valid(s));
  CHECK(valid(Default::shape));
}

// Conflicts of the stores of A, if they are as the experiment says; -1 if two elements of the
// tile meet in a place.
template <class Chosen, int WAYS>
int ways_of_stores() {
  using Variant = WithConflicts<Chosen, WAYS>;
  std::vector<int> stored(std::size_t(Chosen::BM * Chosen::BK));
  for (int row = 0; row < Chosen::BM; ++row)
    for (int col = 0; col < Chosen::BK; ++col) {
      const int place = Variant::place_in_As(row, col / 4 * 4);
      if (place < 0 || place >= Chosen::BM ||
          ++stored[std::size_t(col * Chosen::BM + place)] > 1)
        return -1;
    }
  return simt::shared_wavefronts(access_of(4,
                                           [](int lane) {
                                             const Position p = load_A_of(lane, Chosen::BK);
                                             return p.col * Chosen::BM +
                                                    Variant::place_in_As(p.row, p.col);
                                           }),
                                 false);
}

TEST_CASE(
    "the experiment's stores have the conflicts that it says, and each element a place of its own") {
  CHECK(ways_of_stores<Config<128, 128, 32, 8, 8>, 1>() == 1);
  CHECK(ways_of_stores<Config<128, 64, 32, 16, 4>, 2>() == 2);
  CHECK(ways_of_stores<Config<128, 32, 32, 4, 16>, 4>() == 4);
  CHECK(ways_of_stores<Config<128, 32, 32, 4, 16>, 1>() == 1);
  CHECK(ways_of_stores<Config<128, 128, 32, 8, 8>, 8>() == 8);
  for (const Experiment& e : experiments()) {
    CHECK(e.variants.size() == 4);
    CHECK(e.variants[0].cost != e.variants[1].cost);
  }
}

#if TILE_ON_MODEL
TEST_CASE("the arithmetic that prunes counts what the model counts" *
          doctest::test_suite("model thorough")) {
  for (std::size_t i = 0; i < candidates().size(); i += 7) {
    const auto& p = candidates()[i].parameters;
    const Shape s{p[0].second, p[1].second, p[2].second, p[3].second, p[4].second};
    const tile::Case c{256, 256, 32};
    const auto counts = tile::count(candidates()[i].kernel.launch, c);
    const auto rounds =
        std::uint64_t(256 / s.BM * (256 / s.BN) * s.threads() / 32 * (c.K / s.BK));
    const Round r = round_of(s);
    std::uint64_t load_wavefronts = 0, store_wavefronts = 0, loads = 0, stores = 0;
    for (const auto& site : counts.sites) {
      if (site.space != simt::Space::shared) continue;
      const bool load = site.op == simt::Op::load;
      (load ? load_wavefronts : store_wavefronts) += site.wavefronts;
      (load ? loads : stores) += site.requests;
    }
    const simt::Site &load_A = tile::site(counts, "load-A"),
                     &load_B = tile::site(counts, "load-B");
    INFO(candidates()[i].kernel.name);
    CHECK(load_wavefronts == rounds * std::uint64_t(r.load_wavefronts));
    CHECK(store_wavefronts == rounds * std::uint64_t(r.store_wavefronts));
    CHECK(loads == rounds * std::uint64_t(r.shared_loads));
    CHECK(stores == rounds * std::uint64_t(r.shared_stores));
    CHECK(load_A.requests + load_B.requests == rounds * std::uint64_t(r.global_loads));
    CHECK(load_A.l1_cycles + load_B.l1_cycles == rounds * std::uint64_t(r.l1_cycles));
  }
}
#endif

#endif  // TILE_UNIT
