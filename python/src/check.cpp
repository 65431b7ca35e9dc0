// check: compares what two models compute.
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "call.h"

namespace xflow_python {
namespace {

using xflow::CheckProgress;
using xflow::CheckReport;
using Output = CheckReport::Output;
using Shapes = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;

CheckReport check_files(const std::string& a, const std::string& b, const Shapes& shapes, std::vector<std::string> inputs,
                        std::string runner, std::uint64_t seed, int runs, double time_limit, const xflow::CancellationToken& cancel,
                        const std::optional<std::function<nb::object(const CheckProgress&)>>& progress) {
  xflow::CheckOptions options;
  for (const auto& [name, dims] : shapes) options.shapes.push_back({name, dims});
  options.inputs = std::move(inputs);
  options.runner = std::move(runner);
  options.seed = seed;
  options.runs = runs;
  options.time_limit = xflow::Seconds(time_limit);
  options.cancel = cancel;
  Call call(cancel);
  if (progress) options.progress = [&](const CheckProgress& now) { call.in_python([&] { (*progress)(now); }); };
  return call.run(OnInterrupt::stop, [&] { return xflow::check_files(a, b, options); });
}

}  // namespace

void bind_check(nb::module_& module) {
  nb::class_<CheckProgress>(module, "CheckProgress")
      .def_prop_ro("phase", [](const CheckProgress& now) { return xflow::to_string(now.phase); })
      .def_ro("fraction", &CheckProgress::fraction, "Of all runs of both models, from 0 to 1.")
      .def_ro("message", &CheckProgress::message);
  nb::class_<Output>(module, "CheckedOutput", "The comparison of one output, in the worst of all runs.")
      .def_ro("name", &Output::name)
      .def_ro("type", &Output::type, "\"float32[1,10]\"")
      .def_ro("agrees", &Output::agrees)
      .def_ro("reason", &Output::reason, "Empty if it agrees.")
      .def_ro("error", &Output::error, "Largest absolute difference of elements that are finite in both.")
      .def_ro("allowed", &Output::allowed, "Largest error that is accepted.");
  nb::class_<CheckReport>(module, "CheckReport")
      .def_ro("equal", &CheckReport::equal)
      .def_ro("difference", &CheckReport::difference, "One line about the worst output; empty if equal.")
      .def_ro("runs", &CheckReport::runs)
      .def_ro("skipped", &CheckReport::skipped)
      .def_ro("outputs", &CheckReport::outputs)
      .def("__bool__", [](const CheckReport& report) { return report.equal; })
      .def("__str__", &CheckReport::to_text);
  module.def("check_files", &check_files, nb::arg("a"), nb::arg("b"), nb::arg("shapes"), nb::arg("inputs"), nb::arg("runner"),
             nb::arg("seed"), nb::arg("runs"), nb::arg("time_limit"), nb::arg("cancel"), nb::arg("progress").none());
}

}  // namespace xflow_python
