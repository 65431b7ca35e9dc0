// The recurrent cell that architecture search found (Zoph, Le: Neural Architecture Search with Reinforcement Learning, 2017), unrolled over
// 5 steps as TASO (Jia et al. 2019) compares on it: 8 gates, each the sum of a product with the input and one with the state, hidden size
// 512, batch 1, no state but the last output, and weights of each step's own.
#include <array>

#include "bench/models/families.h"

namespace xflow::bench {
namespace {

constexpr std::size_t kGates = 8;

Value cell(Model& model, const Value& x, const Value& state, const std::string& place) {
  std::vector<Value> gates;
  for (std::size_t k = 0; k < kGates; ++k) {
    const std::string gate = place + ".gate" + std::to_string(k);
    const std::int64_t hidden = state.dims.back();
    gates.push_back(
        add(model, linear(model, x, gate + ".input", hidden, false), linear(model, state, gate + ".state", hidden, false), gate));
  }
  const auto apply = [&](const char* op, const Value& value) { return unary(model, op, value, place); };
  const auto multiply = [&](const Value& a, const Value& b) { return binary(model, "Mul", a, b, place); };
  const Value first = add(model, apply("Relu", gates[0]), apply("Sigmoid", gates[3]), place);
  const Value second = add(model, apply("Sigmoid", gates[1]), apply("Tanh", gates[2]), place);
  const Value third = multiply(apply("Sigmoid", gates[4]), apply("Tanh", gates[5]));
  const Value fourth = multiply(apply("Sigmoid", gates[6]), apply("Relu", gates[7]));
  const Value fifth = add(model, apply("Sigmoid", second), apply("Tanh", third), place);
  const Value memory = multiply(apply("Tanh", first), apply("Tanh", fourth));
  return apply("Tanh", multiply(apply("Tanh", fifth), apply("Tanh", memory)));
}

}  // namespace

Model nasrnn(const Scale& scale) {
  Model model("nasrnn");
  const std::int64_t hidden = scale.channels(512);
  std::vector<Value> steps;
  for (int step = 0; step < 5; ++step) steps.push_back(model.input("x" + std::to_string(step), {scale.batch, hidden}));
  Value state = model.input("state", {scale.batch, hidden});
  for (std::size_t step = 0; step < steps.size(); ++step) state = cell(model, steps[step], state, "step" + std::to_string(step));
  model.output(state);
  return model;
}

}  // namespace xflow::bench
