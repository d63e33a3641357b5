// Tests of what `./tile count` says, without a kernel: what it makes of counts, of the compiler's words, and of sources.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "common/check/repository.hpp"
#include "common/sim/rules.hpp"
#include "common/count/advice.hpp"
#include "common/count/compiler_errors.hpp"
#include "common/count/json.hpp"
#include "common/count/verdict.hpp"
#include "common/sim/rewrite/rewrite.hpp"

namespace {

using namespace tile::counting;
using simt::Op;
using simt::Space;

const tile::Rates rates{"an SM", 132, 2e9, 4e12, 2e12};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// One launch with one site, which a warp touched once, each lane where `address` says.
simt::Counts one_access(Space space, Op op, int width, const std::function<int(int)>& address,
                        std::size_t row_bytes = 0) {
  simt::Counts counts;
  counts.kernel = "k";
  counts.block = dim3(32);
  simt::WarpAccess access{.size = width};
  simt::Sample sample;
  for (int lane = 0; lane < 32; ++lane) {
    sample.byte_offset[lane] = address(lane);
    if (address(lane) < 0) continue;
    access.active |= 1u << lane;
    access.address[std::size_t(lane)] = std::uint64_t(address(lane));
  }
  simt::Site site;
  site.file = "k.cu";
  site.op = op;
  site.space = space;
  site.array = "a";
  site.width = width;
  site.row_bytes = row_bytes;
  site.requests = 1;
  site.accesses = std::uint64_t(std::popcount(access.active));
  if (space == Space::shared) {
    site.wavefronts = std::uint64_t(simt::shared_wavefronts(access, op == Op::load));
  } else {
    site.sectors = std::uint64_t(simt::sectors_of(access));
    site.l1_wavefronts = std::uint64_t(simt::global_wavefronts(access));
    site.tag_passes = std::uint64_t(simt::tag_passes(access));
    site.l1_cycles = std::max(site.l1_wavefronts, site.tag_passes);
  }
  counts.sites.push_back(site);
  counts.samples.push_back(sample);
  counts.block_sectors = counts.grid_sectors = site.sectors;
  return counts;
}

std::string advice_on(Space space, Op op, int width, const std::function<int(int)>& address,
                      std::size_t row_bytes = 0) {
  return advice(one_access(space, op, width, address, row_bytes), 0);
}

std::string rewritten(const std::string& text) {
  rewrite::Known known;
  return rewrite::rewritten(
      text, [](const std::string& name) { return "new/" + name; }, known);
}

}  // namespace

TEST_CASE("advice on shared memory names the conflict and a padding that ends it") {
  CHECK(advice_on(Space::shared, Op::load, 4, [](int l) { return l * 128; }) ==
        "32 wavefronts, where 1 would do: all lanes that are served together want bank 0; pad each row of 32 words by "
        "one "
        "word");
  CHECK(contains(
      advice_on(Space::shared, Op::load, 4, [](int l) { return l * 8; }),
      "2 wavefronts, where 1 would do: 2 different words lie in bank 0; neighbouring lanes are 2 words apart"));
  simt::Counts more = one_access(Space::shared, Op::load, 4, [](int l) { return l * 8; });
  more.sites[0].requests = 4;
  more.sites[0].wavefronts = 15;  // 2, and in the other three requests more
  CHECK(contains(advice(more, 0), "2 wavefronts the first time, 3.75 on average, where 1 would do: "));
  CHECK(contains(advice_on(Space::shared, Op::store, 16, [](int l) { return l * 128; }), "by 4 words"));
  // Rows of 16 words, as the source has them: no padding of these helps.
  CHECK(contains(advice_on(
                     Space::shared, Op::load, 4, [](int l) { return l * 128; }, 64),
                 "chapter 10 swizzles"));
  CHECK(contains(advice_on(Space::shared, Op::load, 4, [](int) { return 0; }),
                 "no bank conflict, but 1 wavefront for 1 different word"));
  CHECK(advice_on(Space::shared, Op::load, 4, [](int l) { return l * 4; }) ==
        "no bank conflict, and all banks deliver; only fewer accesses would cost less");
}

