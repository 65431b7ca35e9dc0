#include "src/devices/cpu/rotation.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace xflow::cost::cpu {
namespace {

// Smaller tensors are fetched quickly from any cache.
constexpr std::size_t kLeastConstants = 256;
constexpr std::size_t kLeastResults = 4096;
constexpr std::size_t kMostTurns = 256;

std::size_t padded(std::size_t bytes) { return (bytes + CpuKernel::kSlack + 63) / 64 * 64; }

std::size_t turns_for(std::size_t bytes, std::size_t size, std::size_t least) {
  return bytes < least ? 1 : std::clamp<std::size_t>(size / bytes, 1, kMostTurns);
}

}  // namespace

Rotation::Rotation(CpuKernel& kernel, const ops::KernelSpec& spec, const RotationSizes& sizes) {
  const std::vector<ops::TensorSpec> operands = all_operands(spec);
  std::vector<std::size_t> constants;
  std::size_t constant_bytes = 0;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (!operands[k].constant || kernel.overwritten() == k) continue;
    constants.push_back(k);
    constant_bytes += padded(kernel.operand_bytes(k).size());
  }
  std::size_t result_bytes = 0;
  for (std::size_t k = 0; k < spec.results.size(); ++k) result_bytes += padded(kernel.result_bytes(k).size());
  const std::size_t constant_turns = turns_for(constant_bytes, sizes.constants, kLeastConstants);
  const std::size_t result_turns = turns_for(result_bytes, sizes.results, kLeastResults);
  const std::size_t count = std::max(constant_turns, result_turns);
  if (count == 1) {
    turns_.push_back({&kernel, kernel.result_bytes(0).data(), {}, {}});
    return;
  }
  std::vector<std::vector<Port>> constant_ports(constant_turns);
  if (constant_turns > 1) {
    constants_ = Memory(constant_turns * constant_bytes);
    std::byte* place = constants_.get();
    for (std::vector<Port>& ports : constant_ports) {
      for (const std::size_t k : constants) {
        const std::span<std::byte> bytes = kernel.operand_bytes(k);
        if (!bytes.empty()) std::memcpy(place, bytes.data(), bytes.size());
        ports.push_back({k, place});
        place += padded(bytes.size());
      }
    }
  }
  std::vector<std::vector<Port>> result_ports(result_turns);
  if (result_turns > 1) {
    results_ = Memory(result_turns * result_bytes);
    std::byte* place = results_.get();
    for (std::vector<Port>& ports : result_ports) {
      for (std::size_t k = 0; k < spec.results.size(); ++k) {
        // A kernel that adds to its result in place must find normal numbers there.
        const std::span<std::byte> bytes = kernel.result_bytes(k);
        if (!bytes.empty()) std::memcpy(place, bytes.data(), bytes.size());
        ports.push_back({k, place});
        place += padded(bytes.size());
      }
    }
  }
  for (std::size_t turn = 0; turn < count; ++turn) {
    const std::vector<Port>& results = result_ports[turn % result_turns];
    const std::byte* result = results.empty() ? kernel.result_bytes(0).data() : results.front().place;
    Turn one{&kernel, result, results, constant_ports[turn % constant_turns]};
    if (auto copy = kernel.copy()) {
      for (const Port& port : one.results) copy->bind_result(port.number, port.place);
      for (const Port& port : one.constants) copy->bind_operand(port.number, port.place);
      copies_.push_back(std::move(copy));
      one = {copies_.back().get(), result, {}, {}};
    }
    turns_.push_back(std::move(one));
  }
}

}  // namespace xflow::cost::cpu
