#include "common/count/run.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

namespace tile::counting {
namespace {

template <class E>
E named(const std::string& name, std::initializer_list<E> values) {
  return *std::find_if(values.begin(), std::prev(values.end()), [&](E value) { return name == simt::name_of(value); });
}

// The example of a site's accesses that is told; where several instructions of its line have one, with what they access in a row
// together. Of a site without any, nothing is in a row.
simt::Sample sample_of(const simt::Counts& counts, std::size_t site) {
  simt::Sample told;
  bool is_first = true;
  std::array<std::set<std::int64_t>, 32> accessed;
  for (const simt::Sample& sample : counts.samples) {
    if (sample.site != site) continue;
    if (std::exchange(is_first, false)) told = sample;
    for (std::size_t lane = 0; lane < 32; ++lane)
      for (int i = 0; sample.byte_offset[lane] >= 0 && i < sample.in_a_row; ++i)
        accessed[lane].insert(sample.byte_offset[lane] + i * counts.sites[site].width);
  }
  if (is_first) return {.site = site, .byte_offset = {}, .in_a_row = 0};
  int fewest = std::numeric_limits<int>::max();
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const std::int64_t own = told.byte_offset[lane], width = counts.sites[site].width;
    if (own < 0) continue;
    int in_a_row = 1;
    for (std::int64_t at = own - width; accessed[lane].contains(at); at -= width) ++in_a_row;
    for (std::int64_t at = own + width; accessed[lane].contains(at); at += width) ++in_a_row;
    fewest = std::min(fewest, in_a_row);
  }
  told.in_a_row = fewest;
  return told;
}

Json to_json(const simt::Site& s, const simt::Sample& sample) {
  Json json{{"file", s.file},
            {"line", s.line},
            {"op", simt::name_of(s.op)},
            {"space", simt::name_of(s.space)},
            {"array", s.array},
            {"row_bytes", s.row_bytes},
            {"bytes_per_lane", s.width},
            {"struct_bytes", s.struct_bytes},
            {"requests", s.requests},
            {"accesses", s.accesses},
            {"sectors", s.sectors},
            {"lines", s.lines},
            {"tag_passes", s.tag_passes},
            {"l1_wavefronts", s.l1_wavefronts},
            {"l1_cycles", s.l1_cycles},
            {"wavefronts", s.wavefronts},
            {"estimated", s.estimated},
            {"by_copy", s.by_copy},
            {"element_bytes", s.element_bytes},
            {"element_alignment", s.element_alignment},
            {"sample", nullptr},
            {"in_a_row", sample.in_a_row}};
  if (sample.in_a_row > 0) json["sample"] = Json(sample.byte_offset);
  return json;
}

simt::Site site_of(const Json& json) {
  using simt::Op;
  simt::Site s;
  s.file = json.at("file");
  s.line = json.at("line");
  s.op = named(json.at("op"), {Op::load, Op::store, Op::atomic, Op::bulk_load, Op::bulk_store});
  s.space = named(json.at("space"),
                  {simt::Space::global, simt::Space::shared, simt::Space::distributed, simt::Space::constant});
  s.array = json.at("array");
  s.row_bytes = json.at("row_bytes");
  s.width = json.at("bytes_per_lane");
  s.struct_bytes = json.at("struct_bytes");
  s.requests = json.at("requests");
  s.accesses = json.at("accesses");
  s.sectors = json.at("sectors");
  s.lines = json.at("lines");
  s.tag_passes = json.at("tag_passes");
  s.l1_wavefronts = json.at("l1_wavefronts");
  s.l1_cycles = json.at("l1_cycles");
  s.wavefronts = json.at("wavefronts");
  s.estimated = json.at("estimated");
  s.by_copy = json.at("by_copy");
  s.element_bytes = json.at("element_bytes");
  s.element_alignment = json.at("element_alignment");
  return s;
}

Json to_json(const dim3& d) { return {d.x, d.y, d.z}; }
dim3 dim3_of(const Json& json) { return {json.at(0), json.at(1), json.at(2)}; }

}  // namespace

Json to_json(const simt::Counts& c) {
  Json json{{"kernel", c.kernel},
            {"grid", to_json(c.grid)},
            {"block", to_json(c.block)},
            {"static_shared_bytes", c.static_shared_bytes},
            {"dynamic_shared_bytes", c.dynamic_shared_bytes},
            {"barriers", c.barriers},
            {"block_sectors", c.block_sectors},
            {"block_store_sectors", c.block_store_sectors},
            {"grid_sectors", c.grid_sectors},
            {"sites", Json::array()}};
  for (std::size_t i = 0; i < c.sites.size(); ++i) json["sites"].push_back(to_json(c.sites[i], sample_of(c, i)));
  return json;
}

simt::Counts counts_of(const Json& json) {
  simt::Counts c;
  c.kernel = json.at("kernel");
  c.grid = dim3_of(json.at("grid"));
  c.block = dim3_of(json.at("block"));
  c.static_shared_bytes = json.at("static_shared_bytes");
  c.dynamic_shared_bytes = json.at("dynamic_shared_bytes");
  c.barriers = json.at("barriers");
  c.block_sectors = json.at("block_sectors");
  c.block_store_sectors = json.at("block_store_sectors");
  c.grid_sectors = json.at("grid_sectors");
  for (const Json& site : json.at("sites")) {
    if (const Json& offsets = site.at("sample"); !offsets.is_null()) {
      simt::Sample sample;
      sample.site = c.sites.size();
      sample.in_a_row = site.at("in_a_row");
      for (std::size_t lane = 0; lane < 32; ++lane) sample.byte_offset[lane] = offsets.at(lane);
      c.samples.push_back(sample);
    }
    c.sites.push_back(site_of(site));
  }
  return c;
}

Json to_json(const Run& run) {
  Json json{{"title", run.title}, {"error", nullptr}, {"flops", nullptr}, {"kernels", Json::array()}};
  if (!run.error.empty()) json["error"] = run.error;
  if (run.flops > 0) json["flops"] = run.flops;
  for (const simt::Counts& counts : run.kernels) json["kernels"].push_back(to_json(counts));
  return json;
}

Run run_of(const Json& json) {
  Run run;
  run.title = json.at("title");
  if (!json.at("error").is_null()) run.error = json.at("error");
  if (!json.at("flops").is_null()) run.flops = json.at("flops");
  for (const Json& counts : json.at("kernels")) run.kernels.push_back(counts_of(counts));
  return run;
}

}  // namespace tile::counting
