#include "src/generator/rules/gain.h"

#include <algorithm>
#include <bit>
#include <map>

#include "src/egraph/numbers.h"
#include "src/generator/rules/collect_tasks.h"
#include "src/generator/rules/leaf_names.h"
#include "src/generator/rules/shapes.h"
#include "src/rules/rule_parts.h"

namespace xflow::generator {
namespace {

constexpr double kLaunch = 20000;  // cost of a launch, in elements
constexpr double kMultiplication = 1.0 / 16;

using Sizes = std::map<int, double>;

double size_of(const Parts& parts, const Sizes& sizes) {
  double total = 0;
  for (const int p : parts) total += p == kOnePart ? 1 : p == kWindowPart ? 3 : sizes.at(p);
  return total;
}

double elements_of(const std::vector<Parts>& dims, const Sizes& sizes) {
  double product = 1;
  for (const Parts& d : dims) product *= size_of(d, sizes);
  return product;
}

// The constants among the inputs, by leaf, and how many operations of a side are on constants alone.
struct Folding {
  std::vector<bool> constant;
  std::size_t operations = 0;
  bool everything = false;  // an output is a constant
};

double cost_of(const GraphSignature& signature, const SmallGraph& graph, const GeneralShapes& shapes, bool source, const Sizes& sizes,
               Folding* folding = nullptr) {
  std::vector<bool> constant;
  if (folding != nullptr) constant = folding->constant;
  const auto dims = [&](std::size_t value) {
    return source ? shapes.source_dims(static_cast<std::uint8_t>(value)) : shapes.target_dims(static_cast<std::uint8_t>(value));
  };
  double cost = 0;
  std::size_t value = signature.leaves().size();
  for (const SmallGraphNode& n : graph.nodes) {
    const Choice& c = signature.choice(n.choice);
    if (folding != nullptr) {
      const bool folds = std::all_of(n.operands.begin(), n.operands.end(), [&](std::uint8_t o) { return constant[o]; });
      constant.insert(constant.end(), c.outputs, folds);
      if (folds) {
        ++folding->operations;
        value += c.outputs;
        continue;
      }
    }
    cost += kLaunch;
    for (const std::uint8_t o : n.operands) cost += elements_of(dims(o), sizes);
    for (std::size_t k = 0; k < c.outputs; ++k) cost += elements_of(dims(value + k), sizes);
    const double results = elements_of(dims(value), sizes);
    if (c.shape == ShapeRule::matmul) cost += kMultiplication * results * size_of(dims(n.operands[0])[1], sizes);
    if (c.shape == ShapeRule::convolution || c.shape == ShapeRule::depthwise) {
      const std::vector<Parts> kernel = dims(n.operands[1]);
      cost += kMultiplication * results * size_of(kernel[1], sizes) * size_of(kernel[2], sizes) * size_of(kernel[3], sizes);
    }
    value += c.outputs;
  }
  if (folding != nullptr)
    folding->everything = std::any_of(graph.outputs.begin(), graph.outputs.end(), [&](std::uint8_t o) { return constant[o]; });
  return cost;
}

constexpr std::uint64_t kDraws = 256;
constexpr double kSame = 1e-9;

// Sizes of all unknowns.
Sizes drawn_sizes(const GraphSignature& signature, const RuleCandidate& candidate, const GeneralShapes& shapes, std::uint64_t draw) {
  Sizes sizes;
  const auto add = [&](const std::vector<Parts>& dims) {
    for (const Parts& d : dims)
      for (const int p : d)
        if (p >= 0) sizes.try_emplace(p, static_cast<double>(std::uint64_t{1} << mix(mix(draw) + static_cast<std::uint64_t>(p)) % 11));
  };
  const auto values = [&](const SmallGraph& graph) {
    std::size_t count = signature.leaves().size();
    for (const SmallGraphNode& n : graph.nodes) count += signature.choice(n.choice).outputs;
    return count;
  };
  // Constants are leaves too. An expansion has dimensions that no leaf has.
  for (std::size_t value = 0; value < values(candidate.source); ++value) add(shapes.source_dims(static_cast<std::uint8_t>(value)));
  for (std::size_t value = 0; value < values(candidate.target); ++value) add(shapes.target_dims(static_cast<std::uint8_t>(value)));
  return sizes;
}

// Whether more of the target's operations are folded if these leaves are constants, and it costs at most
// `most` times as much as the source for all drawn sizes.
bool pays(const GraphSignature& signature, const RuleCandidate& candidate, const GeneralShapes& shapes, const std::vector<bool>& constant,
          double most) {
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    const Sizes sizes = drawn_sizes(signature, candidate, shapes, draw);
    Folding before{constant};
    Folding after{constant};
    const double source = cost_of(signature, candidate.source, shapes, true, sizes, &before);
    const double target = cost_of(signature, candidate.target, shapes, false, sizes, &after);
    if (before.everything || after.operations <= before.operations || target > source * most) return false;
  }
  return true;
}

}  // namespace

