#include "src/policy/sequence_sampler.h"

#include <algorithm>
#include <utility>

#include "src/policy/distribution.h"
#include "src/policy/loss.h"

namespace xflow::policy {
namespace {

enum GraphNumber : std::size_t { encoder, decision, training };

void add_pointers(const std::vector<Matrix>& matrices, std::vector<const Matrix*>& pointers) {
  for (const Matrix& matrix : matrices) pointers.push_back(&matrix);
}

Matrix last_row_of(const Matrix& matrix) {
  Matrix result(1, matrix.columns);
  std::ranges::copy(matrix.row(matrix.rows - 1), result.values.begin());
  return result;
}

}  // namespace

Result<SequenceSampler> SequenceSampler::of(const StepEnvironment& environment, const SequenceSizes& sizes, std::span<const Matrix> weights,
                                            std::uint32_t window) {
  SequenceSampler sampler(sizes, window);
  for (const auto& graph : {sequence_encoder(sizes, weights, environment.groups()), sequence_decision(sizes, weights),
                            sequence_training(sizes, weights, environment.groups(), window)}) {
    if (!graph) return fail(graph.error());
    XFLOW_TRY(GraphGradient gradient, GraphGradient::of(*graph));
    sampler.graphs_.push_back(std::move(gradient));
  }
  for (std::uint32_t group = 0; group < environment.groups(); ++group) {
    Matrix row(1, sizes.features);
    std::ranges::copy(environment.features().row(group), row.values.begin());
    sampler.groups_.push_back(std::move(row));
    sampler.work_ += environment.seconds(group, 0);
  }
  return sampler;
}

void SequenceSampler::see(const StepEnvironment& environment, std::uint32_t group, const GroupPlaces& drawn, std::span<const double> loads,
                          std::span<float> seen) const {
  if (group > 0) seen[drawn[group - 1]] = 1;
  double bytes = 0;
  for (const GroupEdge& edge : environment.sources(group)) bytes += edge.group < group ? edge.bytes : 0;
  for (const GroupEdge& edge : environment.sources(group)) {
    if (edge.group < group && bytes > 0) seen[sizes_.devices + drawn[edge.group]] += static_cast<float>(edge.bytes / bytes);
  }
  std::ranges::transform(loads, seen.subspan(2 * sizes_.devices).begin(), [](double load) { return static_cast<float>(load); });
}

void SequenceSampler::decide(const StepEnvironment& environment, const Matrix& memory, std::uint32_t number, Batch& batch, State& state) {
  const auto group_of = [&](const SequenceRow& row) { return row.begin.value_or(0) + number; };
  Matrix seen(batch.rows.size(), kDecisionFeatures * sizes_.devices);
  for (std::size_t k = 0; k < batch.rows.size(); ++k) {
    const SequenceRow& row = rows_[batch.rows[k]];
    see(environment, group_of(row), row.drawn, batch.loads[k], seen.row(k));
  }
  batch.seen.push_back(std::move(seen));
  const Matrix* const inputs[] = {&batch.groups[number], &memory, &batch.seen[number], &state.state, &state.cell};
  std::vector<Matrix> outputs = graphs_[decision].compute(inputs);
  for (std::size_t k = 0; k < batch.rows.size(); ++k) {
    SequenceRow& row = rows_[batch.rows[k]];
    std::uint32_t& device = row.drawn[group_of(row)];
    if (&row != &rows_.back()) {
      const auto probabilities = probabilities_of(outputs[0].row(k), std::vector<bool>(sizes_.devices, true));
      const bool is_random = row.begin && number == 0;
      device = is_random ? row.random.below(static_cast<std::uint32_t>(sizes_.devices)) : choice_at(probabilities, row.random.unit());
    }
    if (work_ > 0) batch.loads[k][device] += environment.seconds(group_of(row), 0) / work_;
  }
  state = {std::move(outputs[1]), std::move(outputs[2])};
}

void SequenceSampler::draw_whole(const StepEnvironment& environment, const Matrix& memory) {
  whole_.loads.assign(whole_.rows.size(), std::vector<double>(sizes_.devices, 0));
  State state = whole_.first;
  for (std::uint32_t group = 0; group < groups_.size(); ++group) {
    followed_.push_back({last_row_of(state.state), last_row_of(state.cell)});
    spent_.push_back(whole_.loads.back());
    whole_.groups.push_back(groups_[group]);
    decide(environment, memory, group, whole_, state);
  }
}

void SequenceSampler::draw_windows(const StepEnvironment& environment, const Matrix& memory) {
  const std::size_t count = windows_.rows.size();
  windows_.first = {Matrix(count, sizes_.hidden), Matrix(count, sizes_.hidden)};
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint32_t begin = *rows_[windows_.rows[k]].begin;
    std::ranges::copy(followed_[begin].state.values, windows_.first.state.row(k).begin());
    std::ranges::copy(followed_[begin].cell.values, windows_.first.cell.row(k).begin());
    windows_.loads.push_back(spent_[begin]);
  }
  State state = windows_.first;
  for (std::uint32_t number = 0; number < window_; ++number) {
    Matrix groups(count, sizes_.features);
    for (std::size_t k = 0; k < count; ++k)
      std::ranges::copy(groups_[*rows_[windows_.rows[k]].begin + number].values, groups.row(k).begin());
    windows_.groups.push_back(std::move(groups));
    decide(environment, memory, number, windows_, state);
  }
}

