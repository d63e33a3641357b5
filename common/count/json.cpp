#include "common/count/json.hpp"

#include "common/count/advice.hpp"
#include "common/count/verdict.hpp"

namespace tile::counting {
namespace {

Json described(const simt::Counts& counts, const Rates& rates, double flops, int registers) {
  const Verdict v = verdict_of(counts, rates, flops, registers);
  Json json = to_json(counts);
  for (std::size_t i = 0; i < v.shares.size(); ++i)
    json["sites"][i]["share"] = v.shares[i] < 0 ? Json() : Json(v.shares[i]);
  json["sms"] = v.sms;
  json["bounds"] = Json::array();
  for (const Bound& b : v.bounds) json["bounds"].push_back({{"resource", b.resource}, {"cycles", b.cycles}});
  json["occupancy"] = {{"blocks", v.occupancy.blocks},
                       {"fraction", v.occupancy.fraction},
                       {"limited_by", v.occupancy.limiter()},
                       {"registers", registers > 0 ? Json(registers) : Json()}};
  json["hottest"] = nullptr;
  if (v.hottest) json["hottest"] = {{"site", *v.hottest}, {"as_hot", v.as_hot}, {"advice", advice(counts, *v.hottest)}};
  return json;
}

}  // namespace

Json document(const std::vector<Run>& runs, const std::vector<Failure>& failures, const Rates& rates, int registers) {
  Json json{{"schema", 1},
            {"gpu", rates.gpu},
            {"clock_hz", rates.clock_hz},
            {"runs", Json::array()},
            {"failures", Json::array()}};
  for (const Run& run : runs) {
    Json one = to_json(run);
    one["file"] = run.file;
    one["kernels"] = Json::array();
    for (const simt::Counts& counts : run.kernels)
      one["kernels"].push_back(described(counts, rates, run.flops / double(run.kernels.size()), registers));
    json["runs"].push_back(one);
  }
  for (const Failure& failure : failures)
    json["failures"].push_back({{"file", failure.file}, {"message", failure.message}});
  return json;
}

}  // namespace tile::counting
