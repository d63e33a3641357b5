// Tile by Tile, chapter 11: coalesced write-back.
//
// Question: a thread owns eight columns of C side by side and stores them as two float4s. What
// does a store of the warp write? Idea: half of each of 32 sectors. Give the thread two groups
// of four columns, half the warp's columns apart, and each store of the warp writes whole
// lines. That moves the loads of Bs as well, so the two effects need kernels that tell them
// apart.
// Previous chapter: 08, whose kernel this is with another epilogue. What a thread owns was
// always a matter of its configuration; new is which lane writes what.
//
// Build, run, verify:   ./tile run 11      ctest --preset model -R chapter11

#include "common/report/chapter.hpp"
#if TILE_ON_GPU
#include "common/bench/timing.hpp"
#endif

namespace {

// [snippet order]
// Which lane writes which results in a request of the epilogue.
enum class Order {
  as_computed,  // each lane its own, from left to right
  // each lane one float4 of its own and one of a partner's: from results side by side, whole
  // lines
  exchanged,
  crossed  // odd lanes from right to left: from results apart, half sectors
};
// [/snippet order]

// [snippet config]
template <int BM_, int BN_, int BK_,  // rows and columns of C per block, depth of a tile
          int WM_, int WN_,           // rows and columns of C per warp
          int WNITER_,                // pieces of the warp's tile, side by side
          int TM_, int TN_,           // rows and columns of results per thread and piece
          int BLOCKS_,                // blocks an SM must hold: a limit on registers
          Order ORDER_ = Order::as_computed>
struct Config {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, WNITER = WNITER_,
                       TM = TM_, TN = TN_, BLOCKS = BLOCKS_;
  static constexpr Order ORDER = ORDER_;
  static constexpr int WSUBN = WN / WNITER;  // columns of a piece
  // rows of a piece: 32 threads of TM x TN results cover it
  static constexpr int WSUBM = 32 * TM * TN / WSUBN;
  static constexpr int WMITER = WM / WSUBM;  // pieces of the warp's tile, one below the other
  static constexpr int ACCUMULATORS = WM * WN / 32;  // results per thread
  static constexpr int LANES = WSUBN / TN;           // lanes of a warp beside each other
  // float4s in a row of a thread's results, and requests to write them
  static constexpr int GROUPS = WNITER * TN / 4;
  static constexpr int NUM_THREADS = BM * BN / ACCUMULATORS;
  // rows of a tile of A that all threads together copy at once
  static constexpr int ROWS_A = 4 * NUM_THREADS / BK;
  static constexpr int ROWS_B = 4 * NUM_THREADS / BN;  // rows of a tile of B
  static_assert(BM % WM == 0 && BN % WN == 0,
                "a warp's tile must not cross the edge of the block's tile");
  static_assert(
      WN % WNITER == 0 && WSUBN % TN == 0 && 32 * TM * TN % WSUBN == 0 && WSUBM % TM == 0 &&
          WM % WSUBM == 0,
      "32 threads of TM x TN results must cover a piece, and WMITER x WNITER pieces the warp's tile");
  static_assert(BK % 4 == 0 && TM % 4 == 0 && TN % 4 == 0,
                "a float4 lies in one row: sizes must be multiples of 4");
  static_assert(
      BM * BK % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BK == 0,
      "BM*BK must be divisible by 4*NUM_THREADS: else threads copy past the tile of A or leave parts out");
  static_assert(
      BK * BN % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BN == 0,
      "BK*BN must be divisible by 4*NUM_THREADS: else threads copy past the tile of B or leave parts out");
  static_assert(NUM_THREADS <= 1024,
                "a block has at most 1024 threads: the launch would fail");
  static_assert(BLOCKS >= 1 && BLOCKS * NUM_THREADS <= 2048,
                "an SM holds at most 2048 threads: a bound beyond says nothing");
  static_assert(
      ORDER != Order::exchanged || (WNITER == 1 && TN == 8 && LANES % 2 == 0),
      "lanes exchange one of two float4s side by side with a lane half a row of lanes away");
  static_assert(ORDER != Order::crossed || (WNITER == 2 && TN == 4),
                "a lane has two float4s apart to write in turn");
  static_assert((BM + BN) * BK * 4 <= 48 * 1024,
                "a block declares at most 48 KB of shared memory: ptxas would refuse");
};

using Adjacent = Config<128, 128, 16, 32, 64, 1, 8, 8, 2>;  // eight columns side by side
// four, and four more 32 columns on: the chapter's kernel
using Split = Config<128, 128, 16, 32, 64, 2, 8, 4, 2>;
// reads as Adjacent, writes as Split
using Exchanged = Config<128, 128, 16, 32, 64, 1, 8, 8, 2, Order::exchanged>;
// reads as Split, writes as Adjacent
using Crossed = Config<128, 128, 16, 32, 64, 2, 8, 4, 2, Order::crossed>;
using Tall = Config<64, 128, 16, 64, 32, 1, 8, 8, 4>;  // chapter 08's
using TallSplit = Config<64, 128, 16, 64, 32, 2, 8, 4, 4>;
// [/snippet config]

struct Position {
  int row, col;
};

// Where the tile of a thread's warp begins in the block's tile. A warp is 32 threads that
// follow each other.
template <class C>
constexpr __host__ __device__ Position warp_tile_of(int thread) {
  const int warpId = thread / 32;
  return {warpId / (C::BN / C::WN) * C::WM, warpId % (C::BN / C::WN) * C::WN};
}
// Where a thread's TM x TN results begin in a piece of the warp's tile.
template <class C>
constexpr __host__ __device__ Position thread_tile_of(int thread) {
  const int laneId = thread % 32;
  return {laneId / (C::WSUBN / C::TN) * C::TM, laneId % (C::WSUBN / C::TN) * C::TN};
}
// The first word of a thread's first float4 in the tile of A, and in the tile of B, as in
// chapter 06.
template <class C>
constexpr __host__ __device__ Position load_A_of(int thread) {
  return {thread / (C::BK / 4), thread % (C::BK / 4) * 4};
}
template <class C>
constexpr __host__ __device__ Position load_B_of(int thread) {
  return {thread / (C::BN / 4), thread % (C::BN / 4) * 4};
}

// [snippet write-maps]
// The first column, in the warp's tile, of a lane's group-th float4 of a row of its results.
template <class C>
constexpr __host__ __device__ int column_of(int lane, int group) {
  return group / (C::TN / 4) * C::WSUBN + thread_tile_of<C>(lane).col +
         group % (C::TN / 4) * 4;
}

struct Part {
  int lane, group;
};
// Whose float4 a lane writes in a request, and which of them.
template <class C>
constexpr __host__ __device__ Part written_by(int lane, int request) {
  if (C::ORDER == Order::crossed) return {lane, request ^ (lane % 2)};
  if (C::ORDER == Order::as_computed) return {lane, request};
  // The left half of the lanes writes left parts, the right half right parts; together, a half
  // of the row of results.
  constexpr int half = C::LANES / 2;
  const int inRow = lane % C::LANES;
  return {lane - inRow + inRow % half + request * half, inRow / half};
}
// [/snippet write-maps]

// [snippet reorder]
// Turns a lane's float4s of a row, from left to right, into those that it writes, request by
// request.
template <class C>
__device__ void put_in_order(float (&parts)[C::GROUPS][4], int laneId) {
  if constexpr (C::ORDER == Order::crossed) {
    const bool odd = laneId % 2 == 1;
    for (int j = 0; j < 4; ++j) {
      const float left = parts[0][j], right = parts[1][j];
      parts[0][j] = odd ? right : left, parts[1][j] = odd ? left : right;
    }
  }
  if constexpr (C::ORDER == Order::exchanged) {
    constexpr int half = C::LANES / 2;
    const bool writesRight = laneId % C::LANES >= half;
    for (int j = 0; j < 4; ++j) {
      const float kept = writesRight ? parts[1][j] : parts[0][j];
      const float given = writesRight ? parts[0][j] : parts[1][j];
      const float taken = __shfl_xor_sync(0xffffffffu, given, half);
      parts[0][j] = writesRight ? taken : kept, parts[1][j] = writesRight ? kept : taken;
    }
  }
}
// [/snippet reorder]

// VECTORISED: tiles are whole and addresses divisible by 16.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, Config::BLOCKS)
    sgemm_written_back(int M, int N, int K, float alpha,  //
                       const float* A, int lda,           // M x K
                       const float* B, int ldb,           // K x N
                       float beta,                        //
                       float* C, int ldc) {               // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM,
                TN = Config::TN;
  constexpr int WMITER = Config::WMITER, WNITER = Config::WNITER, WSUBM = Config::WSUBM,
                WSUBN = Config::WSUBN;
  alignas(16) __shared__ float As[BK * BM];  // BK x BM: the tile of A, transposed
  alignas(16) __shared__ float Bs[BK * BN];  // BK x BN, row-major

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [warpRow, warpCol] = warp_tile_of<Config>(threadIdx.x);
  const auto [threadRow, threadCol] = thread_tile_of<Config>(threadIdx.x);
  const auto [rowA, colA] = load_A_of<Config>(threadIdx.x);
  const auto [rowB, colB] = load_B_of<Config>(threadIdx.x);

  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  float acc[WMITER][TM][WNITER][TN] = {};  // TM x TN results in each piece
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
    // a thread reads what others wrote: nobody may start before all have stored
    __syncthreads();

#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      // one row of As, one row of Bs: this thread's parts
      float regM[WMITER][TM], regN[WNITER][TN];
      for (int wm = 0; wm < WMITER; ++wm)
        for (int i = 0; i < TM; i += 4) {
          const float* from = &As[dotIdx * BM + warpRow + wm * WSUBM + threadRow + i];
          const float4 four = *reinterpret_cast<const float4*>(from);  //@ load-As
          regM[wm][i] = four.x, regM[wm][i + 1] = four.y, regM[wm][i + 2] = four.z,
          regM[wm][i + 3] = four.w;
        }
      for (int wn = 0; wn < WNITER; ++wn)
        for (int j = 0; j < TN; j += 4) {
          const float* from = &Bs[dotIdx * BN + warpCol + wn * WSUBN + threadCol + j];
          const float4 four = *reinterpret_cast<const float4*>(from);  //@ load-Bs
          regN[wn][j] = four.x, regN[wn][j + 1] = four.y, regN[wn][j + 2] = four.z,
          regN[wn][j + 3] = four.w;
        }
      for (int wm = 0; wm < WMITER; ++wm)
        for (int wn = 0; wn < WNITER; ++wn)
          for (int i = 0; i < TM; ++i)
            for (int j = 0; j < TN; ++j) acc[wm][i][wn][j] += regM[wm][i] * regN[wn][j];
    }
    // the next round overwrites the tiles: nobody may store while another still reads
    __syncthreads();
  }

  // [snippet epilogue]
  const int laneId = threadIdx.x % 32;
  // Unrolled, because a register has no index: a sum that is chosen at run time would have to
  // live in local memory.
