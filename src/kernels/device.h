// The interface of devices, which time kernels. A device is a plugin over plain data: it takes a KernelSpec
// and returns a time.
#pragma once

#include <xflow/error.h>
#include <xflow/time.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "src/kernels/view_support.h"
#include "src/ops/kernel_spec.h"

namespace xflow::cost {

std::string to_string(Nanoseconds time);  // "812 ns", "3.41 us", "12.7 ms", "1.02 s"

// The memory layout of a tensor [N, C, spatial...]. Tensors of rank below 3 are plain in every layout.
enum class Layout : std::uint8_t {
  any,            // in a request: the device chooses the layout and reports it
  plain,          // row-major in the order of the dimensions (NCHW)
  channels_last,  // NHWC
  blocked4,       // [N, ceil(C/4), spatial..., 4], padded with zeros
  blocked8,
  blocked16,
};

std::string_view name(Layout layout);                           // "plain"
std::optional<Layout> layout_from_name(std::string_view name);  // the inverse
bool has_layouts(const ops::TensorSpec& tensor);                // true for rank 3 to 5, where layouts differ
// Whether the bytes of a tensor are equal in both layouts. A conversion between plain and channels_last
// changes no byte if the tensor has one spatial element or one channel. A conversion to or from blocks needs
// channels that are a multiple of the block; it changes no byte if there is one spatial element, or if there
// is one block and the other layout is channels_last.
bool same_bytes(const ops::TensorSpec& tensor, Layout from, Layout to);
inline bool is_plain(Layout layout) { return layout == Layout::plain; }

// The measured cost of one kernel launch on one device.
struct KernelCost {
  Nanoseconds median{};  // of consecutive samples, taken after warm-up while nothing else ran
  Nanoseconds spread{};  // interquartile range of the samples
  int repeats = 0;       // number of timed launches
  // The layouts of the operands that have layouts and of the results, where the device chose them.
  Layout operands = Layout::plain;
  Layout results = Layout::plain;
  // How much slower than its best this machine was while the kernel was timed: 0.2 means 20% slower. The
  // time is not corrected for it.
  double interference = 0;
  // The number of samples, where the device samples, and how many of them are outliers: interrupted, or
  // above 1.5 times the median. The database does not store these counts.
  int samples = 0;
  int outliers = 0;
  friend bool operator==(const KernelCost&, const KernelCost&) = default;
};

// Interference above which a cost is provisional: it is used until a better one is known, and timed again.
constexpr double kProvisional = 0.1;
inline bool is_provisional(const KernelCost& cost) { return cost.interference > kProvisional; }

// The relative error of a measured price, at least: a second measurement differs by it.
constexpr double kPriceNoise = 0.01;

// So many standard deviations on either side hold nine tenths of a normal distribution: an interval of 90 %.
constexpr double kNineTenths = 1.6449;

// A price in a sum: that of `count` launches of a kernel, less than 0 where they are subtracted.
struct WeightedPrice {
  ops::KernelSpec spec;
  Layout layout = Layout::plain;
  KernelCost cost;
  double count = 0;
};

// The standard deviation of a sum whose prices have independent errors: kPriceNoise, or the interference
// under which they were timed.
Nanoseconds independent_deviation(std::span<const WeightedPrice> prices);
// The probability that a gain is positive which is predicted with this standard deviation, as if its error
// were normal.
double sureness_of(Nanoseconds gain, Nanoseconds deviation);

// Identifies a device. Together with the kernel's text and layout it is the key of a cost in the database.
struct DeviceInfo {
  std::string name;     // "cpu"
  std::string model;    // "Intel(R) Xeon(R) Processor, avx512_core"; machines with equal text count as equal
  std::string library;  // the timed libraries and their versions: "oneDNN 2.6.3, loops 1"
  int threads = 1;
  std::string clock;  // the clock that is read: "thread CPU time"
  // The calibration kernel: a fixed computation by which interference is measured. It takes equal time on
  // machines and builds with equal text. Empty: none.
  std::string calibration = {};
};

class GraphRunner;

// One device. It is not thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;

  // True if the library itself chooses the layouts of this kernel (convolutions). Such a kernel is requested
  // with Layout::any.
  virtual bool chooses_layout(const ops::KernelSpec& spec) const = 0;
  // True if the kernel reads operands in `layout` and writes its results in it.
  virtual bool works_in(const ops::KernelSpec& spec, Layout layout) const = 0;

