// Tests of what chapters are checked with: comparisons that NaN cannot pass, guard bands, records, ceilings.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "common/measure/ceilings.hpp"
#include "common/measure/record.hpp"
#include "common/measure/whole_file.hpp"
#include "common/report/chapter.hpp"
#include "common/report/tuning.hpp"

// Gives this program the command line of the chapters.
TILE_CHAPTER(.number = 0, .title = "tests of the harness", .kernels = {}, .counted = {1, 1, 1}, .sizes = {})

namespace {

// Kernels that are wrong in one way each.
enum class Fault { none, nan, zero, off_by_bound, padding, before, after, reads_c };

template <Fault fault>
void faulty(const tile::Gemm& g) {
  for (int row = 0; row < g.M; ++row)
    for (int col = 0; col < g.N; ++col) {
      float sum = 0;
      for (int k = 0; k < g.K; ++k) sum += g.A[row * g.lda + k] * g.B[k * g.ldb + col];
      float& c = g.C[row * g.ldc + col];
      c = g.alpha * sum + (fault == Fault::reads_c || g.beta != 0 ? g.beta * c : 0.0f);
    }
  float& last = g.C[(g.M - 1) * g.ldc + g.N - 1];
  if (fault == Fault::nan) last = NAN;
  if (fault == Fault::zero) last = 0;
  if (fault == Fault::off_by_bound) last += 1e-3f;
  if (fault == Fault::padding) g.C[g.N] = 1;
  if (fault == Fault::before) g.C[-3] = 1;
  if (fault == Fault::after) g.C[g.M * g.ldc + 2] = 1;
}

const tile::Case plain{20, 30, 40, 1, 0, 2};

/// A directory of this process's own, gone when the process ends.
class ScratchDirectory {
 public:
  ScratchDirectory() : path_((std::filesystem::temp_directory_path() / "tile-harness-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make a directory like " + path_);
  }
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return std::filesystem::path(path_) / name; }

 private:
  std::string path_;
};

std::filesystem::path scratch(const std::string& name) {
  static const ScratchDirectory directory;
  return directory / name;
}

std::filesystem::path scratch(const std::string& name, const std::string& text) {
  const auto file = scratch(name);
  std::ofstream(file) << text;
  return file;
}

const char* const valid_record = R"({"schema": 1, "gpu": "NVIDIA H200", "date": "d", "driver": "d", "cuda": "c",
  "fingerprint": "f", "rates": {}, "kernels": [{"name": "k", "function": "_Z1kv", "runs": []}]})";

}  // namespace

TEST_CASE("a right kernel passes" * doctest::test_suite("model")) {
  CHECK(tile::check(faulty<Fault::none>, plain).ok);
  CHECK(tile::first_failure(faulty<Fault::none>, tile::ragged_cases()) == "");
  CHECK(tile::first_failure(faulty<Fault::none>, tile::padded_cases()) == "");
  CHECK(tile::first_failure(faulty<Fault::none>, tile::scaled_cases()) == "");
}

TEST_CASE("wrong elements do not pass" * doctest::test_suite("model")) {
  const auto nan = tile::check(faulty<Fault::nan>, plain);
  CHECK_FALSE(nan.ok);
  CHECK(std::isinf(nan.worst_error));
  CHECK(nan.message.find("C[19][29] is nan") == 0);
  CHECK_FALSE(tile::check(faulty<Fault::zero>, plain).ok);
  CHECK_FALSE(tile::check(faulty<Fault::off_by_bound>, plain).ok);
  CHECK_FALSE(tile::check(faulty<Fault::reads_c>, plain).ok);
}

TEST_CASE("writes outside C do not pass" * doctest::test_suite("model")) {
  CHECK(tile::check(faulty<Fault::padding>, plain).message == "wrote C's padding at row 0, column 30");
  CHECK(tile::check(faulty<Fault::before>, plain).message == "wrote 3 elements before C");
  CHECK(tile::check(faulty<Fault::after>, plain).message == "wrote 3 elements after C");
}

