// Optimises a graph with a rule of the caller beside the built-in ones. The rule is proved before it is applied; a rule
// that is wrong is an error. A kernel costs a nanosecond for each of its operators: nothing is timed, so that the result
// is the same on every machine.
#include <xflow/all.h>

#include <cstdio>
#include <string>

namespace {

// tanh(x) + tanh(-x) = 0, since tanh is odd; written as x - x.
constexpr const char* kRule = R"(rule sum-of-opposite-tangents
  with
    x: [A..]
  source
    y = tanh(x) + tanh(-x)
  target
    y = tanh(x) - tanh(x)
)";

// 1 + x is not x.
constexpr const char* kWrong = R"(rule wrong
  with
    x: [A..]
  source
    y = 1 + x
  target
    y = x
)";

xflow::Result<xflow::Nanoseconds> cost(const xflow::Kernel& kernel) { return xflow::Nanoseconds(1.0 + static_cast<double>(kernel.fused.size())); }

int fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  return 1;
}

}  // namespace

int main() {
  xflow::GraphBuilder builder;
  const xflow::Value x = builder.input("x", xflow::DataType::float32, {"N", 64});
  const xflow::Value positive = builder.apply("tanh", {x});
  const xflow::Value negative = builder.apply("tanh", {builder.apply("neg", {x})});
  builder.output("y", builder.apply("add", {positive, negative}));
  const auto graph = builder.build();
  if (!graph) return fail(graph.error().text());

  const auto shipped = xflow::RuleSet::shipped();
  if (!shipped) return fail(shipped.error().text());
  xflow::OptimizeOptions options;
  options.search.max_states = 100;
  options.search.rule_text = shipped->text() + "\n" + kRule;
  options.device.own = xflow::device_of("operators 1", cost);
  const auto better = xflow::optimize(*graph, options);
  if (!better) return fail(better.error().text());
  for (const xflow::RewriteStep& step : better->report.search.steps) std::printf("%s at %s\n", step.rule.c_str(), step.where.c_str());

  options.search.rule_text = kWrong;
  const auto refused = xflow::optimize(*graph, options);
  if (refused) return fail("a wrong rule was applied");
  std::printf("%s\n", refused.error().text().c_str());
  return 0;
}