  // Whether the library can apply `post` within the launch of `base`, after the post-operations that `base`
  // already has. Fusing is not necessarily faster.
  virtual bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation& post) const = 0;

  // Splits and slices that cost nothing, because the runtime makes their results views of the operand. Such
  // a kernel is not measured where its operand is row-major.
  virtual ViewSupport views() const { return {}; }

  // Whether attention (a softmax between two products) is one kernel on this device (see Composite). Kernel
  // covers contain attention only on such devices.
  virtual bool has_attention(const ops::KernelSpec& /*spec*/) const { return false; }

  // Whether the time of a fused function depends on its graph in the model. A runtime that receives a model
  // recognises some graphs and runs others operator by operator. For such a device the fused functions of a
  // kernel carry their graph (see Composite).
  virtual bool reads_function_graphs() const { return false; }

  // Times `spec` with its operands (those that have layouts) in `layout`. Errors:
  // - unsupported, 'cannot run ... here: ...', if the device has no kernel for `spec`. The refusal is
  //   remembered.
  // - limit, in the same words, if time or memory runs out. Another run may succeed.
  // - io if the device is lost. Another run may succeed.
  // A reorder converts its operand from the layout in integer `from` to the layout in `to` (see
  // reorder_spec).
  virtual Result<KernelCost> measure(const ops::KernelSpec& spec, Layout layout) = 0;

  // Sets a callback that is called between samples: true ends measure() with Error::limit. Null: never. It
  // must outlive the device's use.
  void stop_when(std::function<bool()> stop) { stop_ = std::move(stop); }
  bool is_stopped() const { return stop_ && stop_(); }
  // Sets the limit in bytes of the tensors of one kernel. A larger kernel is refused with Error::limit.
  void set_most_bytes(std::uint64_t bytes) { most_bytes_ = bytes; }
  // Sets a callback that returns the bytes that may still be allocated. It is called before allocating 1 MiB
  // or more for the tensors of a kernel. Null: no bound. It must outlive the device's use.
  void set_bytes_left(std::function<std::uint64_t()> bytes_left) { bytes_left_ = std::move(bytes_left); }

  // Sets a callback that returns the seconds left. It is called before a launch that may take long. A
  // library launch cannot be interrupted, so a kernel that cannot be timed within this time is refused with
  // Error::limit. Null: no bound. It must outlive the device's use.
  void set_seconds_left(std::function<double()> seconds_left) { seconds_left_ = std::move(seconds_left); }
  double seconds_left() const { return seconds_left_ ? seconds_left_() : std::numeric_limits<double>::infinity(); }

  // Runs whole graphs on this device (src/runtime/graph_runner.h). Null: the device times kernels alone.
  virtual std::shared_ptr<GraphRunner> graph_runner() { return nullptr; }

  // Peak of the device's memory in use, in bytes. 0 if its memory is that of this machine.
  virtual std::uint64_t peak_bytes() const { return 0; }

  // Of a device that measures nothing: how many kernels it had a recorded time for, and how many a model
  // timed.
  struct Lookups {
    std::uint64_t recorded = 0;
    std::uint64_t modelled = 0;
  };
  virtual std::optional<Lookups> lookups() const { return std::nullopt; }

  // Whether a model, and no measurement, says what `spec` takes.
  virtual bool is_modelled(const ops::KernelSpec& /*spec*/, Layout /*layout*/) const { return false; }
  // The standard deviation of the error of the sum of count * price, in which each kernel and layout occurs
  // once. Models are wrong about similar kernels alike, so that the error of a difference may be smaller
  // than that of either price.
  virtual Nanoseconds deviation(std::span<const WeightedPrice> prices) const { return independent_deviation(prices); }

  // A device with the same prices for another thread, which shares nothing that changes with this one and
  // does not count in its lookups(). Null: the device has no other, since it measures.
  virtual std::unique_ptr<Device> for_thread() const { return nullptr; }

  // How much slower than its best this machine is now (as KernelCost::interference).
  virtual double interference() { return 0; }
  // The shortest time of the calibration kernel that the device has seen on this machine; 0 before the
  // first.
  virtual Nanoseconds fastest_calibration() const { return {}; }
  // Passes on the shortest time that earlier runs have seen.
  virtual void know_fastest_calibration(Nanoseconds /*time*/) {}

 protected:
  std::function<bool()> stop_;
  // Whether tensors of a kernel that take `bytes` exceed the limits.
  bool is_too_large(double bytes) const {
    constexpr double kSmall = 1 << 20;
    if (bytes > static_cast<double>(most_bytes_)) return true;
    return bytes >= kSmall && bytes_left_ && bytes > static_cast<double>(bytes_left_());
  }

  std::uint64_t most_bytes_ = std::numeric_limits<std::uint64_t>::max();
  std::function<std::uint64_t()> bytes_left_;
  std::function<double()> seconds_left_;
};

// The kernel that converts `tensor` from one layout to another.
ops::KernelSpec reorder_spec(const ops::TensorSpec& tensor, Layout from, Layout to);

}  // namespace xflow::cost
