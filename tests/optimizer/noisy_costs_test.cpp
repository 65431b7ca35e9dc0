// Errors of measurement do not decide what a search makes of a model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "src/cost/cost_model.h"
#include "src/cost/incremental_cost.h"
#include "src/cost/kernel_estimates.h"
#include "src/ops/operator.h"
#include "src/optimizer/load_rules.h"
#include "src/optimizer/remeasured_search.h"
#include "src/optimizer/run.h"
#include "src/search/rule_rewriter.h"
#include "tests/kernels/random_device.h"

namespace xflow::api {
namespace {

using ir::Attributes;
using ir::ValueId;

class NoisyCosts : public ::testing::Test {
 protected:
  ValueId op(const std::string& name, std::vector<ValueId> operands, Attributes attributes = {}) {
    auto value = ops::apply(arena, name, std::move(operands), std::move(attributes));
    EXPECT_TRUE(value) << value.error().text();
    return *value;
  }
  ValueId constant(std::vector<std::int64_t> dims, double least = 0.5) {
    std::size_t n = 1;
    for (const std::int64_t d : dims) n *= static_cast<std::size_t>(d);
    std::vector<double> values(n);
    for (double& value : values) value = std::uniform_real_distribution<double>(least, 1.5)(random_);
    return arena.constant(ir::make_constant(ir::DataType::float32, std::move(dims), values).value());
  }
  ValueId number(double value) { return arena.constant(ir::make_constant(ir::DataType::float32, {}, std::vector<double>{value}).value()); }

  // A block of convolution, batch normalisation and a hard swish exported out.
  ir::Graph block() { return ir::Graph{{blocks({3})[0]}}; }
  // Two of them, and their sum.
  ir::Graph network() {
    const std::vector<ValueId> both = blocks({3, 16});
    return ir::Graph{{op("add", {both[0], both[1]})}};
  }
  // Each reads the one before; each number is that of the channels which it reads.
  std::vector<ValueId> blocks(const std::vector<std::int64_t>& read) {
    ValueId value = arena.input(ir::TensorType{ir::DataType::float32, true, ir::polys(std::vector<std::int64_t>{1, 3, 32, 32})}, 0);
    std::vector<ValueId> blocks;
    for (const std::int64_t channels : read) {
      Attributes attributes;
      attributes.set("strides", ir::polys(std::vector<std::int64_t>{1, 1}));
      attributes.set("pads", ir::polys(std::vector<std::int64_t>{1, 1, 1, 1}));
      attributes.set("dilations", ir::polys(std::vector<std::int64_t>{1, 1}));
      attributes.set("groups", ir::Poly(1));
      const ValueId convolved = op("conv", {value, constant({16, channels, 3, 3}, -0.5)}, attributes);
      const ValueId normal = op("add", {op("mul", {convolved, constant({16, 1, 1})}), constant({16, 1, 1})});
      const ValueId clipped = op("clip", {op("add", {normal, number(3)})}, {{"min", ir::Real(0)}, {"max", ir::Real(6)}});
      value = op("div", {op("mul", {normal, clipped}), number(6)});
      blocks.push_back(value);
    }
    return blocks;
  }

  // How many multiplications by a constant follow a convolution.
  std::size_t scales_after_convolutions(const ir::Graph& graph) const {
    std::size_t count = 0;
    for (const ir::NodeId id : ir::topological_order(arena, graph)) {
      const ir::Node& node = arena.node(id);
      if (node.kind != ir::NodeKind::operation || node.is_constant || ops::get(node.op).signature.name != "mul") continue;
      const bool constant = std::ranges::any_of(node.operands, [&](ValueId v) { return arena.is_constant(v); });
      const bool convolution = std::ranges::any_of(node.operands, [&](ValueId v) {
        const ir::Node& source = arena.node(v);
        return source.kind == ir::NodeKind::operation && ops::get(source.op).signature.name == "conv";
      });
      if (constant && convolution) ++count;
    }
    return count;
  }

  ir::Arena arena;