#pragma unroll
  for (int wm = 0; wm < WMITER; ++wm) {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      const int row = blockRow + warpRow + wm * WSUBM + threadRow + i;
      float parts[Config::GROUPS][4];
#pragma unroll
      for (int group = 0; group < Config::GROUPS; ++group)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          parts[group][j] = alpha * acc[wm][i][group / (TN / 4)][group % (TN / 4) * 4 + j];
      put_in_order<Config>(parts, laneId);
      float* C_row = &C[std::size_t(row) * ldc];
      int cols[Config::GROUPS];
#pragma unroll
      for (int request = 0; request < Config::GROUPS; ++request) {
        const Part part = written_by<Config>(laneId, request);
        cols[request] = blockCol + warpCol + column_of<Config>(part.lane, part.group);
      }
      if constexpr (VECTORISED) {
        // First all reads: the compiler cannot tell that columns which a lane's number chooses
        // are different ones, and would let the second read wait for the first write.
        if (beta != 0.0f) {
#pragma unroll
          for (int request = 0; request < Config::GROUPS; ++request) {
            const float4 old =  //@ load-C
                *reinterpret_cast<const float4*>(&C_row[cols[request]]);
            float(&sum)[4] = parts[request];
            sum[0] += beta * old.x, sum[1] += beta * old.y, sum[2] += beta * old.z,
                sum[3] += beta * old.w;
          }
        }
#pragma unroll
        for (int request = 0; request < Config::GROUPS; ++request) {
          const float(&sum)[4] = parts[request];
          const float4 four{sum[0], sum[1], sum[2], sum[3]};
          *reinterpret_cast<float4*>(&C_row[cols[request]]) = four;  //@ store-C
        }
      } else {
#pragma unroll
        for (int request = 0; request < Config::GROUPS; ++request)
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            const int col = cols[request] + j;
            if (row >= M || col >= N) continue;
            float sum = parts[request][j];
            if (beta != 0.0f) sum += beta * C_row[col];  //@ load-C-words
            C_row[col] = sum;                            //@ store-C-words
          }
      }
    }
  }
  // [/snippet epilogue]
}

