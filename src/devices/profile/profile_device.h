// A device that answers from a profile; the device itself need not be in this machine.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "src/devices/profile/calibration.h"
#include "src/devices/profile/profile.h"
#include "src/devices/profile/wave_model.h"
#include "src/kernels/device.h"

namespace xflow::cost::profile {

// Kernels in the profile take their measured times, unless the measurements contradict each other. Other
// kernels take the time predicted by the model of their class, at least that of the kernels of the class at
// the launch floor, or else by the roofline (of products of a GPU: WaveModel), or else by all kernels. The
// profile also decides which operators can be fused and in which layouts kernels work: a chain that the
// device was never asked for cannot be fused. A profile without kernels fuses what most runtimes fuse and
// knows one layout.
class ProfileDevice final : public Device {
 public:
  // With `priced_as`, tensors of float32 count as ones of that type; with float8e4m3fn those of products as
  // they are in priced_type.
  explicit ProfileDevice(Profile profile, std::optional<ir::DataType> priced_as = std::nullopt);

  const DeviceInfo& info() const override { return info_; }
  bool chooses_layout(const ops::KernelSpec& spec) const override;
  bool works_in(const ops::KernelSpec& spec, Layout layout) const override { return works_as(priced(spec), layout); }
  bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation& post) const override { return fuses_as(priced(base), priced(post)); }
  ViewSupport views() const override { return profile_.views; }
  // True if the profile has attention of this element type.
  bool has_attention(const ops::KernelSpec& spec) const override;
  // True if the profile was recorded on a device that reads them.
  bool reads_function_graphs() const override { return reads_function_graphs_; }
  Result<KernelCost> measure(const ops::KernelSpec& spec, Layout layout) override { return cost_of(priced(spec), layout); }

  bool is_modelled(const ops::KernelSpec& spec, Layout layout) const override;
  Nanoseconds deviation(std::span<const WeightedPrice> prices) const override;
  // How far off the price of a kernel may be.
  TermError error_of(const ops::KernelSpec& spec, Layout layout) const;

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
  // The kernel and the operation with the types that are priced.
  ops::KernelSpec priced(ops::KernelSpec spec) const;
  ops::PostOperation priced(ops::PostOperation post) const;
  void price(ops::TensorSpec& tensor) const;
  // As the functions above, of a kernel with these types.
  bool works_as(const ops::KernelSpec& spec, Layout layout) const;
  bool fuses_as(const ops::KernelSpec& base, const ops::PostOperation& post) const;
  Result<KernelCost> cost_of(const ops::KernelSpec& spec, Layout layout);
  void learn(const ops::KernelSpec& spec, Layout layout, const KernelCost& cost);
  const KernelCost* recorded_cost(const ops::KernelSpec& spec, Layout layout) const;
  TermError error_of_model(const ops::KernelSpec& spec) const;
  // For a GPU of which no kernel of the class was measured; nullopt where there is no such model.
  std::optional<WaveModel> model_of_unmeasured(const ProductShape& product, ir::DataType type) const;
  Result<Nanoseconds> modelled_time(const ops::KernelSpec& spec) const;

  Profile profile_;
  std::optional<ir::DataType> priced_as_;
  DeviceInfo info_;
  Calibration calibration_;
  std::map<std::string, Nanoseconds> floors_;  // by class, the median of the kernels at the floor
  std::vector<Chosen> chosen_;
  std::set<std::string> chooses_;    // kernels
  std::set<std::string> layouts_;    // "kernel:variant type layout"
  std::set<std::string> fused_;      // "kernel type operation"
  std::set<std::string> attention_;  // classes of attention in the profile
  std::size_t longest_ = 0;          // longest chain in the profile
  bool reads_function_graphs_ = false;
  std::size_t recorded_ = 0;
  std::size_t modelled_ = 0;
};

}  // namespace xflow::cost::profile