 private:
  std::mt19937_64 random_{0};
};

TEST_F(NoisyCosts, KeepNoBatchNormalisationThatFoldsIntoItsConvolution) {
  const ir::Graph graph = network();
  ASSERT_EQ(scales_after_convolutions(graph), 2U);
  const auto rules = load_rules({});
  ASSERT_TRUE(rules) << rules.error().text();
  std::set<double> predicted;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    // Errors of 30 %, and times that say nothing at all.
    cost::RandomDevice device(seed, seed % 3 == 0 ? cost::RandomDevice::adversarial : cost::RandomDevice::noisy);
    cost::Database database = cost::Database::open("", device.info());
    cost::CostModel model(arena, device, database, [](ir::SymbolId) { return std::nullopt; });
    search::RuleRewriter rewriter(*rules, rules::MatchOptions{});
    search::Options options;
    options.max_states = 200;
    options.per_operation = Nanoseconds{0.05};
    const auto follow = [&](const ir::WorkGraph& work) { return model.follow(work); };
    const search::Outcome outcome = search::search(arena, graph, rewriter, follow, options);
    EXPECT_EQ(scales_after_convolutions(outcome.best), 0U) << "seed " << seed;
    predicted.insert(outcome.after.count());
  }
  EXPECT_EQ(predicted.size(), 24U);  // the devices differ
}

// One search on a device of its own, with a budget that is used up.
struct Searched {
  search::Outcome outcome;
  cost::CostStatistics kernels;
  int measured = 0;
};

class Spikes : public NoisyCosts {
 protected:
  // With a bound if a graph is given for it.
  Searched run(cost::Database& database, std::function<double(int)> slowdowns, bool tells = true,
               std::optional<ir::Graph> bounded = std::nullopt) {
    cost::RandomDevice device(7, cost::RandomDevice::noisy);
    device.slowdowns = std::move(slowdowns);
    device.tells = tells;
    cost::CostModel model(arena, device, database, [](ir::SymbolId) { return std::nullopt; });
    model.allow_remeasuring(1e9);
    search::RuleRewriter rewriter(rules_, rules::MatchOptions{});
    search::Options options;
    options.max_states = 60;
    options.bound_states = bounded ? 10'000 : 0;
    options.per_operation = Nanoseconds{0.05};
    return {remeasured_search(arena, bounded.value_or(graph_), model, rewriter, options).value(), model.statistics(), device.measured};
  }
  Searched run(std::function<double(int)> slowdowns, bool tells = true) {
    cost::Database database = cost::Database::open("", {});
    return run(database, std::move(slowdowns), tells);
  }
  static std::function<double(int)> spike(int at) {
    return [at](int number) { return number == at ? 8.0 : 0.0; };
  }

