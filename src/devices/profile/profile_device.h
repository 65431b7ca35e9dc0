// A device that answers from a profile; the device itself need not be in this machine.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/devices/profile/calibration.h"
#include "src/devices/profile/profile.h"
#include "src/kernels/device.h"

namespace xflow::cost::profile {

// Kernels in the profile take their measured times. Other kernels take the time predicted by the model of
// their class, or else by the roofline, or else by all kernels. The profile also decides which operators can
// be fused and in which layouts kernels work: a chain that the device was never asked for cannot be fused. A
// profile without kernels fuses what most runtimes fuse and knows one layout.
class ProfileDevice final : public Device {
 public:
  explicit ProfileDevice(Profile profile);

  const DeviceInfo& info() const override { return info_; }
  bool chooses_layout(const ops::KernelSpec& spec) const override;
  bool works_in(const ops::KernelSpec& spec, Layout layout) const override;
  bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation& post) const override;
  ViewSupport views() const override { return profile_.views; }
  // True if the profile was recorded on a device that reads them.
  bool reads_function_graphs() const override { return reads_function_graphs_; }
  Result<KernelCost> measure(const ops::KernelSpec& spec, Layout layout) override;

  // The number of measured kernels that the profile contained, and of those that were predicted.
  std::size_t recorded() const { return recorded_; }
  std::size_t modelled() const { return modelled_; }
  std::optional<Lookups> lookups() const override { return Lookups{recorded_, modelled_}; }
  std::unique_ptr<Device> for_thread() const override;

 private:
  struct Chosen {  // layouts that the device chose
    std::string group;
    Features features;
    Layout operands, results;
  };
  void learn(const ops::KernelSpec& spec, Layout layout, const KernelCost& cost);
  Result<Nanoseconds> modelled_time(const ops::KernelSpec& spec) const;
  double share_of_peak(const ops::KernelSpec& spec) const;
  Result<Nanoseconds> roofline_time(const ops::KernelSpec& spec) const;

  Profile profile_;
  DeviceInfo info_;
  Calibration calibration_;
  std::vector<Chosen> chosen_;
  std::set<std::string> chooses_;  // kernels
  std::set<std::string> layouts_;  // "kernel:variant type layout"
  std::set<std::string> fused_;    // "kernel type operation"
  std::size_t longest_ = 0;        // longest chain in the profile
  bool reads_function_graphs_ = false;
  std::size_t recorded_ = 0;
  std::size_t modelled_ = 0;
};

}  // namespace xflow::cost::profile
