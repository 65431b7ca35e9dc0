// Files of the weights of a network and of the state of their training.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "src/eval/npz.h"
#include "src/eval/tensor.h"
#include "src/policy/matrix.h"
#include "src/policy/placement_network.h"
#include "src/policy/policy_file.h"

namespace xflow::policy {

constexpr std::int64_t kPolicyVersion = 1;  // of the format

// An .npz file: "policy" has the header, "training" the steps and the seed, "score" the best score. Each
// weight has an array of its name, and three more with the prefixes "last/", "moment/" and "variance/".
// `more` arrays follow. Equal arguments give equal bytes. Errors: io.
Result<void> write_weight_lists(const std::string& path, std::span<const std::int64_t> header, std::span<const WeightSize> sizes,
                                const std::vector<Matrix>& weights, const TrainingState& training,
                                std::span<const eval::NpzArray> more = {});

class WeightListReader {
 public:
  // A file, or a shipped policy (shipped_policies.h). Errors: io; unreadable for a file that is no .npz
  // file; invalid_argument for a shipped policy that is not there.
  static Result<WeightListReader> open(const std::string& path);

  // The method in the header, whose first numbers are kPolicyVersion and the method. Errors: unreadable for
  // another version or method, and for a file without a header.
  Result<PolicyMethod> method() const;
  // Errors: also unreadable for a policy of another method than `expected`.
  Result<void> check_method(PolicyMethod expected) const;
  // The number of elements of an array. Errors: unreadable if it is not there.
  Result<std::size_t> count(const std::string& name) const;
  // Errors: unreadable for an array that is not there, of another size, or of other or infinite numbers.
  Result<std::vector<std::int64_t>> integers(const std::string& name, std::size_t count) const;
  Result<std::vector<double>> numbers(const std::string& name, std::size_t count) const;
  // All but the header. Errors: likewise.
  Result<void> read(std::span<const WeightSize> sizes, std::vector<Matrix>& weights, TrainingState& training) const;

 private:
  WeightListReader(std::string path, std::map<std::string, eval::Tensor> arrays) : path_(std::move(path)), arrays_(std::move(arrays)) {}
  Result<const eval::Tensor*> find(const std::string& name) const;

  std::string path_;
  std::map<std::string, eval::Tensor> arrays_;
};

}  // namespace xflow::policy
