#include "src/validation/check_sample.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "src/validation/original_run.h"

namespace xflow::api {
namespace {

// What the model takes that takes more.
Result<RunBounds> needs_of(Runnable& a, Runnable& b, const InputSet& set, std::size_t k, const eval::Sample& sample) {
  XFLOW_TRY(const RunBounds first, a.needs(set, k, sample));
  XFLOW_TRY(const RunBounds second, b.needs(set, k, sample));
  return RunBounds{std::max(first.work, second.work), std::max(first.elements, second.elements)};
}

bool is_within(const RunBounds& needs, const RunBounds& bounds) { return needs.work <= bounds.work && needs.elements <= bounds.elements; }

// No samples if one element of an output is beyond its share.
Result<std::vector<eval::Sample>> samples_of(Runnable& a, Runnable& b, const InputSet& set) {
  XFLOW_TRY(const auto dims, a.output_dims(set));
  XFLOW_TRY(const auto other_dims, b.output_dims(set));
  if (dims != other_dims) return std::vector<eval::Sample>();  // a whole run reports it
  std::vector<eval::Sample> samples;
  std::vector<RunBounds> needs;
  std::vector<std::uint64_t> works;
  std::vector<std::uint64_t> elements;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    samples.push_back(eval::whole(dims[k]));
    XFLOW_TRY(const RunBounds own, needs_of(a, b, set, k, samples[k]));
    works.push_back(own.work);
    elements.push_back(own.elements);
    needs.push_back(own);
  }
  const RunBounds all;
  const RunBounds share{share_of(all.work, std::move(works)), share_of(all.elements, std::move(elements))};
  for (std::size_t k = 0; k < samples.size(); ++k) {
    while (!is_within(needs[k], share)) {
      if (!eval::halve(samples[k])) return std::vector<eval::Sample>();
      XFLOW_TRY(needs[k], needs_of(a, b, set, k, samples[k]));
    }
  }
  return samples;
}

}  // namespace

std::vector<eval::Sample> choose_samples(Runnable& a, Runnable& b, const InputSet& set) {
  const auto first = a.needs(set);
  const auto second = b.needs(set);
  // A whole run reports what a model cannot compute.
  if (!first || !second || (is_within(*first, RunBounds::most()) && is_within(*second, RunBounds::most()))) return {};
  auto samples = samples_of(a, b, set);
  return samples ? *std::move(samples) : std::vector<eval::Sample>();
}

}  // namespace xflow::api
