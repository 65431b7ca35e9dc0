#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/optimizer/built_graph.h"
#include "xflow/graph.h"

namespace xflow {
namespace {

// Limit for the elements of one weight; more would overflow counts of bytes and bits.
constexpr std::int64_t kMostElements = std::int64_t{1} << 48;

}  // namespace

struct GraphBuilder::State {
  ir::Arena arena;
  api::OperationMaker maker{arena};
  std::shared_ptr<Graph::State> graph = std::make_shared<Graph::State>();
  std::optional<Error> error;

  Value next() const { return static_cast<Value>(maker.values.size()); }
};

GraphBuilder::GraphBuilder() : state_(std::make_unique<State>()) {}
GraphBuilder::~GraphBuilder() = default;

Value GraphBuilder::input(std::string name, DataType type, std::vector<Dimension> dims) {
  const Value value = state_->next();
  if (state_->error) return value;
  const auto& inputs = state_->graph->inputs;
  if (std::any_of(inputs.begin(), inputs.end(), [&](const GraphInput& i) { return i.name == name; })) {
    state_->error = Error{ErrorCode::invalid_argument, fmt::format("two inputs are named '{}'", name), {}};
    return value;
  }
  for (const Dimension& d : dims) {
    if (!d.is_named() && d.size() < 1) {
      state_->error = Error{ErrorCode::invalid_argument, fmt::format("size {} is not positive", d.size()), fmt::format("input '{}'", name)};
      return value;
    }
  }
  state_->maker.input(type, dims);
  state_->graph->inputs.push_back({std::move(name), value, type, std::move(dims)});
  return value;
}

Value GraphBuilder::weight(DataType type, std::vector<std::int64_t> dims, std::span<const std::byte> bytes) {
  const Value value = state_->next();
  if (state_->error) return value;
  const auto wrong = [&](std::string message) {
    state_->error = Error{ErrorCode::invalid_argument, std::move(message),
                          fmt::format("weight {}[{}]", ir::name(api::ir_type(type)), fmt::join(dims, ", "))};
    return value;
  };
  std::int64_t elements = 1;
  for (const std::int64_t size : dims) {
    if (size < 0) return wrong(fmt::format("size {} is negative", size));
    if (__builtin_mul_overflow(elements, size, &elements) || elements > kMostElements) return wrong("more than 2^48 elements");
  }
  ir::Constant constant{api::ir_type(type), dims, ir::owned_bytes(std::vector<std::byte>(bytes.begin(), bytes.end()))};
  const std::uint64_t needed = ir::storage_bytes(constant.data_type, constant.elements());
  if (needed != bytes.size()) return wrong(fmt::format("expected {} bytes, found {}", needed, bytes.size()));
  state_->maker.weight(constant);
  state_->graph->weights.push_back({value, type, std::move(dims), *constant.source->bytes()});
  state_->graph->constants.push_back(std::move(constant));
  return value;
}

std::vector<Value> GraphBuilder::apply_all(std::string_view op, std::vector<Value> operands, std::vector<NamedAttribute> attributes) {
  std::vector<Value> results;
  if (!state_->error) {
    const auto first = static_cast<std::uint32_t>(state_->next());
    const auto count = state_->maker.apply(op, operands, attributes);
    if (count) {
      for (std::uint32_t k = 0; k < *count; ++k) results.push_back(static_cast<Value>(first + k));
      state_->graph->nodes.push_back({std::string(op), std::move(operands), results, std::move(attributes)});
    } else {
      state_->error = count.error();
    }
  }
  if (results.empty()) results.push_back(state_->next());
  return results;
}

Value GraphBuilder::apply(std::string_view op, std::vector<Value> operands, std::vector<NamedAttribute> attributes) {
  return apply_all(op, std::move(operands), std::move(attributes)).front();
}

void GraphBuilder::output(std::string name, Value value) {
  if (state_->error) return;
  if (static_cast<std::size_t>(value) >= state_->maker.values.size()) {
    state_->error = Error{ErrorCode::invalid_argument, "its value does not exist", fmt::format("output '{}'", name)};
    return;
  }
  state_->graph->outputs.push_back({std::move(name), value});
}

Result<Graph> GraphBuilder::build() {
  if (state_->error) return fail(*state_->error);
  const auto& outputs = state_->graph->outputs;
  if (outputs.empty()) return fail(ErrorCode::invalid_argument, "the graph has no outputs");
  for (std::size_t i = 0; i < outputs.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (outputs[i].name == outputs[j].name)
        return fail(ErrorCode::invalid_argument, fmt::format("two outputs are named '{}'", outputs[i].name));
  return Graph(std::make_shared<Graph::State>(*state_->graph));
}

}  // namespace xflow
