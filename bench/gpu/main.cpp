// xflow-bench-gpu: measures models on a device and writes what it found as JSON and as a table.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/gpu/measure.h"
#include "src/runtime/median.h"

namespace {

using Json = nlohmann::ordered_json;

bool write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  out.close();
  if (!out) fmt::print(stderr, "xflow-bench-gpu: cannot write {}\n", path.string());
  return !out.fail();
}

// One row of the table: what is missing was not run.
std::string row(const std::string& name, const Json& measurement) {
  if (!measurement.contains("original")) return fmt::format("| {} | | | | | | {} |\n", name, measurement.value("failure", ""));
  const double run = xflow::cost::median_interval(measurement["original"]["samples"].get<std::vector<double>>()).median;
  std::string result = "kept";
  if (measurement.contains("turns")) {
    const Json& ratio = measurement["turns"]["ratio"];
    result = fmt::format("{:.3f} [{:.3f}, {:.3f}]", ratio["median"].get<double>(), ratio["low"].get<double>(), ratio["high"].get<double>());
  }
  const std::string note = measurement.value("failure", measurement.contains("report") ? measurement["report"].value("reason", "") : "");
  return fmt::format("| {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {} | {} |\n", name, measurement["predicted"].get<double>() / 1e3,
                     run / 1e3, 100 * measurement["error"].get<double>(), measurement["profiling"]["seconds"].get<double>(), result, note);
}

// Of all models that were run; one that is kept counts as 1.
std::string summary(const std::vector<Json>& all) {
  std::vector<double> errors;
  double logarithms = 0;
  std::size_t run = 0;
  std::size_t slower = 0;
  for (const Json& measurement : all) {
    if (measurement.contains("failure")) continue;
    ++run;
    errors.push_back(std::abs(measurement["error"].get<double>()));
    if (!measurement.contains("turns")) continue;
    const Json& ratio = measurement["turns"]["ratio"];
    logarithms += std::log(ratio["median"].get<double>());
    if (ratio["low"].get<double>() > 1) ++slower;
  }
  if (run == 0) return "\nNothing was run.\n";
  return fmt::format(
      "\n{} of {} models run. Median error of the prediction {:.1f} %. Geometric mean of original / optimised {:.3f}. Slower: {}.\n", run,
      all.size(), 100 * xflow::cost::median_interval(errors).median, std::exp(-logarithms / static_cast<double>(run)), slower);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures models on a device: predicted and run, before and after they are optimised"};
  xflow::bench::MeasureOptions options;
  std::string folder;
  std::vector<std::string> models;
  double budget = 10;
  double measure_seconds = 20;
  app.add_option("MODEL", models, "ONNX models")->required();
  app.add_option("--device", options.optimize.device.name, "cuda:N or cpu")->required();
  app.add_option("--out", folder, "folder for NAME.json, NAME.onnx, table.md and costs.db, made if it is not there")->required();
  app.add_option("--budget", budget, "seconds of each search")->capture_default_str();
  app.add_option("--measure-budget", measure_seconds, "seconds of each gate")->capture_default_str();
  app.add_option("--turns", options.turns, "samples of each program")->capture_default_str()->check(CLI::Range(1, 1000));
  app.add_flag("--compare", options.compare, "compare what the original computes with the reference, which takes long for large models");
  app.add_flag("--tf32", options.optimize.device.tf32, "products and convolutions of float may round their operands to 10 bits");
  CLI11_PARSE(app, argc, argv);

  options.optimize.search.max_time = xflow::Seconds(budget);
  options.optimize.validation.max_measure_time = xflow::Seconds(measure_seconds);
  const std::filesystem::path out(folder);
  std::error_code error;
  std::filesystem::create_directories(out, error);
  options.optimize.device.cost_database = (out / "costs.db").string();
  const auto device = xflow::bench::describe_device(options.optimize);
  if (!device) {
    fmt::print(stderr, "xflow-bench-gpu: {}\n", device.error().text());
    return 3;
  }
  std::string table = fmt::format("{}, {}\n\n", device->value("model", ""), device->value("library", ""));
  table += "| model | predicted, us | run, us | error, % | profiling, s | of the original | |\n|---|---|---|---|---|---|---|\n";
  fmt::print("{}", table);
  std::vector<Json> all;
  for (const std::string& path : models) {
    const std::string name = std::filesystem::path(path).stem().string();
    const auto measured = xflow::bench::measure_model(path, (out / (name + ".onnx")).string(), options);
    all.push_back(measured ? *measured : Json{{"device", *device}, {"failure", measured.error().text()}});
    if (!write(out / (name + ".json"), all.back().dump(1) + "\n")) return 3;
    const std::string line = row(name, all.back());
    fmt::print("{}", line);
    std::fflush(stdout);
    table += line;
  }
  const std::string end = summary(all);
  fmt::print("{}", end);
  if (!write(out / "table.md", table + end)) return 3;
  return std::ranges::any_of(all, [](const Json& measurement) { return measurement.contains("failure"); }) ? 1 : 0;
}
