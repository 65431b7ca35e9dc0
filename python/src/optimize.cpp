// optimize, and its report.
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "call.h"

namespace xflow_python {
namespace {

using xflow::OptimizeOptions;
using xflow::OptimizeProgress;
using xflow::OptimizeReport;
using Shapes = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;
using Progress = std::optional<std::function<nb::object(const OptimizeProgress&)>>;

// The options that Python sets one by one.
void bind_options(nb::module_& module) {
  nb::class_<OptimizeOptions>(module, "OptimizeOptions")
      .def(nb::init<>())
      .def("set_shapes",
           [](OptimizeOptions& o, const Shapes& shapes) {
             for (const auto& [name, dims] : shapes) o.input.shapes.push_back({name, dims});
           })
      .def("set_fixed_shapes",
           [](OptimizeOptions& o, const Shapes& shapes) {
             for (const auto& [name, dims] : shapes) o.input.fixed_shapes.push_back({name, dims});
           })
      .def("set_inputs", [](OptimizeOptions& o, std::vector<std::string> files) { o.input.files = std::move(files); })
      .def(
          "set_budget",
          [](OptimizeOptions& o, std::optional<double> seconds, std::optional<std::uint64_t> states) {
            if (seconds) o.search.max_time = xflow::Seconds(*seconds);
            o.search.max_states = states;
          },
          nb::arg("seconds").none(), nb::arg("states").none())
      .def("set_rules", [](OptimizeOptions& o, const xflow::RuleSet& rules) { o.search.rule_text = rules.text(); })
      .def("set_numerics", [](OptimizeOptions& o, const std::string& text) { o.search.numerics = value_of(xflow::parse_numerics(text)); })
      .def(
          "set_confidence", [](OptimizeOptions& o, std::optional<double> probability) { o.search.confidence = probability; },
          nb::arg("probability").none())
      .def("set_device", [](OptimizeOptions& o, std::string name) { o.device.name = std::move(name); })
      .def("set_priced_as", [](OptimizeOptions& o, std::string type) { o.device.priced_as = std::move(type); })
      .def("set_runner", [](OptimizeOptions& o, std::string runner) { o.device.runner = std::move(runner); })
      .def("set_threads", [](OptimizeOptions& o, int threads) { o.device.threads = threads; })
      .def("set_cost_database", [](OptimizeOptions& o, std::string path) { o.device.cost_database = std::move(path); })
      .def("set_gate", [](OptimizeOptions& o, bool gate) { o.validation.gate = gate; })
      .def("set_time_limit", [](OptimizeOptions& o, double seconds) { o.time_limit = xflow::Seconds(seconds); })
      .def("set_cancel", [](OptimizeOptions& o, const xflow::CancellationToken& token) { o.cancel = token; });
}

struct Prepared {
  OptimizeOptions options;
  xflow::ProgressCallback progress;
};

Prepared prepare(Call& call, const OptimizeOptions& options, const nb::object& device, const Progress& progress) {
  Prepared prepared{options, {}};
  if (!device.is_none()) prepared.options.device.own = device_of(device, call);
  prepared.options.warning = [&call](const std::string& line) {
    call.in_python([&] { nb::module_::import_("warnings").attr("warn")(line, PyExc_RuntimeWarning, 3); });
  };
  if (progress) {
    prepared.progress = [&call, &progress](const OptimizeProgress& now) { call.in_python([&] { (*progress)(now); }); };
  }
  return prepared;
}

nb::object optimize(const nb::bytes& model, const OptimizeOptions& options, const nb::object& device, const Progress& progress) {
  Call call(options.cancel);
  const Prepared prepared = prepare(call, options, device, progress);
  const std::string_view bytes(model.c_str(), model.size());
  auto result = call.run(OnInterrupt::finish, [&] { return xflow::optimize(bytes, prepared.options, prepared.progress); });
  return nb::make_tuple(nb::bytes(result.model.data(), result.model.size()), std::move(result.report));
}

OptimizeReport optimize_file(const std::string& input, const std::string& output, const OptimizeOptions& options, const nb::object& device,
                             const Progress& progress) {
  Call call(options.cancel);
  const Prepared prepared = prepare(call, options, device, progress);
  return call.run(OnInterrupt::finish, [&] { return xflow::optimize_file(input, output, prepared.options, prepared.progress); });
}

nb::object stop_reason_of(const OptimizeReport& report) {
  if (!report.search.stop_reason) return nb::none();
  return nb::str(xflow::to_string(*report.search.stop_reason));
}

// A whole page inside a notebook: its styles stay in the frame.
nb::object frame_of(const OptimizeReport& report) {
  const nb::object escaped = nb::module_::import_("html").attr("escape")(report.to_html());
  return nb::str("<iframe sandbox width='100%' height='600' style='border:0' srcdoc=\"") + escaped + nb::str("\"></iframe>");
}

void bind_report(nb::module_& module) {
  nb::class_<OptimizeReport>(module, "Report", "What an optimisation did: rewrites, measurements, stop reasons.")
      .def_static(
          "from_json", [](const std::string& json) { return value_of(xflow::parse_report(json)); }, nb::arg("json"),
          "The inverse of to_json. Errors: invalid_argument.")
      .def_ro("improved", &OptimizeReport::improved, "False: the model is the original, byte for byte.")
      .def_ro("reason", &OptimizeReport::reason, "Why the original was kept; empty if improved.")
      .def_ro("device", &OptimizeReport::device)
      .def_prop_ro("stop_reason", &stop_reason_of, nb::sig("def stop_reason(self) -> str | None"), "Why the search ended.")
      .def_prop_ro(
          "states", [](const OptimizeReport& report) { return report.search.states; }, "Number of graphs costed.")
      .def_prop_ro("nodes_before", [](const OptimizeReport& report) { return report.nodes.before; })
      .def_prop_ro("nodes_after", [](const OptimizeReport& report) { return report.nodes.after; })
      .def_prop_ro(
          "predicted_before", [](const OptimizeReport& report) { return report.predicted.before.count(); }, "Nanoseconds.")
      .def_prop_ro(
          "predicted_after", [](const OptimizeReport& report) { return report.predicted.after.count(); }, "Nanoseconds.")
      .def_prop_ro(
          "time", [](const OptimizeReport& report) { return report.time.count(); }, "Wall clock of the whole call in seconds.")
      .def("to_json", &OptimizeReport::to_json, "The report for programs (docs/optimize-report.schema.json).")
      .def("to_html", &OptimizeReport::to_html, "The report as a page for browsers: one file that loads nothing.")
      .def(
          "to_dict", [](const OptimizeReport& report) { return nb::module_::import_("json").attr("loads")(report.to_json()); },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"), "to_json() as objects of Python.")
      .def("_repr_html_", &frame_of, nb::sig("def _repr_html_(self) -> str"))
      .def("__str__", &OptimizeReport::to_text)
      .def("__repr__",
           [](const OptimizeReport& report) { return report.improved ? "<Report: improved>" : "<Report: " + report.reason + ">"; });
}

}  // namespace

void bind_optimize(nb::module_& module) {
  bind_options(module);
  bind_report(module);
  nb::class_<OptimizeProgress>(module, "OptimizeProgress")
      .def_prop_ro(
          "phase", [](const OptimizeProgress& now) { return xflow::to_string(now.phase); },
          "\"measuring\", \"searching\", \"checking\" or \"running\".")
      .def_ro("fraction", &OptimizeProgress::fraction, "The used part of the phase's bound, from 0 to 1.")
      .def_ro("states", &OptimizeProgress::states, "Number of graphs costed.")
      .def_prop_ro(
          "predicted_before", [](const OptimizeProgress& now) { return now.predicted.before.count(); }, "Nanoseconds.")
      .def_prop_ro(
          "predicted_after", [](const OptimizeProgress& now) { return now.predicted.after.count(); }, "Nanoseconds.")
      .def_prop_ro(
          "time", [](const OptimizeProgress& now) { return now.time.count(); }, "Seconds since the start.")
      .def_prop_ro(
          "time_left", [](const OptimizeProgress& now) { return now.time_left.count(); }, "Seconds until the time limit.")
      .def("__str__", &OptimizeProgress::to_text);
  module.def("optimize", &optimize, nb::arg("model"), nb::arg("options"), nb::arg("device").none(), nb::arg("progress").none(),
             nb::sig("def optimize(model: bytes, options: OptimizeOptions, device: object | None, "
                     "progress: collections.abc.Callable[[OptimizeProgress], object] | None) -> tuple[bytes, Report]"));
  module.def("optimize_file", &optimize_file, nb::arg("input"), nb::arg("output"), nb::arg("options"), nb::arg("device").none(),
             nb::arg("progress").none());
}

}  // namespace xflow_python
