#include "src/equivalence/more_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "src/equivalence/compared_integers.h"
#include "src/equivalence/model_runs.h"
#include "src/validation/check_inputs.h"

namespace xflow::equivalence {
namespace {

// Open sizes of the runs, in turn, and those that are tried if no run at these has results: of models whose
// batch is not the first dimension of each input (states of recurrent nodes).
constexpr std::array<api::OpenSizes, 3> kSizes = {{{1, 128, 128}, {2, 48, 48}, {3, 16, 16}}};
constexpr std::array<api::OpenSizes, 3> kOtherSizes = {{{1, 1, 256}, {2, 2, 128}, {3, 3, 512}}};
constexpr std::uint64_t kRuns = 12;
// The elements of inputs that are all the same.
constexpr std::array<double, 6> kSame = {0.5, -0.5, 1, -1, 0.125, 2};
constexpr std::uint64_t kChanges = 4;  // of such inputs

double magnitude_of(const eval::Tensor& tensor) {
  double magnitude = 0;
  if (const auto elements = eval::doubles(tensor))
    for (const double element : *elements)
      if (std::isfinite(element)) magnitude = std::max(magnitude, std::abs(element));
  return magnitude;
}

// Sets all floating-point elements of the inputs.
void fill(ModelRun& run, double element) {
  for (auto& [input, tensor] : run.inputs) {
    if (!ir::is_floating(tensor.data_type)) continue;
    std::vector<double> elements(tensor.count(), element);
    tensor = eval::Tensor::of_doubles(tensor.data_type, tensor.dims, std::move(elements));
  }
  run.label += fmt::format(", all floating-point elements {}", element);
}

// Sets the inputs that are compared with integers to one of them, all elements the same.
void choose_compared(ModelRun& run, TwoModels& models, std::uint64_t choice) {
  const auto integers = compared_integers(models.arena(), models.a().graph);
  const onnx_io::LiftedModel& lifted = models.a().lifted;
  for (std::size_t k = 0; k < lifted.inputs.size(); ++k) {
    const auto compared = integers.find(lifted.inputs[k]);
    const auto tensor = run.inputs.find(lifted.inputs[k]);
    if (compared == integers.end()) continue;
    const std::vector<std::int64_t>& choices = compared->second;
    if (tensor == run.inputs.end()) continue;
    const std::int64_t chosen = choices[choice % choices.size()];
    std::vector<std::int64_t> elements(tensor->second.count(), chosen);
    tensor->second = eval::Tensor::of_integers(tensor->second.data_type, tensor->second.dims, std::move(elements));
    run.label += fmt::format(", all elements of '{}' {}", lifted.input_names[k], chosen);
  }
}

// Results of A in double on changed inputs; nothing if one of them cannot be computed.
std::optional<std::vector<std::vector<eval::Tensor>>> moved(ModelRuns& runs, const ModelRun& run, std::uint64_t seed,
                                                            std::uint64_t changes) {
  std::vector<std::vector<eval::Tensor>> results;
  for (std::uint64_t k = 0; k < changes; ++k) {
    eval::Bindings near;
    for (const auto& [input, tensor] : run.inputs) {
      auto changed = api::perturbed(tensor, seed + k);
      if (!changed) return std::nullopt;
      near.emplace(input, *std::move(changed));
    }
    auto result = runs.of_a(near);
    if (!result) return std::nullopt;
    results.push_back(*std::move(result));
  }
  return results;
}

}  // namespace

void Noise::add(double error, double magnitude) {
  if (magnitude > 0) share_ = std::max(share_, error / magnitude);
}

bool Noise::explains(double error, double magnitude) const {
  const eval::Tolerance tolerance;
  return error <= (tolerance.own_error_factor * share_ + tolerance.magnitude_factor) * magnitude;
}

std::unique_ptr<TwoModels> MoreRuns::at(const std::vector<InputShape>& sizes) const {
  auto models = TwoModels::open(a_, b_, options_, stop_, sizes);
  if (!models) return nullptr;
  const auto same = (*models)->same_interface();
  return same && *same && (*models)->join() ? *std::move(models) : nullptr;
}

std::vector<std::unique_ptr<TwoModels>> MoreRuns::at_each(std::span<const api::OpenSizes> choices) {
  std::vector<std::unique_ptr<TwoModels>> at_sizes;
  for (const api::OpenSizes& open : choices) {
    const auto sizes = models_.sizes(options_, open);
    const auto is_same = [&](const std::vector<InputShape>& known) {
      return std::ranges::equal(known, *sizes, [](const InputShape& x, const InputShape& y) { return x.dims == y.dims; });
    };
    if (!sizes || std::ranges::any_of(tried_, is_same)) continue;
    tried_.push_back(*sizes);
    if (auto models = at(*sizes)) at_sizes.push_back(std::move(models));
  }
  return at_sizes;
}

std::optional<FoundDifference> MoreRuns::find_difference() {
  drawn_.resize(models_.a().graph.outputs.size());
  for (const auto& choices : {kSizes, kOtherSizes}) {
    const std::string reason = std::exchange(why_not_run_, {});
    if (auto found = find_difference(at_each(choices))) return found;
    if (has_results_ || stop_()) break;
    if (!reason.empty()) why_not_run_ = reason;
  }
  return std::nullopt;
}

std::optional<FoundDifference> MoreRuns::find_difference(const std::vector<std::unique_ptr<TwoModels>>& at_sizes) {
  const bool has_floats = std::ranges::any_of(models_.a().lifted.inputs,
                                              [&](ir::ValueId input) { return ir::is_floating(models_.arena().type(input).data_type); });
  for (std::uint64_t k = 0; k < kRuns && !at_sizes.empty(); ++k) {
    if (k == at_sizes.size() && !has_results_) break;
    TwoModels& models = *at_sizes[k % at_sizes.size()];
    // The runs at all sizes draw the integers of inputs, and choose compared ones, in turn.
    const std::uint64_t round = k / at_sizes.size();
    const auto choice = round % 2 == 1 ? std::optional(round / 2) : std::nullopt;
    if (has_floats && !stop_())
      if (auto found = run(models, options_.seed + k, kSame[k % kSame.size()], choice)) return found;
    if (stop_()) break;
    if (auto found = run(models, options_.seed + k, std::nullopt, choice)) return found;
  }
  return std::nullopt;
}

std::optional<FoundDifference> MoreRuns::run(TwoModels& models, std::uint64_t seed, std::optional<double> same,
                                             std::optional<std::uint64_t> choice) {
  VerifyModelsOptions options = options_;
  options.shapes.clear();  // they are numbers in the models
  options.seed = seed;
  auto run = models.run(options);
  if (!run || !api::take_sizes(models.arena(), models.a().graph, run->options.symbols)) return std::nullopt;
  if (same) fill(*run, *same);
  if (choice) choose_compared(*run, models, *choice);
  ModelRuns runs(models, *run);
  const auto results = runs.results();
  if (why_not_run_.empty()) why_not_run_ = runs.why_not_run();
  if (!results) return std::nullopt;
  has_results_ = true;
  const std::vector<std::size_t>& outputs = results->outputs;
  FoundDifference found{run->label, std::vector<std::optional<eval::Comparison>>(models.a().graph.outputs.size())};
  bool differs = false;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    found.outputs[outputs[k]] = eval::compare(results->reference[k], results->own[k], results->actual[k]);
    differs = !found.outputs[outputs[k]]->agrees || differs;
  }
  const auto changed = differs ? moved(runs, *run, seed, same ? kChanges : 1) : std::nullopt;
  if (!changed) return std::nullopt;
  differs = false;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    std::optional<eval::Comparison>& result = found.outputs[outputs[k]];
    const eval::Tensor& reference = results->reference[k];
    const eval::Tensor& own = results->own[k];
    const double magnitude = magnitude_of(reference);
    Noise alone;
    Noise& noise = same ? alone : drawn_[outputs[k]];
    noise.add(eval::compare(reference, own, own).error, magnitude);
    const bool is_steady = std::ranges::all_of(*changed, [&](const std::vector<eval::Tensor>& other) {
      const eval::Comparison itself = eval::compare(reference, own, other[k]);
      if (std::isfinite(itself.error)) noise.add(itself.error, magnitude);
      return itself.agrees;
    });
    if (!result->agrees && (!is_steady || noise.explains(result->error, magnitude))) result.reset();
    differs = differs || (result && !result->agrees);
  }
  return differs ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace xflow::equivalence
