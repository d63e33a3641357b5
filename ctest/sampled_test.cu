// Tests of counting a grid by a few of its blocks: when these stand for all, and when that is refused. Kernels of one line: what a GEMM
// does with C, and no more.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "common/check/sampled.hpp"
#include "common/check/sites.hpp"
#include "common/check/which_blocks.hpp"
#include "common/cuda/cluster.hpp"
#include "common/sim/model.hpp"
#include "common/bench/ceilings.hpp"
#include "common/report/against_counters.hpp"
#include "common/report/chapter.hpp"
#include "common/report/counted.hpp"
#include "common/report/per_site.hpp"

// Gives this program the command line of the chapters.
TILE_CHAPTER(.number = 0, .title = "tests of sampling", .kernels = {}, .counted = {1, 1, 1}, .sizes = {})

namespace {

constexpr int edge = 8;  // of a tile of C

// Tiles of 8 x 8 results, each of which adds up a row of A; blocks at the right edge look at B as well.
__global__ void add_rows(tile::Gemm g) {
  const int row = blockIdx.y * edge + threadIdx.y, col = blockIdx.x * edge + threadIdx.x;
  if (row >= g.M || col >= g.N) return;
  float sum = 0;
  for (int k = 0; k < g.K; ++k) sum += g.A[row * g.lda + k];  //@ load-A
  if (blockIdx.x == gridDim.x - 1) sum += g.B[col];           //@ load-B
  g.C[row * g.ldc + col] = sum;                               //@ store-C
}

dim3 tiles_of(const tile::Gemm& g) { return dim3(tile::ceil_div(g.N, edge), tile::ceil_div(g.M, edge)); }

void launch_rows(const tile::Gemm& g) { tile::launch(add_rows, tiles_of(g), dim3(edge, edge), 0, g); }

// Blocks that deal out the rows among themselves.
__global__ void deal_rows(tile::Gemm g) {
  for (int row = blockIdx.x; row < g.M; row += gridDim.x)
    for (int col = threadIdx.x; col < g.N; col += blockDim.x) g.C[row * g.ldc + col] = 0;
}
template <int BLOCKS>
void launch_dealing(const tile::Gemm& g) {
  tile::launch(deal_rows, dim3(BLOCKS), dim3(32), 0, g);
}

// Tiles of 8 x 8 results whose depth depends on their row.
__global__ void add_lower_rows(tile::Gemm g) {
  const int row = blockIdx.y * edge + threadIdx.y, col = blockIdx.x * edge + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < int(blockIdx.y + 1); ++k) sum += g.A[row * g.lda + k];
  g.C[row * g.ldc + col] = sum;
}
void launch_lower(const tile::Gemm& g) { tile::launch(add_lower_rows, tiles_of(g), dim3(edge, edge), 0, g); }

// Tiles of 8 x 8 results; the first block reads B besides.
__global__ void first_reads_B(tile::Gemm g) {
  const int row = blockIdx.y * edge + threadIdx.y, col = blockIdx.x * edge + threadIdx.x;
  float sum = 0;
  if (blockIdx.x == 0 && blockIdx.y == 0) sum += g.B[threadIdx.x];
  g.C[row * g.ldc + col] = sum;
}
void launch_first(const tile::Gemm& g) { tile::launch(first_reads_B, tiles_of(g), dim3(edge, edge), 0, g); }

// Tiles of 8 x 8 results, of which each second row is left to another kernel.
__global__ void half_of_C(tile::Gemm g) {
  const int row = blockIdx.y * edge + threadIdx.y, col = blockIdx.x * edge + threadIdx.x;
  if (row % 2 == 0) g.C[row * g.ldc + col] = 0;
}
void launch_part_of_C(const tile::Gemm& g) { tile::launch(half_of_C, tiles_of(g), dim3(edge, edge), 0, g); }

// Each block but the last waits for what the next one writes.
__global__ void wait_for_next(tile::Gemm g) {
  if (threadIdx.x == 0 && blockIdx.x + 1 < gridDim.x)
    while (static_cast<volatile float*>(g.C)[(blockIdx.x + 1) * g.ldc] == 0) {
    }
  __syncthreads();
  g.C[blockIdx.x * g.ldc + threadIdx.x] = 1;
}
void launch_waiting(const tile::Gemm& g) { tile::launch(wait_for_next, dim3(g.M), dim3(g.N), 0, g); }

