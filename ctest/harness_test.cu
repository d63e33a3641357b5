// Tests of the harness that checks chapters: comparisons that NaN cannot pass, guard bands, records, ceilings.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/bench/ceilings.hpp"
#include "common/bench/clocks.hpp"
#include "common/bench/counters.hpp"
#include "common/bench/machine_code.hpp"
#include "common/bench/metrics.hpp"
#include "common/bench/record.hpp"
#include "common/bench/run.hpp"
#include "common/bench/text.hpp"
#include "common/check/gemm_tests.hpp"
#include "common/report/chapter.hpp"
#include "common/report/findings.hpp"

// Gives this program the command line of the chapters.
TILE_CHAPTER(.number = 0, .title = "tests of the harness", .kernels = {}, .counted = {1, 1, 1}, .sizes = {})
TEST_SUITE_BEGIN("model");

namespace {

// C = alpha A B + beta C, without mistakes.
void multiply(const tile::Gemm& g) {
  for (int row = 0; row < g.M; ++row)
    for (int col = 0; col < g.N; ++col) {
      float sum = 0;
      for (int k = 0; k < g.K; ++k) sum += g.A[std::size_t(row) * g.lda + k] * g.B[std::size_t(k) * g.ldb + col];
      float& c = g.C[std::size_t(row) * g.ldc + col];
      c = g.alpha * sum + (g.beta != 0 ? g.beta * c : 0.0f);
    }
}

void multiply_and_write_padding(const tile::Gemm& g) {
  multiply(g);
  g.C[g.N] = 1;
}

const tile::Case plain{20, 30, 40, 1, 0, 2};

// A path in this process's temporary directory, which is removed when the process ends.
std::filesystem::path scratch(const std::string& name) {
  static const struct Directory {
    std::string path = (std::filesystem::temp_directory_path() / "tile-harness-XXXXXX").string();
    Directory() {
      if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make a directory like " + path);
    }
    ~Directory() { std::filesystem::remove_all(path); }
  } directory;
  return std::filesystem::path(directory.path) / name;
}

std::filesystem::path scratch(const std::string& name, const std::string& text) {
  const auto file = scratch(name);
  std::ofstream(file) << text;
  return file;
}

// A record of one kernel, timed at 1024 and as BF16, counted, profiled and disassembled; its numbers are made up.
tile::Record made_up_record() {
  auto record = tile::Record::parse(R"--({"gpu": "NVIDIA H200", "date": "d", "driver": "d", "cuda": "13.0.88",
    "fingerprint": {"k": "0123"}, "rates": {"l2_read_gbs": 12000, "price": 0.5}, "sms": 132, "clock_hz": 1.98e9,
    "profiled_size": 1024, "clocks_before": {"sm_mhz": 1980, "temperature_c": 40},
    "other_kernels": {"_Z6cublasv": {"counters": {"registers": 200}}},
    "kernels": [{"name": "k", "function": "_Z1kv", "registers": 40, "spill_bytes": 0, "static_shared": 4096,
      "dynamic_shared": 0, "block_threads": 256, "blocks_per_sm": 6,
      "counters": {"lines": 100, "l2_sectors": 5}, "counters_range": {"l2_sectors": [4, 6]},
      "profile": {"issue_active": 0.5, "barrier": 2.1}, "sass_loop": {"FFMA": 64, "LDS.128": 8},
      "runs": [{"problem": "1024", "clocks": {"samples": 0}},
               {"problem": "64x32x16.bf16,bf16,f32.ld16,40,32",
                "clocks": {"samples": 9, "sm_mhz": [1800, 1900, 1980], "power_w": [500.5, 600, 700],
                           "throttled": "power cap; temperature (hardware)"}}]}]})--");
  for (tile::Record& run : record["kernels"][0]["runs"]) {
    run.update(tile::to_json(tile::problem_named(run["problem"])));
    run["freivalds_deviation"] = 0.01;
    for (int i = 0; i < 20; ++i) {
      run["samples_ms"].push_back(0.12 + 0.0001 * (i * 7 % 20));
      run["cublas_samples_ms"].push_back(0.06 + 0.0001 * (i * 11 % 20));
    }
    run.update(tile::summary_of(run));
  }
  return record;
}