TEST_CASE("advice on global memory tells strides, beginnings and reuse apart") {
  CHECK(contains(advice_on(Space::global, Op::store, 4, [](int l) { return l * 128; }),
                 "32 sectors, where 4 would do: neighbouring lanes are 128 bytes apart"));
  CHECK(contains(advice_on(Space::global, Op::load, 4, [](int l) { return l * 4 + 12; }),
                 "5 sectors, where 4 would do: the first byte lies 12 bytes behind"));
  CHECK(contains(advice_on(Space::global, Op::load, 4, [](int l) { return l * l * 64; }),
                 "the lanes' elements lie apart"));
  CHECK(contains(advice_on(Space::global, Op::load, 4, [](int l) { return l * 4; }), "a quarter of the requests"));
  CHECK(contains(advice_on(Space::global, Op::load, 16, [](int l) { return l * 16; }), "only fewer accesses"));
  CHECK(contains(advice_on(Space::global, Op::atomic, 4, [](int) { return 0; }), "32 lanes update 1 element"));
  simt::Counts again = one_access(Space::global, Op::load, 4, [](int l) { return l * 4; });
  again.sites[0].sectors = 40;
  CHECK(contains(advice(again, 0), "loads each of its sectors 10 times"));
  again.samples.clear();
  CHECK(contains(advice(again, 0), "no example"));
}

TEST_CASE("the verdict names what binds, and leaves out what is not known") {
  simt::Counts counts = one_access(Space::shared, Op::load, 4, [](int l) { return l * 128; });
  counts.sites.push_back(one_access(Space::global, Op::load, 4, [](int l) { return l * 4; }).sites[0]);
  counts.sites.push_back(one_access(Space::shared, Op::atomic, 4, [](int l) { return l * 128; }).sites[0]);
  counts.grid = dim3(2, 2);
  Verdict v = verdict_of(counts, rates, 0, 0);
  CHECK(v.sms == 4);
  CHECK(tightest(v).resource == "banks");
  CHECK(tightest(v).cycles == doctest::Approx((32 + 1) / 4.0));
  CHECK(v.hottest == std::size_t(0));
  CHECK(v.shares[0] == doctest::Approx(32.0 / 33));
  CHECK(v.shares[2] < 0);
  v = verdict_of(counts, rates, 1e6, 64);
  CHECK(tightest(v).resource == "issue slots");
  CHECK(v.occupancy.by_registers == 32);
}

TEST_CASE("what takes as long as another is a tie") {
  simt::Counts counts = one_access(Space::global, Op::store, 4, [](int l) { return l * 128; });
  Verdict v = verdict_of(counts, rates, 0, 0);
  CHECK(ties(v) == 2);
  CHECK(what_binds(v) == "L1 and banks, a tie");
  CHECK(v.as_hot.empty());
  counts.sites.push_back(one_access(Space::shared, Op::load, 4, [](int l) { return l * 128; }).sites[0]);
  v = verdict_of(counts, rates, 0, 0);
  CHECK(ties(v) == 1);
  CHECK(what_binds(v) == "banks");
  CHECK(v.as_hot == std::vector<std::size_t>{1});
  CHECK(what_binds(Verdict{}) == "-");
}