// Tiles of 8 x 8 results, of which only those of the first row of blocks are sums.
__global__ void first_row_adds(tile::Gemm g) {
  const int row = blockIdx.y * edge + threadIdx.y, col = blockIdx.x * edge + threadIdx.x;
  float sum = 0;
  if (blockIdx.y == 0)
    for (int k = 0; k < g.K; ++k) sum += g.A[row * g.lda + k];
  g.C[row * g.ldc + col] = sum;
}
void launch_first_row(const tile::Gemm& g) { tile::launch(first_row_adds, tiles_of(g), dim3(edge, edge), 0, g); }

// The same of each second row of blocks, or of a board's black squares, or of the triangle below the diagonal.
enum class Adds { second_rows, black_squares, lower_triangle };
template <Adds WHICH>
__global__ void some_add(tile::Gemm g) {
  const int row = blockIdx.y * edge + threadIdx.y, col = blockIdx.x * edge + threadIdx.x;
  const bool adds = WHICH == Adds::second_rows     ? blockIdx.y % 2 == 0
                    : WHICH == Adds::black_squares ? (blockIdx.x + blockIdx.y) % 2 == 0
                                                   : blockIdx.x <= blockIdx.y;
  float sum = 0;
  if (adds)
    for (int k = 0; k < g.K; ++k) sum += g.A[row * g.lda + k];
  g.C[row * g.ldc + col] = sum;
}
template <Adds WHICH>
void launch_some(const tile::Gemm& g) {
  tile::launch(some_add<WHICH>, tiles_of(g), dim3(edge, edge), 0, g);
}

// Two blocks a tile, each for four of its rows; only those of the first half of the grid are sums.
__global__ void first_half_adds(tile::Gemm g) {
  const int row = blockIdx.y * edge + blockIdx.z * edge / 2 + threadIdx.y, col = blockIdx.x * edge + threadIdx.x;
  float sum = 0;
  if (blockIdx.z == 0)
    for (int k = 0; k < g.K; ++k) sum += g.A[row * g.lda + k];
  g.C[row * g.ldc + col] = sum;
}
void launch_halves(const tile::Gemm& g) {
  const dim3 tiles = tiles_of(g);
  tile::launch(first_half_adds, dim3(tiles.x, tiles.y, 2), dim3(edge, edge / 2), 0, g);
}

// Two blocks a tile, of which the second half of the grid does nothing.
__global__ void first_half_writes(tile::Gemm g) {
  const int row = blockIdx.y * edge + threadIdx.y, col = blockIdx.x * edge + threadIdx.x;
  if (blockIdx.z == 0) g.C[row * g.ldc + col] = 0;
}
void launch_idle_half(const tile::Gemm& g) {
  const dim3 tiles = tiles_of(g);
  tile::launch(first_half_writes, dim3(tiles.x, tiles.y, 2), dim3(edge, edge), 0, g);
}

// Blocks that all make the same tile, the same row or column of tiles, or half as many tiles as there are blocks.
enum class Forgets { all, rows, columns, half_of_the_columns };
template <Forgets WHAT, bool VOLATILE>
__global__ void same_tile(tile::Gemm g) {
  const unsigned x = WHAT == Forgets::half_of_the_columns               ? blockIdx.x / 2
                     : WHAT == Forgets::all || WHAT == Forgets::columns ? 0
                                                                        : blockIdx.x,
                 y = WHAT == Forgets::all || WHAT == Forgets::rows ? 0 : blockIdx.y;
  float* const c = g.C + (y * edge + threadIdx.y) * g.ldc + x * edge + threadIdx.x;
  if (VOLATILE)
    *static_cast<volatile float*>(c) = 0;  // such stores of several threads are no race
  else
    *c = 0;
}
template <Forgets WHAT, bool VOLATILE = false>
void launch_same(const tile::Gemm& g) {
  tile::launch(same_tile<WHAT, VOLATILE>, tiles_of(g), dim3(edge, edge), 0, g);
}

