// Tests of sweeps and of the stronger baseline, with made-up times. The program is itself a chapter with a sweep, whose plot plot.sh draws.
#include <sstream>

#include "chapters/14-tma/sweep.hpp"
#include "common/bench/program.hpp"
#include "common/bench/run.hpp"
#include "common/report/chapter.hpp"
#include "common/report/findings.hpp"

namespace {

__global__ void multiply(const float* a, const float* b, float* c) { *c = *a * *b; }

void launch_multiply(const tile::Gemm& g) { tile::launch(multiply, dim3(1), dim3(1), 0, g.A, g.B, g.C); }

// What a dispatcher might say.
std::string choice(const tile::Product& p) { return p.problem.M < 512 ? "small" : "large"; }

tile::Kernel only() { return {"only", launch_multiply, reinterpret_cast<const void*>(multiply), 1, {}}; }

const tile::Sweep swept{only(), {{2048, 2048, 2048}, {1024, 1024, 1024}, {256, 256, 256}, {1, 1024, 2048}}, choice};

}  // namespace

TILE_CHAPTER(.number = 77, .title = "a sweep", .kernels = {only()}, .counted = {1, 1, 1}, .sizes = {1024},
             .baseline = tile::Baseline::stronger, .extension = tile::extension_of(swept))

namespace {

// A run of 5 rounds: each takes the kernel, cuBLAS and the tried suggestion so many milliseconds, but for the last digit.
tile::Record made_up_run(int M, int N, int K, double ms, double cublas_ms, double lt_ms) {
  tile::Record run = tile::to_json(tile::Problem::plain(M, N, K));
  run["choice"] = M < 512 ? "small" : "large";
  for (const double noise : {1.0, 1.01, 1.02, 1.03, 1.04}) {
    run["samples_ms"].push_back(ms * noise);
    run["cublas_samples_ms"].push_back(cublas_ms * noise);
    run["lt_samples_ms"].push_back(lt_ms * noise);
  }
  run["lt_search"] = {{"asked", 32}, {"suggested", 3}, {"tried", {{{"id", 7}, {"median_ms", lt_ms}}}}};
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

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

tile::Facts facts_of(const tile::Record* sweep) {
  tile::Facts facts;
  tile::add_sweep_facts(facts, swept, sweep);
  return facts;
}

std::string text_of(const tile::Facts& facts, const std::string& key) {
  for (const auto& fact : facts.all())
    if (fact.key == key) return fact.text;
  return "no such fact";
}

}  // namespace

TEST_CASE("the stronger baseline is the one with the lower median, and its ratio is of pairs" *
          doctest::test_suite("model")) {
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

TEST_CASE("cuBLAS is judged by what ran before it" * doctest::test_suite("model")) {
  CHECK(tile::order_of_round(2, 0) == std::vector<std::size_t>{0, 1});
  CHECK(tile::order_of_round(2, 3) == std::vector<std::size_t>{1, 0});
  CHECK(tile::order_of_round(3, 4) == std::vector<std::size_t>{2, 0, 1});
  CHECK(tile::order_of_round(3, 9) == tile::order_of_round(3, 3));

  // Rounds 0 to 5 of the kernel (k), cuBLAS (c) and cuBLASLt (l): kcl klc ckl clk lkc lck. cuBLAS takes 2.5 ms right behind the kernel, 2.2 first.
  tile::Record run = made_up_run(64, 64, 64, 2, 2.2, 9);
  run["samples_ms"] = {2, 2, 1, 1, 1, 1};
  run["cublas_samples_ms"] = {2.5, 2.3, 2.2, 2.2, 2.5, 2.3};
  run["lt_samples_ms"] = {9, 9, 9, 9, 9, 9};
  auto places = tile::by_place(run, 1);
  REQUIRE(places);
  CHECK(places->behind == doctest::Approx(2.5 / 2.2));
  CHECK(places->first_ratio == doctest::Approx(1.1));
  CHECK(places->apart.low == doctest::Approx(1.15));  // of 1.15, 2.2, 2.2 and 2.3
  CHECK(places->apart.high == doctest::Approx(2.3));
  CHECK(places->flatters());
  run["cublas_samples_ms"] = {2.2, 2.3, 2.2, 2.2, 2.2, 2.3};
  CHECK_FALSE(tile::by_place(run, 1)->flatters());
  run.update(tile::summary_of(run));
  CHECK(tile::stronger_by_place(run)->first_ratio == tile::by_place(run, 1)->first_ratio);
  CHECK(tile::by_place(run, 2)->first_ratio == doctest::Approx(4.5));
  CHECK_FALSE(tile::by_place(made_up_run(64, 64, 64, 2, 2.2, 9), 1));  // five rounds
}

TEST_CASE("where cuBLASLt suggests nothing, cuBLAS is the stronger" * doctest::test_suite("model")) {
  tile::Record run = made_up_run(64, 64, 64, 2, 2.2, 1.9);
  run["lt_search"]["tried"] = tile::Record::array();
  run.erase("lt_samples_ms");
  const tile::Record summary = tile::summary_of(run);
  CHECK(summary["stronger_ratio"].get<double>() == doctest::Approx(1.1));
  CHECK_FALSE(summary.contains("lt_tflops"));
  run.erase("lt_search");
  CHECK_FALSE(tile::summary_of(run).contains("stronger_ratio"));
}

TEST_CASE("samples of cuBLASLt come in pairs, too" * doctest::test_suite("model")) {
  tile::Record run = made_up_run(64, 64, 64, 2, 2.2, 1.9);
  run["lt_samples_ms"] = {1.9};
  CHECK_THROWS_AS(tile::summary_of(run), tile::RecordError);
}

TEST_CASE("a sweep is of its program's kernel and problems" * doctest::test_suite("model")) {
  const tile::Program program = tile::program_of(tile::to_json(tile::describe_program({})).dump());
  const auto wrong = [&](const tile::Record& sweep) {
    return joined(tile::wrong_with_record(sweep, tile::RecordKind::sweep, program, {}));
  };
  CHECK(wrong(made_up_sweep()) == "");
  tile::Record sweep = made_up_sweep();
  sweep["kernels"][0]["runs"][2]["problem"] = "512x256x256";
  CHECK(
      contains(wrong(sweep), "only: timed at 2048, 1024, 512x256x256, 1x1024x2048, the program says 2048, 1024, 256"));
  sweep["kernels"][0]["name"] = "another";
  CHECK(wrong(sweep) == "the sweep is not of only\n");
}

TEST_CASE("a plot gets cubes first, from the smallest to the largest") {
  std::istringstream lines(tile::plot_of_sweep(swept, nullptr));
  std::vector<std::string> problems;
  for (std::string line; std::getline(lines, line);) problems.push_back(line.substr(0, line.find('\t')));
  CHECK(problems == std::vector<std::string>{"256", "1024", "2048", "1x1024x2048"});
}

TEST_CASE("a sweep becomes facts, with its losses" * doctest::test_suite("model")) {
  const tile::Record sweep = made_up_sweep();
  const tile::Facts facts = facts_of(&sweep);
  CHECK(facts.value("sweep.256.ratio") == doctest::Approx(1.1));
  CHECK(facts.value("sweep.2048.ratio") == doctest::Approx(0.95));
  CHECK(facts.value("sweep.1x1024x2048.ratio") == doctest::Approx(2));
  CHECK(text_of(facts, "sweep.1024.choice") == "large");
  CHECK(facts.value("sweep.problems") == 4);
  CHECK(facts.value("sweep.won") == 2);
  CHECK(facts.value("sweep.tie") == 0);
  CHECK(facts.value("sweep.lost") == 2);
  CHECK(facts.value("sweep.seconds") == 42);
  CHECK(facts.value("sweep.lowest_ratio") == doctest::Approx(0.8));
  CHECK(facts.value("sweep.highest_ratio") == doctest::Approx(2));
  CHECK(facts.value("sweep.cubes.highest_ratio") == doctest::Approx(0.95));  // of 1024 and 2048
  const tile::Facts pending = facts_of(nullptr);
  CHECK(pending.all().size() == facts.all().size());
  for (const auto& fact : pending.all()) CHECK(fact.text == "not yet measured");
}

TEST_CASE("a sweep becomes a table and the data of a plot" * doctest::test_suite("model")) {
  const tile::Record sweep = made_up_sweep();
  const tile::Table table = tile::table_of_sweep(swept, &sweep);
  std::vector<std::string> order;
  for (const auto& row : table.rows) order.push_back(row.at(0));
  REQUIRE(order == std::vector<std::string>{"256", "1024", "2048", "1x1024x2048"});
  CHECK(table.rows[1] ==
        std::vector<std::string>{"1024", "0.800", "0.800-0.800", "large", "0.102", "21.1", "26.3", "23.4", "5"});
  CHECK(tile::table_of_sweep(swept, nullptr).rows.empty());
  CHECK(contains(tile::plot_of_sweep(swept, &sweep), "1x1024x2048\t1\t1024\t2048\t2\t"));
  CHECK(contains(tile::plot_of_sweep(swept, nullptr), "256\t256\t256\t256\t0\t0\t0\t0\t0\n"));
}

TEST_CASE("a problem is won or lost where the pairs agree on it" * doctest::test_suite("model")) {
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
