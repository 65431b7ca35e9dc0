// Prices fall when work goes away, whatever was measured.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "src/cost/cost_model.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"
#include "tests/kernels/random_device.h"

namespace xflow::cost {
namespace {

using ir::Attributes;
using ir::Graph;
using ir::ValueId;

// Chains of one anchor or none and up to four operators after it, and the same chains without some of these.
class Chains {
 public:
  explicit Chains(std::uint64_t seed) : random_(seed) {}

  struct Chain {
    ValueId start;
    std::vector<std::function<ValueId(ValueId)>> links;
    Graph graph() const { return without(0); }
    // Bit k of `removed`: link k is not there.
    Graph without(std::uint32_t removed) const {
      ValueId value = start;
      for (std::size_t k = 0; k < links.size(); ++k) {
        if ((removed >> k & 1U) == 0) value = links[k](value);
      }
      return Graph{{value}};
    }
  };

  Chain chain() {
    Chain chain;
    const int kind = pick(3);
    dims_ = kind == 0 ? std::vector<std::int64_t>{2, 8, 5, 6} : std::vector<std::int64_t>{6, 8};
    chain.start = input(dims_);
    std::size_t links = static_cast<std::size_t>(1 + pick(5));
    if (kind == 0) {
      const std::int64_t kernel = 1 + 2 * pick(2);
      const std::int64_t pad = kernel / 2;
      Attributes attributes;
      attributes.set("strides", ir::polys(std::vector<std::int64_t>{1, 1}));
      attributes.set("pads", ir::polys(std::vector<std::int64_t>{pad, pad, pad, pad}));
      attributes.set("dilations", ir::polys(std::vector<std::int64_t>{1, 1}));
      attributes.set("groups", ir::Poly(1));
      chain.start = op("conv", {chain.start, constant({8, 8, kernel, kernel})}, attributes);
    } else if (kind == 1) {
      chain.start = op("matmul", {chain.start, constant({8, 8})});
    }
    if (kind < 2) links = std::min<std::size_t>(links, 4);
    for (std::size_t k = 0; k < links; ++k) chain.links.push_back(link());
    return chain;
  }

  int pick(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  const ir::Arena& arena() const { return arena_; }

 private:
  std::function<ValueId(ValueId)> link() {
    constexpr std::array<const char*, 6> kUnary = {"relu", "exp", "abs", "tanh", "sqrt", "neg"};
    constexpr std::array<const char*, 5> kBinary = {"add", "mul", "sub", "div", "maximum"};
    const int kind = pick(8);
    if (kind < 3) return [this, name = kUnary[static_cast<std::size_t>(pick(6))]](ValueId x) { return op(name, {x}); };
    const char* name = kBinary[static_cast<std::size_t>(pick(5))];
    const std::vector<std::int64_t> channels = dims_.size() == 4 ? std::vector<std::int64_t>{1, 8, 1, 1} : std::vector<std::int64_t>{8};
    const ValueId other = kind < 6 ? constant(channels) : kind < 7 ? constant({}) : input(dims_);
    const bool first = pick(4) == 0;
    return [this, name, other, first](ValueId x) { return op(name, first ? std::vector{other, x} : std::vector{x, other}); };
  }

  ValueId input(const std::vector<std::int64_t>& dims) {
    return arena_.input(ir::TensorType{ir::DataType::float32, true, ir::polys(dims)}, next_++);
  }
  ValueId constant(std::vector<std::int64_t> dims) {
    std::size_t n = 1;
    for (const std::int64_t d : dims) n *= static_cast<std::size_t>(d);
    std::vector<double> values(n);
    for (double& value : values) value = std::uniform_real_distribution<double>(0.5, 1.5)(random_);
    return arena_.constant(ir::make_constant(ir::DataType::float32, std::move(dims), values).value());
  }
  ValueId op(const std::string& name, std::vector<ValueId> operands, Attributes attributes = {}) {
    auto value = ops::apply(arena_, name, std::move(operands), std::move(attributes));
    EXPECT_TRUE(value) << value.error().text();
    return *value;
  }

  std::mt19937_64 random_;
  ir::Arena arena_;
  std::uint32_t next_ = 0;
  std::vector<std::int64_t> dims_;
};

std::string text(CostModel& model, const Graph& graph) {
  std::string text;
  const auto regions = model.explain(graph);
  for (const CoveredRegion& region : *regions) {
    text += fmt::format("{} in {}: {}\n", region.kernel, name(region.layout), to_string(region.cost.median));
  }
  return text;
}

TEST(Price, OfAChainIsNeverBelowThatOfTheChainWithoutSomeOfIt) {
  int pairs = 0;
  int closer = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomDevice device(seed, RandomDevice::adversarial);
    Chains chains(seed);
    Database database = Database::open("", device.info());
    CostModel model(chains.arena(), device, database, [](ir::SymbolId) { return std::nullopt; });
    for (int attempt = 0; attempt < 20; ++attempt) {
      const Chains::Chain chain = chains.chain();
      // Each graph of the family against each that it contains, each asked for in a random order.
      std::map<std::uint32_t, Cost> costs;
      const std::uint32_t all = 1U << chain.links.size();
      const auto cost = [&](std::uint32_t removed) {
        const auto found = costs.find(removed);
        if (found != costs.end()) return found->second;
        return costs.emplace(removed, model.cost(chain.without(removed)).value()).first->second;
      };
      for (int pair = 0; pair < 12; ++pair) {
        const auto more = static_cast<std::uint32_t>(chains.pick(static_cast<int>(all)));
        const std::uint32_t less = more | static_cast<std::uint32_t>(chains.pick(static_cast<int>(all)));
        const Cost a = cost(less);
        const Cost b = cost(more);
        ASSERT_LE(a.time.count(), b.time.count() * (1 + 1e-12)) << "seed " << seed << ", attempt " << attempt << "\n"
                                                                << text(model, chain.without(less)) << "against\n"
                                                                << text(model, chain.without(more));
        ASSERT_EQ(a.unmeasured + b.unmeasured, 0U);
        pairs += less != more ? 1 : 0;
        closer += a.time < b.time ? 1 : 0;
      }
    }
  }
  EXPECT_GT(pairs, 5000);
  EXPECT_GT(closer, 1000);  // prices are not all the same
}

TEST(Price, IsWhatWasMeasuredWhereMeasurementsAgree) {
  // Each operator takes time of its own, and fused ones take less than apart: nothing is raised.
  const auto true_time = [](const ops::KernelSpec& spec, double) {
    return (spec.is(ops::Op::Conv) ? 100.0 : 10.0) + static_cast<double>(spec.post.size());
  };
  RandomDevice device(1, true_time);
  Chains chains(1);
  Database database = Database::open("", device.info());
  CostModel model(chains.arena(), device, database, [](ir::SymbolId) { return std::nullopt; });
  for (int attempt = 0; attempt < 50; ++attempt) {
    const auto regions = model.explain(chains.chain().graph());
    ASSERT_TRUE(regions);
    for (const CoveredRegion& region : *regions) {
      const auto posts = static_cast<double>(std::ranges::count(region.kernel, '|'));
      EXPECT_EQ(region.cost.median.count(), (region.kernel.starts_with("convolution") ? 100 : 10) + posts) << region.kernel;
    }
  }
}

}  // namespace
}  // namespace xflow::cost
