// A Problem as a Model, for the stages up to `validate`.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/optimizer/model.h"

namespace xflow::api {

// lower(), judge() and the reports do nothing. The problem must outlive the model.
class ProblemModel final : public Model {
 public:
  ProblemModel(const Problem& problem, const OptimizeOptions& options) : problem_(problem) { at_shapes_.shapes = {options.input.shapes}; }
  Result<void> lift(const OptimizeOptions& /*options*/, const RunLimits& /*limits*/, OptimizeReport& /*report*/) override { return {}; }
  Problem problem() override { return problem_; }
  const RunInputs& runs() const override { return problem_.runs == nullptr ? at_shapes_ : *problem_.runs; }
  std::vector<Simplification> simplifications() override { return {}; }
  void list_steps(const search::Finalist& /*found*/, OptimizeReport& /*report*/) const override {}
  Acceptance lower(const search::Finalist& /*found*/) override { return accepted(); }
  Acceptance judge(const Problem& /*problem*/, const search::Finalist& /*found*/, const OptimizeOptions& /*options*/,
                   const std::function<void()>& /*progress*/, OptimizeReport& /*report*/) override {
    return accepted();
  }
  std::string why_not_run(const OptimizeOptions& /*options*/) const override { return {}; }
  void count_nodes(const search::Finalist& /*found*/, std::span<const Simplification> /*simplifications*/,
                   OptimizeReport& /*report*/) const override {}

 private:
  const Problem& problem_;
  RunInputs at_shapes_;
};

}  // namespace xflow::api
