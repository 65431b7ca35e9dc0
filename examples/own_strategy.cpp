// Searches with a strategy of the caller: random walks, which take each rewrite that does not cost much time, as
// simulated annealing does at a fixed temperature. The search keeps the cheapest graph of all walks.
#include <xflow/all.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <span>
#include <vector>

namespace {

class RandomWalks final : public xflow::SearchStrategy {
 public:
  void search(xflow::SearchSpace& space) override {
    while (!space.is_over() && walks_ < kWalks) {
      ++walks_;
      walk(space);
    }
  }
  int walks() const { return walks_; }

 private:
  static constexpr int kWalks = 20;
  static constexpr int kSteps = 10;

  void walk(xflow::SearchSpace& space) {
    // A rewrite that costs a hundredth of the original's time is taken in 37 of 100 cases.
    const double temperature = space.time(space.original()).count() / 100;
    xflow::SearchState at = space.original();
    for (int step = 0; step < kSteps; ++step) {
      const std::vector<xflow::PossibleRewrite> rewrites = space.rewrites(at);
      if (rewrites.empty()) return;
      const xflow::PossibleRewrite& rewrite = rewrites[random_() % rewrites.size()];
      if (std::exp(-rewrite.change.count() / temperature) < static_cast<double>(random_()) / std::mt19937::max()) continue;
      at = space.apply(at, rewrite).value_or(at);
    }
  }

  std::mt19937 random_;  // the same numbers in every run
  int walks_ = 0;
};

int fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  return 1;
}

}  // namespace

int main() {
  // x A B + x C B: one product with B is enough, but only after the sum has become (x A + x C) B.
  xflow::GraphBuilder builder;
  const xflow::Value x = builder.input("x", xflow::DataType::float32, {64, 128});
  const auto weight = [&](float number) {
    const std::vector<float> numbers(std::size_t{128} * 128, number);
    return builder.weight(xflow::DataType::float32, {128, 128}, std::as_bytes(std::span(numbers)));
  };
  const xflow::Value b = weight(0.5F);
  const auto branch = [&](float number) { return builder.apply("matmul", {builder.apply("matmul", {x, weight(number)}), b}); };
  builder.output("y", builder.apply("add", {branch(0.25F), branch(0.75F)}));
  const auto graph = builder.build();
  if (!graph) return fail(graph.error().text());

  const auto walks = std::make_shared<RandomWalks>();
  xflow::OptimizeOptions options;
  options.search.own_strategy = walks;
  options.search.max_states = 5000;
  // A launch takes a microsecond, a million elements another one.
  options.device.own = xflow::device_of("elements 1", [](const xflow::Kernel& kernel) -> xflow::Result<xflow::Nanoseconds> {
    double elements = 0;
    for (const xflow::KernelTensor& tensor : kernel.operands) elements += static_cast<double>(tensor.dims.empty() ? 1 : tensor.dims[0] * tensor.dims.back());
    return xflow::Nanoseconds(1000 + elements / 1000);
  });
  const auto better = xflow::optimize(*graph, options);
  if (!better) return fail(better.error().text());
  const xflow::OptimizeReport& report = better->report;
  std::printf("%d walks: %.0f ns -> %.0f ns, %s\n", walks->walks(), report.predicted.before.count(), report.predicted.after.count(),
              to_string(*report.search.stop_reason));

  // The same rewrites again, without the strategy and without prices.
  xflow::OptimizeOptions again;
  again.search.replay = report.trace;
  const auto replayed = xflow::optimize(*graph, again);
  if (!replayed) return fail(replayed.error().text());
  std::printf("replayed: %zu of %zu rewrites\n", replayed->report.search.steps.size(), report.search.steps.size());
  return report.improved ? 0 : fail(report.to_text());
}