tile::Record made_up_tuning() {
  tile::Record tuning = made_up_record();
  for (const char* key : {"kernels", "other_kernels", "rates"}) tuning.erase(key);
  tuning["size"] = 1024;
  tuning["chosen"] = "fast";
  for (const auto& [name, ms] : {std::pair{"slow", 0.2}, {"fast", 0.1}, {"middling", 0.15}}) {
    tile::Record candidate = tile::Record::parse(R"({"pruned": "", "registers": 40, "spill_bytes": 0,
      "static_shared": 4096, "dynamic_shared": 0, "block_threads": 256, "blocks_per_sm": 6})");
    candidate["name"] = name;
    candidate["function"] = std::string("_Z") + name;
    candidate["median_ms"] = ms;
    candidate["tflops"] = tile::tflops_of(1024, 1024, 1024, ms);
    tuning["candidates"].push_back(candidate);
  }
  return tuning;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A file with the made-up kernel's machine code, in cuobjdump's format, with one instruction per line.
std::filesystem::path sass_of(const std::string& code) {
  std::string text = "\t\tFunction : _Z1kv\n";
  std::istringstream lines(code);
  int address = 0;
  for (std::string line; std::getline(lines, line); address += 16)
    text += fmt::format(" /*{:04x}*/  {} ;\n", address, line);
  return scratch("sass.txt", text);
}

// Counts of a kernel with one global load, of 100 requests and 400 sectors, one shared store, and an asynchronous copy.
simt::Counts few_counts() {
  simt::Counts counts;
  const auto add = [&](simt::Op op, simt::Space space, bool by_copy, std::uint64_t requests) -> simt::Site& {
    simt::Site& site = counts.sites.emplace_back();
    site.op = op, site.space = space, site.by_copy = by_copy, site.requests = requests;
    return site;
  };
  simt::Site& load = add(simt::Op::load, simt::Space::global, false, 100);
  load.lines = 100, load.sectors = 400;
  add(simt::Op::store, simt::Space::shared, false, 200).wavefronts = 200;
  simt::Site& copied = add(simt::Op::load, simt::Space::global, true, 10);
  copied.lines = copied.sectors = 40;
  add(simt::Op::store, simt::Space::shared, true, 10).wavefronts = 40;
  return counts;
}

// A GPU's counters for the same kernel that agree with the counts.
tile::Record agreeing_counters(const simt::Counts& counts = few_counts()) {
  tile::Record entry{{"name", "k"}, {"counters", tile::Record::object()}};
  for (const tile::Counter& counter : tile::counters())
    entry["counters"][counter.key] = double(tile::tally(counts, counter));
  return entry;
}

}  // namespace

TEST_CASE("a correct kernel passes, and one with a single mistake does not") {
  CHECK(tile::check(multiply, plain).ok());
  const std::string in_padding = "wrote C's padding at row 0, column 30";
  for (const auto& [wrong, complaint] : std::vector<std::pair<void (*)(const tile::Gemm&), std::string>>{
           {[](const tile::Gemm& g) { multiply(g), g.C[std::size_t(g.M - 1) * g.ldc + g.N - 1] += 1e-3f; },
            "C[19][29] is "},
           {multiply_and_write_padding, in_padding},
           {[](const tile::Gemm& g) { multiply(g), g.C[-3] = 1; }, "wrote 3 elements before C"},
           {[](const tile::Gemm& g) { multiply(g), g.C[g.M * g.ldc + 2] = 1; }, "wrote 3 elements after C"},
           // One NaN copied over another; arithmetic keeps a NaN, but not its bits.
           {[](const tile::Gemm& g) { multiply(g), std::memcpy(&g.C[g.N], &g.A[g.K], sizeof(float)); }, in_padding},
           {[](const tile::Gemm& g) { multiply(g), std::memcpy(&g.C[g.N], &g.B[g.N], sizeof(float)); }, in_padding},
           {[](const tile::Gemm& g) { std::memcpy(&g.C[g.N], g.C, sizeof(float)), multiply(g); }, in_padding},
           {[](const tile::Gemm& g) { multiply(g), g.C[g.N] += 1; }, in_padding}}) {
    const std::string message = tile::check(wrong, plain).message;
    CHECK_MESSAGE(message.starts_with(complaint), message);
  }
}

TEST_CASE("leading dimensions may be wider than any memory") {
  tile::Case far{4, 4, 4, 1, 2, 1 << 30, tile::Fill::integers};
  CHECK(tile::check(multiply, far).ok());
  CHECK(tile::check(multiply_and_write_padding, far).message == "wrote C's padding at row 0, column 4");
  far.M = 1 << 18;  // 2^50 bytes
  CHECK_THROWS_WITH_AS(tile::Operands{far}, "this computer cannot reserve 1073741828 MiB for A",
                       tile::machine::OutOfMemory);
}

