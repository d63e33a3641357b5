// figures/: draws the book's maps from traces, and gathers the data of its plots from records and facts. In: emit/NN, what the program
// of chapter NN wrote (common/report/emitted.tsv has files and columns), and the records below chapters/. Out: SVG, and data for the
// gnuplot scripts, which stand here if several pages use them and else beside their chapter, as pictures do that no data changes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tile::figures {

using Path = std::filesystem::path;
using Kernels = std::vector<std::string>;  // each written NN/KERNEL

// maps.cpp. `emitted` is a chapter's emit/NN.
/// Which words, sectors and lines a warp's first access at the site `tag` touched.
void draw_access(const Path& emitted, const Path& out, const std::string& kernel, const std::string& tag);
/// The same access by bank: how many wavefronts it takes.
void draw_banks(const Path& emitted, const Path& out, const std::string& kernel, const std::string& tag);
/// In which bank each element of As lies; the facts KERNEL.swizzle.down and .up say how it is swizzled.
void draw_swizzle(const Path& emitted, const Path& out, const std::string& kernel);
/// What one thread copies, reads and computes in the first iteration.
void draw_thread(const Path& emitted, const Path& out, const std::string& kernel);

// bars.cpp
/// The levels of the machine with the rates that chapter 00 measured.
void draw_rates(const Path& emitted, const Path& out);
/// What a warp waits for between two instructions.
void draw_stalls(const Path& emit, const Path& out, const Kernels& kernels);

// plots.cpp. Of chapters up to `last`.
/// TFLOP/s of the kernels of chapter `last`, and of the fastest of each of the three before.
void gather_ladder(const Path& chapters, const std::string& last, const Path& out);
/// Intensity and TFLOP/s of the same kernels, or of what has none; the roofs in OUT.rates.
void gather_roofline(const Path& chapters, const Path& emit, const std::string& last, const Path& out);
/// The book's table of loads per result.
void gather_loads(const Path& emit, const std::string& last, const Path& out);
/// The table of results, or the README's, on standard output.
void print_results(const Path& chapters);

// part.cpp
/// The data of a part's plot, `plot` and `plot`.cublas, and its table-ladder.tsv and facts.tsv in the directory `page`: each chapter from 01
/// to `last` with the fastest of its kernels at 4096, or with the `kernel` of its front matter if the spreads of the two overlap.
void gather_part(const Path& chapters, const Path& emit, const std::string& last, const Path& plot, const Path& page);

}  // namespace tile::figures
