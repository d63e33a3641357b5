// Pictures: of what one chapter's program emitted (emit/NN for chapter NN), or of kernels of several, which are written NN/KERNEL. Each
// takes where that is, and where the SVG goes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tile::figures {

using Kernels = std::vector<std::string>;

// access.cpp: what a warp's first access touched; in which bank each element of As lies.
void draw_access(const std::filesystem::path& emitted, const std::string& kernel, const std::string& tag,
                 const std::filesystem::path& out);
void draw_swizzle(const std::filesystem::path& emitted, const std::string& kernel, const std::filesystem::path& out);

// intervals.cpp: what happens between which barriers, and from tile to tile.
void draw_rounds(const std::filesystem::path& emitted, const Kernels& kernels, const std::filesystem::path& out);
void draw_stages(const std::filesystem::path& emitted, const Kernels& kernels, const std::filesystem::path& out);
void draw_stretches(const std::filesystem::path& emitted, const Kernels& kernels, const std::filesystem::path& out);

// occupancy.cpp: what stops one more block on an RTX A6000.
void draw_occupancy(const std::filesystem::path& emitted, const std::string& kernel, const std::filesystem::path& out);

// lanes.cpp: where the lanes of a warp are.
void draw_lanes(const std::filesystem::path& emit, const Kernels& kernels, const std::filesystem::path& out);
void draw_permuted(const std::filesystem::path& out);

// machine.cpp: what an SM consists of; the rates of the levels of memory.
void draw_sm(const std::filesystem::path& out);
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