__global__ void nothing() {}

TEST_CASE("a grid ends at 65535 blocks along y and z") {
  CHECK_NOTHROW(tile::launch(nothing, dim3(1, 65535), dim3(1), 0));
  CHECK_THROWS_WITH_AS(tile::launch(nothing, dim3(1, 65536), dim3(1), 0),
                       "grid.y is 65536, and CUDA launches at most 65535 blocks along it: split the problem",
                       std::invalid_argument);
  CHECK_THROWS_AS(tile::launch(nothing, dim3(1, 1, 65536), dim3(1), 0), std::invalid_argument);
}

TEST_CASE("a record has a digest of each kernel's machine code, whatever its name") {
  const tile::Record record{{"cuda", "13.0.88"}, {"kernels", {{{"name", "k"}, {"function", "_Z1kILb1EEvv"}}}}};
  const std::string other = "_ZN40_GLOBAL__N__58c48a6b_8_fetch_cu_5c750f7c4readILi8EEEvPf";
  const std::map<std::string, std::string> digests{
      {"_Z1kILb1EEvv", "1"}, {"_Z1kILb0EEvv", "0"}, {other, "2"}, {"_ZN4tile4holdEv", "3"}};
  const tile::Record made = tile::fingerprint(record, digests, "lab/fetch.cu");
  CHECK(made == tile::Record{{"nvcc", "13.0.88"}, {"kernels", {{"k", "1"}, {"k, predicated", "0"}}}});
  CHECK(tile::changed_kernels(made, {{"_Z7renamedv", "1"}, {"_Z5otherv", "0"}}).empty());
  CHECK(tile::changed_kernels(made, {{"_Z1kv", "2"}, {"_Z5otherv", "0"}}) == std::vector<std::string>{"k"});
  tile::Record with_rates = record;
  with_rates["rates"] = {{"l2_read_gbs", 12000}};
  CHECK(tile::fingerprint(with_rates, digests, "lab/fetch.cu")["kernels"] ==
        tile::Record{{"k", "1"}, {"k, predicated", "0"}, {"read<8>", "2"}});
}

TEST_CASE("counters must equal counts, unless a difference is explained") {
  const auto complaint = [](const tile::Record& entry, const std::vector<tile::Difference>& differences) {
    return joined(tile::unexplained(few_counts(), entry, differences));
  };
  tile::Record entry = agreeing_counters();
  CHECK(complaint(entry, {}) == "");
  const tile::Difference store{"k", "shared_store_wavefronts", 1, 1.03, "not explained"};
  CHECK(contains(complaint(entry, {store}), "200 counted, 200 measured; they are equal: take the row out"));
  double& wavefronts = *entry["counters"]["shared_store_wavefronts"].get_ptr<double*>();
  wavefronts = 204;
  CHECK(contains(complaint(entry, {}), "k: shared store wavefronts: 200 counted, 204 measured; find out why"));
  CHECK(complaint(entry, {store}) == "");
  entry["counters_range"]["shared_store_wavefronts"] = {202, 208};  // of other launches
  CHECK(contains(complaint(entry, {store}), "200 counted, 202 to 208 measured; 1.0100 to 1.0400 is not from 1"));
  entry.erase("counters_range");
  wavefronts = 99999;
  CHECK(contains(complaint(entry, {store}), "200 counted, 99,999 measured; 499.9950 is not from 1 to 1.03"));
  for (const tile::Counter& counter : tile::counters()) {
    tile::Record wrong = agreeing_counters();
    wrong["counters"][counter.key] = 99999;
    CHECK(contains(complaint(wrong, {}), counter.label));
    wrong["counters"].erase(counter.key);
    CHECK(contains(complaint(wrong, {}), std::string("its counters lack ") + counter.key));
  }
}

TEST_CASE("stores of copies are counted separately, their loads with other loads") {
  std::string tallies;
  for (const tile::Counter& counter : tile::counters())
    if (const auto count = tile::tally(few_counts(), counter); count != 0)
      tallies += fmt::format("{} {}\n", counter.key, count);
  for (const char* expected :
       {"load_requests 110\n", "load_sectors 440\n", "\nlines 140\n", "shared_store_requests 200\n",
        "shared_store_wavefronts 200\n", "async_copies 10\n", "shared_wavefronts 240\n"})
    CHECK_MESSAGE(contains(tallies, expected), tallies);
  CHECK(tile::work_of(few_counts(), tile::Case{32, 32, 32}).requests == 100 + 200 + 10);  // a copy is one instruction
  // Without copies, no counters of copies are needed.
  simt::Counts without = few_counts();
  without.sites.resize(2);
  tile::Record entry = agreeing_counters(without);
  for (const tile::Counter& counter : tile::counters())
    if (counter.of_copies) entry["counters"].erase(counter.key);
  CHECK(joined(tile::unexplained(without, entry, {})) == "");
}

