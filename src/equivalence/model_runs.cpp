#include "src/equivalence/model_runs.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/onnx/lift/lift_operator.h"

namespace xflow::equivalence {
namespace {

bool is_run_as_document(const onnx_io::Document& document) {
  return std::ranges::any_of(document.nodes(onnx_io::GraphId{0}),
                             [&](const onnx_io::Node& node) { return api::only_documents_run(document, node); });
}

}  // namespace

std::optional<RunResults> ModelRuns::results() {
  auto results = by_graphs();
  const bool is_complete = results && results->outputs.size() == models_.a().graph.outputs.size();
  by_documents_ = false;
  if (!is_complete && (is_run_as_document(models_.a().document) || is_run_as_document(models_.b().document))) {
    if (auto all = by_documents()) {
      results = std::move(all);
      by_documents_ = true;
    }
  }
  if (results) outputs_ = results->outputs;
  return results;
}

std::optional<RunResults> ModelRuns::by_graphs() {
  Values values(models_.arena(), run_.inputs, run_.options);
  RunResults results;
  ir::Graph computed;
  for (std::size_t k = 0; k < models_.a().graph.outputs.size(); ++k) {
    const eval::Tensor* of_a = values.at(models_.a().graph.outputs[k]);
    const eval::Tensor* of_b = values.at(models_.b().graph.outputs[k]);
    if (of_a == nullptr || of_b == nullptr) continue;
    computed.outputs.push_back(models_.a().graph.outputs[k]);
    results.outputs.push_back(k);
    results.reference.push_back(*of_a);
    results.actual.push_back(*of_b);
  }
  if (results.outputs.empty()) return std::nullopt;
  eval::Options in_float = run_.options;
  in_float.number = eval::Number::float32;
  auto own = eval::evaluate(models_.arena(), computed, run_.inputs, in_float);
  if (!own) return std::nullopt;
  results.own = *std::move(own);
  return results;
}

std::optional<RunResults> ModelRuns::by_documents() {
  RunResults results;
  auto reference = run(models_.a(), run_.inputs, eval::Number::float64);
  if (!reference) return std::nullopt;
  auto own = run(models_.a(), run_.inputs, eval::Number::float32);
  if (!own) return std::nullopt;
  auto actual = run(models_.b(), run_.inputs, eval::Number::float64);
  if (!actual) return std::nullopt;
  for (std::size_t k = 0; k < reference->size(); ++k) {
    // A shape that depends on rounding says nothing of B.
    if ((*reference)[k].dims != (*own)[k].dims || (*reference)[k].data_type != (*own)[k].data_type) continue;
    results.outputs.push_back(k);
    results.reference.push_back(std::move((*reference)[k]));
    results.own.push_back(std::move((*own)[k]));
    results.actual.push_back(std::move((*actual)[k]));
  }
  return results.outputs.empty() ? std::nullopt : std::optional(std::move(results));
}

Result<std::vector<eval::Tensor>> ModelRuns::run(const OneModel& model, const eval::Bindings& inputs, eval::Number number) {
  const OneModel& a = models_.a();
  api::NamedTensors named;
  for (std::size_t k = 0; k < a.lifted.inputs.size(); ++k) {
    // An input with a default that only A has keeps it.
    const std::string_view name = a.lifted.input_names[k];
    const auto tensor = inputs.find(a.lifted.inputs[k]);
    if (tensor != inputs.end() && std::ranges::find(models_.b().lifted.input_names, name) != models_.b().lifted.input_names.end())
      named.emplace(name, tensor->second);
  }
  api::DocumentRunOptions how;
  how.number = number;
  how.stop = run_.options.stop;
  auto outputs = api::run_document(model.document, named, how);
  if (!outputs && why_not_run_.empty()) why_not_run_ = outputs.error().text();
  return outputs;
}

std::optional<std::vector<eval::Tensor>> ModelRuns::of_a(const eval::Bindings& inputs) {
  std::vector<eval::Tensor> results;
  if (by_documents_) {
    auto all = run(models_.a(), inputs, eval::Number::float64);
    if (!all) return std::nullopt;
    for (const std::size_t k : outputs_) results.push_back(std::move((*all)[k]));
    return results;
  }
  ir::Graph graph;
  for (const std::size_t k : outputs_) graph.outputs.push_back(models_.a().graph.outputs[k]);
  auto all = eval::evaluate(models_.arena(), graph, inputs, run_.options);
  return all ? std::optional(*std::move(all)) : std::nullopt;
}

}  // namespace xflow::equivalence
