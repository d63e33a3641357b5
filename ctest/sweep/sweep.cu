// Tests of sweeps and of the stronger baseline, with made-up times. The program is itself a chapter with a sweep, whose plot plot.sh draws.
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "common/bench/check.hpp"
#include "common/bench/consistency.hpp"
#include "common/bench/run.hpp"
#include "common/report/chapter.hpp"
#include "common/report/findings.hpp"

namespace {

__global__ void multiply(const float* a, const float* b, float* c) { *c = *a * *b; }

void launch_multiply(const tile::Gemm& g) { tile::launch(multiply, dim3(1), dim3(1), 0, g.A, g.B, g.C); }

// What a dispatcher might say.
std::string choice(const tile::Product& p) { return p.problem.M < 512 ? "small" : "large"; }

tile::Kernel only() { return {"only", launch_multiply, reinterpret_cast<const void*>(multiply), 1, {}}; }

}  // namespace

TILE_CHAPTER(.number = 77, .title = "a sweep", .kernels = {only()}, .counted = {1, 1, 1}, .sizes = {1024},
             .baseline = tile::Baseline::stronger,
             .sweep = {.kernel = only(),
                       .problems = {{2048, 2048, 2048}, {1024, 1024, 1024}, {256, 256, 256}, {1, 1024, 2048}},
                       .choice = choice})

