// A device made from a cost function, without a class of the caller's own.
#include <xflow/device.h>

#include <utility>

namespace xflow {
namespace {

class CostDevice final : public Device {
 public:
  CostDevice(std::string name, CostFunction cost) : name_(std::move(name)), cost_(std::move(cost)) {}
  std::string name() const override { return name_; }
  Result<Nanoseconds> measure(const Kernel& kernel) override { return cost_(kernel); }
  bool can_fuse(const Kernel& kernel, const FusedOperation& /*next*/) const override { return kernel.results.size() == 1; }

 private:
  std::string name_;
  CostFunction cost_;
};

}  // namespace

std::shared_ptr<Device> device_of(std::string name, CostFunction cost) {
  return std::make_shared<CostDevice>(std::move(name), std::move(cost));
}

}  // namespace xflow
