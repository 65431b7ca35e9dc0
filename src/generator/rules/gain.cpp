#include "src/generator/rules/gain.h"

#include <map>

#include "src/egraph/numbers.h"
#include "src/generator/rules/shapes.h"

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

double cost_of(const GraphSignature& signature, const SmallGraph& graph, const GeneralShapes& shapes, bool source, const Sizes& sizes) {
  const auto dims = [&](std::size_t value) {
    return source ? shapes.source_dims(static_cast<std::uint8_t>(value)) : shapes.target_dims(static_cast<std::uint8_t>(value));
  };
  double cost = 0;
  std::size_t value = signature.leaves().size();
  for (const SmallGraphNode& n : graph.nodes) {
    const Choice& c = signature.choice(n.choice);
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
  return cost;
}

}  // namespace

Gain gain_of(const GraphSignature& signature, const RuleCandidate& candidate) {
  const GeneralShapes shapes(signature, candidate);
  Gain gain;
  for (std::uint64_t draw = 0; draw < 256; ++draw) {
    Sizes sizes;
    const auto add = [&](const std::vector<Parts>& dims) {
      for (const Parts& d : dims)
        for (const int p : d)
          if (p >= 0) sizes.try_emplace(p, static_cast<double>(std::uint64_t{1} << mix(mix(draw) + static_cast<std::uint64_t>(p)) % 11));
    };
    // Constants are leaves too.
    for (std::size_t leaf = 0; leaf < signature.leaves().size(); ++leaf) add(shapes.dims(static_cast<std::uint8_t>(leaf)));
    const double source = cost_of(signature, candidate.source, shapes, true, sizes);
    const double target = cost_of(signature, candidate.target, shapes, false, sizes);
    constexpr double kSame = 1e-9;
    gain.forwards = gain.forwards || target < source * (1 - kSame);
    gain.backwards = gain.backwards || source < target * (1 - kSame);
  }
  return gain;
}

}  // namespace xflow::generator