// [snippet launch]
bool is_aligned_16(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
}

// Whether every tile is whole and every float4 of a problem begins at a multiple of 16 bytes.
template <class Config>
bool can_vectorise(const tile::Gemm& g) {
  return g.M % Config::BM == 0 && g.N % Config::BN == 0 && g.K % Config::BK == 0 &&  //
         g.lda % 4 == 0 && g.ldb % 4 == 0 && g.ldc % 4 == 0 &&                       //
         is_aligned_16(g.A) && is_aligned_16(g.B) && is_aligned_16(g.C);
}

template <class Config>
dim3 grid_of(const tile::Gemm& g) {
  return dim3(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
}

template <class Config>
void start(const tile::Gemm& g) {
  tile::launch(can_vectorise<Config>(g) ? sgemm_written_back<Config, true>
                                        : sgemm_written_back<Config, false>,
               grid_of<Config>(g), dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A,
               g.lda, g.B, g.ldb, g.beta, g.C, g.ldc);
}

template <class Config>
void launch_written_back(const tile::Gemm& g) {
  tile::require_valid(g);
  start<Config>(g);
}
// [/snippet launch]

const tile::Case counted{256, 256, 256};

// Problems in which what is done once for each result weighs: little depth.
const std::vector<tile::Case> shallow{{8192, 8192, 64}, {8192, 8192, 256}};

// [snippet writing]
// How a warp writes memory, with no matrix in the way: 1024 bytes, 32 sectors, and then the
// next.
enum class Writing {
  whole,       // whole sectors, in two requests of float4s
  words,       // the same sectors word by word, in eight
  twice,       // whole sectors, and all of them again
  parts,       // left halves of all sectors, then right halves
  parts_late,  // the same, but everything else that the warp writes comes between
  left_parts   // left halves only
};
// [/snippet writing]

// What becomes of a piece before it is written.
enum class Before {
  nothing,
  read_past_l1,  // each of its sectors is read, and stays in L2
  read_into_l1   // and in L1, too
};
constexpr int PIECE = 256;  // words

// How often a warp goes over its memory, how many requests it makes in each piece, and how
// many words a lane writes in one.
constexpr __host__ __device__ int visits_of(Writing writing) {
  return writing == Writing::parts_late ? 2 : 1;
}
constexpr __host__ __device__ int requests_of(Writing writing) {
  if (writing == Writing::words) return 8;
  if (writing == Writing::twice) return 4;
  return writing == Writing::parts_late || writing == Writing::left_parts ? 1 : 2;
}
constexpr __host__ __device__ int width_of(Writing writing) {
  return writing == Writing::words ? 1 : 4;
}
// The first word of a piece that a lane writes in a request.
constexpr __host__ __device__ int word_of(Writing writing, int visit, int request, int lane) {
  if (writing == Writing::whole || writing == Writing::twice)
    return request % 2 * 128 + lane * 4;
  if (writing == Writing::words) return request * 32 + lane;
  return lane * 8 + (visit + request) * 4;
}

// [snippet write-sectors]
// Each warp writes PIECES pieces, `sweeps` times over.
// Warps beside each other write pieces beside each other.
template <Writing WRITING, Before BEFORE, int PIECES>
__global__ void write_sectors(float* out, int sweeps) {
  const int lane = threadIdx.x % 32;
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32,
            warps = gridDim.x * blockDim.x / 32;
  for (int sweep = 0; sweep < sweeps; ++sweep)
    for (int visit = 0; visit < visits_of(WRITING); ++visit)
#pragma unroll 1
      for (int piece = 0; piece < PIECES; ++piece) {
        float* to = out + (std::size_t(piece) * warps + warp) * PIECE;
        float value = float(sweep + 1);
        if constexpr (BEFORE != Before::nothing) {
          const auto* quads = reinterpret_cast<const float4*>(to) + lane;
          constexpr bool PAST_L1 = BEFORE == Before::read_past_l1;
          const float4 first = PAST_L1 ? __ldcg(quads) : quads[0];
          const float4 second = PAST_L1 ? __ldcg(quads + 32) : quads[32];
          value = (first.x + second.w) / 2 + 1;
          __syncwarp();  // lanes will write what others read
        }
#pragma unroll
        for (int request = 0; request < requests_of(WRITING); ++request) {
          float* word = to + word_of(WRITING, visit, request, lane);
          const float4 four{value, value, value, value};
          if constexpr (width_of(WRITING) == 1)
            *word = value;  //@ write-word
          else
            *reinterpret_cast<float4*>(word) = four;  //@ write-four
          // Or the compiler would drop what `twice` writes first.
          __syncwarp();
        }
      }
}
// [/snippet write-sectors]

// Memory that all warps of a full GPU write together: what stays in L2, and what is far too
// large for it.
struct Place {
  std::string key;
  int pieces, sweeps;
};
constexpr int FEW_PIECES = 2, MANY_PIECES = 128;
const Place in_l2{"l2", FEW_PIECES, 256}, to_dram{"dram", MANY_PIECES, 1};
constexpr int WRITING_THREADS = 256, WRITING_BLOCKS = 8;  // in a block; blocks on an SM
constexpr std::size_t words_written(int sms, const Place& place) {
  return std::size_t(sms) * WRITING_BLOCKS * WRITING_THREADS / 32 * std::size_t(place.pieces) *
         PIECE;
}

using WritingKernel = void (*)(float*, int);
// A way of writing, as tables call it, and its kernels for the two places.
struct Writer {
  std::string name;
  Writing writing;
  Before before;
  WritingKernel few_pieces, many_pieces;

  WritingKernel kernel(const Place& place) const {
    return place.pieces == FEW_PIECES ? few_pieces : many_pieces;
  }
  std::string key(const Place& place) const { return "write." + place.key + "." + name; }
  // Part of the name of the kernel's function, by which a profiler's reports are recognised.
  std::string part_of_name(const Place& place) const {
    return "WritingE" + std::to_string(int(writing)) + "ELNS_6BeforeE" +
           std::to_string(int(before)) + "ELi" + std::to_string(place.pieces) + "E";
  }
};
template <Writing WRITING, Before BEFORE = Before::nothing>
Writer writer(const char* name) {
  return {name, WRITING, BEFORE, write_sectors<WRITING, BEFORE, FEW_PIECES>,
          write_sectors<WRITING, BEFORE, MANY_PIECES>};
}
const std::vector<Writer> writers{writer<Writing::whole>("whole"),
                                  writer<Writing::words>("words"),
                                  writer<Writing::twice>("twice"),
                                  writer<Writing::parts>("parts"),
                                  writer<Writing::parts_late>("parts_late"),
                                  writer<Writing::left_parts>("left_parts"),
                                  writer<Writing::whole, Before::read_past_l1>("read_whole"),
                                  writer<Writing::parts, Before::read_past_l1>("read_parts"),
                                  writer<Writing::whole, Before::read_into_l1>("l1_whole"),
                                  writer<Writing::parts, Before::read_into_l1>("l1_parts")};

std::vector<tile::Chapter::Profiled> profiled_writers() {
  std::vector<tile::Chapter::Profiled> profiled;
  for (const Place& place : {in_l2, to_dram})
    for (const Writer& w : writers) profiled.push_back({w.key(place), w.part_of_name(place)});
  return profiled;
}

// Blocks that do nothing, as many on an SM as of the kernel: with shared memory that nobody
// uses.
template <class Config>
constexpr std::size_t CROWDING = std::size_t(tile::h200.shared_bytes / Config::BLOCKS -
                                             tile::h200.reserved_shared);
template <class Config>
__global__ void __launch_bounds__(Config::NUM_THREADS) do_nothing() {}
template <class Config>
void start_empty(const tile::Gemm& g) {
  tile::launch(do_nothing<Config>, grid_of<Config>(g), dim3(Config::NUM_THREADS),
               CROWDING<Config>);
}

// A kernel under the name that tables give it. `start` takes K = 0 too, which launchers
// refuse.
struct Variant {
  std::string name;
  tile::Launcher start;
};
const std::vector<Variant> variants{
    {"adjacent", start<Adjacent>}, {"exchanged", start<Exchanged>},
    {"crossed", start<Crossed>},   {"split", start<Split>},
    {"tall", start<Tall>},         {"tall_split", start<TallSplit>}};
// What a launch takes that writes nothing, with the blocks of the first four and with those of
// the other two.
const std::vector<Variant> empty_variants{{"empty", start_empty<Split>},
                                          {"empty_tall", start_empty<TallSplit>}};

// A problem of `size` x `size` results; with K = 0 the epilogue is all there is. `launches` in
// a row are timed as one: a single one that takes microseconds would drown in its launch.
struct Problem {
  std::string key, label;
  int size, K, launches;
};
const std::vector<Problem> problems{{"l2", "2816 x 2816 x 0, C stays in L2", 2816, 0, 20},
                                    {"dram", "8192 x 8192 x 0", 8192, 0, 1},
                                    {"k64", "8192 x 8192 x 64", 8192, 64, 1},
                                    {"k256", "8192 x 8192 x 256", 8192, 256, 1},
                                    {"k4096", "4096 x 4096 x 4096", 4096, 4096, 1}};

std::string rate_name(const Problem& problem, int beta, const Variant& variant) {
  return problem.key + ".beta" + std::to_string(beta) + "." + variant.name;
}

// The kernels that are timed on a problem.
std::vector<Variant> variants_for(const Problem& problem, int beta) {
  std::vector<Variant> all = variants;
  if (problem.K == 0 && beta == 0)
    all.insert(all.end(), empty_variants.begin(), empty_variants.end());
  return all;
}

// Of each problem, with beta 0 and 1, microseconds of a launch of each kernel; and of each way
// of writing, of a sweep.
std::vector<tile::Chapter::Rate> experiment_rates() {
  std::vector<tile::Chapter::Rate> rates;
  for (const Problem& p : problems)
    for (const int beta : {0, 1})
      for (const Variant& v : variants_for(p, beta))
        rates.push_back({rate_name(p, beta, v), "microseconds of " + v.name + ", " + p.label +
                                                    ", beta " + std::to_string(beta)});
  for (const Place& place : {in_l2, to_dram})
    for (const Writer& w : writers)
      rates.push_back({w.key(place), "microseconds of writing, " + w.name + ", " + place.key});
  return rates;
}

#if TILE_ON_GPU
// Device memory for the experiments, filled with random values.
class Values {
 public:
  explicit Values(std::size_t count) {
    tile::cuda_check(cudaMalloc(&device_, count * sizeof(float)), "cudaMalloc");
    const std::vector<float> values = tile::make_values(count, tile::Fill::random, 11);
    tile::cuda_check(
        cudaMemcpy(device_, values.data(), count * sizeof(float), cudaMemcpyHostToDevice),
        "fill");
  }
  ~Values() { cudaFree(device_); }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  float* get() const { return device_; }

 private:
  float* device_ = nullptr;
};

// Calls `use` for each way of writing and each place, with what launches it on the whole GPU.
template <class Use>
void for_each_writing(Use use) {
  int sms = 0;
  tile::cuda_check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0),
                   "multiprocessor count");
  for (const Place& place : {in_l2, to_dram}) {
    float* memory = nullptr;
    const std::size_t bytes = words_written(sms, place) * sizeof(float);
    tile::cuda_check(cudaMalloc(&memory, bytes), "cudaMalloc");
    tile::cuda_check(cudaMemset(memory, 0, bytes), "cudaMemset");
    for (const Writer& w : writers)
      use(w, place, [&] {
        tile::launch(w.kernel(place), dim3(unsigned(sms * WRITING_BLOCKS)),
                     dim3(WRITING_THREADS), 0, memory, place.sweeps);
      });
    cudaFree(memory);
  }
}

