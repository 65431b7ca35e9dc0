// A device that is not here: it answers from a profile.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "src/devices/profile/calibration.h"
#include "src/devices/profile/profile.h"
#include "src/kernels/device.h"

namespace xflow::cost::profile {

// Kernels that the profile holds take what was measured; others what its model says, its roofline where the model has no class for them.
// What is fused, and in which layouts kernels work, is what the profile holds: a chain of operators that the device was never asked for is
// none. A profile without kernels fuses what most runtimes do and knows one layout.
class ProfileDevice final : public Device {
 public:
  explicit ProfileDevice(Profile profile);

  const DeviceInfo& info() const override { return info_; }
  bool chooses_layout(const ops::KernelSpec& spec) const override;
  bool works_in(const ops::KernelSpec& spec, Layout layout) const override;
  bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation& post) const override;
  // If it was recorded on a device that does.
  bool reads_function_graphs() const override { return reads_function_graphs_; }
  Result<KernelCost> measure(const ops::KernelSpec& spec, Layout layout) override;

  // How many kernels were asked for that the profile holds, and that it does not.
  std::size_t recorded() const { return recorded_; }
  std::size_t modelled() const { return modelled_; }

 private:
  struct Chosen {  // layouts that the device chose
    std::string group;
    Features features;
    Layout operands, results;
  };
  void learn(const ops::KernelSpec& spec, Layout layout, const KernelCost& cost);
  Result<Nanoseconds> modelled_time(const ops::KernelSpec& spec) const;
  Result<Nanoseconds> roofline_time(const ops::KernelSpec& spec) const;

  Profile profile_;
  DeviceInfo info_;
  Calibration calibration_;
  std::vector<Chosen> chosen_;
  std::set<std::string> chooses_;  // kernels
  std::set<std::string> layouts_;  // "kernel:word type layout"
  std::set<std::string> fused_;    // "kernel type operation"
  std::size_t longest_ = 0;        // chain that the profile holds
  bool reads_function_graphs_ = false;
  std::size_t recorded_ = 0;
  std::size_t modelled_ = 0;
};

}  // namespace xflow::cost::profile
