// Expected times of kernels and their lower bounds, from the times in the database of a device.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "src/cost/database.h"
#include "src/cost/kernel_estimates.h"

namespace xflow::cost {

// Fits the model of profiles (src/devices/profile/calibration.h) to the kernels of a class that were timed,
// and fits it again when there are a quarter more. The bound lies kDeviations standard deviations of the
// errors of held-out kernels below the modelled time.
class FittedEstimates final : public KernelEstimates {
 public:
  // The database must outlive the object.
  explicit FittedEstimates(const Database& database);
  ~FittedEstimates() override;

  std::optional<Nanoseconds> at_least(const ops::KernelSpec& spec) override;
  // A kernel whose layouts the device chooses has those of the most similar kernel of its class.
  std::optional<KernelEstimate> expected(const ops::KernelSpec& spec, Layout layout) override;

  static constexpr double kDeviations = 2;

 private:
  struct Class;
  void read();
  // The class of a kernel with a model of its kernels; null if there are too few.
  Class* class_with_model(const std::string& group);

  const Database& database_;
  std::size_t read_ = 0;                  // entries of the database when it was read
  std::unordered_set<std::string> seen_;  // kernels and layouts that were read
  std::map<std::string, std::unique_ptr<Class>> classes_;
};

}  // namespace xflow::cost