void measure_experiments(tile::RateSink& sink) {
  for (const Problem& p : problems) {
    const std::size_t size = std::size_t(p.size);
    const std::size_t inputs = size * std::size_t(std::max(p.K, 1));
    const Values A(inputs), B(inputs), C(size * size);
    for (const int beta : {0, 1}) {
      // beta * C + A * B would grow from launch to launch; alpha = 0 keeps it, and the work is
      // the same.
      const tile::Gemm g{p.size,  p.size, p.K,         0,       A.get(), p.K,
                         B.get(), p.size, float(beta), C.get(), p.size};
      for (const Variant& v : variants_for(p, beta)) {
        const auto launches = [&](int) {
          for (int i = 0; i < p.launches; ++i) v.start(g);
        };
        sink.rate(rate_name(p, beta, v),
                  1e3 * tile::time_ms(launches, 40).median / p.launches);
      }
    }
  }
  for_each_writing([&](const Writer& w, const Place& place, const auto& launch) {
    sink.rate(w.key(place),
              1e3 * tile::time_ms([&](int) { launch(); }, 40).median / place.sweeps);
  });
}

// For a profiler: each way of writing once.
void profile() {
  for_each_writing([](const Writer&, const Place&, const auto& launch) { launch(); });
  tile::cuda_check(cudaDeviceSynchronize(), "write_sectors");
}
#else
constexpr void (*measure_experiments)(tile::RateSink&) = nullptr;
constexpr void (*profile)() = nullptr;
#endif