TEST_CASE("the fingerprint ignores comments, spacing, predictions and the tests" * doctest::test_suite("model")) {
  const auto print = [](const std::string& text) { return tile::fingerprint(scratch("print.cu", text)); };
  const std::string code = "int f() { return 1; }\n\nTEST_CASE(\"x\") {}\n";
  CHECK(print(code) == print("int f() { // why\n  return /* one */ 1;\n}\nTEST_CASE(\"y\") {}\n"));
  CHECK(print(code) != print("int f() { return 2; }\n\nTEST_CASE(\"x\") {}\n"));
  CHECK(print("int f();\nvoid predict(Facts& f) {\n  f.a(1);\n}\nint g();") ==
        print("int f();\nvoid predict(Facts& f) {\n  f.a(2);\n}\nint g();"));
  CHECK(print("int f();\nvoid predict(Facts& f) {\n  f.a(1);\n}\nint g();") !=
        print("int f();\nvoid predict(Facts& f) {\n  f.a(1);\n}\nint h();"));
  CHECK(print("char s[] = \"a // b\";") != print("char s[] = \"a // c\";"));
}

TEST_CASE("broken records are refused with advice" * doctest::test_suite("model")) {
  CHECK_NOTHROW(tile::load_record(scratch("good.json", valid_record)));
  for (const char* text : {"", "{", "[]", R"({"schema": 2})", R"({"schema": 1, "gpu": 7})"}) {
    try {
      tile::load_record(scratch("broken.json", text));
      FAIL("accepted: " << text);
    } catch (const tile::RecordError& e) {
      CHECK(std::string(e.what()).find("run ./tile bench on that GPU again") != std::string::npos);
    }
  }
  CHECK_THROWS_AS(tile::load_record("/nonexistent.json"), tile::RecordError);
  CHECK_THROWS_AS(tile::save_record("/proc/nowhere/record.json", tile::Record::object()), tile::RecordError);
}

TEST_CASE("a signal amid a write leaves a whole file and no other" * doctest::test_suite("model")) {
  const auto file = scratch("saved") / "record.json";
  std::filesystem::create_directory(file.parent_path());
  const std::string text(100'000, '-');  // writing it takes a while
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    for (int delay = 0; delay < 40; ++delay) {
      std::filesystem::remove(file);
      const auto handler = std::signal(signal, SIG_DFL);  // doctest has its own
      const pid_t child = fork();
      if (child == 0) {
        alarm(10);
        for (;;) tile::write_whole(file, text);
      }
      std::signal(signal, handler);
      for (int waited = 0; waited < 10000 && !std::filesystem::exists(file); ++waited) usleep(1000);
      usleep(37 * delay);
      kill(child, signal);
      int status = 0;
      waitpid(child, &status, 0);
      REQUIRE(WIFSIGNALED(status));
      CHECK(WTERMSIG(status) == signal);
      const std::filesystem::directory_iterator left(file.parent_path());
      CHECK(std::distance(begin(left), end(left)) == 1);
      CHECK(std::filesystem::file_size(file) == text.size());
    }
  }
}