TEST_CASE("fields.tsv has a line for each field of the JSON document, and no other") {
  Run run{"k.cu", "title", "", 1e6, {one_access(Space::shared, Op::load, 4, [](int l) { return l * 128; })}};
  run.kernels[0].sites.push_back(run.kernels[0].sites[0]);  // as hot as the first
  run.kernels[0].samples.push_back(run.kernels[0].samples[0]);
  run.kernels[0].samples[1].site = 1;
  std::set<std::string> found;
  const std::function<void(const Json&, const std::string&)> walk = [&](const Json& json, const std::string& path) {
    if (json.is_object())
      for (const auto& [key, value] : json.items()) walk(value, path + (path.empty() ? "" : ".") + key);
    else if (json.is_array())
      for (const Json& value : json) walk(value, path + "[]");
    else
      found.insert(path);
  };
  walk(document({run}, {{"k.cu", "why"}}, rates, 64), "");
  std::set<std::string> described;
  std::ifstream in(tile::in_repository("common/count/fields.tsv"));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#")) continue;
    CHECK_MESSAGE(std::count(line.begin(), line.end(), '\t') == 3, line);
    described.insert(line.substr(0, line.find('\t')));
  }
  for (const std::string& field : found) CHECK_MESSAGE(described.contains(field), field);
  for (const std::string& field : described) CHECK_MESSAGE(found.contains(field), field);
}

TEST_CASE("a run comes back from its line of JSON") {
  const Run run{
      "", "title", "a finding", 2, {one_access(Space::global, Op::store, 8, [](int l) { return l % 2 ? -1 : l * 8; })}};
  const Run back = run_of(Json::parse(to_json(run).dump()));
  CHECK(to_json(back) == to_json(run));
  CHECK(back.kernels[0].sites[0].op == Op::store);
  CHECK(back.kernels[0].samples[0].byte_offset[1] == -1);
}

TEST_CASE("what a compiler says becomes one line with advice") {
  const auto in_one_line = [](const std::string& said, const char* source) {
    std::vector<std::string> lines = faults_of(said, source);
    REQUIRE(lines.size() >= 1);
    // of a file that is not there, and so has no TILE_COUNT
    CHECK((lines.size() == 1 || contains(lines.at(1), "describes no run")));
    return lines[0];
  };
  CHECK(in_one_line("k.cu:7:3: error: ‘cudaMalloc’ was not declared in this scope\n", "k.cu") ==
        "k.cu:7: cudaMalloc is not part of the model: write auto a = tile::array<float>(\"a\", n), and hand a.device() "
        "to "
        "the kernel");
  for (const char* word : {"‘__global__’ does not name a type", "‘tile’ has not been declared"})
    CHECK(contains(in_one_line(std::string("k.cu:1:1: error: ") + word + "\n", "k.cu"),
                   "k.cu:1: __global__ and <<<>>> are not known here: write #include \"common/count/count.hpp\""));
  CHECK(contains(in_one_line("k.cu:7:3: error: use of undeclared identifier 'cublasSgemm'\n", "k.cu"),
                 "cublasSgemm is not"));
  CHECK(contains(in_one_line("k.cu:7:3: error: ‘nvcuda’ has not been declared\n", "k.cu"), "no tensor cores yet"));
  // Found in a header of the repository, on the way from line 12.
  CHECK(in_one_line("common/cuda/cuda.hpp:1:2: required from ‘x’\nk.cu:12:15:   required from here\n"
                    "./common/cuda/vocabulary.hpp:1:2: error: static assertion failed: too few\n",
                    "k.cu") == "k.cu:12: too few");
  CHECK(contains(in_one_line("/usr/bin/ld: multiple definition of `main'; a.o\n", "k.cu"), "main() is not run"));
  CHECK(contains(in_one_line("ld: undefined reference to `helper(int)'\n", "k.cu"),
                 "helper(int) is declared and not defined"));
  CHECK(contains(in_one_line("k.cu:3:4: error: no matches converting function ‘k’ to type ‘void (*)()’\n", "k.cu"),
                 "name its template arguments"));
  CHECK(contains(in_one_line("k.cu:2:10: fatal error: cub/cub.cuh: No such file or directory\n", "k.cu"),
                 "k.cu:2: cub/cub.cuh is not part of the model: leave it out"));
  CHECK(in_one_line("k.cu:2:10: fatal error: mine.h: No such file or directory\n", "k.cu") ==
        "k.cu:2: mine.h: No such file or directory");
  CHECK(contains(in_one_line("k.cu: Assembler messages:\nk.cu:6: Error: no such instruction: `mov.u32'\n", "k.cu"),
                 "k.cu:6: inline PTX is not part of the model"));
  CHECK(contains(in_one_line("k.cu:7:3: error: ‘__shfl_down’ was not declared in this scope\n", "k.cu"),
                 "write __shfl_sync"));
  CHECK(
      contains(in_one_line("k.cu:7:3: error: ‘cudaFuncAttributeMaxDynamicSharedMemorySize’ was not declared\n", "k.cu"),
               "asks for the shared memory"));
  CHECK(contains(in_one_line("k.cu:7:3: error: ‘cudaTextureObject_t’ does not name a type\n", "k.cu"), "no textures"));
}