// Tiles of 8 x 8 results, of which those of one row of blocks end at a depth of 128, or those of each eighth column are summed twice,
// or those inside the grid read four floats at once, or each thread reads all along a row what others read at one place of it; or a
// zero is left out.
enum class Differs { deep_row, eighth_columns, width, addresses, zeros };
template <Differs HOW>
__global__ void add_otherwise(tile::Gemm g) {
  const int row = blockIdx.y * edge + threadIdx.y, col = blockIdx.x * edge + threadIdx.x;
  const bool inside = blockIdx.x > 0 && blockIdx.x + 1 < gridDim.x;
  const int turns = HOW == Differs::eighth_columns && blockIdx.x % 8 == 5 ? 2 : 1;
  const int depth = HOW == Differs::deep_row && blockIdx.y == 5 ? min(g.K, 128) : g.K;
  float sum = 0;
  for (int turn = 0; turn < turns; ++turn)
    for (int k = 0; k < depth; ++k) {
      const float* const a = &g.A[row * g.lda + (HOW == Differs::addresses && !inside ? 0 : k)];
      float4 four{};
      // Both reads are in one line.
      // clang-format off
      if (HOW == Differs::width && inside) four = *reinterpret_cast<const float4*>(a - k % 4); else four.x = *a;
      // clang-format on
      sum += four.x;
      if (HOW == Differs::zeros && sum != 0) sum += g.B[col];
    }
  g.C[row * g.ldc + col] = sum;
}
template <Differs HOW>
void launch_otherwise(const tile::Gemm& g) {
  tile::launch(add_otherwise<HOW>, tiles_of(g), dim3(edge, edge), 0, g);
}

// The last block to come reads all of C.
__device__ unsigned finished;
__global__ void last_reads_all(tile::Gemm g) {
  __shared__ bool last;
  const int row = blockIdx.y * edge + threadIdx.y, col = blockIdx.x * edge + threadIdx.x;
  g.C[row * g.ldc + col] = 0;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) last = atomicAdd(&finished, 1u) == gridDim.x * gridDim.y - 1;
  __syncthreads();
  if (!last || threadIdx.x > 0) return;
  float sum = 0;
  for (int i = threadIdx.y; i < g.M; i += edge) sum += g.C[i * g.ldc];
  if (sum != 0) g.C[0] = sum;
}
void launch_last(const tile::Gemm& g) { tile::launch(last_reads_all, tiles_of(g), dim3(edge, edge), 0, g); }

// Blocks take numbers without an atomic operation, and the later ones do more.
__device__ volatile int begun;
__global__ void later_ones_do_more(tile::Gemm g) {
  const int row = blockIdx.y * edge + threadIdx.y, col = blockIdx.x * edge + threadIdx.x;
  g.C[row * g.ldc + col] = 0;
  if (threadIdx.x > 0 || threadIdx.y > 0) return;
  const int number = begun;
  begun = number + 1;
  if (number > 99) g.C[row * g.ldc + col] += g.A[0];
}
void launch_later(const tile::Gemm& g) { tile::launch(later_ones_do_more, tiles_of(g), dim3(edge, edge), 0, g); }

void launch_cluster(const tile::Gemm& g) {
  tile::launch_in_clusters(add_rows, tiles_of(g), dim3(2), dim3(edge, edge), 0, g);
}
void launch_twice(const tile::Gemm& g) {
  launch_rows(g);
  launch_rows(g);
}

std::string refusal_of(tile::Launcher launch, const tile::Case& c) {
  try {
    tile::count_sampled(launch, c);
  } catch (const tile::CannotSample& e) {
    return e.what();
  }
  return "";
}

std::string error_of(tile::Launcher launch, const tile::Case& c) {
  try {
    tile::count_sampled(launch, c);
  } catch (const simt::Error& e) {
    return e.what();
  }
  return "";
}

