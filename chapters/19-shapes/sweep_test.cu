// Tests of sweeps and of the stronger baseline, with made-up times. The program is itself a chapter with a sweep, whose
// plot sweep-plot.sh draws.

#include "chapters/19-shapes/sweep.hpp"
#include "common/bench/run.hpp"
#include "common/report/chapter.hpp"
#include "common/report/findings.hpp"

namespace {

__global__ void multiply(const float* a, const float* b, float* c) { *c = *a * *b; }

void launch_multiply(const tile::Gemm& g) { tile::launch(multiply, dim3(1), dim3(1), 0, g.A, g.B, g.C); }

// What a dispatcher might say.
std::string choice(const tile::Product& p) { return p.problem.M < 512 ? "small" : "large"; }

tile::Kernel only() { return {"only", launch_multiply, reinterpret_cast<const void*>(multiply), 1, {}}; }

const tile::Sweep swept{
    only(), {{2048, 2048, 2048}, {1024, 1024, 1024}, {256, 256, 256}, {1, 1024, 2048}}, nullptr, choice};

}  // namespace

TILE_CHAPTER(.number = 77, .title = "a sweep", .kernels = {only()}, .counted = {1, 1, 1}, .sizes = {1024},
             .baseline = tile::Baseline::stronger, .extension = tile::extension_of(swept))

namespace {

// A run of 5 iterations: each takes the kernel, cuBLAS and the tried suggestion so many milliseconds, but for the last digit.
tile::Record made_up_run(int M, int N, int K, double ms, double cublas_ms, double lt_ms) {
  tile::Record run = tile::to_json(tile::Problem::plain(M, N, K));
  run["choice"] = M < 512 ? "small" : "large";
  for (const double noise : {1.0, 1.01, 1.02, 1.03, 1.04}) {
    run["samples_ms"].push_back(ms * noise);
    run["cublas_samples_ms"].push_back(cublas_ms * noise);
    run["lt_samples_ms"].push_back(lt_ms * noise);
  }
  run["lt_search"] = {{"asked", 32}, {"suggested", 3}};
  run.update(tile::summary_of(run));
  return run;
}

// The sweep above: lost to cuBLASLt, lost to cuBLAS, won, won.
tile::Record made_up_sweep() {
  tile::Record sweep = tile::Record::parse(R"({"gpu": "NVIDIA H200", "date": "d", "driver": "d", "cuda": "13.0.88",
    "sms": 132, "clock_hz": 1.98e9, "rates": {}, "sweep": {"seconds": 42}, "kernels": [{"name": "only"}]})");
  sweep["fingerprint"] = {{"nvcc", "13.0.88"}, {"kernels", {{"only", "0123456789abcdef"}}}};
  sweep["kernels"][0]["runs"] = {
      made_up_run(2048, 2048, 2048, 0.4, 0.39, 0.38), made_up_run(1024, 1024, 1024, 0.1, 0.08, 0.09),
      made_up_run(256, 256, 256, 0.01, 0.011, 0.012), made_up_run(1, 1024, 2048, 0.01, 0.03, 0.02)};
  return sweep;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

tile::Facts facts_of(const tile::Record* sweep) {
  tile::Facts facts;
  tile::add_sweep_facts(facts, swept, sweep);
  return facts;
}

}  // namespace

TEST_CASE("the stronger baseline is the one with the lower median, and its ratio is of pairs") {
  const tile::Record to_cublas = made_up_run(64, 64, 64, 2, 2.2, 2.3), to_lt = made_up_run(64, 64, 64, 2, 2.2, 1.9);
  CHECK(tile::stronger_of(to_cublas) == "cublasGemmEx");
  CHECK(to_cublas["stronger_ratio"].get<double>() == doctest::Approx(1.1));
  CHECK(to_cublas["lt_ratio"].get<double>() == doctest::Approx(1.15));
  CHECK(to_cublas["stronger_tflops"] == to_cublas["cublas_tflops"]);
  CHECK(tile::stronger_of(to_lt) == "cuBLASLt");
  CHECK(to_lt["stronger_ratio"].get<double>() == doctest::Approx(0.95));
  CHECK(to_lt["ratio"].get<double>() == doctest::Approx(1.1));  // to cublasGemmEx, whichever is stronger
  CHECK(to_lt["stronger_tflops"] == to_lt["lt_tflops"]);

  // Medians of the ratios, not ratios of the medians.
  tile::Record apart = made_up_run(64, 64, 64, 2, 2.2, 2.3);
  apart["samples_ms"] = {1, 1, 2, 4, 4};
  apart["cublas_samples_ms"] = {1, 1, 4, 6, 6};
  apart["lt_samples_ms"] = {9, 9, 9, 9, 9};
  const tile::Record summary = tile::summary_of(apart);
  CHECK(summary["ratio"] == 1.5);  // of 1, 1, 2, 1.5 and 1.5
  CHECK(summary["stronger_ratio"] == 1.5);
  CHECK(summary["lt_ratio"] == 4.5);  // of 9, 9, 4.5, 2.25 and 2.25
}

