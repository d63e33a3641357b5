// What stops one more block on an SM.
#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "common/bench/gpu.hpp"
#include "common/report/facts.hpp"
#include "drawing.hpp"
#include "pictures.hpp"
#include "traces.hpp"

namespace tile::figures {

// On an RTX A6000, with as many registers as the chapter takes a thread to have there.
void draw_occupancy(const std::filesystem::path& emitted, const std::string& kernel, const std::filesystem::path& out) {
  const GpuSpec& gpu = rtx_a6000;
  const auto number = [&](const std::string& key) {
    const auto found = fact(emitted, key);
    if (!found) throw std::runtime_error(fmt::format("no fact {} in {}", key, emitted.string()));
    return int(*found);
  };
  const int threads = sizes_of(emitted, kernel).threads, registers = number("a6000.registers_per_thread");
  const int shared = number(kernel + ".shared_bytes");
  const auto o = occupancy(gpu, threads, registers, shared);
  struct Bar {
    std::string name;
    double block, total;
    int fits;
    std::string unit;
  };
  const std::vector<Bar> bars{
      {"threads", double(threads), double(gpu.max_threads), o.by_threads, ""},
      {"registers", 32.0 * registers_per_warp(registers), double(gpu.registers), o.by_registers, ""},
      {"shared memory", double(shared + gpu.reserved_shared) / 1024, gpu.shared_bytes / 1024.0, o.by_shared, " KB"}};
  // Names stand above their bars, so that a telephone shows all of them.
  const double left = 2, width = telephone_width - 4, height = 30, row = 80, font = telephone_label;
  Drawing d(telephone_width, double(bars.size()) * row + 24);
  double y = 46;
  for (const Bar& bar : bars) {
    const double w = width * bar.block / bar.total;
    for (int i = 0; i < bar.fits; ++i)
      d.rect(left + i * w, y, w, height, i < o.blocks ? "var(--accent)" : "var(--third)", "var(--paper)",
             i < o.blocks ? 1 : 0.45);
    d.rect(left, y, width, height, "none", "var(--ink)");
    d.text(left, y - 28, bar.name, "start", font);
    d.text(left, y - 8,
           fmt::format("{}{} a block, {}{} an SM: {}", format_number(bar.block, 0), bar.unit,
                       format_number(bar.total, 0), bar.unit, plural(std::size_t(bar.fits), "block")),
           "start", font, "var(--muted)");
    y += row;
  }
  d.text(left, y - 26,
         fmt::format("resident: {} block, {} of {} threads ({:.0f}%)", o.blocks, o.blocks * threads, gpu.max_threads,
                     100 * o.fraction),
         "start", font);
  d.save(out);
}

}  // namespace tile::figures