// Kernels of other chapters, for comparison by arithmetic.
using Large = Config<128, 128, 16, 64, 64, 2, 8, 4, 3>;  // chapter 08's
// chapter 06's: a warp is two rows of 16 lanes
using Flat = Config<128, 128, 16, 16, 128, 1, 8, 8, 2>;
// the same with four columns twice
using FlatSplit = Config<128, 128, 16, 16, 128, 2, 8, 4, 2>;

// One 16-byte access of a warp: `word(lane)` is the first word of a lane, in a matrix whose
// rows are a multiple of 32 long.
template <class Word>
simt::WarpAccess access_of(Word word) {
  simt::WarpAccess access{.active = ~0u, .size = 16};
  for (int lane = 0; lane < 32; ++lane)
    access.address[std::size_t(lane)] = 4 * std::uint64_t(word(lane));
  return access;
}

constexpr int LDC = 4096;  // any multiple of 32

// A request of warp 0 that writes, or reads, C.
template <class C>
simt::WarpAccess access_to_C(int request) {
  return access_of([&](int lane) {
    const Part part = written_by<C>(lane, request);
    return thread_tile_of<C>(lane).row * LDC + column_of<C>(part.lane, part.group);
  });
}
// A load of one of its groups of a row of Bs.
template <class C>
simt::WarpAccess load_of_Bs(int group) {
  return access_of([&](int lane) { return column_of<C>(lane, group); });
}
// A load of four rows of its part of a column of As.
template <class C>
simt::WarpAccess load_of_As() {
  return access_of([](int lane) { return thread_tile_of<C>(lane).row; });
}

// What a warp does to write a piece in a way: requests, bytes, and sectors touched, request by
// request.
double requests_of_a_piece(Writing writing) {
  return visits_of(writing) * requests_of(writing);
}
double bytes_of_a_piece(Writing writing) {
  return requests_of_a_piece(writing) * 128 * width_of(writing);
}
double sectors_of_a_piece(Writing writing) {
  int sectors = 0;
  for (int visit = 0; visit < visits_of(writing); ++visit)
    for (int request = 0; request < requests_of(writing); ++request) {
      simt::WarpAccess access{.active = ~0u, .size = 4 * width_of(writing)};
      for (int lane = 0; lane < 32; ++lane)
        access.address[std::size_t(lane)] =
            4 * std::uint64_t(word_of(writing, visit, request, lane));
      sectors += simt::distinct_blocks(access, 5);
    }
  return sectors;
}
// Whether the sectors of a request are left half written.
bool writes_parts(Writing writing) {
  return 32 * sectors_of_a_piece(writing) > bytes_of_a_piece(writing);
}

// Sectors that a kernel moves between its SMs and L2 for M x N x K: its tiles of A and B, and
// C once.
template <class C>
double sectors_loaded(double M, double N, double K) {
  return M * N * K * (1.0 / C::BM + 1.0 / C::BN) / 8;
}
template <class C>
double sectors_stored(double M, double N) {
  return M * N / 128 * simt::distinct_blocks(access_to_C<C>(0), 5);
}