TEST_CASE("profiler output finds its kernel" * doctest::test_suite("model")) {
  tile::Record record = tile::Record::parse(valid_record);
  tile::add_counters(record,
                     scratch("ncu.csv",
                             "==PROF== x\n\"ID\",\"Kernel Name\",\"a__b.sum\",\"a__b.max\"\n\"\",\"\",\"\",\"\"\n"
                             "\"0\",\"_Z1kv\",\"1,234\",\"9\"\n\"1\",\"_Z5otherv\",\"5\",\"9\"\n"),
                     "counters");
  CHECK(record["kernels"][0]["counters"]["a__b.sum"] == 1234);
  CHECK_FALSE(record["kernels"][0]["counters"].contains("a__b.max"));
  CHECK(record["other_kernels"]["_Z5otherv"]["counters"]["a__b.sum"] == 5);
  CHECK_THROWS_AS(tile::add_counters(record, scratch("empty.csv", "nothing\n"), "counters"), tile::RecordError);
  tile::add_sass(record, scratch("sass.txt",
                                 "\t\tFunction : _Z1kv\n /*0000*/  LDS.128 R1, [R2] ; /* 0x1 */\n"
                                 " /*0010*/  @!P0 FFMA R1, R2.reuse, R3.reuse, R1 ;\n /*0020*/  FFMA R1, R2 ;\n"
                                 " /*0030*/  LDS R1, [R2] ;\n /*0040*/  @P0 BRA 0x10 ;\n /*0050*/  FADD R1, R2 ;\n"
                                 " /*0060*/  @P0 BRA 0x0 ;\n /*0070*/  EXIT ;\n /*0080*/  BRA 0x80;\n"));
  const auto& kernel = record["kernels"][0];
  CHECK(kernel["sass"]["FFMA"] == 2);
  CHECK(kernel["sass"]["LDS.128"] == 1);
  CHECK(kernel["sass"]["reuse"] == 2);
  CHECK(kernel["sass"]["all"] == 9);
  CHECK(kernel["sass_loop"]["FFMA"] == 2);  // from 0x10 to the branch at 0x40
  CHECK(kernel["sass_loop"]["all"] == 4);
  CHECK(!kernel["sass_loop"].contains("LDS.128"));
}

TEST_CASE("ceilings follow from the counts" * doctest::test_suite("model")) {
  tile::Work work;
  work.flops = 64e9;  // a billion warp-wide FMAs
  work.lines = 33e9;
  work.wavefronts = 2e9;
  work.requests = 3e9;
  const auto found = tile::ceilings(work, {"test", 132, 1.98e9, 0, 0});
  REQUIRE(found.size() == 4);
  CHECK(found[0].resource == "L1 lines");
  CHECK(found[0].tflops == doctest::Approx(132 * 1.98e9 * 64 / 33 * 1e-12));
  CHECK(found[1].resource == "shared wavefronts");
  CHECK(found[2].resource == "issue slots");
  CHECK(found[2].tflops == doctest::Approx(tile::h200.peak_tflops() / 4));
  CHECK(found[3].tflops == doctest::Approx(tile::h200.peak_tflops()));
}

TEST_CASE("rank correlation" * doctest::test_suite("model")) {
  CHECK(tile::rank_correlation({1, 2, 3, 4}, {10, 20, 30, 40}) == doctest::Approx(1));
  CHECK(tile::rank_correlation({1, 2, 3, 4}, {9, 7, 5, 1}) == doctest::Approx(-1));
  CHECK(tile::rank_correlation({1, 2, 3, 4}, {1, 100, 10, 1000}) == doctest::Approx(0.8));
  CHECK(tile::rank_correlation({1, 1, 2, 2}, {1, 1, 2, 2}) == doctest::Approx(1));  // ties share their ranks
  CHECK(tile::rank_correlation({1, 1, 2, 2}, {1, 2, 1, 2}) == doctest::Approx(0));
}

TEST_CASE("counts for each unit of K are written as multiples of K" * doctest::test_suite("model")) {
  CHECK(tile::multiple_of_K(2) == "2K");
  CHECK(tile::multiple_of_K(1) == "K");
  CHECK(tile::multiple_of_K(1.0 / 64) == "K/64");
  CHECK(tile::multiple_of_K(9.0 / 8) == "9K/8");
  CHECK(tile::multiple_of_K(0) == "-");
}

TEST_CASE("numbers are written the same everywhere" * doctest::test_suite("model")) {
  CHECK(tile::format_number(2097152) == "2,097,152");
  CHECK(tile::format_number(-1234.5) == "-1,234");
  CHECK(tile::format_number(0.5072) == "0.507");
  CHECK(tile::format_number(8.3635) == "8.36");
  CHECK(tile::format_number(33) == "33");
  CHECK(tile::format_number(66.9, 1) == "66.9");
  CHECK(tile::slug("NVIDIA GeForce RTX 5060") == "nvidia-geforce-rtx-5060");
}