TEST_CASE("differences are read, and an invalid list is rejected") {
  const auto directory = scratch("differences");
  std::filesystem::create_directories(directory);
  CHECK(tile::load_differences(directory).empty());
  const auto load = [&](const std::string& text) {
    scratch("differences/differences.json", text);
    return tile::load_differences(directory);
  };
  CHECK(load(R"([{"kernel": "k", "counter": "lines", "from": 1, "to": 2, "why": "w"}])").at(0).why == "w");
  for (const char* wrong : {R"([{"kernel": "k", "counter": "lines"}])", "["})
    CHECK_THROWS_AS(load(wrong), tile::RecordError);
}

TEST_CASE("a table's fields may have commas, and its lines may end with CR LF") {
  const auto rows = tile::rows_of("a,b\r\n" + tile::csv_line({"1,2", "3"}), "table.csv");
  CHECK(rows.at(0).text("a") == "1,2");
  CHECK(rows.at(0).number("b") == 3);
  CHECK_THROWS_AS(tile::csv_line({"say \"so\""}), tile::RecordError);
}

TEST_CASE("a record that was written is read back the same, with medians and ratios from its samples") {
  const auto directory = tile::record_directory(scratch("chapter"), "NVIDIA H200");
  CHECK(directory == scratch("chapter") / "measured/nvidia-h200");
  tile::Record record = made_up_record(), sweep = record;
  tile::save_record(directory, record);
  CHECK(tile::load_record(directory) == record);
  CHECK(tile::read_whole(directory / "runs.csv").starts_with("kernel,problem,"));
  CHECK(contains(tile::read_whole(directory / "runs.csv"), "\nk,1024,,0.01,0,,,,0.12 0.1207 0.1214"));
  CHECK(contains(tile::read_whole(directory / "cublas.csv"), "\nk,\"64x32x16.bf16,bf16,f32.ld16,40,32\",0.06 "));
  CHECK(contains(tile::read_whole(directory / "metrics.csv"), "\nk,counters,l2_sectors,5,4,6\n"));
  CHECK(contains(tile::read_whole(directory / "environment.json"), "\"name\": \"k\",\n      \"registers\": 40,"));
  CHECK_FALSE(std::filesystem::exists(directory / "cublaslt.csv"));

  // In the same directory, a sweep with a search in cuBLASLt, and a tuning.
  sweep["sweep"]["seconds"] = 42;
  for (tile::Record& run : sweep["kernels"][0]["runs"]) {
    run["choice"] = "large";
    run["lt_samples_ms"] = run["cublas_samples_ms"];
    run["lt_search"] = {{"asked", 32}, {"suggested", 3}};
    run.update(tile::summary_of(run));
  }
  tile::save_record(directory, sweep);
  tile::save_record(directory, made_up_tuning());
  CHECK(tile::load_record(directory, tile::RecordKind::sweep) == sweep);
  CHECK(tile::load_record(directory, tile::RecordKind::tuned) == made_up_tuning());
  CHECK(tile::load_records(scratch("chapter")) == std::vector<tile::Record>{record});
}

TEST_CASE("facts are written with a value to plot, its unit and a text to read") {
  tile::Facts facts;
  facts.counted("naive.4096.intensity.sm", 1365 + 1 / 3.0);
  facts.measured("share", 0.5, 3);
  facts.measured("rates.lda", 2.25).unit = "ms";
  facts.not_yet_measured("later.ms");
  facts.write(scratch(""));
  CHECK(tile::read_whole(scratch("facts.tsv")) ==
        "naive.4096.intensity.sm\tcounted\t1365.3333333333333\tFLOP/B\t1,365\nshare\tmeasured\t0.5\t\t0.500\n"
        "rates.lda\tmeasured\t2.25\tms\t2.25\nlater.ms\tmeasured\t\t\tnot yet measured\n");
}

