// verify_models: proves that two models compute the same.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <xflow/verify_models.h>

#include "call.h"

namespace xflow_python {
namespace {

using xflow::ModelProof;
using Shapes = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;

ModelProof verify_files(const std::string& a, const std::string& b, const Shapes& shapes, std::uint64_t seed, double time_limit,
                        const xflow::CancellationToken& cancel) {
  xflow::VerifyModelsOptions options;
  for (const auto& [name, dims] : shapes) options.shapes.push_back({name, dims});
  options.seed = seed;
  options.time_limit = xflow::Seconds(time_limit);
  options.cancel = cancel;
  Call call(cancel);
  return call.run(OnInterrupt::stop, [&] { return xflow::verify_files(a, b, options); });
}

template <typename T>
std::string verdict_of(const T& found) {
  return to_string(found.verdict);
}

}  // namespace

void bind_verify_models(nb::module_& module) {
  nb::class_<ModelProof::Part>(module, "ModelPart", "A value of B that is computed in another way than in A.")
      .def_ro("value_a", &ModelProof::Part::value_a)
      .def_ro("value_b", &ModelProof::Part::value_b)
      .def_prop_ro("verdict", &verdict_of<ModelProof::Part>)
      .def_ro("open", &ModelProof::Part::open, "The open question, if it is not proved.");
  nb::class_<ModelProof::Constant>(module, "RoundedConstant", "A constant of B that was rounded otherwise than in A.")
      .def_ro("value_a", &ModelProof::Constant::value_a)
      .def_ro("value_b", &ModelProof::Constant::value_b)
      .def_ro("difference", &ModelProof::Constant::difference, "The largest difference of two elements.")
      .def_ro("magnitude", &ModelProof::Constant::magnitude, "Of the largest element.");
  nb::class_<ModelProof::Output>(module, "VerifiedOutput")
      .def_ro("name", &ModelProof::Output::name)
      .def_prop_ro("verdict", &verdict_of<ModelProof::Output>);
  nb::class_<ModelProof>(module, "ModelProof")
      .def_prop_ro("verdict", &verdict_of<ModelProof>, "\"proved\", \"refuted\", \"unknown\" or \"timeout\"")
      .def_prop_ro("proved", [](const ModelProof& proof) { return proof.verdict == xflow::Verdict::proved; })
      .def_prop_ro("up_to_rounding", &ModelProof::is_up_to_rounding, "Proved, and some constants differ by rounding.")
      .def_ro("outputs", &ModelProof::outputs)
      .def_ro("parts", &ModelProof::parts)
      .def_ro("constants", &ModelProof::constants)
      .def_ro("assumed", &ModelProof::assumed, "Unknown operators that are assumed to compute the same.")
      .def_ro("difference", &ModelProof::difference, "Refuted: one line.")
      .def_ro("inputs", &ModelProof::inputs, "Label of the inputs of the run.")
      .def_ro("not_run", &ModelProof::not_run, "Why a run of a model with If, Loop, Scan or local functions ended without results.")
      .def("__str__", &ModelProof::to_text);
  module.def("verify_files", &verify_files, nb::arg("a"), nb::arg("b"), nb::arg("shapes"), nb::arg("seed"), nb::arg("time_limit"),
             nb::arg("cancel"));
}

}  // namespace xflow_python
