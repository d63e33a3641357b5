// Tests of the rewriter: how it rewrites launches, device variables, indices and __shared__ variables.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "common/sim/rewrite/rewrite.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string rewritten(const std::string& text) {
  rewrite::Known known;
  return rewrite::rewritten(
      text, [](const std::string& name) { return "new/" + name; }, known);
}

}  // namespace

TEST_CASE("launches with <<<>>> become launches of the model") {
  CHECK(rewritten("k<<<1, 32>>>();") == "k->*tile::Launch(1, 32)();");
  CHECK(rewritten("n::k<float, 4><<<g, dim3(8, 4), s, 0>>>(a, f(b, c));") ==
        "n::k<float, 4>->*tile::Launch(g, dim3(8, 4), s, 0)(a, f(b, c));");
  for (const std::string other :
       {"a << b", "x = y >> 3 < 2", "// k<<<1, 2>>>();", "\"k<<<1, 2>>>()\"", "operator<<<int>(a)"})
    CHECK(rewritten(other) == other);
  CHECK(rewritten("#define RUN(name, ...) \\\n  name##_kernel<<<1, 2, 0, \\\n s>>>(__VA_ARGS__)") ==
        "#define RUN(name, ...) \\\n  name##_kernel->*tile::Launch(1, 2, 0, \\\n s)(__VA_ARGS__)");
  CHECK(rewritten("k<<<1, 2>>>(p, NULL);") == "k->*tile::Launch(1, 2)(p, nullptr);");
}

TEST_CASE("host code has its own names and macros") {
  CHECK(
      rewritten("void f(dim3 gridDim) { k<<<gridDim, 1>>>(); }\n__device__ int g() { return blockDim.x; }") ==
      "void f(dim3 host_gridDim) { k->*tile::Launch(host_gridDim, 1)(); }\n__device__ int g() { return blockDim.x; }");
  const std::string asks = "{\n#ifdef __CUDA_ARCH__\n#endif\n}";
  for (const std::string host : {"void f() ", "TILE_COUNT(\"run\") ", "struct S { template <class T> S f(T t) ",
                                 "namespace n {\n#include <a>\nvoid f() "})
    CHECK(contains(rewritten(host + asks), "#ifdef SIMT_NO_ARCH"));
  for (const std::string device : {"", "__device__ void f() ", "#define HD __host__ \\\n __device__\nHD void f() ",
                                   "template <class T> __global__ void f() ", "struct S { __device__ S() : a{1} ",
                                   "__device__ void f(int a = int{}) ", "auto f = [] __device__ () ", "struct S "})
    CHECK(contains(rewritten(device + asks), "#ifdef __CUDA_ARCH__"));
}

TEST_CASE("device variables are registered, and constant memory loses its const") {
  CHECK(contains(rewritten("__device__ int a, b[2];"), "simt_variable_b(\"b\", b)"));
  CHECK(
      contains(rewritten("static __constant__ const float c[2] = {1, 2};"), "static SIMT_DEVICE_VARIABLE  float c[2]"));
  for (const std::string before : {"MACRO() namespace n::m {\n", "extern \"C\" {"})
    CHECK(contains(rewritten(before + "static __device__ unsigned d;"),
                   "static SIMT_DEVICE_VARIABLE unsigned d; static const"));
  CHECK_FALSE(contains(rewritten("MACRO(1) void f() { __device__ int d; }"), "simt_variable"));
  for (const std::string table :
       {"__device__ const float t[2] = {1, 2};", "__device__ __align__(16) const float t[2] = {1, 2};",
        "__device__ float4 const t[1] = {{1, 2, 3, 4}};", "static constexpr __device__ float t[2] = {1, 2};",
        "inline float f(int i) {\n  static const float t[2] = {1, 2}; return t[i]; }"})
    CHECK(contains(rewritten(table), "SIMT_NO_TABLE"));
  CHECK_FALSE(contains(rewritten("__global__ void k(const __grid_constant__ CUtensorMap a, const CUtensorMap* b) {}"),
                       "SIMT_NO_GRID_CONSTANT"));
  CHECK(contains(rewritten("void k() { extern __shared__ __align__(16) float s[]; }"), "dynamic_shared(\"s\")"));
  for (const std::string other :
       {"__device__ int f(int a) { return a; }", "struct S { __device__ S() : a{1} {} int a; };",
        "template <class T> __device__ T f() { return {}; }", "R\"(__device__ int a;)\""})
    CHECK(rewritten(other) == other);
}

