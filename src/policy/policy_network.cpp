#include "src/policy/policy_network.h"

#include <utility>

#include "src/eval/evaluate.h"
#include "src/optimizer/built_graph.h"
#include "src/policy/placement_network.h"

namespace xflow::policy {

struct PolicyNetwork::Program {
  explicit Program(Result<Graph> made) : graph(std::move(made)) {}

  Result<Graph> graph;
  ir::Arena arena;
  api::BuiltGraph built;
  bool is_built = false;
};

PolicyNetwork::PolicyNetwork(std::span<const Matrix> weights)
    : encoder_(std::make_unique<Program>(encoder_graph(weights))), scorer_(std::make_unique<Program>(scorer_graph(weights))) {}
PolicyNetwork::~PolicyNetwork() = default;

Result<std::vector<float>> PolicyNetwork::run(Program& program, std::span<const Matrix* const> inputs) {
  if (!program.graph) return fail(program.graph.error());
  if (!program.is_built) {
    XFLOW_TRY(program.built, api::to_ir(*program.graph, program.arena));
    program.is_built = true;
  }
  eval::Bindings bindings;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Matrix& matrix = *inputs[k];
    eval::Tensor tensor;
    tensor.data_type = ir::DataType::float32;
    tensor.dims = {static_cast<std::int64_t>(matrix.rows), static_cast<std::int64_t>(matrix.columns)};
    tensor.elements = matrix.values;
    bindings.emplace(program.built.inputs[k], std::move(tensor));
  }
  eval::Options options;
  options.number = eval::Number::float32;
  XFLOW_TRY(const std::vector<eval::Tensor> outputs, eval::evaluate(program.arena, program.built.graph, bindings, options));
  return std::get<std::vector<float>>(outputs[0].elements);
}

Result<void> PolicyNetwork::encode(const VisitEnvironment& environment) {
  const Matrix* const inputs[] = {&environment.group_features(), &environment.parents(), &environment.children()};
  XFLOW_TRY(std::vector<float> values, run(*encoder_, inputs));
  embeddings_.rows = environment.groups();
  embeddings_.columns = values.size() / embeddings_.rows;
  embeddings_.values = std::move(values);
  return {};
}

Result<std::vector<float>> PolicyNetwork::scores(const VisitEnvironment::Choices& choices) {
  const Matrix* const inputs[] = {&embeddings_, &choices.features, &choices.own, &choices.parents, &choices.children, &choices.others};
  return run(*scorer_, inputs);
}

}  // namespace xflow::policy