void SequenceSampler::draw(const StepEnvironment& environment, std::span<const Matrix> weights, std::vector<SequenceRow> rows,
                           const GroupPlaces& best) {
  for (GraphGradient& graph : graphs_) std::ranges::copy(weights, graph.weights().begin());
  rows_ = std::move(rows);
  rows_.push_back({std::nullopt, parallel::RandomNumbers(0)});
  whole_ = {};
  windows_ = {};
  followed_.clear();
  spent_.clear();
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    rows_[k].drawn = best;
    (rows_[k].begin ? windows_ : whole_).rows.push_back(k);
  }
  std::vector<const Matrix*> inputs;
  add_pointers(groups_, inputs);
  std::vector<Matrix> encoded = graphs_[encoder].compute(inputs);
  whole_.first = {std::move(encoded[1]), std::move(encoded[2])};
  draw_whole(environment, encoded[0]);
  draw_windows(environment, encoded[0]);
}

void SequenceSampler::differentiate(std::span<const double> advantages, double imitation, double entropy, double scale,
                                    std::span<Matrix> sums) {
  std::vector<const Matrix*> inputs;
  add_pointers(groups_, inputs);
  add_pointers(whole_.seen, inputs);
  inputs.push_back(&windows_.first.state);
  inputs.push_back(&windows_.first.cell);
  for (std::uint32_t number = 0; number < window_; ++number) {
    inputs.push_back(&windows_.groups[number]);
    inputs.push_back(&windows_.seen[number]);
  }
  const std::vector<Matrix> scores = graphs_[training].compute(inputs);
  std::vector<Matrix> by_scores;
  by_scores.reserve(scores.size());
  const auto add_losses = [&](const Batch& batch, std::uint32_t number) {
    Matrix by(batch.rows.size(), sizes_.devices);
    for (std::size_t k = 0; k < batch.rows.size(); ++k) {
      const SequenceRow& row = rows_[batch.rows[k]];
      const double advantage = &row == &rows_.back() ? imitation : advantages[batch.rows[k]];
      const auto probabilities = probabilities_of(scores[by_scores.size()].row(k), std::vector<bool>(sizes_.devices, true));
      set_loss(probabilities, row.drawn[row.begin.value_or(0) + number], advantage, entropy, scale, by.row(k));
    }
    by_scores.push_back(std::move(by));
  };
  for (std::uint32_t group = 0; group < groups_.size(); ++group) add_losses(whole_, group);
  for (std::uint32_t number = 0; number < window_; ++number) add_losses(windows_, number);
  graphs_[training].differentiate(by_scores, sums);
}

}  // namespace xflow::policy