// The arithmetic of the prose.
void predict(tile::Facts& facts) {
  const double cycles = tile::h200.sms * tile::h200.clock_ghz * 1e9;  // one wavefront each
  const auto describe = [&]<class C>(const std::string& name, C) {
    const int sectors = simt::distinct_blocks(access_to_C<C>(0), 5);
    facts.predicted(name + ".request.sectors", sectors);
    facts.predicted(name + ".request.lines", simt::distinct_blocks(access_to_C<C>(0), 7));
    facts.predicted(name + ".request.used_percent", 100 * 512.0 / (32 * sectors));
    facts.predicted(name + ".load_Bs.wavefronts",
                    simt::shared_wavefronts(load_of_Bs<C>(0), true));
    facts.predicted(name + ".load_As.wavefronts",
                    simt::shared_wavefronts(load_of_As<C>(), true));
    const int per_step =
        C::WMITER * C::TM / 4 * simt::shared_wavefronts(load_of_As<C>(), true) +
        C::GROUPS * simt::shared_wavefronts(load_of_Bs<C>(0), true);
    facts.predicted(name + ".wavefronts_per_step", per_step);
    facts.predicted(name + ".reads.tflops", cycles * 64 * C::ACCUMULATORS / per_step * 1e-12);
    facts.predicted(name + ".lanes", C::LANES);
  };
  const auto describe_ours = [&]<class C>(const std::string& name, C config) {
    describe(name, config);
    facts.predicted_loads(name, 1.0 / C::BM + 1.0 / C::BN,
                          double(C::WMITER * C::TM + 4 * C::GROUPS) / C::ACCUMULATORS, 4, 4);
  };
  describe_ours("adjacent", Adjacent{});
  describe_ours("exchanged", Exchanged{});
  describe_ours("crossed", Crossed{});
  describe_ours("split", Split{});
  describe_ours("tall", Tall{});
  describe_ours("tall_split", TallSplit{});
  describe("large", Large{});
  describe("flat", Flat{});
  describe("flat_split", FlatSplit{});
  facts.predicted("flat_split.apart", column_of<FlatSplit>(0, 1));
  facts.predicted("split.apart", column_of<Split>(0, 1));
  for (const int size : {2816, 4096, 8192}) {
    const std::string name = "sectors." + std::to_string(size);
    const double stored = sectors_stored<Adjacent>(size, size),
                 needed = sectors_stored<Split>(size, size);
    const double all = sectors_loaded<Adjacent>(size, size, size) + stored;
    facts.predicted(name + ".needed", needed);
    facts.predicted(name + ".needed_mb", needed * 32e-6);
    facts.predicted(name + ".stored", stored);
    facts.predicted(name + ".excess", stored - needed);
    facts.predicted(name + ".excess_mb", (stored - needed) * 32e-6);
    facts.predicted(name + ".all", all);
    facts.predicted(name + ".excess_percent", 100 * (stored - needed) / all, 1);
  }
  // Microseconds that the FFMAs of the experiments' problems take at least.
  for (const Problem& p : problems)
    if (p.K > 0)
      facts.predicted(p.key + ".ffma_us",
                      2.0 * p.size * p.size * p.K / tile::h200.peak_tflops() * 1e-6);
  // Thread 101 of three kernels, its first row of results.
  const auto worked = [&]<class C>(const std::string& name, C) {
    const int thread = 101, lane = thread % 32;
    facts.predicted(name + ".row", warp_tile_of<C>(thread).row + thread_tile_of<C>(lane).row);
    for (int request = 0; request < C::GROUPS; ++request) {
      const Part part = written_by<C>(lane, request);
      const int col = warp_tile_of<C>(thread).col + column_of<C>(part.lane, part.group);
      facts.predicted(name + ".col" + std::to_string(request), col);
      facts.predicted(name + ".sector" + std::to_string(request), col / 8);
      facts.predicted(name + ".from" + std::to_string(request), part.lane);
    }
  };
  // What each explanation makes of the ways of writing, as multiples of `whole`.
  for (const Writer& w : writers) {
    if (w.before != Before::nothing) continue;
    const auto multiple = [&](const char* explanation, auto cost) {
      facts.predicted(std::string("write.by_") + explanation + "." + w.name,
                      cost(w.writing) / cost(Writing::whole));
    };
    multiple("requests", requests_of_a_piece);
    multiple("bytes", bytes_of_a_piece);
    multiple("sectors", sectors_of_a_piece);
    multiple("changes", [](Writing writing) {
      return sectors_of_a_piece(writing) * (writes_parts(writing) ? 2 : 1);
    });
    multiple("fetches", [](Writing writing) {
      return visits_of(writing) * (writes_parts(writing) ? 2 : 1);
    });
    multiple("masks", [](Writing writing) { return visits_of(writing) * 1.0; });
  }
  for (const Place& place : {in_l2, to_dram}) {
    const double bytes = double(words_written(tile::h200.sms, place)) * 4;
    facts.predicted("write." + place.key + ".mb", bytes * 1e-6);
    facts.predicted("write." + place.key + ".sweeps", place.sweeps);
  }
  facts.predicted("worked.warp", 101 / 32);
  facts.predicted("worked.lane", 101 % 32);
  worked("worked.adjacent", Adjacent{});
  worked("worked.split", Split{});
  worked("worked.exchanged", Exchanged{});
}

template <class Config>
tile::Kernel kernel(const char* name) {
  return {name,
          launch_written_back<Config>,
          reinterpret_cast<const void*>(sgemm_written_back<Config, true>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Alignment::float4s},
          (Config::BM + Config::BN) * Config::BK * sizeof(float)};
}

}  // namespace

TILE_CHAPTER(.number = 11, .title = "Coalesced write-back",
             .kernels = {kernel<Adjacent>("adjacent"), kernel<Exchanged>("exchanged"),
                         kernel<Crossed>("crossed"), kernel<Split>("split"),
                         kernel<Tall>("tall"), kernel<TallSplit>("tall_split")},
             .counted = counted, .sizes = {1024, 2048, 4092, 4096, 8192}, .predict = predict,
             .measure_rates = measure_experiments, .profile = profile,
             .profiled = profiled_writers(), .shapes = shallow, .rates = experiment_rates())

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("the result equals the one of chapter 05's order of additions bit for bit" *
          doctest::test_suite("thorough")) {
  tile::test_order_of_additions(tile::this_chapter().kernels,
                                {{128, 256, 208}, {70, 90, 301}});
}

// The threads of each element of a tile of `cols` columns.
class Threads {
 public:
  Threads(int rows, int cols) : cols_(cols), of_(std::size_t(rows * cols)) {}
  void add(int row, int col, int thread) {
    of_.at(std::size_t(row * cols_ + col)).push_back(thread);
  }
  // "", or the first element that none or several have.
  std::string not_one() const {
    for (std::size_t i = 0; i < of_.size(); ++i) {
      if (of_[i].size() == 1) continue;
      std::string text = "row " + std::to_string(int(i) / cols_) + ", column " +
                         std::to_string(int(i) % cols_) + ":";
      for (const int thread : of_[i]) text += " thread " + std::to_string(thread);
      return text + (of_[i].empty() ? " no thread" : "");
    }
    return "";
  }

 private:
  int cols_;
  std::vector<std::vector<int>> of_;
};