TEST_CASE("all that is wrong with a file is told at once, each thing once") {
  const std::filesystem::path source =
      std::filesystem::temp_directory_path() / ("tile-faults-" + std::to_string(getpid()) + ".cu");
  std::ofstream(source) << "#if 0\nint main() {}\n#endif\nTILE_COUNT(\"r\") {}\n\n  int main(int, char**) {\n"
                           "cudaMalloc();\ncudaMalloc(cudaMalloc());\ncudaEvent_t s;\nuse(s);\nt();\n";
  const std::string name = source.filename().string();
  const auto error = [&](int line, const std::string& message) {
    return fmt::format("{}:{}:3: error: {}\n", source.string(), line, message);
  };
  const std::string undeclared = " was not declared in this scope";
  const std::string said = error(7, "‘cudaMalloc’" + undeclared) + error(8, "‘cudaMalloc’" + undeclared) +
                           error(8, "‘cudaMalloc’" + undeclared) + error(9, "‘cudaEvent_t’" + undeclared) +
                           error(10, "‘s’" + undeclared);
  const std::vector<std::string> lines = faults_of(said, source);
  REQUIRE(lines.size() == 4);  // in the order of the source
  CHECK(contains(lines[0], name + ":6: main() is not run"));
  CHECK(contains(lines[1], name + ":7, 8: cudaMalloc is not part of the model: "));
  CHECK(contains(lines[2], name + ":9: cudaEvent_t is not part of the model: "));
  CHECK(contains(lines[3], name + ": and 1 more error of the compiler, which may come of these"));  // s
  // What nothing is known of is told as the compiler says it, but for what else it says of a line, and where it says very much.
  const std::vector<std::string> unknown = faults_of(
      error(10, "expected ‘;’ [-fpermissive]") + error(10, "expected ‘)’") + error(11, "‘t’" + undeclared), source);
  REQUIRE(unknown.size() == 6);
  CHECK(contains(unknown[1], name + ":7, 8: cudaMalloc"));  // the source says it
  CHECK(unknown[3] == name + ":10: expected ‘;’");
  CHECK(unknown[4] == name + ":11: ‘t’" + undeclared);
  CHECK(contains(unknown[5], "and 1 more error of"));
  std::string many;
  for (int line = 100; line < 150; ++line) many += error(line, "expected ‘)’ before token " + std::to_string(line));
  CHECK(faults_of(many, source).size() == 13);
  CHECK(contains(faults_of(many, source).back(), "and 41 more errors of"));
  // main() alone; then a file of neither.
  std::ofstream(source) << "int main() {}\n";
  CHECK(faults_of("ld: multiple definition of `main'\n", source).size() == 1);
  std::ofstream(source) << "int i = j;\n";
  const std::vector<std::string> neither = faults_of(error(1, "‘j’" + undeclared), source);
  REQUIRE(neither.size() == 2);
  CHECK(neither[1] == name + ": the file describes no run: add a TILE_COUNT (see the README)");
  std::filesystem::remove(source);
}