TEST_CASE("keys and labels imply units") {
  std::string units;
  for (const char* key :
       {"shared.4096.tflops", "clocks_before.power_w", "x.w", "hide.dram.bytes_per_cycle", "load-A.sectors_per_request",
        "rates.l1_cycles.load16.by3", "shared.4096.ceiling.banks", "naive.4096.intensity.l2", "tiles"})
    units += tile::unit_of(key) + ";";
  CHECK(units == "TFLOP/s;W;;B/cycle;;cycles;TFLOP/s;FLOP/B;;");  // a letter alone, as in x.w, is a name
  CHECK(tile::unit_of_label("microseconds of tall, beta 0") == "us");
  CHECK(tile::unit_of_label("shared memory read, GB/s").empty());
}

TEST_CASE("a fact has the line that computes it") {
  tile::Facts facts;
  facts.predicted("here", 1);
  const int line = __LINE__ - 1;
  facts.write(scratch(""));
  CHECK(tile::read_whole(scratch("places.tsv")) == fmt::format("here\tctest/harness_test.cu\t{}\n", line));
}

TEST_CASE("invalid records are rejected with one line and advice") {
  const auto directory = scratch("damaged");
  const std::string columns = "kernel,problem,samples_ms\n";
  for (const auto& [file, text, complaint] : std::vector<std::array<std::string, 3>>{
           {"environment.json", R"({"gpu": 7})", "environment.json is not part of a valid record"},
           {"environment.json", "{", "parse error"},
           {"runs.csv", "kernel,problem\nk,1024\n",
            "k at 1024: [json.exception.out_of_range.403] key 'samples_ms' not found"},
           {"cublas.csv", columns + "k,1024\n", "line 2: 2 fields for 3 columns"},
           {"cublas.csv", columns + "k,1024,1 x\n", "line 2: samples_ms is '1 x', which is not a number"},
           {"cublas.csv", columns + "k,1024,1 2\n", "k at 1024: the samples do not form pairs"},
           {"runs.csv", columns + "other,1024,1 2\n", "runs.csv has other, which is not in environment.json"}}) {
    tile::save_record(directory, made_up_record());
    scratch("damaged/" + file, text);
    std::string found = "accepted";
    try {
      tile::load_record(directory);
    } catch (const tile::RecordError& e) {
      found = e.what();
    }
    CHECK(contains(found, complaint));
    CHECK(contains(found, "run ./tile bench on that GPU again"));
    CHECK_FALSE(contains(found, "\n"));
  }
  CHECK_THROWS_AS(tile::load_record("/nonexistent"), tile::RecordError);
  CHECK_THROWS_AS(tile::save_record("/proc/nowhere/record", made_up_record()), tile::RecordError);
}

TEST_CASE("profiler output finds its kernel") {
  tile::Record record = made_up_record();
  const std::string head =
      "==PROF== x\n\"ID\",\"Kernel Name\",\"lts__t_sectors_op_read.sum\",\"a__b.max\"\n\"\",\"\",\"\",\"\"\n";
  tile::add_counters(record,
                     scratch("ncu.csv", head + "\"0\",\"_Z1kv\",\"1,240\",\"9\"\n\"1\",\"_Z1kv\",\"1,230\",\"9\"\n"
                                               "\"2\",\"_Z1kv\",\"1,234\",\"9\"\n\"3\",\"_Z5otherv\",\"5\",\"9\"\n"),
                     "profile+8");
  CHECK(record["kernels"][0]["profile+8"] == tile::Record{{"l2_sectors", 1234}});  // of the last launch; nothing else
  CHECK(record["kernels"][0]["profile+8_range"]["l2_sectors"] == tile::Record{1230, 1240});
  CHECK(record["other_kernels"]["_Z5otherv"]["profile+8"]["l2_sectors"] == 5);
  CHECK_FALSE(record["other_kernels"]["_Z5otherv"].contains("profile+8_range"));
  for (const std::string& empty : {std::string("nothing\n"), head})
    CHECK_THROWS_AS(tile::add_counters(record, scratch("empty.csv", empty), "counters"), tile::RecordError);
  CHECK_THROWS_AS(tile::add_sass(record, scratch("sass.txt", "\t\tFunction : _Z5otherv\n")), tile::RecordError);
  const auto& kernel = record["kernels"][0];
  tile::add_sass(record, sass_of("LDS.128 R1, [R2]\n@!P0 FFMA R1, R2.reuse, R3.reuse, R1\nFFMA R1, R2\nLDS R1, [R2]\n"
                                 "@P0 BRA 0x10\nFADD R1, R2\n@P0 BRA 0x0\nEXIT\nBRA 0x80\n"));
  for (const auto& [key, count] : std::map<std::string, int>{{"FFMA", 2}, {"LDS.128", 1}, {"reuse", 2}, {"all", 9}})
    CHECK(kernel["sass"][key] == count);
  CHECK(kernel["sass_loop"]["FFMA"] == 2);  // from 0x10 to the branch at 0x40
  CHECK(kernel["sass_loop"]["all"] == 4);
  CHECK(!kernel["sass_loop"].contains("LDS.128"));
  tile::add_sass(record, sass_of("FFMA R1, R2\nLDG.E R1, [R2]\n@P0 BRA 0x0\n"));
  CHECK(kernel["sass_loop"]["ldg_first"] == 1);
  CHECK(!kernel["sass"].contains("ldg_first"));  // it is a place in a loop
  tile::add_sass(record, sass_of("@!PT LDS RZ, [RZ]\n@!P1 LDS R4, [R2]\n@PT LDS R5, [R2]\n"));
  CHECK(kernel["sass"]["@!PT LDS"] == 1);  // issued, but never executed
  CHECK(kernel["sass"]["LDS"] == 2);
  CHECK(kernel["sass"]["all"] == 3);
}

