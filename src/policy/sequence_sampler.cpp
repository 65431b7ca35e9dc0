#include "src/policy/sequence_sampler.h"

#include <algorithm>
#include <utility>

#include "src/policy/distribution.h"
#include "src/policy/loss.h"

namespace xflow::policy {
namespace {

enum GraphNumber : std::size_t { encoder, decision, whole };

std::vector<const Matrix*> pointers_to(const std::vector<Matrix>& matrices) {
  std::vector<const Matrix*> result(matrices.size());
  std::ranges::transform(matrices, result.begin(), [](const Matrix& matrix) { return &matrix; });
  return result;
}

}  // namespace

Result<SequenceSampler> SequenceSampler::of(const StepEnvironment& environment, const SequenceSizes& sizes,
                                            std::span<const Matrix> weights) {
  SequenceSampler sampler(sizes);
  for (const auto& graph : {sequence_encoder(sizes, weights, environment.groups()), sequence_decision(sizes, weights),
                            sequence_whole(sizes, weights, environment.groups())}) {
    if (!graph) return fail(graph.error());
    XFLOW_TRY(GraphGradient gradient, GraphGradient::of(*graph));
    sampler.graphs_.push_back(std::move(gradient));
  }
  for (std::uint32_t group = 0; group < environment.groups(); ++group) {
    Matrix row(1, sizes.features);
    std::ranges::copy(environment.features().row(group), row.values.begin());
    sampler.groups_.push_back(std::move(row));
  }
  return sampler;
}

Matrix SequenceSampler::seen_of(const StepEnvironment& environment, std::uint32_t group, std::span<const std::vector<double>> loads) const {
  Matrix seen(rows_.size(), kDecisionFeatures * sizes_.devices);
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const std::span<float> own = seen.row(row);
    const GroupPlaces& drawn = rows_[row].drawn;
    if (group > 0) own[drawn[group - 1]] = 1;
    double bytes = 0;
    for (const GroupEdge& edge : environment.sources(group)) bytes += edge.group < group ? edge.bytes : 0;
    for (const GroupEdge& edge : environment.sources(group)) {
      if (edge.group < group && bytes > 0) own[sizes_.devices + drawn[edge.group]] += static_cast<float>(edge.bytes / bytes);
    }
    for (std::size_t device = 0; device < sizes_.devices; ++device)
      own[2 * sizes_.devices + device] = static_cast<float>(loads[row][device]);
  }
  return seen;
}

void SequenceSampler::draw(const StepEnvironment& environment, std::span<const Matrix> weights, std::vector<SequenceRow> rows,
                           const GroupPlaces& best) {
  rows_ = std::move(rows);
  for (GraphGradient& graph : graphs_) std::ranges::copy(weights, graph.weights().begin());
  const std::vector<const Matrix*> inputs = pointers_to(groups_);
  const std::vector<Matrix> encoded = graphs_[encoder].compute(inputs);
  Matrix state = encoded[1];
  Matrix cell = encoded[2];
  double work = 0;
  for (std::uint32_t group = 0; group < groups_.size(); ++group) work += environment.seconds(group, 0);
  seen_.clear();
  std::vector<std::vector<double>> loads(rows_.size(), std::vector<double>(sizes_.devices, 0));
  for (std::uint32_t group = 0; group < groups_.size(); ++group) {
    seen_.push_back(seen_of(environment, group, loads));
    const Matrix* const own[] = {&groups_[group], &encoded[0], &seen_.back(), &state, &cell};
    std::vector<Matrix> outputs = graphs_[decision].compute(own);
    for (std::size_t number = 0; number < rows_.size(); ++number) {
      SequenceRow& row = rows_[number];
      std::uint32_t device = best[group];
      if (row.contains(group)) {
        const auto probabilities = probabilities_of(outputs[0].row(number), std::vector<bool>(sizes_.devices, true));
        const bool is_random = !row.is_whole && row.begin == group;
        device = is_random ? row.random.below(static_cast<std::uint32_t>(sizes_.devices)) : choice_at(probabilities, row.random.unit());
      }
      row.drawn.push_back(device);
      if (work > 0) loads[number][device] += environment.seconds(group, 0) / work;
    }
    state = std::move(outputs[1]);
    cell = std::move(outputs[2]);
  }
}

void SequenceSampler::differentiate(std::span<const double> advantages, double entropy, double scale, std::span<Matrix> sums) {
  std::vector<const Matrix*> inputs = pointers_to(groups_);
  const std::vector<const Matrix*> seen = pointers_to(seen_);
  inputs.insert(inputs.end(), seen.begin(), seen.end());
  const std::vector<Matrix> scores = graphs_[whole].compute(inputs);
  std::vector<Matrix> by_scores;
  for (std::uint32_t group = 0; group < groups_.size(); ++group) {
    Matrix by(rows_.size(), sizes_.devices);
    for (std::size_t number = 0; number < rows_.size(); ++number) {
      const SequenceRow& row = rows_[number];
      const bool is_example = row.begin == row.end;
      if (!is_example && !row.contains(group)) continue;
      const auto probabilities = probabilities_of(scores[group].row(number), std::vector<bool>(sizes_.devices, true));
      set_loss(probabilities, row.drawn[group], advantages[number], entropy, scale, by.row(number));
    }
    by_scores.push_back(std::move(by));
  }
  graphs_[whole].differentiate(by_scores, sums);
}

}  // namespace xflow::policy