// What this program's memory takes up, in MiB.
long resident_MiB() {
  long all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE) >> 20;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("blocks whose part of C is that of all stand for all" * doctest::test_suite("model")) {
  const tile::Sampled inside = tile::count_sampled(launch_rows, {800, 80, 16});
  CHECK(inside.blocks == 8);  // the first, the last, which does something else, and then each kind and its farthest
  CHECK(inside.of_blocks == 1000);
  CHECK(tile::site(inside.counts, "load-B").accesses == 800 * 8);
  CHECK(tile::site(inside.counts, "store-C").accesses == 800 * 80);
  CHECK(tile::site(inside.counts, "load-A").accesses == 800 * 80 * 16);
  CHECK(inside.counts.grid_sectors == 0);
}

TEST_CASE("at the edges of the grid each kind of block is counted by itself" * doctest::test_suite("model")) {
  const tile::Case ragged{8 * 9 + 3, 8 * 6 + 5, 7};
  const tile::Sampled sampled = tile::count_sampled(launch_rows, ragged);
  CHECK(sampled.blocks == 7);
  CHECK(sampled.of_blocks == 70);
  CHECK(tile::site(sampled.counts, "store-C").accesses == 75 * 53);
  CHECK(tile::site(sampled.counts, "load-A").accesses == 75 * 53 * 7);
  CHECK(tile::site(sampled.counts, "load-B").accesses == 75 * 5);  // of the last column of blocks only
  CHECK(tile::count_sampled(launch_rows, {8 * 9 + 3, 5, 7}).blocks == 3);
  CHECK(tile::count_sampled(launch_rows, {3, 5, 7}).blocks == 1);
}

TEST_CASE("blocks with the same number of rows each stand for each other, with different numbers they do not" *
          doctest::test_suite("model")) {
  CHECK(tile::count_sampled(launch_dealing<10>, {80, 64, 1}).counts.sites.front().accesses == 80 * 64);
  // nine rows for eight of the blocks, eight for the last two
  CHECK(contains(refusal_of(launch_dealing<10>, {88, 64, 1}), "blocks (0,0) and (8,0) of its grid do not do the same"));
  CHECK(contains(refusal_of(launch_part_of_C, {16, 16, 1}), "would have written 128 elements, of 256"));
}

TEST_CASE("blocks that write as much and do not do the same are refused" * doctest::test_suite("model")) {
  CHECK(contains(refusal_of(launch_lower, {32, 32, 8}), "blocks (0,0) and (2,2) of its grid do not do the same: line"));
  CHECK(contains(refusal_of(launch_first, {32, 32, 8}), "B: 2 requests and 0"));
}

TEST_CASE("blocks of which some do nothing are refused, wherever they lie" * doctest::test_suite("model")) {
  CHECK(contains(refusal_of(launch_first_row, {64, 64, 8}), "blocks (0,0) and (6,6) of its grid do not do the same"));
  CHECK(contains(refusal_of(launch_some<Adds::second_rows>, {64, 64, 8}),
                 "blocks (0,0) and (0,1) of its grid do not do the same: line"));
  CHECK(contains(refusal_of(launch_some<Adds::black_squares>, {64, 64, 8}),
                 "blocks (0,0) and (1,0) of its grid do not do the same: line"));
  CHECK(contains(refusal_of(launch_some<Adds::lower_triangle>, {64, 64, 8}),
                 "blocks (0,0) and (1,0) of its grid do not do the same: line"));
  CHECK(contains(refusal_of(launch_halves, {64, 64, 8}), "blocks (0,0,0) and (7,7,1) of its grid do not do the same"));
  CHECK(refusal_of(launch_idle_half, {64, 64, 8}) == "its grid is 2 deep, and blocks share C in some other way");
  // With less depth it is seen as well.
  CHECK(contains(refusal_of(launch_some<Adds::black_squares>, {64, 64, 200}),
                 "blocks (0,0) and (1,0) of its grid do not do the same: line"));
}

