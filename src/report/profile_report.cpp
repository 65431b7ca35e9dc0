// The comparison of a profile with measurements, and its prices, as text and as JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "src/report/report_text.h"
#include "src/support/printable.h"
#include "xflow/profile.h"

namespace xflow {
namespace {

using Json = nlohmann::ordered_json;

std::string percent_or_dash(std::optional<double> part) { return part ? percent(*part) : "-"; }

// "17 of 20, 85.0 %"
std::string share(std::size_t part, std::size_t all) {
  if (all == 0) return "0 of 0";
  return fmt::format("{} of {}, {}", part, all, percent(static_cast<double>(part) / static_cast<double>(all)));
}

const char* times_of(bool modelled) { return modelled ? "modelled" : "recorded"; }

template <typename T>
Json optional(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

std::string ProfileComparison::to_text() const {
  std::string text = fmt::format("profile     {}\nmeasured    {}\n", profile, measured);
  if (at_floor > 0) text += fmt::format("left out    {} measured kernels at the launch floor\n", at_floor);
  if (contradicted > 0) text += fmt::format("left out    {} measured kernels whose measurements contradict each other\n", contradicted);
  if (refused > 0) text += fmt::format("left out    {} measured kernels without a time in the profile\n", refused);
  text +=
      fmt::format("\n{:<36}{:<12}{:>8}{:>10}{:>10}{:>10}{:>10}\n", "class", "times", "kernels", "median", "mean", "roofline", "interval");
  for (const ProfileErrors& row : errors)
    text += fmt::format("{:<36}{:<12}{:>8}{:>10}{:>10}{:>10}{:>10}\n", row.kernels_of, times_of(row.modelled), row.kernels,
                        percent_or_dash(row.median), percent_or_dash(row.mean), percent_or_dash(row.roofline), percent(row.covered));
  text += "\none product of matrices or two: pairs whose columns add up to those of a third\n";
  for (const MergeSigns& row : merges) {
    text += fmt::format("{:<12}{} pairs, {} differ by more than 5 %", times_of(row.modelled), row.pairs, row.decided);
    if (row.decided > 0) {
      text += fmt::format(", one is quicker in {}\n{:<12}right in {}", row.one_is_quicker, "", share(row.right, row.decided));
      text += fmt::format("; where it is sure in {}", share(row.sure_right, row.sure));
      if (row.roofline_right) text += fmt::format("; the roofline in {}", share(*row.roofline_right, row.decided));
    }
    text += '\n';
  }
  return text;
}

std::string ProfileComparison::to_json() const {
  Json json;
  json["profile"] = profile;
  json["measured"] = measured;
  json["at_floor"] = at_floor;
  json["contradicted"] = contradicted;
  json["refused"] = refused;
  json["errors"] = Json::array();
  for (const ProfileErrors& row : errors)
    json["errors"].push_back({{"kernels_of", row.kernels_of},
                              {"modelled", row.modelled},
                              {"kernels", row.kernels},
                              {"median", row.median},
                              {"mean", row.mean},
                              {"roofline", optional(row.roofline)},
                              {"covered", row.covered}});
  json["merges"] = Json::array();
  for (const MergeSigns& row : merges)
    json["merges"].push_back({{"modelled", row.modelled},
                              {"pairs", row.pairs},
                              {"decided", row.decided},
                              {"one_is_quicker", row.one_is_quicker},
                              {"right", row.right},
                              {"roofline_right", optional(row.roofline_right)},
                              {"sure", row.sure},
                              {"sure_right", row.sure_right}});
  return onnx_io::printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace));
}

std::string ProfilePrices::to_text() const {
  std::string text = fmt::format("profile     {}\n\n{:>10}{:>12}{:>12}{:>10}  {:<10}{}\n", profile, "time", "at least", "at most",
                                 "roofline", "times", "kernel");
  for (const ProfilePrice& row : kernels)
    text += fmt::format("{:>10}{:>12}{:>12}{:>10}  {:<10}{}\n", time_text(row.time), time_text(row.least), time_text(row.most),
                        row.roofline ? time_text(*row.roofline) : "-", times_of(row.modelled), row.kernel);
  return text;
}

std::string ProfilePrices::to_json() const {
  Json json;
  json["profile"] = profile;
  json["kernels"] = Json::array();
  for (const ProfilePrice& row : kernels)
    json["kernels"].push_back({{"kernel", row.kernel},
                               {"nanoseconds", row.time.count()},
                               {"interval", {row.least.count(), row.most.count()}},
                               {"modelled", row.modelled},
                               {"roofline", row.roofline ? Json(row.roofline->count()) : Json(nullptr)}});
  return onnx_io::printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace xflow