// Every result of a block's tile belongs to one thread, and is written by one.
template <class C>
void check_maps(const std::string& name, C) {
  CAPTURE(name);
  Threads computed(C::BM, C::BN), written(C::BM, C::BN), copyA(C::BK, C::BM),
      copyB(C::BK, C::BN);
  for (int thread = 0; thread < C::NUM_THREADS; ++thread) {
    const auto [warpRow, warpCol] = warp_tile_of<C>(thread);
    const int lane = thread % 32, row = thread_tile_of<C>(lane).row;
    for (int wm = 0; wm < C::WMITER; ++wm)
      for (int i = 0; i < C::TM; ++i)
        for (int group = 0; group < C::GROUPS; ++group) {
          const Part part = written_by<C>(lane, group);
          const int at = warpRow + wm * C::WSUBM + row + i;
          for (int j = 0; j < 4; ++j) {
            computed.add(at, warpCol + column_of<C>(lane, group) + j, thread);
            written.add(at, warpCol + column_of<C>(part.lane, part.group) + j, thread);
          }
        }
    for (int i = 0; i < 4; ++i) {
      for (int down = 0; down < C::BM; down += C::ROWS_A)
        copyA.add(load_A_of<C>(thread).col + i, load_A_of<C>(thread).row + down, thread);
      for (int down = 0; down < C::BK; down += C::ROWS_B)
        copyB.add(load_B_of<C>(thread).row + down, load_B_of<C>(thread).col + i, thread);
    }
  }
  CHECK(computed.not_one() == "");
  CHECK(written.not_one() == "");
  CHECK(copyA.not_one() == "");
  CHECK(copyB.not_one() == "");
}

TEST_CASE("every result of a tile is computed by one thread and written by one") {
  check_maps("adjacent", Adjacent{});
  check_maps("exchanged", Exchanged{});
  check_maps("crossed", Crossed{});
  check_maps("split", Split{});
  check_maps("tall", Tall{});
  check_maps("tall_split", TallSplit{});
  check_maps("large", Large{});
  check_maps("flat", Flat{});
  check_maps("flat_split", FlatSplit{});
}

// Whether a request leaves no sector, or no line, half written: it writes 512 bytes.
template <class C>
bool whole_sectors(C) {
  for (int request = 0; request < C::GROUPS; ++request)
    if (simt::distinct_blocks(access_to_C<C>(request), 5) != 16) return false;
  return true;
}
template <class C>
bool whole_lines(C) {
  for (int request = 0; request < C::GROUPS; ++request)
    if (simt::distinct_blocks(access_to_C<C>(request), 7) != 4) return false;
  return true;
}

TEST_CASE(
    "four columns apart, or exchanged, fill sectors in one request, and eight side by side do not") {
  CHECK_FALSE(whole_sectors(Adjacent{}));
  CHECK_FALSE(whole_sectors(Crossed{}));
  CHECK_FALSE(whole_sectors(Tall{}));
  CHECK(whole_sectors(TallSplit{}));
  CHECK_FALSE(whole_lines(TallSplit{}));  // four lanes of 16 bytes: half a line
  CHECK(whole_lines(Split{}));
  CHECK(whole_lines(Exchanged{}));
  CHECK(whole_lines(Large{}));
  CHECK_FALSE(whole_sectors(Flat{}));
  CHECK(whole_lines(FlatSplit{}));
}

// Whether a kernel is another one with two squares side by side, each half as wide, in place
// of one.
template <class Whole, class Halves>
bool differs_in_squares(Whole, Halves) {
  return Whole::BM == Halves::BM && Whole::BN == Halves::BN && Whole::BK == Halves::BK &&
         Whole::WM == Halves::WM && Whole::WN == Halves::WN && Whole::TM == Halves::TM &&
         Whole::BLOCKS == Halves::BLOCKS && Halves::TN * 2 == Whole::TN &&
         Halves::WNITER == 2 * Whole::WNITER;
}

TEST_CASE("what is split differs from what is not in the width of its squares only") {
  CHECK(differs_in_squares(Adjacent{}, Split{}));
  CHECK(differs_in_squares(Exchanged{}, Crossed{}));
  CHECK(differs_in_squares(Tall{}, TallSplit{}));
  CHECK(differs_in_squares(Flat{}, FlatSplit{}));
}

TEST_CASE("4096 x 4096 results in half sectors make 2,097,152 excess sectors of 138 million") {
  CHECK(sectors_stored<Adjacent>(4096, 4096) - sectors_stored<Split>(4096, 4096) == 2097152);
  CHECK(sectors_loaded<Adjacent>(4096, 4096, 4096) + sectors_stored<Adjacent>(4096, 4096) ==
        138412032);
}

TEST_CASE(
    "the split moves the loads of Bs to fewer wavefronts where eight lanes are beside each other, not where four are") {
  CHECK(simt::shared_wavefronts(load_of_Bs<Adjacent>(0), true) == 8);
  CHECK(simt::shared_wavefronts(load_of_Bs<Exchanged>(0), true) == 8);
  CHECK(simt::shared_wavefronts(load_of_Bs<Crossed>(0), true) == 4);
  CHECK(simt::shared_wavefronts(load_of_Bs<Split>(0), true) == 4);
  CHECK(simt::shared_wavefronts(load_of_Bs<Tall>(0), true) == 4);
  CHECK(simt::shared_wavefronts(load_of_Bs<TallSplit>(0), true) == 4);
  CHECK(load_of_Bs<Adjacent>(1).address[3] == load_of_Bs<Adjacent>(0).address[3] + 16);
  CHECK(load_of_Bs<Split>(1).address[3] == load_of_Bs<Split>(0).address[3] + 128);
}

TEST_CASE(
    "all kernels fill an SM with as many warps, and the empty ones with as many blocks") {
  const auto check = []<class C>(C) {
    CHECK(C::BLOCKS * C::NUM_THREADS == 512);
    const tile::Occupancy o = tile::occupancy(tile::h200, C::NUM_THREADS, 1, int(CROWDING<C>));
    CHECK(o.blocks == C::BLOCKS);
  };
  check(Adjacent{});
  check(Exchanged{});
  check(Crossed{});
  check(Split{});
  check(Tall{});
  check(TallSplit{});
}