TEST_CASE("blocks that write the same elements of C are a race, or refused if that is none" *
          doctest::test_suite("model")) {
  for (const tile::Launcher launch : {launch_same<Forgets::all>, launch_same<Forgets::rows>,
                                      launch_same<Forgets::columns>, launch_same<Forgets::half_of_the_columns>}) {
    const std::string said = error_of(launch, {64, 64, 1});
    INFO(said);
    CHECK(said.starts_with("race: same_tile"));
    CHECK(contains(said, " writes C["));
    CHECK(said.find('\n') == std::string::npos);
  }
  CHECK(contains(refusal_of(launch_same<Forgets::all, true>, {64, 64, 1}), " elements of C together, and "));
}

TEST_CASE("blocks that differ in one row at full depth, in a few columns, or in how they read, are refused" *
          doctest::test_suite("model")) {
  CHECK(contains(refusal_of(launch_otherwise<Differs::deep_row>, {128, 128, 512}),
                 "A: 1024 requests and 256"));  // 2 warps; no corner shows it, nor does a depth below 128
  CHECK(contains(refusal_of(launch_otherwise<Differs::eighth_columns>, {128, 128, 8}), "A: 16 requests and 32"));
  CHECK(contains(refusal_of(launch_otherwise<Differs::width>, {32, 32, 8}), "load of 4 bytes, A: 16 requests and 0"));
}

TEST_CASE("blocks whose work depends on what A and B hold are refused" * doctest::test_suite("model")) {
  for (const int K : {8, 200})
    CHECK(contains(refusal_of(launch_otherwise<Differs::zeros>, {32, 32, K}),
                   "what its blocks do depends on what A and B hold, zeros or random values: line"));
  CHECK(tile::count_sampled(launch_rows, {32, 32, 8}).random_depth == 8);
  CHECK(tile::count_sampled(launch_rows, {32, 32, 200}).random_depth == 72);
  CHECK(tile::count_sampled(launch_rows, {1 << 18, 8, 127}).random_depth == 0);  // too many values
}

TEST_CASE("blocks that meet in an atomic operation are refused" * doctest::test_suite("model")) {
  CHECK(contains(refusal_of(launch_last, {32, 32, 8}), "its blocks meet in an atomic operation, on finished in line "));
  CHECK(tile::count_sampled(launch_last, {8, 8, 8}).of_blocks == 1);  // alone it meets nobody
}

TEST_CASE("blocks that meet in memory which is not C are refused" * doctest::test_suite("model")) {
  CHECK(contains(refusal_of(launch_later, {512, 512, 8}), "its blocks store to begun in line "));
  CHECK(tile::count_sampled(launch_later, {8, 8, 8}).of_blocks == 1);  // alone it meets nobody
}

TEST_CASE("blocks that load other addresses with as many requests mark the bytes of L2" *
          doctest::test_suite("model")) {
  CHECK(tile::count_sampled(launch_otherwise<Differs::addresses>, {32, 32, 64}).block_sectors_by_place);
  CHECK(!tile::count_sampled(launch_rows, {32, 32, 64}).block_sectors_by_place);
}

TEST_CASE("what was looked at is told, and what it would not see" * doctest::test_suite("model")) {
  const tile::Sampled deep = tile::count_sampled(launch_rows, {256, 200, 512});
  REQUIRE(deep.looked.size() == 2);
  CHECK(deep.looked[0].depth == 64);
  CHECK(deep.looked[0].drawn == 59);
  CHECK(deep.looked[0].each_row_and_column);
  CHECK(deep.looked[1].depth == 512);
  CHECK(deep.looked[1].drawn == 32 * 25 / 16);
  CHECK(tile::described_looks(deep) ==
        fmt::format(
            "found to do the same: {} at K = 64 (A and B random; in each row and column of blocks), 50 at K = 512; "
            "what less than 5.0 % of the blocks do, and what less than 5.8 % of them do at K = 512 alone, is "
            "missed 1 time in 20, or more often",
            deep.looked[0].blocks));
  const tile::Sampled few = tile::count_sampled(launch_rows, {32, 32, 8});
  CHECK(tile::described_looks(few) == "found to do the same: all at K = 8 (A and B random); none is left");
  CHECK(tile::described_looks(tile::count_sampled(launch_rows, {8, 8, 8})) == "there is no other");
}