  const ir::Graph graph_ = network();
  const rules::VerifiedRules rules_ = load_rules({}).value();
};

TEST_F(Spikes, DuringTheFirstMeasurementOfAKernelDoNotChangeTheResult) {
  const Searched quiet = run(nullptr);
  ASSERT_LT(quiet.outcome.after, quiet.outcome.before);
  ASSERT_GT(quiet.outcome.states, 30U);  // the search is interrupted half way
  ASSERT_GT(quiet.measured, 20);
  int deceived = 0;
  for (int kernel = 1; kernel <= quiet.measured; ++kernel) {
    const Searched run = this->run(spike(kernel));
    EXPECT_EQ(run.outcome.best, quiet.outcome.best) << "spike at measurement " << kernel;
    EXPECT_EQ(run.outcome.after, quiet.outcome.after);
    EXPECT_EQ(run.kernels.with_interference, 1U);
    EXPECT_EQ(run.kernels.timed_again, 1U);
    EXPECT_EQ(run.kernels.provisional, 0U);
    // A device that does not notice is deceived, at some kernel at least.
    if (deceived == 0 && !(this->run(spike(kernel), false).outcome.best == quiet.outcome.best)) ++deceived;
  }
  EXPECT_GT(deceived, 0);
}

TEST_F(Spikes, AsLongAsTheFirstSearchDoNotChangeTheResultEither) {
  const Searched quiet = run(nullptr);
  const Searched noisy = run([&](int number) { return number <= quiet.measured ? 1.0 + number % 7 : 0.0; });
  EXPECT_EQ(noisy.outcome.best, quiet.outcome.best);
  EXPECT_EQ(noisy.outcome.after, quiet.outcome.after);
  EXPECT_EQ(noisy.kernels.provisional, 0U);
}

TEST_F(Spikes, LeaveADatabaseThatGivesTheSameResultAgain) {
  cost::Database database = cost::Database::open("", {});
  const Searched first = run(database, [](int number) { return number % 3 == 0 ? 2.0 : 0.0; });
  const Searched second = run(database, nullptr);
  EXPECT_EQ(second.measured, static_cast<int>(first.kernels.provisional));
  const Searched third = run(database, nullptr);
  EXPECT_EQ(third.measured, 0);
  EXPECT_EQ(third.kernels.known, second.kernels.known + second.kernels.measured);
  EXPECT_EQ(third.outcome.best, second.outcome.best);
  EXPECT_EQ(third.outcome.after, second.outcome.after);
  EXPECT_EQ(third.outcome.states, second.outcome.states);
}

// The machine is never calm, in no way twice the same: it ends, and with no result that costs more than the original by its last costs.
TEST_F(Spikes, WithoutEndDoNotMakeTheSearchEndless) {
  const Searched run = this->run([](int number) { return 5.0 / number + 0.2; });
  EXPECT_LE(run.outcome.after, run.outcome.before);
  EXPECT_GT(run.kernels.provisional, 0U);
  EXPECT_LE(run.measured, 8 * static_cast<int>(run.kernels.measured));
}

TEST_F(Spikes, WithoutEndLeaveABoundOfTheCostsOfTheResult) {
  const ir::Graph graph = block();
  for (const double first : {0.5, 5.0, 50.0}) {
    cost::Database database = cost::Database::open("", {});
    const Searched run = this->run(
        database, [&](int number) { return first / number + 0.2; }, true, graph);
    ASSERT_TRUE(run.outcome.bound) << first;
    EXPECT_EQ(run.outcome.bound->parts, 1U) << first;
    EXPECT_EQ(run.outcome.bound->open_parts, 0U) << first;
    EXPECT_LT(run.outcome.after, run.outcome.before) << first;
    EXPECT_NEAR(run.outcome.bound->time.count(), run.outcome.after.count(), 1) << first;
  }
}

// Expects of each kernel its time with an error of its own.
class ErringEstimates : public cost::KernelEstimates {
 public:
  ErringEstimates(double factor, double spread) : factor_(factor), spread_(spread) {}
  std::optional<Nanoseconds> at_least(const ops::KernelSpec&) override { return std::nullopt; }
  std::optional<cost::KernelEstimate> expected(const ops::KernelSpec& spec, cost::Layout layout) override {
    if (layout == cost::Layout::any) return std::nullopt;
    std::mt19937_64 random(std::hash<std::string>()(ops::to_string(spec)));
    const double error = std::uniform_real_distribution<double>(-spread_, spread_)(random);
    const double time = factor_ * std::exp(error) * cost::RandomDevice::noisy(spec, 0.5);
    return cost::KernelEstimate{{Nanoseconds{time}, {}, 0, layout, layout}, spread_ + 0.01};
  }

 private:
  double factor_;
  double spread_;
};

class ExpectedCosts : public NoisyCosts {
 protected:
  // Times without errors.
  static double time_of(const ops::KernelSpec& spec, double) { return cost::RandomDevice::noisy(spec, 0.5); }

