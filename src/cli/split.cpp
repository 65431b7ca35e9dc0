#include "xflow/split.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xflow/check.h>
#include <xflow/simulate.h>

#include <memory>

#include "src/cli/command.h"
#include "src/cli/measured_clusters.h"

namespace xflow::cli {
namespace {

struct SplitArguments {
  std::string model;
  std::string folder;
  std::vector<std::string> shapes;
  SplitOptions options;
};

ExitCode run_split(SplitArguments& a) {
  if (!a.options.cluster.empty()) {
    if (const auto found = find_measured_cluster(a.options.cluster); !found) return report(found.error());
  }
  for (const std::string& text : a.shapes) {
    auto shape = parse_input_shape(text);
    if (!shape) return report(shape.error());
    a.options.shapes.push_back(*std::move(shape));
  }
  const auto parts = split(a.model, a.folder, a.options);
  if (!parts) return report(parts.error());
  print(parts->to_text());
  return ExitCode::done;
}

}  // namespace

void add_split(CLI::App& sub, Command& command) {
  auto a = std::make_shared<SplitArguments>();
  sub.add_option("MODEL", a->model, "ONNX model; - is standard input")->required();
  sub.add_option("--plan", a->options.plan, "JSON file of devices of nodes; else the model's configuration");
  sub.add_option("--cluster", a->options.cluster, fmt::format("{}, cpu-N, or a file; needed by --plan", fmt::join(cluster_names(), ", ")));
  sub.add_option("--out", a->folder, "folder for the parts, empty or new")->required();
  sub.add_option("--shape", a->shapes, "sizes of a dynamic input: x:1,3,48,192 (repeat for each)")->take_all();
  add_allow_external(sub, a->options.allow_external);
  group(sub, "Input", {"--shape", "--allow-external"});
  group(sub, "Devices", {"--cluster", "--plan"});
  group(sub, "Output", {"--out"});
  sub.footer(
      "A part is a set of nodes of one device that can run without waiting in the middle. Each part is\n"
      "an ordinary model, and manifest.json says where its inputs come from (docs/parts.schema.json).\n\n" +
      examples({"xflow split model.onnx --plan plan.json --cluster pair.json --out parts",
                "xflow parallelize model.onnx plan.onnx --cluster pair.json", "xflow split plan.onnx --out parts",
                "mpirun -n 2 xflow run parts"}));
  sub.callback([a, &command] { command.run = [a] { return run_split(*a); }; });
}

}  // namespace xflow::cli
