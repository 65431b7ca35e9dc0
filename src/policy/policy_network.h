// The network of a policy, run by the interpreter of xflow.
#pragma once

#include <xflow/error.h>

#include <memory>
#include <span>
#include <vector>

#include "src/policy/matrix.h"
#include "src/policy/visit_environment.h"

namespace xflow::policy {

// Scores devices for the groups of one environment.
class PolicyNetwork {
 public:
  explicit PolicyNetwork(std::span<const Matrix> weights);
  ~PolicyNetwork();
  PolicyNetwork(const PolicyNetwork&) = delete;
  PolicyNetwork& operator=(const PolicyNetwork&) = delete;

  // Computes the embeddings of the groups, which scores() uses.
  Result<void> encode(const VisitEnvironment& environment);
  // A score for each device.
  Result<std::vector<float>> scores(const VisitEnvironment::Choices& choices);

 private:
  struct Program;
  Result<std::vector<float>> run(Program& program, std::span<const Matrix* const> inputs);

  std::unique_ptr<Program> encoder_;
  std::unique_ptr<Program> scorer_;
  Matrix embeddings_;
};

}  // namespace xflow::policy