TEST_CASE("each side of an iteration runs first, second and third") {
  CHECK(tile::order_of_iteration(2, 3) == std::vector<std::size_t>{1, 0});
  CHECK(tile::order_of_iteration(3, 4) == std::vector<std::size_t>{2, 0, 1});
  CHECK(tile::order_of_iteration(3, 9) == tile::order_of_iteration(3, 3));
}

TEST_CASE("where cuBLASLt suggests nothing, cuBLAS is the stronger") {
  tile::Record run = made_up_run(64, 64, 64, 2, 2.2, 1.9);
  run.erase("lt_samples_ms");
  const tile::Record summary = tile::summary_of(run);
  CHECK(summary["stronger_ratio"].get<double>() == doctest::Approx(1.1));
  CHECK_FALSE(summary.contains("lt_tflops"));
}

TEST_CASE("a sweep that is not measured yet has the same facts") {
  const tile::Record sweep = made_up_sweep();
  const tile::Facts facts = facts_of(&sweep), pending = facts_of(nullptr);
  CHECK(facts.value("sweep.lost") == 2);
  CHECK(pending.all().size() == facts.all().size());
  for (const auto& fact : pending.all()) CHECK(fact.text == "not yet measured");
}

TEST_CASE("a sweep becomes a table and the data of a plot") {
  const tile::Record sweep = made_up_sweep();
  const tile::Table table = tile::table_of_sweep(swept, &sweep);
  // Cubes come first, from the smallest to the largest.
  std::string order;
  for (const auto& row : table.rows) order += row.at(0) + " ";
  CHECK(order == "256 1024 2048 1x1024x2048 ");
  CHECK(table.rows.at(1) ==
        std::vector<std::string>{"1024", "0.800", "0.800-0.800", "large", "0.102", "21.1", "26.3", "23.4", "5"});
  CHECK(tile::table_of_sweep(swept, nullptr).rows.empty());
  CHECK(contains(tile::plot_of_sweep(swept, &sweep), "1x1024x2048\t1\t1024\t2048\t2\t"));
  CHECK(tile::plot_of_sweep(swept, nullptr).starts_with("256\t256\t256\t256\t0\t0\t0\t0\t0\n1024\t"));
}

TEST_CASE("a problem is won or lost where the pairs agree on it") {
  tile::Record sweep = made_up_sweep();
  tile::Record& run = sweep["kernels"][0]["runs"][0];  // 2048
  const auto verdicts = [&](double low, double high) {
    run["stronger_ratio_low"] = low, run["stronger_ratio_high"] = high;
    std::string text;
    for (const auto& row : tile::table_of_verdicts(swept, &sweep).rows)
      text += row.at(0) + row.at(1) + ": " + row.at(2) + "; ";
    return text;
  };
  CHECK(verdicts(0.9, 0.99) == "lost2: 1024 (0.80), 2048 (0.95); tie0: ; won2: 256 (1.10), 1x1024x2048 (2.00); ");
  CHECK(verdicts(0.9, 1) == "lost1: 1024 (0.80); tie1: 2048 (0.95); won2: 256 (1.10), 1x1024x2048 (2.00); ");
  CHECK(verdicts(1, 1.2) == "lost1: 1024 (0.80); tie1: 2048 (0.95); won2: 256 (1.10), 1x1024x2048 (2.00); ");
  CHECK(verdicts(1.01, 1.2) == "lost1: 1024 (0.80); tie0: ; won3: 2048 (0.95), 256 (1.10), 1x1024x2048 (2.00); ");
  CHECK(facts_of(&sweep).value("sweep.won") == 3);
  CHECK(tile::table_of_verdicts(swept, nullptr).rows.empty());
}