TEST_CASE("a header that the model does not have is known by its name") {
  CHECK(header_not_in_the_model("k.cu:2:10: fatal error: cub/cub.cuh: No such file or directory\n") == "cub/cub.cuh");
  CHECK(header_not_in_the_model("k.cu:2:10: fatal error: mine.h: No such file or directory\n") == "");
  CHECK(header_not_in_the_model("k.cu:2:10: error: ‘cub’ has not been declared\n") == "");
}

TEST_CASE("launches by angles become launches of the model") {
  CHECK(rewritten("k<<<1, 32>>>();") == "tile::launch(k,1, 32, 0);");
  CHECK(rewritten("n::k<float, 4><<<g, dim3(8, 4), s, 0>>>(a, f(b, c));") ==
        "tile::launch(n::k<float, 4>,g, dim3(8, 4), s , a, f(b, c));");
  CHECK(rewritten("return k\n  <<<g,\n b>>>(a);") == "return tile::launch(k\n  ,g,\n b, 0, a);");
  for (const std::string other :
       {"a << b", "x = y >> 3 < 2", "// k<<<1, 2>>>();", "\"k<<<1, 2>>>()\"", "operator<<<int>(a)"})
    CHECK(rewritten(other) == other);
  CHECK(rewritten("case 256: k<256><<<g, b>>>(a);") == "case 256: tile::launch(k<256>,g, b, 0, a);");
  CHECK(rewritten("if (x) k<(3 > 2), 1 << 4><<<1, {32, 1, 1}>>>();") ==
        "if (x) tile::launch(k<(3 > 2), 1 << 4>,1, {32, 1, 1}, 0);");
  CHECK(rewritten("return (k)<<<1, 2>>>();") == "return tile::launch((k),1, 2, 0);");
  CHECK(rewritten("(*g)<<<1, 2>>>();") == "tile::launch((*g),1, 2, 0);");
  CHECK(rewritten("if (x) table[0].of(3)<<<1, 2>>>();") == "if (x) tile::launch(table[0].of(3),1, 2, 0);");
  CHECK(rewritten("A<int>::k<<<1, 2>>>();") == "tile::launch(A<int>::k,1, 2, 0);");
  CHECK(rewritten("return ::k<<<1, 2>>>();") == "return tile::launch(::k,1, 2, 0);");
  CHECK(rewritten("#define RUN(name, ...) \\\n  name##_kernel<<<1, 2, 0, \\\n s>>>(__VA_ARGS__)") ==
        "#define RUN(name, ...) \\\n  tile::launch(name##_kernel,1, 2, 0 \\\n  __VA_OPT__(,) __VA_ARGS__)");
  CHECK(contains(rewritten("x = 3 <<<1, 2>>>(a);"), "GCC error"));
  CHECK(contains(rewritten("k<<<1>>>(a);"), "GCC error \\\"a launch is kernel<<<grid, block>>>(...)"));
  CHECK(rewritten("dim3 gridDim(4), blockDim(32);\nk<<<gridDim, blockDim>>>();}\nblockDim.x") ==
        "dim3 host_gridDim(4), host_blockDim(32);\ntile::launch(k,host_gridDim, host_blockDim, 0);}\nblockDim.x");
  CHECK(rewritten("void f(dim3 blockDim) { g(blockDim); }\nint i = blockDim.x;") ==
        "void f(dim3 host_blockDim) { g(host_blockDim); }\nint i = blockDim.x;");
}