TEST_CASE("problems have names, and are recorded by them") {
  const auto plain = tile::Problem::plain(64, 32, 16);
  tile::Problem other = plain;
  other.types = {tile::Element::bf16, tile::Element::bf16, tile::Element::f32};
  other.A = tile::Layout::columns;
  other = other.packed();
  tile::Problem padded = other;
  padded.ldb += 8;

  tile::Record record = made_up_record();
  auto& runs = record["kernels"][0]["runs"] = tile::Record::array();
  for (const auto& [problem, key] : {std::pair{plain, "64x32x16"},
                                     {other, "64x32x16.bf16,bf16,f32.At"},
                                     {padded, "64x32x16.bf16,bf16,f32.At.ld64,40,32"},
                                     {tile::Problem::plain(64, 64, 64), "64"}}) {
    CHECK(tile::key_of(problem) == key);
    CHECK(tile::problem_named(key) == problem);
    runs.push_back(tile::to_json(problem));
  }
  CHECK(tile::find_run(record, "k", plain) == &runs[0]);
  CHECK(tile::find_run(record, "k", other) == &runs[1]);
  CHECK(tile::find_run(record, "k", padded) == &runs[2]);
  CHECK(tile::find_run(record, "k", tile::Problem::plain(64, 32, 17)) == nullptr);
  for (const char* none : {"", "k", "64x32", "64.f32", "64.f32,f64,f32", "64.ld1"})
    CHECK_THROWS_AS(tile::problem_named(none), tile::RecordError);
}

// Instructions, one per line: an opcode and its operands.
std::vector<tile::Instruction> code_of(const std::string& lines) {
  std::vector<tile::Instruction> code;
  std::istringstream text(lines);
  for (std::string opcode, operands; text >> opcode && std::getline(text, operands);)
    code.push_back({16 * code.size(), opcode, operands.substr(operands.empty() ? 0 : 1)});
  return code;
}

TEST_CASE("an FFMA does not read an operand again that the previous one kept for reuse") {
  for (const auto& [code, even, odd] : std::vector<std::tuple<std::string, int, int>>{
           {"FFMA R0, R2, R3, R0", 2, 1},
           {"FFMA R0, R2, R2, R0", 2, 0},                             // R2 is read once
           {"FFMA R0, R2.reuse, R3, R0\nFFMA R1, R2, R5, R1", 2, 3},  // R2 is kept
           {"FFMA R0, R2, R3, R0\nFFMA R1, R2, R5, R1", 3, 3},        // no flag
           {"FFMA R0, R2.reuse, R3, R0\nFFMA R1, R5, R2, R1", 3, 3},  // another place
           {"FFMA R0, R2.reuse, R3, R0\nLDS R4, [R8]\nFFMA R1, R2, R5, R1", 3, 3},
           {"FFMA R0, -R2, |R3|, -|R0|", 2, 1},
           {"FFMA R0, R2, c[0x0][0x168], RZ\nFFMA R0, R2, UR4, 2", 2, 0},  // no registers of a lane
           {"IMAD R0, R2, R3, R0", 0, 0}}) {
    auto tally = tile::tally_of(code_of(code));
    CHECK(tally["ffma_reads_even"] == even);
    CHECK(tally["ffma_reads_odd"] == odd);
  }
}