TEST_CASE(
    "what is to stay in L2 fits twice, and what is to go to DRAM does not fit a quarter") {
  const double l2 = 50e6;  // of an H100 by its whitepaper; that of an H200 is no smaller
  for (const Problem& p : problems)
    if (p.K == 0) {
      const double bytes = 4.0 * p.size * p.size;
      CHECK((p.key == "l2" ? bytes < l2 : bytes > 4 * l2));
      CHECK(p.size % Split::BM == 0);
    }
  CHECK(4.0 * double(words_written(tile::h200.sms, in_l2)) < l2 / 2);
  CHECK(4.0 * double(words_written(tile::h200.sms, to_dram)) > 4 * l2);
}

// What four warps leave in memory that was 0 before.
std::vector<float> memory_after(const Writer& writer, int sweeps) {
  const std::size_t words = 4 * std::size_t(FEW_PIECES) * PIECE;
  float* memory = static_cast<float*>(
      tile::machine::allocate(words * sizeof(float), sizeof(float), "memory"));
  std::vector<float> values(words);
  tile::machine::copy_to_device(memory, values.data(), words * sizeof(float));
  tile::launch(writer.few_pieces, dim3(2), dim3(64), 0, memory, sweeps);
  tile::machine::copy_to_host(values.data(), memory, words * sizeof(float));
  tile::machine::release(memory);
  return values;
}

TEST_CASE("every way of writing writes every word, or the left halves of sectors") {
  for (const Writer& w : writers) {
    const std::vector<float> values = memory_after(w, 3);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool written = w.writing != Writing::left_parts || i % 8 < 4;
      REQUIRE_MESSAGE(values[i] == (written ? 3.0f : 0.0f), w.name << ", word " << i);
    }
  }
}

TEST_CASE("whole tiles are right for every alpha and beta") {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels) {
    CAPTURE(kernel.name);
    CHECK(tile::first_failure(kernel, tile::scaled_cases({128, 256, 32, 1, 0, 4,
                                                          tile::Fill::integers})) == "");
  }
}

#if TILE_ON_MODEL
// Sectors a request, or none where no access has the tag.
double sectors_per_request(const simt::Counts& counts, std::string_view tag) {
  for (const simt::Site& site : counts.sites)
    if (tile::has_tag(site, tag)) return double(site.sectors) / double(site.requests);
  return 0;
}

TEST_CASE("each kernel has the loads of one and the stores of another" *
          doctest::test_suite("model")) {
  const auto check = [](const std::string& name, double sectors, double wavefronts) {
    CAPTURE(name);
    const std::vector<tile::Kernel>& kernels = tile::this_chapter().kernels;
    const auto kernel =
        std::find_if(kernels.begin(), kernels.end(), [&](auto& k) { return k.name == name; });
    REQUIRE(kernel != kernels.end());
    const auto unread = tile::count(kernel->launch, {128, 256, 32});
    CHECK(sectors_per_request(unread, "store-C") == sectors);
    CHECK(sectors_per_request(unread, "load-C") == 0);
    const simt::Site& load = tile::site(unread, "load-Bs");
    CHECK(double(load.wavefronts) == wavefronts * double(load.requests));
    if (wavefronts == 4) CHECK(tile::bank_conflict(unread, "load-Bs") == "");
    const auto read = tile::count(kernel->launch, {128, 256, 32, 1, 1});
    CHECK(sectors_per_request(read, "store-C") == sectors);
    CHECK(sectors_per_request(read, "load-C") == sectors);
  };
  check("adjacent", 32, 8);
  check("exchanged", 16, 8);
  check("crossed", 32, 4);
  check("split", 16, 4);
  check("tall", 32, 4);
  check("tall_split", 16, 4);
}

TEST_CASE("each way of writing makes its requests, and touches its sectors" *
          doctest::test_suite("model")) {
  for (const Writer& w : writers) {
    CAPTURE(w.name);
    const std::size_t words = 2 * std::size_t(FEW_PIECES) * PIECE;
    float* memory = static_cast<float*>(
        tile::machine::allocate(words * sizeof(float), sizeof(float), "memory"));
    const simt::Counts counts =
        simt::trace([&] { tile::launch(w.few_pieces, dim3(1), dim3(64), 0, memory, 1); }, {})
            .front();
    tile::machine::release(memory);
    const simt::Site& write =
        tile::site(counts, width_of(w.writing) == 1 ? "write-word" : "write-four");
    const int pieces = 2 * FEW_PIECES;
    CHECK(double(write.requests) == pieces * requests_of_a_piece(w.writing));
    CHECK(double(write.bytes()) == pieces * bytes_of_a_piece(w.writing));
    CHECK(double(write.sectors) == pieces * sectors_of_a_piece(w.writing));
    CHECK(writes_parts(w.writing) == (write.bytes() < 32 * write.sectors));
  }
}

TEST_CASE("a lane's right half follows its left one at once, or after all of its left ones" *
          doctest::test_suite("model")) {
  const auto bytes_written_by_thread_0 = [](const Writer& w) {
    const std::size_t words = 2 * std::size_t(FEW_PIECES) * PIECE;
    float* memory = static_cast<float*>(
        tile::machine::allocate(words * sizeof(float), sizeof(float), "memory"));
    simt::Trace options;
    options.keep_touches = true;
    const simt::Counts counts =
        simt::trace([&] { tile::launch(w.few_pieces, dim3(1), dim3(64), 0, memory, 1); },
                    options)
            .front();
    tile::machine::release(memory);
    std::vector<std::int64_t> bytes;
    for (const simt::Touch& touch : counts.touches)
      if (touch.thread == 0 && touch.op == simt::Op::store) bytes.push_back(touch.byte_offset);
    return bytes;
  };
  for (const Writer& w : writers) {
    if (w.name == "parts")
      CHECK(bytes_written_by_thread_0(w) == std::vector<std::int64_t>{0, 16, 2048, 2064});
    if (w.name == "parts_late")
      CHECK(bytes_written_by_thread_0(w) == std::vector<std::int64_t>{0, 2048, 16, 2064});
  }
}
#endif