TEST_CASE("variables of the device become known, constant memory loses its const") {
  CHECK(contains(rewritten("__device__ int a, b[2];"), "simt_variable_b(\"b\", b)"));
  CHECK(
      contains(rewritten("static __constant__ const float c[2] = {1, 2};"), "static SIMT_DEVICE_VARIABLE  float c[2]"));
  CHECK(contains(rewritten("namespace n { __constant__ float c; }"), "(\"c\", c, true);"));
  // behind the call of a macro without ;
  for (const std::string before :
       {"MACRO(1, f(2))\n", "MACRO(1)\nnamespace {\n", "MACRO() namespace n::m {\n", "extern \"C\" {"})
    CHECK(contains(rewritten(before + "static __device__ unsigned d;"),
                   "static SIMT_DEVICE_VARIABLE unsigned d; static const"));
  CHECK(
      contains(rewritten("alignas(16) __device__ float d;"), "alignas(16) SIMT_DEVICE_VARIABLE float d; static const"));
  CHECK_FALSE(contains(rewritten("MACRO(1) void f() { __device__ int d; }"), "simt_variable"));
  CHECK_FALSE(contains(rewritten("extern \"C\" void f() { __device__ int d; }"), "simt_variable"));
  CHECK(contains(rewritten("__device__ const float t[2] = {1, 2};"), "SIMT_NO_TABLE __device__ const"));
  CHECK(contains(rewritten("int f() { static const int t[2] = {1, 2}; }"), "SIMT_NO_TABLE static"));
  const std::string refused = "SIMT_NO_GRID_CONSTANT __global__";
  CHECK(contains(rewritten("__global__ void __launch_bounds__(32) k(const CUtensorMap map, int n) {}"), refused));
  CHECK(contains(rewritten("template <int N> __global__ void k(int n, CUtensorMap map);"), refused));
  CHECK_FALSE(contains(rewritten("__global__ void k(const __grid_constant__ CUtensorMap a, const CUtensorMap* b) {}"),
                       refused));
  CHECK_FALSE(contains(rewritten("void host(CUtensorMap map) {}"), refused));
  CHECK(contains(rewritten("extern __shared__ float s[];"), "declare extern __shared__ s[] in the kernel"));
  CHECK(contains(rewritten("void k() { extern __shared__ __align__(16) float s[]; }"), "dynamic_shared(\"s\")"));
  for (const std::string other :
       {"__device__ int f(int a) { return a; }", "struct S { __device__ S() : a{1} {} int a; };",
        "template <class T> __device__ T f() { return {}; }", "R\"(__device__ int a;)\""})
    CHECK(rewritten(other) == other);
}

TEST_CASE("an index that is read from memory is handed through a call") {
  const auto handed = [](const std::string& index) { return "[simt::index_of(" + index + ")]"; };
  CHECK(rewritten("a[b[i]];") == "a" + handed("b[i]") + ";");
  CHECK(rewritten("a[i][2 * *p];") == "a[i]" + handed("2 * *p") + ";");
  CHECK(rewritten("a[b[c->i]];") == "a" + handed("b" + handed("c->i")) + ";");
  CHECK(contains(rewritten("__device__ int head; void k() { a[head]; }"), "a" + handed("head")));
  for (const std::string other :
       {"a[2 * N + i];", "f([&](int i) { return b[i]; });", "auto [x, y] = a[i];", "[[nodiscard]] int f();",
        "a[(i * 2) * j];", "constexpr int n[b[0]] = {};", "a[x, *p];", "return [p = *q] { ; };",
        "if (c) [p = *q] { ; }();", "delete [p = *q] { ; }();", "const auto [x] = *p;", "auto v = a[{*p, i}];"})
    CHECK(rewritten(other) == other);
  for (const std::string attribute :
       {"if (i < n) [[likely]] f();", "while (c) [[likely]] f();", "for (;;) [[unlikely]] f();",
        "int i [[maybe_unused]] = 3;", "void f(int n [[maybe_unused]]);", "struct [[nodiscard]] S { int i; };",
        "class [[nodiscard]] S;", "enum class [[nodiscard]] E { a };", "enum F { a [[deprecated]] };",
        "__forceinline__ [[nodiscard]] int f();", "alignas(16) [[maybe_unused]] float x;"})
    CHECK(rewritten(attribute) == attribute);
  // What a reference refers to may lie in memory.
  CHECK(contains(rewritten("const int& u = b[i]; a[u];"), "a" + handed("u")));
  CHECK(contains(rewritten("void f(const Q& q) { a[q.head]; }"), "a" + handed("q.head")));
  CHECK(contains(rewritten("for (auto&& i : b) a[i];"), "a" + handed("i")));
  CHECK(contains(rewritten("auto& [x, y] = b[i]; a[y];"), "a" + handed("y")));
  CHECK(contains(rewritten("if (c && i) a[i];"), " a[i];"));
}