TEST_CASE("the positions of a loop's loads, stores and barriers are counted in FFMA") {
  using Places = std::map<std::string, int>;
  for (const auto& [code, places] : std::vector<std::pair<std::string, Places>>{
           {"FFMA\nLDS.128\nIADD3\n", {}},
           {"LDG.E.128\nFFMA\nIADD3\nFFMA\nLDG.E\nFFMA\n", {{"ldg_first", 0}, {"ldg_last", 2}}},
           {"FFMA\nSTS\nFFMA\nBAR.SYNC.DEFER_BLOCKING\nSTS.128\n",
            {{"sts_first", 1}, {"sts_last", 2}, {"bar_first", 2}, {"bar_last", 2}}},
           {"LDGSTS.E\nFFMA\nLDGDEPBAR\nLDG.E\n", {{"ldg_first", 1}, {"ldg_last", 1}}}})
    CHECK(tile::places_in(code_of(code)) == places);
}

TEST_CASE("the busier bank counts in every four instructions") {
  const std::string even = "FFMA R0, R2, R4, R0\n", odd = "FFMA R1, R3, R5, R1\n", other = "IADD3\n";
  for (const auto& [code, cycles] : std::vector<std::pair<std::string, int>>{
           {even, 3},                  // three registers of one bank
           {even + other + other, 3},  // hidden by instructions that read nothing
           {even + odd, 3},            // the banks alternate
           {even + "FFMA R6, R8, R10, R6\n" + other + other, 6},
           {other + other + other + even + odd, 4 + 3}})  // groups of four end here
    CHECK(tile::tally_of(code_of(code)).at("bank_cycles") == cycles);
}

TEST_CASE("an operand is kept across instructions that do not use the operand registers") {
  const auto cycles = [](const std::string& between) {
    const std::string before = "FFMA R0, R2.reuse, R4.reuse, R0\n", after = " R20, [R22]\nFFMA R6, R2, R4, R6\n";
    return tile::tally_of(code_of(before + between + after)).at("issue_cycles");
  };
  CHECK(cycles("LDS.128") == 4);  // three registers of one bank, then one of it
  CHECK(cycles("NOP") == 4);
  CHECK(cycles("IADD3") == 6);
}

TEST_CASE("cycles per FFMA are computed from the issue rate of all schedulers") {
  const tile::Record profile{{"instructions", 1100.0}, {"ffma", 32 * 1000.0}, {"all_issue_active", 482.28}};
  tile::Facts facts;
  tile::add_profile_facts(facts, "k", &profile, 132);
  CHECK(facts.value("k.profile.cycles_per_ffma") == doctest::Approx(1.1 / (482.28 / 528)));
}

TEST_CASE("a rotation of copies is three times as large as the L2") {
  constexpr std::size_t l2 = 62914560, cube = 4 * 3 * 256 * 256;  // of an H200; a product of 256 x 256 x 256
  CHECK(tile::copies_past_l2(l2, cube) * cube >= 3 * l2);
  CHECK(tile::copies_past_l2(l2, 3 * l2 / 7) == 8);  // seven, and one more: they are used in pairs
  CHECK(tile::copies_past_l2(l2, 3 * l2) == 4);
  CHECK(tile::copies_past_l2(l2, 4) == 256);
}

TEST_CASE("rounding up is correct up to the largest int") { CHECK(tile::ceil_div(INT_MAX, 16) == 1 << 27); }

TEST_CASE("problems of more than 4096 cubed are timed 20 times, the others 100") {
  CHECK(tile::repetitions_of(4096, 4096, 4096) == 100);
  CHECK(tile::repetitions_of(4096, 4096, 4097) == 20);
}

TEST_CASE("ceilings follow from the counts") {
  tile::Work work;
  work.flops = 64e9;  // a billion warp-wide FMAs
  work.l1_cycles = 33e9;
  work.wavefronts = 2e9;
  work.l1_wavefronts = 3e9;
  work.requests = 3e9;
  work.l2_bytes = 10e9;
  work.dram_bytes = 4e9;
  std::map<std::string, double> found;
  for (const tile::Ceiling& c : tile::ceilings(work, {"test", 132, 1.98e9, 5e12, 2e12})) found[c.resource] = c.tflops;
  const double peak = tile::h200.peak_tflops();
  const std::map<std::string, double> expected{{"L1", 132 * 1.98e9 * 64 / 33 * 1e-12},
                                               {"banks", 132 * 1.98e9 * 64 / 5 * 1e-12},  // shared memory's and L1's
                                               {"issue slots", peak / 4},
                                               {"FFMA issue", peak},
                                               {"L2 bytes", 64e9 * 5e12 / 10e9 * 1e-12},
                                               {"DRAM bytes", 64e9 * 2e12 / 4e9 * 1e-12}};
  CHECK(found.size() == expected.size());
  for (const auto& [resource, tflops] : expected) CHECK(found[resource] == doctest::Approx(tflops));
}