TEST_CASE("blocks are drawn from all parts of a grid, and from each row and column" * doctest::test_suite("model")) {
  const auto number_of = [](const uint3& b, const dim3& grid) {
    return (std::uint64_t(b.z) * grid.y + b.y) * grid.x + b.x;
  };
  tile::Random random(7);
  const dim3 grid(30, 20, 2);
  const std::vector<uint3> drawn = tile::drawn_from(grid, 24, random);
  REQUIRE(drawn.size() == 24);
  for (std::size_t i = 0; i < 24; ++i) CHECK(number_of(drawn[i], grid) / 50 == i);
  std::set<unsigned> x, y, z;
  for (const uint3& b : tile::in_rows_and_columns(grid, random)) x.insert(b.x), y.insert(b.y), z.insert(b.z);
  CHECK(x.size() == 30);
  CHECK(y.size() == 20);
  CHECK(z.size() == 2);
  const std::vector<uint3> some = tile::in_rows_and_columns(dim3(4000, 3), random);
  CHECK(some.size() == tile::most_rows_and_columns);
  CHECK(std::all_of(some.begin(), some.end(), [](const uint3& b) { return b.x < 4000 && b.y < 3; }));
  CHECK(tile::share_that_may_be_missed(59) < 0.05);
  CHECK(tile::share_that_may_be_missed(58) > 0.05);
}

TEST_CASE("numbers that depend on where a block's part lies are marked" * doctest::test_suite("model")) {
  const auto marked = [](const tile::Case& c, std::string_view tag, tile::SiteNumber number) {
    const tile::Sampled sampled = tile::count_sampled(launch_rows, c);
    const auto& marks =
        sampled.by_place.at(std::size_t(&tile::site(sampled.counts, tag) - sampled.counts.sites.data()));
    return std::find(marks.begin(), marks.end(), number) != marks.end();
  };
  tile::Case whole_lines{64, 64, 32};
  CHECK(!marked(whole_lines, "load-A", &simt::Site::sectors));
  CHECK(!marked(whole_lines, "load-A", &simt::Site::lines));
  CHECK(!marked(whole_lines, "store-C", &simt::Site::sectors));
  tile::Case unaligned = whole_lines;
  unaligned.pads.C = 3;
  CHECK(marked(unaligned, "store-C", &simt::Site::lines));
  CHECK(!marked(unaligned, "store-C",
                &simt::Site::sectors));  // the eight rows of each tile begin at all words of a sector
  CHECK(!marked(unaligned, "store-C", &simt::Site::requests));
  CHECK(!marked(unaligned, "load-A", &simt::Site::sectors));
}

TEST_CASE("tables mark what is a sample" * doctest::test_suite("model")) {
  tile::Case c{64, 64, 32};
  c.pads.C = 3;
  const tile::Sampled sampled = tile::count_sampled(launch_rows, c);
  const tile::CountedKernel k{{"rows", launch_rows, nullptr, edge * edge, {edge, edge, 1, tile::Takes::all}},
                              c,
                              sampled.counts,
                              0,
                              "2 of 64 blocks",
                              sampled.by_place,
                              sampled.block_sectors_by_place};
  const auto cell = [](const tile::Table& table, const std::string& row, std::size_t named, std::size_t column) {
    const auto found = std::find_if(table.rows.begin(), table.rows.end(), [&](auto& r) { return r[named] == row; });
    REQUIRE(found != table.rows.end());
    return (*found)[column];
  };
  const tile::Table sites = tile::table_of_sites(k), counters = tile::table_of_counters({k}, {});
  CHECK(contains(sites.caption, "(2 of 64 blocks)"));
  CHECK(cell(sites, "store-C", 0, 5)[0] != '~');  // sectors
  CHECK(cell(sites, "store-C", 0, 6)[0] == '~');  // lines
  CHECK(cell(counters, "global store sectors", 1, 2)[0] != '~');
  CHECK(cell(counters, "cache lines looked up", 1, 2)[0] == '~');
  CHECK(contains(tile::notes_on_samples({k}).at(0), "hold zeros, whatever --data says"));
  tile::CountedKernel whole = k;
  whole.sampled.clear();
  whole.by_place.clear();
  CHECK(tile::notes_on_samples({whole}).empty());
  CHECK(cell(tile::table_of_sites(whole), "store-C", 0, 6)[0] != '~');
}