namespace {

// A run of 5 rounds: each takes the kernel, cuBLAS and the tried suggestion so many milliseconds, but for the last digit.
tile::Record made_up_run(int M, int N, int K, double ms, double cublas_ms, double lt_ms) {
  tile::Record run{
      {"M", M}, {"N", N}, {"K", K}, {"freivalds_deviation", 0.01}, {"choice", M < 512 ? "small" : "large"}};
  for (const double noise : {1.0, 1.01, 1.02, 1.03, 1.04}) {
    run["samples_ms"].push_back(ms * noise);
    run["cublas_samples_ms"].push_back(cublas_ms * noise);
    run["lt_samples_ms"].push_back(lt_ms * noise);
  }
  run["lt_search"] = {{"asked", 32},  {"suggested", 3}, {"fastest", 1},     {"tensor_cores", 0},
                      {"refused", 1}, {"not_begun", 0}, {"repetitions", 3}, {"workspace_bytes", 1000}};
  for (const double suggestion : {1.2 * lt_ms, lt_ms})
    run["lt_search"]["tried"].push_back({{"id", 7}, {"median_ms", suggestion}, {"workspace_bytes", 1000}});
  run.update(tile::summary_of(run));
  return run;
}

// The sweep above: lost to cuBLASLt, lost to cuBLAS, won, won.
tile::Record made_up_sweep() {
  tile::Record sweep = tile::Record::parse(R"({"schema": 1, "gpu": "NVIDIA H200", "date": "d", "driver": "d",
    "cuda": "13.0.88", "rates": {}, "sms": 132, "clock_hz": 1.98e9, "sweep": {"seconds": 42},
    "sm": {"registers": 65536, "shared_bytes": 233472, "reserved_shared": 1024, "threads": 2048, "blocks": 32},
    "clocks_before": {"sm_mhz": 1980, "temperature_c": 40}, "clocks_after": {"sm_mhz": 1980, "temperature_c": 50},
    "kernels": [{"name": "only", "function": "_Z1kv", "registers": 40, "spill_bytes": 0, "static_shared": 0,
      "dynamic_shared": 0, "block_threads": 1, "blocks_per_sm": 32}]})");
  sweep["fingerprint"] = tile::describe_program({}).fingerprint;
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
  tile::add_sweep_facts(facts, sweep);
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

TEST_CASE("a sweep that agrees with itself and its program passes" * doctest::test_suite("model")) {
  const tile::Program program = tile::program_of(tile::to_json(tile::describe_program({})).dump());
  CHECK(program.baseline == tile::Baseline::stronger);
  CHECK(joined(tile::wrong_with_sweep("nvidia-h200", made_up_sweep(), program)) == "");
}

TEST_CASE("a sweep that is changed by hand is noticed" * doctest::test_suite("model")) {
  struct Change {
    const char* pointer;
    tile::Record value;
    const char* complaint;
  };
  const tile::Program program = tile::describe_program({});
  for (const Change& change : std::vector<Change>{
           {"/kernels/0/runs/1/stronger_ratio", 1.2,
            "only at 1024 x 1024 x 1024: stronger_ratio is 1.2, but its samples give 0.7"},
           {"/kernels/0/runs/0/lt_tflops", 1, "lt_tflops is 1, but its samples give 44"},
           {"/kernels/0/runs/0/lt_samples_ms", {0.1}, "samples do not come in pairs"},
           {"/kernels/0/runs/2/M", 512, "the sweep: timed at 2048, 1024, 512x256x256, 1x1024x2048"},
           {"/kernels/0/runs/2/M", 512, "only at 512 x 256 x 256: tflops is"},
           {"/kernels/0/runs/2/repetitions", 4, "repetitions is 4, but its samples give 5"},
           {"/kernels/0/runs/2/freivalds_deviation", 2, "freivalds_deviation is 2"},
           {"/kernels/0/runs/2/lt_search/fastest", 0,
            "lt_search.fastest, its median_ms is 0.0144, not from 0 to 0.012"},
           {"/kernels/0/runs/2/lt_search/suggested", 1,
            "lt_search.suggested is 1, but those tried, and those not, are 3"},
           {"/kernels/0/runs/2/lt_search/not_begun", 1,
            "lt_search.suggested is 3, but those tried, and those not, are 4"},
           {"/kernels/0/runs/2/lt_search/asked", 2, "lt_search.suggested is 3, not from 0 to 2"},
           {"/kernels/0/runs/2/lt_search/workspace_bytes", 10, "lt_search, workspace_bytes is 1000, not from 0 to 10"},
           {"/kernels/0/runs/2/lt_search/tried", tile::Record::array(),
            "cuBLASLt is timed where one of its suggestions was tried"},
           {"/kernels/0/name", "another", "the sweep: its kernel is another, the program says only"},
           {"/kernels/0/blocks_per_sm", 31, "only: blocks_per_sm is 31"},
           {"/sms", 78, "the sweep: sms is 78, but an H200 has 132"},
           {"/fingerprint/flags", "-G", "of other code (flags changed)"}}) {
    tile::Record sweep = made_up_sweep();
    sweep[tile::Record::json_pointer(change.pointer)] = change.value;
    const std::string found = joined(tile::wrong_with_sweep("nvidia-h200", sweep, program));
    CHECK_MESSAGE(contains(found, change.complaint), std::string(change.pointer), ": ", found);
  }
  CHECK(
      contains(joined(tile::wrong_with_sweep("another", made_up_sweep(), program)), "whose file is nvidia-h200.json"));
  tile::Record dispatcher = made_up_sweep();  // no function of its own, so nothing to say of one
  for (const char* key :
       {"function", "registers", "spill_bytes", "static_shared", "dynamic_shared", "block_threads", "blocks_per_sm"})
    dispatcher["kernels"][0].erase(key);
  CHECK(joined(tile::wrong_with_sweep("nvidia-h200", dispatcher, program)) == "");
  dispatcher["kernels"][0]["function"] = "_Z1kv";
  CHECK(contains(joined(tile::contradictions_of_sweep(dispatcher)), "something is missing"));
  tile::Record twice = made_up_sweep(), fewer = made_up_sweep(), plain = made_up_sweep();
  twice["kernels"][0]["runs"].push_back(twice["kernels"][0]["runs"][2]);
  CHECK(contains(joined(tile::contradictions_of_sweep(twice)), "there are two called 256 x 256 x 256"));
  fewer["kernels"].push_back(fewer["kernels"][0]);
  CHECK(contains(joined(tile::contradictions_of_sweep(fewer)), "number of kernels is 2"));
  plain["kernels"][0]["runs"][3].erase("lt_search");
  CHECK(contains(joined(tile::wrong_with_sweep("nvidia-h200", plain, program)),
                 "at 1x1024x2048 cuBLASLt was not searched, the program says otherwise"));
}

TEST_CASE("a plot gets cubes first, from the smallest to the largest") {
  std::ostringstream out;
  tile::write_sweep(out, nullptr);
  std::istringstream lines(out.str());
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
  const tile::Table table = tile::table_of_sweep({sweep});
  std::vector<std::string> order;
  for (const auto& row : table.rows) order.push_back(row.at(0));
  REQUIRE(order == std::vector<std::string>{"256", "1024", "2048", "1x1024x2048"});
  CHECK(table.rows[1] ==
        std::vector<std::string>{"1024", "0.800", "0.800-0.800", "large", "0.102", "21.1", "26.3", "23.4", "5"});
  CHECK(tile::table_of_sweep({}).rows.empty());
  std::ostringstream measured, pending;
  tile::write_sweep(measured, &sweep);
  CHECK(contains(measured.str(), "1x1024x2048\t1\t1024\t2048\t2\t"));
  tile::write_sweep(pending, nullptr);
  CHECK(contains(pending.str(), "256\t256\t256\t256\t0\t0\t0\t0\t0\n"));
}

TEST_CASE("a problem is won or lost where the pairs agree on it" * doctest::test_suite("model")) {
  tile::Record sweep = made_up_sweep();
  tile::Record& run = sweep["kernels"][0]["runs"][0];  // 2048
  const auto verdicts = [&](double low, double high) {
    run["stronger_ratio_low"] = low, run["stronger_ratio_high"] = high;
    std::string text;
    for (const auto& row : tile::table_of_verdicts({sweep}).rows)
      text += row.at(0) + row.at(1) + ": " + row.at(2) + "; ";
    return text;
  };
  CHECK(verdicts(0.9, 0.99) == "lost2: 1024 (0.80), 2048 (0.95); tie0: ; won2: 256 (1.10), 1x1024x2048 (2.00); ");
  CHECK(verdicts(0.9, 1) == "lost1: 1024 (0.80); tie1: 2048 (0.95); won2: 256 (1.10), 1x1024x2048 (2.00); ");
  CHECK(verdicts(1, 1.2) == "lost1: 1024 (0.80); tie1: 2048 (0.95); won2: 256 (1.10), 1x1024x2048 (2.00); ");
  CHECK(verdicts(1.01, 1.2) == "lost1: 1024 (0.80); tie0: ; won3: 2048 (0.95), 256 (1.10), 1x1024x2048 (2.00); ");
  CHECK(facts_of(&sweep).value("sweep.won") == 3);
  CHECK(tile::table_of_verdicts({}).rows.empty());
}

TEST_CASE("a damaged sweep is refused with advice" * doctest::test_suite("model")) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("tile-sweep-" + std::to_string(getpid()));
  const auto refusal = [&](const tile::Record& sweep) -> std::string {
    tile::save_record(file, sweep);
    try {
      tile::load_sweep(file);
    } catch (const tile::RecordError& e) {
      return e.what();
    }
    return "accepted";
  };
  CHECK(refusal(made_up_sweep()) == "accepted");
  tile::Record without = made_up_sweep();
  without["kernels"][0].erase("function");
  CHECK(refusal(without) == "accepted");
  without = made_up_sweep();
  without["kernels"][0]["runs"][2].erase("choice");
  CHECK(contains(refusal(without), "is not the record of a sweep"));
  without = made_up_sweep();
  without.erase("sweep");
  CHECK(contains(refusal(without), "delete it or run --sweep on that GPU again"));
  std::filesystem::remove(file);
}
