// Prices fall when work goes away, whatever was measured.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "src/cost/cost_model.h"
#include "src/cost/kernel_estimates.h"
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

// The same for all kernels. By default nothing: then no kernel is left out but those that a price does not need.
class SameEstimate : public KernelEstimates {
 public:
  explicit SameEstimate(std::optional<Nanoseconds> time = std::nullopt) : time_(time) {}
  std::optional<Nanoseconds> at_least(const ops::KernelSpec&) override { return time_; }
  std::optional<KernelEstimate> expected(const ops::KernelSpec&, Layout) override { return std::nullopt; }

 private:
  std::optional<Nanoseconds> time_;
};

void expect_monotone(KernelEstimates* estimates) {
  int pairs = 0;
  int closer = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomDevice device(seed, RandomDevice::adversarial);
    Chains chains(seed);
    Database database = Database::open("", device.info());
    CostModel model(
        chains.arena(), device, database, [](ir::SymbolId) { return std::nullopt; }, estimates);
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

TEST(Price, OfAChainIsNeverBelowThatOfTheChainWithoutSomeOfIt) { expect_monotone(nullptr); }

TEST(Price, IsMonotoneWhereContainedKernelsAreTimedLater) {
  SameEstimate none;
  expect_monotone(&none);
}

// Times without errors: what an operator takes alone or in a kernel.
double true_time(const ops::KernelSpec& spec, double) {
  const bool anchor = spec.is(ops::Op::Conv) || spec.is(ops::Op::Matmul);
  return (anchor ? 100.0 : 10.0) + 2 * static_cast<double>(spec.post.size());
}

// A part of the true time.
class ShareOfTime : public KernelEstimates {
 public:
  explicit ShareOfTime(double share) : share_(share) {}
  std::optional<Nanoseconds> at_least(const ops::KernelSpec& spec) override { return Nanoseconds{share_ * true_time(spec, 0)}; }
  std::optional<KernelEstimate> expected(const ops::KernelSpec&, Layout) override { return std::nullopt; }

 private:
  double share_;
};

struct Family {
  std::vector<double> costs;  // of random graphs
  int timed = 0;
};

Family costs_of_family(KernelEstimates* estimates) {
  Family family;
  RandomDevice device(1, true_time);
  Chains chains(7);
  Database database = Database::open("", device.info());
  CostModel model(
      chains.arena(), device, database, [](ir::SymbolId) { return std::nullopt; }, estimates);
  for (int attempt = 0; attempt < 100; ++attempt) family.costs.push_back(model.cost(chains.chain().graph()).value().time.count());
  family.timed = device.measured;
  EXPECT_FALSE(model.is_outdated());
  return family;
}

TEST(Price, IsTheSameWithFewerTimedKernelsWhereEstimatesHold) {
  const Family all = costs_of_family(nullptr);
  SameEstimate none;
  ShareOfTime share(0.7);
  const Family without_contained = costs_of_family(&none);
  const Family bounded = costs_of_family(&share);
  EXPECT_EQ(without_contained.costs, all.costs);
  EXPECT_EQ(bounded.costs, all.costs);
  EXPECT_LT(without_contained.timed, all.timed);
  EXPECT_LT(bounded.timed, without_contained.timed / 2);
}

// relu(exp(x)) and what it contains.
struct Pair {
  Pair() {
    const ValueId x = arena.input(ir::TensorType{ir::DataType::float32, true, ir::polys(std::vector<std::int64_t>{6, 8})}, 0);
    exp = Graph{{ops::apply(arena, "exp", {x}).value()}};
    both = Graph{{ops::apply(arena, "relu", {exp.outputs[0]}).value()}};
  }
  ir::Arena arena;
  Graph exp;
  Graph both;
};

TEST(Price, OfAKernelThatIsTimedLaterIsAtMostThatOfOneThatContainsIt) {
  const Pair graphs;
  // The error of a measurement makes the smaller kernel slower.
  RandomDevice device(1, [](const ops::KernelSpec& spec, double) { return spec.post.empty() ? 103 : 100; });
  Database database = Database::open("", device.info());
  SameEstimate two_are_slower(Nanoseconds{60});
  CostModel model(
      graphs.arena, device, database, [](ir::SymbolId) { return std::nullopt; }, &two_are_slower);
  EXPECT_EQ(model.cost(graphs.both).value().time.count(), 100);
  EXPECT_FALSE(model.is_outdated());
  EXPECT_EQ(model.cost(graphs.exp).value().time.count(), 100);
  EXPECT_TRUE(model.is_outdated());
  model.forget();
  EXPECT_FALSE(model.is_outdated());
  EXPECT_EQ(model.cost(graphs.both).value().time.count(), 103);
  EXPECT_EQ(model.cost(graphs.exp).value().time.count(), 103);
  EXPECT_FALSE(model.is_outdated());
}

TEST(Price, IsWhatWasMeasuredWhereMeasurementsAgree) {
  // Each operator takes time of its own, and fused ones take less than apart: nothing is raised.
  RandomDevice device(1, [](const ops::KernelSpec& spec, double) {
    return (spec.is(ops::Op::Conv) ? 100.0 : 10.0) + static_cast<double>(spec.post.size());
  });
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

// Expects of each kernel what one of its kind takes, with an error.
class WrongByAFactor : public KernelEstimates {
 public:
  explicit WrongByAFactor(double factor) : factor_(factor) {}
  std::optional<Nanoseconds> at_least(const ops::KernelSpec&) override { return std::nullopt; }
  std::optional<KernelEstimate> expected(const ops::KernelSpec& spec, Layout layout) override {
    if (layout == Layout::any) return std::nullopt;
    return KernelEstimate{{Nanoseconds{factor_ * true_time(spec, 0)}, {}, 0, layout, layout}, 0.2};
  }

 private:
  double factor_;
};

TEST(Price, IsTheExpectedOneUntilKernelsAreTimed) {
  const Pair graphs;
  RandomDevice device(1, true_time);
  Database database = Database::open("", device.info());
  WrongByAFactor wrong(3);
  CostModel model(
      graphs.arena, device, database, [](ir::SymbolId) { return std::nullopt; }, &wrong);
  model.expect_costs(-0.5);
  EXPECT_NEAR(model.cost(graphs.both).value().time.count(), 3 * 12 * std::exp(-0.5 * 0.2), 1e-3);
  EXPECT_EQ(device.measured, 0);
  EXPECT_FALSE(model.is_timed(graphs.both));
  EXPECT_GT(model.statistics().left_out, 0U);
  EXPECT_EQ(database.size(), 0U);  // what is expected is not stored

  const std::array both = {graphs.both};
  EXPECT_TRUE(model.time_kernels(both));
  EXPECT_TRUE(model.is_timed(graphs.both));
  EXPECT_FALSE(model.time_kernels(both));
  model.forget();
  EXPECT_EQ(model.cost(graphs.both).value().time.count(), 12);
  EXPECT_EQ(static_cast<std::size_t>(device.measured), model.statistics().measured);

  model.expect_costs(std::nullopt);
  model.forget();
  EXPECT_EQ(model.cost(graphs.exp).value().time.count(), 10);
}

TEST(Price, IsTheExpectedOneWhereNoTimeIsLeft) {
  const Pair graphs;
  class Busy : public RandomDevice {
   public:
    using RandomDevice::RandomDevice;
    Result<KernelCost> measure(const ops::KernelSpec&, Layout) override { return fail(ErrorCode::limit, "cannot run it here: no time"); }
  };
  Busy device(1, true_time);
  Database database = Database::open("", device.info());
  WrongByAFactor right(1);
  CostModel model(
      graphs.arena, device, database, [](ir::SymbolId) { return std::nullopt; }, &right);
  model.expect_costs(-0.5);
  const Cost expected = model.cost(graphs.both).value();
  const std::array both = {graphs.both};
  EXPECT_FALSE(model.time_kernels(both));
  model.forget();
  EXPECT_EQ(model.cost(graphs.both).value(), expected);
  EXPECT_EQ(expected.unmeasured, 0U);
  EXPECT_FALSE(model.is_timed(graphs.both));
  const std::size_t failed = model.statistics().failed;
  EXPECT_GT(failed, 0U);
  EXPECT_EQ(model.statistics().measured, 0U);
  EXPECT_FALSE(model.time_kernels(both));  // they are not tried once more
  EXPECT_EQ(model.statistics().failed, failed);
  // Then they are refused.
  model.expect_costs(std::nullopt);
  model.forget();
  EXPECT_GT(model.cost(graphs.both).value().unmeasured, 0U);
}

}  // namespace
}  // namespace xflow::cost