TEST_CASE("kernels whose blocks need one another are refused" * doctest::test_suite("model")) {
  CHECK(refusal_of(launch_cluster, {16, 16, 1}) == "its blocks run in clusters, and need one another");
  CHECK(refusal_of(launch_twice, {16, 16, 1}) == "it launches 2 kernels, of which one needs what another makes");
  CHECK(contains(refusal_of(launch_waiting, {4, 32, 1}),
                 "its blocks wait for one another: alone, one is in a deadlock: wait_for_next, sampled_test.cu:"));
}

TEST_CASE("a block that runs alone is one of the grid, and of no cluster" * doctest::test_suite("model")) {
  const auto run_alone = [](tile::Launcher launch, uint3 block) -> std::string {
    const tile::Ready ready(launch, {16, 16, 1}, tile::Contents::untouched);
    simt::Trace trace;
    trace.only_blocks = {block};
    try {
      const auto counts = simt::trace([&] { ready.kernel->run(); }, trace).front();
      CHECK(simt::elements_written(ready.operands.allocation_of_C()) == edge * edge);
      CHECK(counts.samples.front().byte_offset[0] >= 0);  // the sampled block is the one that ran
    } catch (const simt::Error& e) {
      return e.what();
    }
    return "";
  };
  CHECK(run_alone(launch_rows, {1, 1, 0}) == "");
  CHECK(contains(run_alone(launch_rows, {2, 0, 0}), "a grid of 2 x 2 x 1 has no block (2,0,0)"));
  CHECK(contains(run_alone(launch_cluster, {1, 0, 0}), "block (1,0,0) is one of a cluster, and does not run alone"));
}

TEST_CASE("a few blocks of a large problem take little time and memory, and are checked like others" *
          doctest::test_suite("model")) {
  const tile::Case large{32768, 24576, 4};  // what is kept of the elements of C would take 24 GiB
  CHECK(tile::site(tile::count_sampled(launch_rows, large).counts, "store-C").accesses == 32768ull * 24576);
  CHECK(resident_MiB() < 256);
  const auto beyond = [](const tile::Gemm& g) {
    tile::Gemm wider = g;
    wider.N += 1;  // into the padding
    launch_rows(wider);
  };
  CHECK_THROWS_WITH_AS(tile::count_sampled(static_cast<tile::Launcher>(beyond), {16, 15, 1, 1, 0, 1}),
                       doctest::Contains("outside the 16 x 15 matrix"), simt::Error);
}

TEST_CASE("what is done for each result and for each multiply-add is told apart by depth" *
          doctest::test_suite("model")) {
  tile::Work shallow, deep;
  shallow.wavefronts = 64 * (5 + 2 * 16);  // 5 a result, 2 a multiply-add
  deep.wavefronts = 64 * (5 + 2 * 48);
  shallow.l2_bytes = 64 * (3 * 16 - 7);  // a loop that is left early
  deep.l2_bytes = 64 * (3 * 48 - 7);
  const tile::Case to{16, 32, 4096};
  const tile::Work work = tile::work_at(to, {{8, 8, 16}, shallow}, {{8, 8, 48}, deep});
  CHECK(work.wavefronts == doctest::Approx(512 * (5 + 2 * 4096.0)));
  CHECK(work.l2_bytes == doctest::Approx(512 * (3 * 4096.0 - 7)));
  CHECK(work.flops == 2.0 * 16 * 32 * 4096);
  CHECK(work.dram_bytes == 4.0 * (16 * 4096 + 4096 * 32 + 16 * 32));
  tile::Case with_C = to;
  with_C.beta = 1;
  CHECK(tile::work_at(with_C, {{8, 8, 16}, shallow}, {{8, 8, 48}, deep}).dram_bytes == work.dram_bytes + 4.0 * 16 * 32);
  CHECK_THROWS_AS(tile::work_at(to, {{8, 8, 16}, shallow}, {{16, 8, 16}, deep}), std::invalid_argument);
}
