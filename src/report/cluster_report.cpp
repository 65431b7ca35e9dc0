#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "src/report/report_text.h"
#include "src/support/printable.h"
#include "xflow/run.h"

namespace xflow {
namespace {

using ClusterJson = nlohmann::ordered_json;

constexpr double kToMicroseconds = 1e6;

std::string text_of_link(const char* name, const MeasuredCluster::Link& link) {
  std::string text = fmt::format("\n{}: {:.2f} us + bytes / {:.3f} GB/s\n{:>12}{:>14}{:>14}\n", name,
                                 link.latency.count() * kToMicroseconds, link.bandwidth / 1e9, "bytes", "measured", "fitted");
  for (const MeasuredCluster::Sample& sample : link.samples) {
    const double fitted = link.latency.count() + static_cast<double>(sample.bytes) / link.bandwidth;
    text += fmt::format("{:>12}{:>11.2f} us{:>11.2f} us\n", sample.bytes, sample.time.count() * kToMicroseconds, fitted * kToMicroseconds);
  }
  return text;
}

}  // namespace

std::string MeasuredCluster::to_json() const {
  ClusterJson json = {{"name", name}, {"devices", ClusterJson::array()}};
  for (std::size_t k = 0; k < host.size(); ++k) {
    ClusterJson device = {{"name", fmt::format("cpu{}", k)}, {"kind", kind}, {"host", host[k]}, {"memory", memory}};
    device["cpu"] = {{"threads", 1}};
    json["devices"].push_back(std::move(device));
  }
  if (inside) json["inside"] = {{"latency", inside->latency.count()}, {"bandwidth", inside->bandwidth}};
  if (across) json["across"] = {{"latency", across->latency.count()}, {"bandwidth", across->bandwidth}};
  return onnx_io::printable_json(json.dump(1, ' ', false, ClusterJson::error_handler_t::replace)) + "\n";
}

std::string MeasuredCluster::to_text() const {
  std::string text = fmt::format("cluster {}: {} processes, {}\n", name, host.size(), onnx_io::printable(kind));
  if (inside) text += text_of_link("inside", *inside);
  if (across) text += text_of_link("across", *across);
  return text;
}

}  // namespace xflow