TEST_CASE("__shared__ variables become references to where the running block has them") {
  CHECK(rewritten("void k() { __shared__ float a[4], b; }") ==
        "void k() { struct simt_shared_a {  float a[4], b; }; auto& a = simt::shared<&simt_shared_a::a, \"a\", 0>(); "
        "auto& b = "
        "simt::shared<&simt_shared_a::b, \"b\", 1>(); }");
  const auto in_kernel = [](const std::string& text) {
    const std::string all = rewritten("void k() { __shared__ int a, b; " + text + " }");
    return all.substr(all.find("1>();") + 6);
  };
  CHECK(in_kernel("[] { a; b; }") == "[&a, &b] { a; b; } }");
  CHECK(in_kernel("f([=](int i) { a; })") == "f([=, &a](int i) { a; }) }");
  CHECK(in_kernel("return [n] __device__ { return [&n] { b; }; };") ==
        "return [n, &b] __device__ { return [&n, &b] { b; }; }; }");
  for (const std::string same : {"[&] { a; }", "[](int a) { a; }", "[] { s.a; p->a; n::a; }", "c[4] - a", "(c)[4] (b)",
                                 "[[maybe_unused]] int c;", "auto [c, d] = e; { a; }"})
    CHECK(in_kernel(same) == same + " }");
  CHECK(in_kernel("decltype(a) c; decltype((a)) d;") == "std::remove_reference_t<decltype(a)> c; decltype((a)) d; }");
  CHECK(contains(rewritten("void k() { __shared__ int a; { __shared__ int a; [] { a; } } }"), "[&a] { a; }"));
  const std::string outside = "namespace n { __shared__ int a; __device__ int f() { return a; } } __device__ int ";
  CHECK(contains(rewritten(outside + "g();"), "f() { auto& a = simt_shared_a::of_a(); { return a; } } }"));
  CHECK(contains(rewritten(outside + "g(int a) { return a; }"), "g(int a) { return a; }"));
  CHECK(contains(rewritten(outside + "g() { return n::a + ::n::a + m::a; }"),
                 "g() { return n::simt_shared_a::of_a() + ::n::simt_shared_a::of_a() + m::a; }"));
  CHECK(contains(rewritten("#define FAST __shared__ __align__(8)\nvoid k() { FAST int a; }"),
                 "struct simt_shared_a {  __align__ ( 8 ) int a; };"));
  for (const std::string refused :
       {"__shared__ int a = 3;", "__shared__ int (*a)[4];", "__shared__ struct { int i; } a;"})
    CHECK(contains(rewritten("void k() { " + refused + " }"), "GCC error \\\"a __shared__ variable is declared as"));
}

TEST_CASE("what is included is asked for by name, and lines stay where they are") {
  CHECK(rewritten("#include \"a.hpp\"  // why\n# include <b>\n#define X \"c\"\n") ==
        "#include \"new/a.hpp\"  // why\n# include <b>\n#define X \"c\"\n");
  const std::string text = "k<<<1,\n2,\n0,\nstream>>>(\na);\nextern __shared__\nint x[];\n";
  CHECK(std::count(text.begin(), text.end(), '\n') == [&] {
    const std::string made = rewritten(text);
    return std::count(made.begin(), made.end(), '\n');
  }());
}
