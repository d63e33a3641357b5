// Pictures that compare: kernels of one chapter or of several, which are written NN/KERNEL, or rates.
// Each takes what the programs emitted (emit/NN for chapter NN) and where the SVG goes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tile::figures {

using Kernels = std::vector<std::string>;

// lanes.cpp: where the lanes of a warp are.
void draw_lanes(const std::filesystem::path& emit, const Kernels& kernels, const std::filesystem::path& out);
void draw_permuted(const std::filesystem::path& out);

// machine.cpp: the rates of the levels of memory.
void draw_rates(const std::filesystem::path& emitted, const std::filesystem::path& out);

// rounds.cpp: what barriers are for.
void draw_races(const std::filesystem::path& emitted, const std::string& kernel, const std::filesystem::path& out);

// registers.cpp: what a thread loads.
void draw_reuse(const std::filesystem::path& emit, const Kernels& kernels, const std::filesystem::path& out);
void draw_compiled(const std::filesystem::path& emitted, const std::string& kernel, const std::filesystem::path& out);

// tuning.cpp
void draw_funnel(const std::filesystem::path& emitted, const std::filesystem::path& out);
void gather_cliff(const std::filesystem::path& chapters, const std::filesystem::path& out);

// nested.cpp: tiles of several kernels at one scale.
void draw_nested(const std::filesystem::path& emit, int thread, const Kernels& kernels,
                 const std::filesystem::path& out);

// stalls.cpp: where the cycles of a warp go.
void draw_stalls(const std::filesystem::path& emit, const Kernels& kernels, const std::filesystem::path& out);

}  // namespace tile::figures