Gain gain_of(const GraphSignature& signature, const RuleCandidate& candidate) {
  const GeneralShapes shapes(signature, candidate);
  Gain gain;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    const Sizes sizes = drawn_sizes(signature, candidate, shapes, draw);
    const double source = cost_of(signature, candidate.source, shapes, true, sizes);
    const double target = cost_of(signature, candidate.target, shapes, false, sizes);
    gain.forwards = gain.forwards || target < source * (1 - kSame);
    gain.backwards = gain.backwards || source < target * (1 - kSame);
  }
  return gain;
}

bool is_parameter(const GraphSignature& signature, std::uint8_t input) { return signature.is_parameter(signature.leaves()[input].type); }

namespace {

// The leaves that are constants if these inputs are.
std::vector<bool> constant_leaves(const GraphSignature& signature, std::span<const std::uint8_t> inputs,
                                  std::span<const std::size_t> positions) {
  std::vector<bool> constant(signature.leaves().size());
  std::fill(constant.begin() + static_cast<std::ptrdiff_t>(signature.inputs()), constant.end(), true);
  for (const std::size_t k : positions) constant[inputs[k]] = true;
  return constant;
}

}  // namespace

std::vector<std::size_t> constants_that_pay(const GraphSignature& signature, const RuleCandidate& candidate) {
  const GeneralShapes shapes(signature, candidate);
  const std::vector<std::uint8_t>& inputs = shapes.inputs();
  for (std::size_t count = 1; count < inputs.size(); ++count) {
    std::vector<std::size_t> best;
    std::ptrdiff_t most = -1;
    for (std::uint32_t set = 0; set < 1U << inputs.size(); ++set) {
      if (static_cast<std::size_t>(std::popcount(set)) != count) continue;
      std::vector<std::size_t> positions;
      for (std::size_t k = 0; k < inputs.size(); ++k)
        if ((set >> k & 1U) != 0) positions.push_back(k);
      const auto parameters =
          std::count_if(positions.begin(), positions.end(), [&](std::size_t k) { return is_parameter(signature, inputs[k]); });
      if (parameters <= most || !pays(signature, candidate, shapes, constant_leaves(signature, inputs, positions), 1 + kSame)) continue;
      most = parameters;
      best = std::move(positions);
    }
    if (!best.empty()) return best;
  }
  return {};
}

std::vector<std::size_t> parameters_that_pay(const GraphSignature& signature, const RuleCandidate& candidate) {
  const GeneralShapes shapes(signature, candidate);
  const std::vector<std::uint8_t>& inputs = shapes.inputs();
  std::vector<std::size_t> positions;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (is_parameter(signature, inputs[k])) positions.push_back(k);
  if (positions.empty() || positions.size() == inputs.size()) return {};
  if (!pays(signature, candidate, shapes, constant_leaves(signature, inputs, positions), 1 - kSame)) return {};
  return positions;
}

bool always_pays(const GraphSignature& signature, const RuleCandidate& candidate) {
  const GeneralShapes shapes(signature, candidate);
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    const Sizes sizes = drawn_sizes(signature, candidate, shapes, draw);
    const double source = cost_of(signature, candidate.source, shapes, true, sizes);
    if (cost_of(signature, candidate.target, shapes, false, sizes) > source * (1 - kSame)) return false;
  }
  return true;
}

bool loses_numbers(const GraphSignature& signature, const RuleCandidate& candidate) {
  constexpr std::size_t kSaved = 2;
  return !candidate.target.nodes.empty() && candidate.source.nodes.size() >= candidate.target.nodes.size() + kSaved &&
         reads_numbers(signature, candidate.source) && !reads_numbers(signature, candidate.target) &&
         !changes_partial(signature, candidate) && always_pays(signature, candidate);
}

std::optional<rules::Rule> with_constants(rules::Rule rule, std::span<const std::size_t> inputs) {
  if (inputs.empty()) return std::nullopt;
  rule.name += "-folded";
  for (const std::size_t k : inputs) rule.guards.push_back(rules::predicate(rules::Guard::Kind::is_constant, input_name(k)));
  return rule;
}

}  // namespace xflow::generator
