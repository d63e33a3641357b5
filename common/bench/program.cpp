#include "common/bench/program.hpp"

#include <fmt/format.h>

namespace tile {
namespace {

Record json_of(const Program::Kernel& kernel) {
  Record json{{"name", kernel.name},
              {"tuned", kernel.tuned},
              {"block_threads", kernel.block_threads},
              {"dynamic_shared", kernel.dynamic_shared}};
  if (kernel.counted)
    json["counted"] = {{"tallies", kernel.counted->tallies}, {"static_shared", kernel.counted->static_shared}};
  return json;
}

Program::Kernel kernel_of(const Record& json) {
  Program::Kernel kernel{json.at("name"), json.at("tuned"), json.at("block_threads"), json.at("dynamic_shared")};
  if (json.contains("counted")) {
    const Record& counted = json.at("counted");
    kernel.counted = {counted.at("tallies").get<Tallies>(), counted.at("static_shared")};
  }
  return kernel;
}

}  // namespace

Record to_json(const Program& program) {
  Record json{{"chapter", program.chapter},
              {"source", program.source.string()},
              {"nvcc", program.nvcc},
              {"kernels", Record::array()},
              {"problems", program.problems},
              {"rates", program.rates},
              {"profiled_pads", program.profiled_pads},
              {"compiled_for", program.compiled_for},
              {"candidates", Record::array()},
              {"baseline", program.baseline == Baseline::stronger ? "stronger" : "gemm_ex"},
              {"sweep", {{"kernel", program.sweep.kernel}, {"problems", program.sweep.problems}}}};
  for (const Program::Kernel& kernel : program.kernels) json["kernels"].push_back(json_of(kernel));
  for (const Program::Candidate& candidate : program.candidates)
    json["candidates"].push_back({{"name", candidate.name}, {"pruned", candidate.pruned}});
  return json;
}

Program program_of(const std::string& text) {
  try {
    const Record json = Record::parse(text);
    Program program;
    program.chapter = json.at("chapter");
    program.source = json.at("source").get<std::string>();
    program.nvcc = json.at("nvcc");
    for (const Record& kernel : json.at("kernels")) program.kernels.push_back(kernel_of(kernel));
    program.problems = json.at("problems").get<std::vector<std::string>>();
    program.rates = json.at("rates").get<std::vector<std::string>>();
    program.profiled_pads = json.at("profiled_pads").get<std::vector<int>>();
    program.compiled_for = json.at("compiled_for").get<std::vector<int>>();
    for (const Record& c : json.at("candidates")) program.candidates.push_back({c.at("name"), c.at("pruned")});
    program.baseline = json.at("baseline") == "stronger" ? Baseline::stronger : Baseline::gemm_ex;
    program.sweep = {json.at("sweep").at("kernel"), json.at("sweep").at("problems").get<std::vector<std::string>>()};
    return program;
  } catch (const nlohmann::json::exception& e) {
    throw RecordError(fmt::format("what it says of itself is no description ({})", e.what()));
  }
}

}  // namespace tile
