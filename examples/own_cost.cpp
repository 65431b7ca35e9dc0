// Searches with a cost function of the caller: here the floating point operations of a kernel, and a fixed price for
// each launch, but none for moving data. Nothing is timed, so that the result is the same on every machine.
#include <xflow/all.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

double elements(const xflow::KernelTensor& tensor) {
  double count = 1;
  for (const std::int64_t dim : tensor.dims) count *= static_cast<double>(dim);
  return count;
}

// A launch takes a microsecond, an operation a picosecond.
xflow::Result<xflow::Nanoseconds> cost(const xflow::Kernel& kernel) {
  if (kernel.name == "none" || kernel.name == "copy") return xflow::Nanoseconds(0);
  double operations = elements(kernel.results[0]) * static_cast<double>(1 + kernel.fused.size());
  if (kernel.name == "matmul") operations += 2 * elements(kernel.results[0]) * static_cast<double>(kernel.operands[0].dims.back());
  return xflow::Nanoseconds(1000 + operations / 1000);
}

int fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  return 1;
}

}  // namespace

int main() {
  // Two products of one operand, which one launch can do.
  xflow::GraphBuilder builder;
  const xflow::Value x = builder.input("x", xflow::DataType::float32, {64, 32});
  for (const char* name : {"a", "b"}) {
    const std::vector<float> numbers(std::size_t{32} * 16, name[0] == 'a' ? 0.5F : 0.25F);
    const xflow::Value w = builder.weight(xflow::DataType::float32, {32, 16}, std::as_bytes(std::span(numbers)));
    builder.output(name, builder.apply("matmul", {x, w}));
  }
  const auto graph = builder.build();
  if (!graph) return fail(graph.error().text());

  xflow::OptimizeOptions options;
  options.search.max_states = 200;
  options.search.max_growth = 1;
  options.device.own = xflow::device_of("operations 1", cost);
  const auto better = xflow::optimize(*graph, options);
  if (!better) return fail(better.error().text());
  const xflow::PredictedTimes& times = better->report.predicted;
  std::printf("%s: %.0f ns -> %.0f ns\n", better->report.device.c_str(), times.before.count(), times.after.count());
  for (const xflow::RewriteStep& step : better->report.search.steps) std::printf("%s\n", step.rule.c_str());
  return better->report.improved ? 0 : fail(better->report.to_text());
}