TEST_CASE("an index that is read from memory is passed through a call") {
  const auto handed = [](const std::string& index) { return "[simt::once(" + index + ")]"; };
  CHECK(rewritten("a[b[i]];") == "a" + handed("b[i]") + ";");
  CHECK(rewritten("a[i][2 * *p];") == "a[i]" + handed("2 * *p") + ";");
  CHECK(contains(rewritten("__device__ int head; void k() { a[head]; }"), "a" + handed("head")));
  for (const std::string other :
       {"a[2 * N + i];", "f([&](int i) { return b[i]; });", "a[(i * 2) * j];", "constexpr int n[b[0]] = {};",
        "a[x, *p];", "if (c) [p = *q] { ; }();", "const auto [x] = *p;", "auto v = a[{*p, i}];"})
    CHECK(rewritten(other) == other);
  for (const std::string attribute :
       {"for (;;) [[unlikely]] f();", "int i [[maybe_unused]] = 3;", "struct [[nodiscard]] S { int i; };",
        "enum F { a [[deprecated]] };", "__forceinline__ [[nodiscard]] int f();",
        "alignas(16) [[maybe_unused]] float x;"})
    CHECK(rewritten(attribute) == attribute);
  // A reference may refer to memory.
  CHECK(contains(rewritten("const int& u = b[i]; a[u];"), "a" + handed("u")));
  CHECK(contains(rewritten("void f(const Q& q) { a[q.head]; }"), "a" + handed("q.head")));
  CHECK(contains(rewritten("auto& [x, y] = b[i]; a[y];"), "a" + handed("y")));
  CHECK(contains(rewritten("if (c && i) a[i];"), " a[i];"));
}

TEST_CASE("a ?: that is assigned to an element is passed through a call") {
  for (const std::string to : {"a[i] =", "s.v =", "p->v =", "*p ="})
    CHECK(rewritten("{ " + to + " c ? f() : g(h, 1); }") == "{ " + to + " simt::once( c ? f() : g(h, 1)); }");
  for (const std::string other :
       {"{ a[i] == c ? f() : g(); }", "{ const T& v = c ? f() : g(); }", "{ a[i] += c ? 1 : 2; }",
        "{ f([=] { c ? 1 : 2; }); }", "{ auto& [x, y] = c ? s : t; }", "{ a[i] = f(c ? 1 : 2); }",
        "{ a[i] = c ? f<1, 2>() : g(); }"})
    CHECK(rewritten(other) == other);
}

TEST_CASE("__shared__ variables become references to the running block's variables") {
  CHECK(rewritten("void k() { __shared__ float a[4], b; }") ==
        "void k() { struct simt_shared_a {  float a[4], b; }; auto& a = simt::shared<simt_shared_a, "
        "decltype(simt_shared_a::a), \"a\", 0>(); "
        "auto& b = "
        "simt::shared<simt_shared_a, decltype(simt_shared_a::b), \"b\", 1>(); }");
  const auto in_kernel = [](const std::string& text) {
    const std::string all = rewritten("void k() { __shared__ int a, b; " + text + " }");
    return all.substr(all.find("1>();") + 6);
  };
  CHECK(in_kernel("[] { a; b; }") == "[&a, &b] { a; b; } }");
  CHECK(in_kernel("return [n] __device__ { return [&n] { b; }; };") ==
        "return [n, &b] __device__ { return [&n, &b] { b; }; }; }");
  for (const std::string same : {"[&] { a; }", "[](int a) { a; }", "[] { s.a; p->a; n::a; }", "c[4] - a", "(c)[4] (b)",
                                 "[[maybe_unused]] int c;", "auto [c, d] = e; { a; }"})
    CHECK(in_kernel(same) == same + " }");
  for (const std::string refused : {"__shared__ int a = 3;", "__shared__ int (*a)[4];",
                                    "__shared__ struct { int i; } a;", "extern __shared__ int a;"})
    CHECK(contains(rewritten("void k() { " + refused + " }"), "declare a __shared__ variable in the kernel"));
  CHECK(contains(rewritten("__shared__ int a[4];"), "declare a __shared__ variable in the kernel"));
}

TEST_CASE("dynamic shared memory is declared in a kernel, with its specifiers in any order") {
  for (const std::string order :
       {"extern __shared__ n::T s[];", "__shared__ extern n::T s[];", "extern n::T __shared__ __align__(16) s[];"}) {
    std::string text = rewritten("void k() { " + order + " }");
    std::erase(text, ' ');
    CHECK(text == "voidk(){auto*consts=static_cast<n::T*>(simt::device::dynamic_shared(\"s\"));}");
    CHECK(contains(rewritten(order), "declare a __shared__ variable in the kernel"));
  }
}

TEST_CASE("included names are mapped, and line numbers stay the same") {
  CHECK(rewritten("#include \"a.hpp\"  // why\n# include <b>\n") ==
        "#include \"new/a.hpp\"  // why\n# include <new/b>\n");
  const std::string text = "k<<<1,\n2,\n0,\nstream>>>(\na);\nextern __shared__\nint x[];\n";
  const std::string made = rewritten(text);
  CHECK(std::count(made.begin(), made.end(), '\n') == std::count(text.begin(), text.end(), '\n'));
}