TEST_CASE("ceilings as compiled follow from counters and machine code") {
  const tile::Case to{512, 512, 512};
  tile::Record record{{"profiled_size", 512}};
  tile::Record kernel{
      {"counters", {{"shared_load_wavefronts", 300}, {"shared_store_wavefronts", 20}, {"load_requests", 64}}},
      {"profile", {{"instructions", 9000}, {"ffma", 32 * 4096}}},
      {"sass_loop", {{"FFMA", 100}, {"ffma_reads_even", 120}, {"ffma_reads_odd", 130}}}};
  tile::Work written, counted;
  counted.wavefronts = 160;
  written.wavefronts = 9 * 160;  // not by volume alone
  written.l1_wavefronts = 7;
  written.l1_cycles = 8;
  const auto compiled = tile::work_as_compiled(written, kernel, record, 64, counted, to);
  REQUIRE(compiled.has_value());
  CHECK(compiled->wavefronts == 9 * 320);  // twice the source's, as for the small problem
  tile::Record copying = kernel;
  copying["counters"]["shared_wavefronts"] = 350;
  CHECK(tile::work_as_compiled(written, copying, record, 64, counted, to)->wavefronts == doctest::Approx(9 * 350));
  CHECK(compiled->instructions == 9000);
  CHECK(compiled->bank_reads == doctest::Approx(1.3 * 4096));
  CHECK(compiled->l1_wavefronts == 7);
  CHECK(compiled->l1_cycles == 8);

  const auto merged = tile::work_as_compiled(written, kernel, record, 256, counted, to);  // a quarter of the loads
  REQUIRE(merged.has_value());
  CHECK(merged->l1_wavefronts + merged->l1_cycles == 0);

  CHECK_FALSE(tile::work_as_compiled(written, kernel, record, 64, counted, {1024, 1024, 1024}).has_value());
  kernel.erase("sass_loop");
  CHECK_FALSE(tile::work_as_compiled(written, kernel, record, 64, counted, to).has_value());
}

TEST_CASE("counts per unit of K are written as multiples of K") {
  for (const auto& [count, text] :
       std::map<double, std::string>{{2, "2K"}, {1, "K"}, {1.0 / 64, "K/64"}, {9.0 / 8, "9K/8"}, {0, "-"}})
    CHECK(tile::multiple_of_K(count) == text);
}

TEST_CASE("numbers are written the same everywhere") {
  for (const auto& [number, text] : std::map<double, std::string>{
           {2097152, "2,097,152"}, {-1234.5, "-1,234"}, {0.5072, "0.507"}, {8.3635, "8.36"}, {33, "33"}})
    CHECK(tile::format_number(number) == text);
  CHECK(tile::format_number(66.9, 1) == "66.9");
  CHECK(tile::record_directory("c", "NVIDIA GeForce RTX 5060") == "c/measured/nvidia-geforce-rtx-5060");
}

TEST_CASE("clocks and power come from NVML, and a reason is given if they are missing") {
  const tile::Nvml nvml("0000:19:00.0", TILE_FAKE_NVML);
  CHECK(nvml.missing() == "");
  CHECK(nvml.driver() == "123.45.6");
  const tile::Record now = nvml.state();
  CHECK(now["memory_mhz"] == 3201);
  CHECK(now["power_w"] == 123.456);
  CHECK(now["power_limit_w"] == 700);
  CHECK(now["temperature_c"] == 45);
  tile::ClockSampler sampler(nvml);
  usleep(50'000);
  const tile::Record sampled = sampler.stop();
  REQUIRE(sampled["samples"] > 1);
  CHECK(sampled["sm_mhz"][0] < sampled["sm_mhz"][2]);  // the clock of that GPU falls
  CHECK(sampled["sm_mhz"][2] < now["sm_mhz"]);
  CHECK(sampled["throttled"] == "power cap");

  const auto missing = [](const char* gpu, const char* library) {
    const tile::Nvml none(gpu, library);
    CHECK(none.state().empty());
    CHECK(tile::ClockSampler(none).stop()["samples"] == 0);
    return none.missing();
  };
  CHECK(missing("0000:19:00.0", "libno-such.so.1") == "libno-such.so.1 cannot be opened");
  CHECK(missing("9999:19:00.0", TILE_FAKE_NVML) == "NVML gives no readings for the GPU 9999:19:00.0");
}

TEST_SUITE_END();