  struct Found {
    search::Outcome outcome;
    cost::CostStatistics kernels;
    double true_time = 0;  // of the result, with all kernels timed
    double seconds = 0;    // by a clock that goes on when it is read
  };
  // `most`: as many measurements are possible, and then only those of kernels that choose their layouts.
  Found run(cost::KernelEstimates* estimates, int most = 1'000'000, std::size_t finalists = 1,
            std::optional<double> seconds = std::nullopt) {
    class Limited : public cost::RandomDevice {
     public:
      Limited(int most, Times times) : RandomDevice(7, std::move(times)), most_(most) {}
      Result<cost::KernelCost> measure(const ops::KernelSpec& spec, cost::Layout layout) override {
        if (layout != cost::Layout::any && measured >= most_) return fail(ErrorCode::limit, "cannot run it here: no time");
        return RandomDevice::measure(spec, layout);
      }

     private:
      int most_;
    };
    Limited device(most, time_of);
    cost::Database database = cost::Database::open("", device.info());
    const ir::Symbols::Valuation sizes = [](ir::SymbolId) { return std::nullopt; };
    cost::CostModel model(arena, device, database, sizes, estimates);
    search::RuleRewriter rewriter(rules_, rules::MatchOptions{});
    search::Options options;
    options.max_states = 200;
    options.per_operation = Nanoseconds{0.05};
    options.finalists = finalists;
    double clock = 0;
    if (seconds) {
      options.max_states = 1'000'000;
      options.max_seconds = *seconds;
      options.seconds = [&clock] { return clock += 0.001; };
    }
    Found found{remeasured_search(arena, graph_, model, rewriter, options).value(), model.statistics(), 0, 0};
    found.seconds = clock;
    cost::RandomDevice calm(7, time_of);
    cost::Database empty = cost::Database::open("", calm.info());
    found.true_time = cost::CostModel(arena, calm, empty, sizes).cost(found.outcome.best).value().time.count();
    return found;
  }

  const ir::Graph graph_ = network();
  const rules::VerifiedRules rules_ = load_rules({}).value();
};

TEST_F(ExpectedCosts, LeadToTheResultOfTimedKernelsWithFewerTimings) {
  const Found all = run(nullptr);
  ASSERT_LT(all.outcome.after, all.outcome.before);
  ASSERT_EQ(all.kernels.left_out, 0U);
  // Right, and wrong to either side.
  for (const double factor : {1.0, 0.5, 2.0}) {
    ErringEstimates estimates(factor, 0.3);
    const Found found = run(&estimates);
    EXPECT_NEAR(found.true_time, all.true_time, 1e-6 * all.true_time) << factor;
    EXPECT_NEAR(found.outcome.after.count(), found.true_time, 1e-3 * found.true_time) << factor;
    EXPECT_LT(found.kernels.measured, all.kernels.measured) << factor;
    EXPECT_GT(found.kernels.left_out, 0U) << factor;
  }
}

TEST_F(ExpectedCosts, ThatAreFarOffDoNotMakeAResultThatIsSlower) {
  const Found all = run(nullptr);
  for (const double factor : {0.01, 0.1, 10.0, 100.0}) {
    ErringEstimates estimates(factor, 2);
    const Found found = run(&estimates);
    EXPECT_LE(found.true_time, all.outcome.before.count() * (1 + 1e-9)) << factor;
    EXPECT_NEAR(found.outcome.after.count(), found.true_time, 1e-3 * found.true_time) << factor;
  }
}

TEST_F(ExpectedCosts, DecideAloneOnlyIfTheResultIsRunAsAWhole) {
  ErringEstimates estimates(1, 0.001);
  const Found none = run(nullptr, 0);
  const Found unchecked = run(&estimates, 0);
  EXPECT_EQ(unchecked.outcome.after, none.outcome.after);  // the kernels are refused
  EXPECT_EQ(unchecked.true_time, none.true_time);
  const Found checked = run(&estimates, 0, 3);
  EXPECT_GT(checked.kernels.failed, 0U);
  EXPECT_FALSE(checked.outcome.steps.empty());
  EXPECT_NEAR(checked.true_time, run(nullptr).true_time, 1e-2 * checked.true_time);
}

TEST_F(ExpectedCosts, AreDoneWithWithinTheSeconds) {
  const Found all = run(nullptr);
  for (const double seconds : {0.1, 0.3, 1.0, 4.0, 16.0}) {
    ErringEstimates estimates(1, 0.3);
    const Found found = run(&estimates, 1'000'000, 1, seconds);
    EXPECT_GT(found.kernels.measured, 0U);
    EXPECT_LE(found.seconds, seconds + seconds_to_restart(found.outcome) + 0.1) << seconds;
    EXPECT_LE(found.true_time, all.outcome.before.count()) << seconds;
    EXPECT_NEAR(found.outcome.after.count(), found.true_time, 1e-3 * found.true_time) << seconds;
    EXPECT_NE(found.outcome.stop, search::StopReason::costs_changed) << seconds;
  }
}

}  // namespace
}  // namespace xflow::api
