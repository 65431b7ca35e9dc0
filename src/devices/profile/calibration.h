// Predicts times of kernels that a profile does not contain from the kernels that it contains.
//
// For each class of kernels, time = a·launches + b·operations + c·bytes + d·elementwise with non-negative
// rates. The rates minimise the sum of squares of log(predicted / measured): an error by a factor counts the
// same for kernels of all sizes.
// The prediction is then corrected, otherwise a rewrite to shapes that the profile lacks would look good
// where the class is slower than its model: where there are many kernels, by trees that learn the errors
// from the sizes (boosted_trees.h), and then by the errors that similar kernels still have. Products of
// matrices and convolutions of a GPU have a model of waves (wave_model.h) in the place of the sum, where the
// roofline says what that needs.
// Classes with few kernels have no model of their own; of_all predicts from all kernels together, by rates
// alone.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/devices/profile/boosted_trees.h"
#include "src/devices/profile/error_model.h"
#include "src/devices/profile/features.h"
#include "src/devices/profile/profile.h"
#include "src/devices/profile/wave_model.h"
#include "src/kernels/device.h"

namespace xflow::cost::profile {

// A measured kernel as input of the model.
struct Sample {
  std::string group;  // class_of the kernel
  std::string base;   // its text without post-operations; kernels with the same base are similar
  Features features;
  double time = 0;                      // in nanoseconds, greater than 0
  std::optional<ProductShape> product;  // of products and convolutions
  std::optional<GpuSizes> gpu;          // that it was measured on
  std::vector<double> sizes;            // sizes_of the kernel; none: no trees learn from it
};
// The sample of a kernel with this text that took `time` nanoseconds, on no GPU whose sizes are known, and
// without its sizes.
Sample sample_of(const ops::KernelSpec& spec, const std::string& text, double time);
// The samples of a profile, in its order. Refused and marked kernels, and kernels that take no time are
// omitted.
std::vector<Sample> samples_of(const Profile& profile);

using Rates = std::array<double, 4>;  // nanoseconds per unit of each feature
// Fits rates to the samples; needs at least one.
Rates fit(std::span<const Sample> samples);

class Calibration {
 public:
  explicit Calibration(std::span<const Sample> samples);

  // Predicts with the model of the class; nothing if the class has fewer than kLeast samples. `product` is
  // given for products and convolutions, `sizes` if the samples have theirs.
  std::optional<Nanoseconds> of_class(const std::string& group, const Features& features,
                                      const std::optional<ProductShape>& product = std::nullopt, std::span<const double> sizes = {}) const;
  // How far off the time of of_class is; nothing where that is nothing. The first call for a class takes as
  // long as 1,000 predictions and a fit of trees.
  std::optional<TermError> error_of_class(const std::string& group, const Features& features,
                                          const std::optional<ProductShape>& product = std::nullopt) const;
  // How far off the time of of_all is, by the kernels themselves.
  double deviation_of_all() const { return deviation_of_all_; }
  // Predicts with the rates of all kernels together; nothing if there are fewer than kLeast.
  std::optional<Nanoseconds> of_all(const Features& features) const;

  static constexpr std::size_t kLeast = 8;
  // Samples of a class from which on trees correct its model.
  static constexpr std::size_t kLeastOfTrees = 200;

 private:
  struct Neighbour {
    std::array<double, 4> at{};  // logarithms of the features, or the place of a product
    double error = 0;            // log(measured / predicted by the rates and the trees)
    std::size_t base = 0;        // a hash of the text without post-operations
  };
  // Measured kernels, by whose errors those near to them are corrected.
  struct Neighbours {
    std::vector<Neighbour> list;
    NumberTable rows;                          // what trees learn from, of each neighbour, or nothing
    std::vector<double> raw;                   // log(measured / predicted by the rates) of each
    std::optional<BoostedTrees> trees;         // of the raw errors
    mutable std::optional<ErrorModel> errors;  // made when it is asked for
  };
  // What the neighbours say of a place.
  struct Correction {
    double error = 0;  // as expected there
    double alone = 1;  // the weight of the rates themselves, from 0 to 1
  };
  struct ClassModel {
    Rates rates{};
    Neighbours neighbours;
  };
  struct ProductModel {
    WaveModel model;
    Neighbours neighbours;  // by place
  };
  template <typename IsUsed>
  static Correction correction(const std::array<double, 4>& at, const std::vector<Neighbour>& neighbours, const IsUsed& is_used);
  static double corrected(double time, const std::array<double, 4>& at, std::span<const double> row, const Neighbours& neighbours);
  static TermError error_at(const std::array<double, 4>& at, const Neighbours& neighbours);
  static std::vector<HeldOutError> held_out_errors(const Neighbours& neighbours);
  // Fits the trees where there are enough neighbours that have sizes.
  static void learn(Neighbours& neighbours);
  template <typename IsUsed>
  static BoostedTrees trees_of(const Neighbours& neighbours, const IsUsed& is_used);
  // Returns how many of the members have a model of waves.
  std::size_t fit_waves(const std::string& group, std::span<const Sample> members);

  std::map<std::string, ClassModel> classes_;
  std::map<std::pair<std::string, ProductKind>, ProductModel> waves_;  // by class
  std::optional<Rates> all_;
  double deviation_of_all_ = 0;
};

// The prediction errors for kernels of a class that were held out from the fit.
struct HeldOut {
  std::string group;         // the class, or "all"
  std::size_t kernels = 0;   // kernels of the class with times
  std::size_t held_out = 0;  // held-out kernels among them
  double median = 1;         // median factor between predicted and measured time, at least 1
  double most = 1;           // 90th percentile of this factor
};
// Cross-checks the model: fits on four fifths of each class and compares with the remaining fifth. The fifth
// is every fifth kernel in a fixed pseudo-random order; kernels that differ in post-operations only stay
// together. Returns the classes by name, then all kernels together.
std::vector<HeldOut> check(const Profile& profile);

}  // namespace xflow::cost::profile
