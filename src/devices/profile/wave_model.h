// The time of products of matrices and convolutions on a GPU, from its waves of tiles and its memory
// (docs/cost.md, *Tables of GPUs*).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "src/devices/profile/profile.h"
#include "src/ops/kernel_spec.h"

namespace xflow::cost::profile {

// Libraries run these by different kernels.
enum class ProductKind : std::uint8_t {
  shared,       // all batches share the second matrix, such as weights
  batched,      // each batch has its own
  convolution,  // of one group
};

// A convolution by Winograd's algorithm F(4x4, 3x3): a product of [tiles, channels] x [channels, columns]
// for each of the 36 elements of a transformed tile.
struct WinogradShape {
  double tiles = 1;     // of 4x4 pixels, of all images
  double channels = 1;  // of the input
};

// A product of matrices, or a convolution of one group as one: batches of [rows, inner] x [inner, columns].
struct ProductShape {
  double batches = 1;
  double rows = 1;     // of a convolution: of all images
  double columns = 1;  // of a convolution: channels of the result
  double inner = 1;    // of a convolution: channels of the input times the elements of a window
  double element = 4;  // bytes of an element of the operands
  double read = 0;     // bytes of the operands
  double written = 0;  // bytes of the result
  ProductKind kind = ProductKind::shared;
  std::optional<WinogradShape> winograd;  // of a convolution with windows of 3x3 that move by 1
  // Logarithms of sizes, in which similar kernels are near.
  std::array<double, 4> place{};
};
// nullopt for other kernels, convolutions of several groups, and windows of one element, which are products
// that no table has.
std::optional<ProductShape> product_shape_of(const ops::KernelSpec& spec);

// What the model needs to know of a GPU.
struct GpuSizes {
  double bandwidth = 0;        // bytes per second
  double peak = 0;             // operations per second
  double multiprocessors = 0;  // number
  double cache = 0;            // bytes of the L2 cache
};
// nullopt if the roofline lacks one of them.
std::optional<GpuSizes> gpu_sizes_of(const Roofline& roofline, ir::DataType type);

// A shape with its measured time in seconds.
struct TimedShape {
  ProductShape shape;
  double seconds = 0;
};

// The time of a shape is
//
//     launch + (arithmetic^p + memory^p + reloads^p)^(1/p)
//
// - arithmetic: waves of tiles on the multiprocessors, in part rounded up, where a tile takes inner + k0
//   steps at a share of the peak;
// - memory: operands read once and the result written, at a share of the bandwidth;
// - reloads: what the tiles of each wave read, where the second matrix does not fit into the cache.
//
// A convolution for which Winograd's algorithm is known takes the smaller of two such sums, by a smooth
// minimum: that of its implicit product, and that of the 36 products of Winograd's algorithm, at their own
// shares of the peak and the bandwidth, with some launches more.
class WaveModel {
 public:
  static constexpr std::size_t kCoefficients = 15;

  // Fits the coefficients to measured times by least squares on the logarithm, with outliers weighing less,
  // and a weak pull to their initial values. Needs at least kLeast shapes, and uses at most 600 of them.
  WaveModel(std::span<const TimedShape> samples, const GpuSizes& gpu);

  // A model of shapes like this one for a GPU without measured kernels, with the given time of a launch, and
  // coefficients that are fitted to all GPUs of tables: in float32 of NeuSight's, in bfloat16 of
  // aiconfigurator-core's. nullopt for other types, and for what the latter do not have: batches and
  // convolutions. The former have windows of 3x3 alone; other convolutions have the coefficients of
  // products.
  static std::optional<WaveModel> of_unmeasured(const ProductShape& like, ir::DataType type, const GpuSizes& gpu, Nanoseconds launch);

  // Seconds.
  double time_of(const ProductShape& shape) const;

  static constexpr std::size_t kLeast = 48;

 private:
  WaveModel(const GpuSizes& gpu, const std::array<double, kCoefficients>& coefficients, Nanoseconds launch);

  GpuSizes gpu_;
  std::array<double, kCoefficients> coefficients_{};
  double tile_rows_ = 0;
};

}  // namespace xflow::cost::profile
