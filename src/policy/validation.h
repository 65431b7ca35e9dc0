// What weights of a policy are compared by during a training.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "src/policy/graph_gradient.h"
#include "src/policy/matrix.h"
#include "src/policy/visit_environment.h"

namespace xflow::policy {

class Validation {
 public:
  Validation() = default;
  virtual ~Validation() = default;
  Validation(const Validation&) = delete;
  Validation& operator=(const Validation&) = delete;

  // The mean of log(value / first value) over all graphs; less is better. Errors: those of a placement.
  virtual Result<double> score(std::span<const Matrix> weights) = 0;
};

// Two passes of the most probable devices over each environment. All numbers are those of GraphGradient.
class GreedyValidation final : public Validation {
 public:
  using Environments = std::vector<std::unique_ptr<VisitEnvironment>>;
  // Errors: internal for a network without derivatives.
  static Result<std::unique_ptr<GreedyValidation>> of(Environments environments);

  Result<double> score(std::span<const Matrix> weights) override;

 private:
  GreedyValidation(Environments environments, GraphGradient encoder, GraphGradient scorer);

  Environments environments_;
  GraphGradient encoder_;
  GraphGradient scorer_;
};

}  // namespace xflow::policy
