// Tests of TMA copies with tensor maps, on both machines: the layout of a box. On the model they are traced.
#include <stdexcept>
#include <string>

#include "common/cuda/ptx_bulk.hpp"
#include "ctest/model_tests.hpp"

MODEL_TESTS("tests of copies by tensor maps")

namespace ptx = tile::ptx;

// --- Boxes ----------------------------------------------------------------------------------------------------------------

// Copies the box at (x, y) to shared memory, `OFFSET` bytes after a multiple of 1024, and writes its layout there to `out`.
template <int BYTES, int OFFSET>
__global__ void show_box(const __grid_constant__ CUtensorMap map, int x, int y, float* out) {
  __shared__ __align__(1024) float box[(OFFSET + BYTES) / 4];
  __shared__ std::uint64_t full;
  // Marks words that the copy does not write.
  for (unsigned i = threadIdx.x; i < BYTES / 4; i += blockDim.x) box[OFFSET / 4 + i] = -1;
  ptx::fence_proxy_async_shared_cta();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();  // the mbarrier is initialised and the old words are written
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
  __syncthreads();  // all of the box is written
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk_tensor(map, x, y, box);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read<0>();
  }
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

// The rows in shared memory of a box of 8 x COLUMNS words at (0, 0), each as the digits of the 16-byte chunks that it
// contains.
template <int COLUMNS, int OFFSET = 0>
std::string chunks_of(tile::Swizzle swizzle) {
  const auto box = shown<8 * COLUMNS * 4, OFFSET>({ROWS, COLS, LD, 8, COLUMNS, swizzle}, 0, 0);
  std::string chunks;
  for (int row = 0; row < 8; ++row, chunks += row < 8 ? " " : "")
    for (int at = 0; at < COLUMNS; at += 4) {
      const int chunk = (int(box[std::size_t(row * COLUMNS + at)]) % LD) / 4;
      for (int i = 0; i < 4; ++i) REQUIRE(box[std::size_t(row * COLUMNS + at + i)] == word(row, 4 * chunk + i));
      chunks += char('0' + chunk);
    }
  return chunks;
}

TEST_CASE("a swizzled box has the layout that CUDA documents") {
  CHECK(chunks_of<32>(tile::Swizzle::bytes128) ==
        "01234567 10325476 23016745 32107654 45670123 54761032 67452301 76543210");
  CHECK(chunks_of<16>(tile::Swizzle::bytes64) == "0123 0123 1032 1032 2301 2301 3210 3210");
  CHECK(chunks_of<8>(tile::Swizzle::bytes32) == "01 01 01 01 10 10 10 10");
  CHECK(chunks_of<8>(tile::Swizzle::none) == "01 01 01 01 01 01 01 01");
  // The pattern depends on addresses, not on the box.
  CHECK(chunks_of<32, 384>(tile::Swizzle::bytes128) ==
        "32107654 45670123 54761032 67452301 76543210 01234567 10325476 23016745");
}

TEST_CASE("swizzled() computes the pattern") {
  for (const auto swizzle : {tile::Swizzle::none, tile::Swizzle::bytes128}) {
    const auto box = shown<8 * 32 * 4, 0>({ROWS, COLS, LD, 8, 32, swizzle}, 4, 2);
    for (int row = 0; row < 8; ++row)
      for (int col = 0; col < 32; ++col)
        REQUIRE(box[tile::swizzled(swizzle, unsigned(row * 32 + col) * 4) / 4] == word(row + 2, col + 4));
  }
}

TEST_CASE("elements outside the matrix are 0, and their bytes count") {
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

TEST_CASE("an impossible tensor map is rejected with one line") {
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
        Refused{{0, 64, 64, 8, 32}, "at least one row"},
        Refused{{16, 65, 64, 8, 32}, "less than the number of columns"},
        Refused{{16, 62, 62, 8, 32}, "the bytes of a row, ld elements, must be a multiple of 16"},
        Refused{{16, 64, std::int64_t(1) << 38, 8, 32}, "less than 2^40 bytes"},
        Refused{{16, 64, 64, 257, 32}, "1 to 256"}, Refused{{16, 64, 64, 8, 0}, "1 to 256"},
        Refused{{16, 64, 64, 8, 30}, "the bytes of a row of the box must be a multiple of 16"},
        Refused{{16, 64, 64, 8, 64, tile::Swizzle::bytes128}, "as many bytes as the span of the swizzle"}})
    CHECK_THROWS_WITH_AS(make(offset, matrix), doctest::Contains(why), std::invalid_argument);
}

#if TILE_ON_MODEL
TEST_SUITE_BEGIN("model");

TEST_CASE("TMA copies are counted by sectors and bytes") {
  auto in = tile::array<float>("in", ROWS * LD), out = tile::array<float>("out", 8 * 16);
  const auto map = tile::tensor_map(in.device(), {ROWS, COLS, LD, 8, 16});
  const simt::Counts counts = counted(show_box<8 * 16 * 4, 0>, 1, 64, map, COLS - 12, 2, out);
  const simt::Site global = only_site(counts, simt::Op::bulk_load, simt::Space::global),
                   shared = only_site(counts, simt::Op::bulk_load, simt::Space::shared);
  CHECK(global.array == "in");
  CHECK(global.requests == 1);
  CHECK(global.bytes() == 8 * 12 * 4);
  // Whether 48 bytes touch two or three sectors depends on their offset.
  std::uint64_t sectors = 0;
  for (int row = 2; row < 10; ++row) sectors += (row * 176 + 160 - 1) / 32 - (row * 176 + 112) / 32 + 1;
  CHECK(global.sectors == sectors);
  CHECK(global.tag_passes == 0);
  CHECK(counts.block_sectors == sectors);
  CHECK(shared.array == "box");
  CHECK(shared.bytes() == 8 * 16 * 4);
  for (const simt::Site& s : counts.sites) CHECK_FALSE(s.estimated);
}

TEST_CASE("a box must begin where the GPU allows it") {
  const auto shown_at = [](int x, int y) {
    return said_by([&] { shown<8 * 16 * 4, 0>({ROWS, COLS, LD, 8, 16}, x, y); });
  };
  CHECK(says(shown_at(1, 0), "begins at column 1 of 4 bytes: it must begin at a multiple of 16 bytes"));
  const auto stored_at = [](int x, int y) { return said_by([&] { check_stored<tile::Swizzle::none>(x, y); }); };
  CHECK(says(stored_at(6, 0), "begins at column 6 of 4 bytes"));
  CHECK(says(stored_at(-4, 0), "stores a box at column -4 and row 0"));
  CHECK(says(stored_at(4, -1), "stores a box at column 4 and row -1"));
}

TEST_SUITE_END();
#endif
