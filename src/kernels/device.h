// Devices: what can time a kernel. A device is a plugin over plain data: kernels come in as KernelSpec, times go out.
#pragma once

#include <xflow/error.h>
#include <xflow/time.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/ops/kernel_spec.h"

namespace xflow::cost {

std::string to_string(Nanoseconds time);  // "812 ns", "3.41 us", "12.7 ms", "1.02 s"

// How the elements of a tensor [N, C, spatial...] lie in memory. Tensors of rank below 3 are plain in every layout.
enum class Layout : std::uint8_t {
  any,            // in a request: the device chooses, and says what it chose
  plain,          // row-major in the order of the dimensions (NCHW)
  channels_last,  // NHWC
  blocked4,       // [N, ceil(C/4), spatial..., 4], padded with zeros
  blocked8,
  blocked16,
};

std::string_view name(Layout layout);                           // "plain"
std::optional<Layout> layout_from_name(std::string_view name);  // the inverse
bool has_layouts(const ops::TensorSpec& tensor);                // rank 3 to 5: a layout other than plain makes a difference
// Whether a tensor is the same bytes in both: conversions between plain and channels_last, and from blocks that divide the channels, change
// nothing where only one spatial element or one channel is there.
bool same_bytes(const ops::TensorSpec& tensor, Layout from, Layout to);
inline bool is_plain(Layout layout) { return layout == Layout::plain; }

// The cost of one kernel launch on one device.
struct KernelCost {
  Nanoseconds median{};             // of samples taken one after the other, after warm-up, while nothing else ran
  Nanoseconds spread{};             // their interquartile range
  int repeats = 0;                  // launches that were timed in all
  Layout operands = Layout::plain;  // where the device had the choice: the layout of operands that have layouts, and of the results
  Layout results = Layout::plain;
  // By how much this machine was slower than at its best while the kernel was timed: 0.2 for a fifth; what remains in the time.
  double interference = 0;
  // Samples that were taken, where the device takes some, and how many of them are outliers: interrupted, or half as long again as the
  // median. No database keeps them.
  int samples = 0;
  int outliers = 0;
  friend bool operator==(const KernelCost&, const KernelCost&) = default;
};

// A cost timed on a machine that was slower by more than this is provisional: used while there is nothing better, and to be timed again.
constexpr double kProvisional = 0.1;
inline bool is_provisional(const KernelCost& cost) { return cost.interference > kProvisional; }

// Together with the kernel's text and layout this is the key of a cost in the database.
struct DeviceInfo {
  std::string name;     // "cpu"
  std::string model;    // "Intel(R) Xeon(R) Processor, avx512_core": two machines with equal text are taken to be equal
  std::string library;  // libraries and versions whose kernels are timed: "oneDNN 2.6.3, loops 1"
  int threads = 1;
  std::string clock;  // what is read: "thread CPU time"
  // The fixed piece of arithmetic by which interference is judged; machines and builds with equal text take equal time for it. Empty: none.
  std::string control = {};
};

// One device, used by one thread at a time.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;

  // Layouts. True if the library itself chooses the layouts of this kernel (convolutions): it is requested with Layout::any.
  virtual bool chooses_layout(const ops::KernelSpec& spec) const = 0;
  // True if the kernel works on operands in `layout` and leaves its results in it.
  virtual bool works_in(const ops::KernelSpec& spec, Layout layout) const = 0;

  // Whether the library can apply `post` within the launch of `base`, after the post-operations that `base` already has.
  // That it can does not mean that it is faster.
  virtual bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation& post) const = 0;

  // Whether an attention, a softmax between two products, is one kernel there (see Composite). Nobody else's cover looks for it.
  virtual bool has_attention(const ops::KernelSpec& /*spec*/) const { return false; }

  // Whether the time of a fused function depends on the graph that a model has for it: a runtime that is
  // given a model finds some graphs and runs others operator by operator. Fused functions then have the graph
  // (see Composite).
  virtual bool reads_function_graphs() const { return false; }

  // Times `spec`, its operands (those that have layouts) in `layout`. Returns Error::unsupported, 'cannot run ... here: ...', if the device
  // has no kernel for it, which is remembered; Error::limit, in the same words, if time is over or memory is short, and Error::io if the
  // device is lost: another run may know. A reorder
  // converts its operand from the layout in integer `from` to that in `to` (see reorder_spec).
  virtual Result<KernelCost> measure(const ops::KernelSpec& spec, Layout layout) = 0;

  // Asked between samples: true ends measure() with Error::limit. Null: never. It must outlive the device's use.
  void stop_when(std::function<bool()> stop) { stop_ = std::move(stop); }
  bool is_stopped() const { return stop_ && stop_(); }
  // Bytes that the tensors of one kernel may have; a larger one is refused with Error::limit.
  void set_most_bytes(std::uint64_t bytes) { most_bytes_ = bytes; }
  // Asked before the tensors of a kernel of 1 MiB and more are made: bytes that may still be allocated. Null: no bound. It must outlive the
  // device's use.
  void set_bytes_left(std::function<std::uint64_t()> bytes_left) { bytes_left_ = std::move(bytes_left); }

  // Asked before a kernel that may take long is launched: the seconds that are left for it. Nothing can end a launch of a library, so a
  // kernel that cannot be timed within them is refused with Error::limit. Null: no bound. It must outlive the device's use.
  void set_seconds_left(std::function<double()> seconds_left) { seconds_left_ = std::move(seconds_left); }
  double seconds_left() const { return seconds_left_ ? seconds_left_() : std::numeric_limits<double>::infinity(); }

  // By how much this machine is slower now than at its best.
  virtual double interference() { return 0; }
  // The time of the control on this machine at its best, as far as the device has seen; 0 before that.
  virtual Nanoseconds fastest_control() const { return {}; }
  // What earlier runs have seen of it.
  virtual void know_fastest_control(Nanoseconds /*time*/) {}

 protected:
  std::function<bool()> stop_;
  // Of the tensors of a kernel that take `bytes`.
  bool is_too_large(double bytes) const {
    constexpr double kSmall = 1 << 20;
    if (bytes > static_cast<double>(most_bytes_)) return true;
    return bytes >= kSmall && bytes_left_ && bytes > static_cast<double>(bytes_left_());
  }

  std::uint64_t most_bytes_ = std::numeric_limits<std::uint64_t>::max();
  std::function<std::uint64_t()> bytes_left_;
  std::function<double()> seconds_left_;
};

// The kernel that brings `tensor` from one layout to another.
ops::KernelSpec reorder_spec(const ops::TensorSpec& tensor, Layout from, Layout to);

}  // namespace xflow::cost
