// Whether a chapter's records are of its program. In: what the program says of itself, a record. Out: a line for each
// thing that is wrong with the record.
//
// A program describes itself (`chapterNN --describe program`) as a JSON object:
//   chapter, source  its number, and its file; its records lie beside that
//   nvcc             the version that compiles it for the GPU, or ""
//   kernels          in the order of a record: "name", "block_threads", "dynamic_shared"; "tuned": true for whichever of
//                    the candidates the tuner chose; with `--describe counts` "tallies", what the model counts at the
//                    chapter's counted problem
//   problems         what `tile bench` times, as key_of names them
//   profiled_pads    pads with which `tile bench` profiles the kernels as well
//   compiled_for     architectures whose registers `tile bench` records as well
//   candidates       of its tuner, where it has one: "name", and "pruned", empty or why it is not timed
//   sweep            where it has one: its "kernel" and its "problems"
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "common/bench/record.hpp"

namespace tile {

/// The folder of a program's chapter.
std::filesystem::path directory_of(const Record& program);

/// What is wrong with a record. Of the reference GPU's the hardware counters must equal the model's counts, but for
/// the rows in the chapter's differences.json; only then is the program asked to `count`. Throws RecordError.
std::vector<std::string> wrong_with_record(const Record& record, RecordKind kind, const Record& program,
                                           const std::function<Record()>& count);

}  // namespace tile
