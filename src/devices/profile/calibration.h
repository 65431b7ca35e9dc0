// Times of kernels that a profile does not hold, from those that it holds.
//
// Of each class of kernels time = a·launches + b·operations + c·bytes + d·elementwise, with rates that are not negative. The rates
// make the sum of squares of log(predicted / measured) least: an error of a factor counts the same for kernels of all sizes. What kernels
// nearby took more or less than that, a kernel takes as well: otherwise a rewrite to shapes that the profile lacks would look good where
// the class is slower than its model. Classes with few kernels are modelled by all kernels together, by rates alone.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/devices/profile/features.h"
#include "src/devices/profile/profile.h"
#include "src/kernels/device.h"

namespace xflow::cost::profile {

// A measured kernel, as the model sees it.
struct Sample {
  std::string group;  // class_of the kernel
  std::string base;   // its text without post-operations: kernels with the same are much alike
  Features features;
  double time = 0;  // nanoseconds, more than 0
};
// In the order of the profile; kernels that were refused, or take no time, are none.
std::vector<Sample> samples_of(const Profile& profile);

using Rates = std::array<double, 4>;  // nanoseconds for one of each feature
// The rates for these samples, of which there is at least one.
Rates fit(std::span<const Sample> samples);

class Calibration {
 public:
  explicit Calibration(std::span<const Sample> samples);

  // By the model of its class; nothing if the class has fewer than kLeast samples.
  std::optional<Nanoseconds> of_class(const std::string& group, const Features& features) const;
  // By the rates of all kernels together; nothing if there are fewer than kLeast.
  std::optional<Nanoseconds> of_all(const Features& features) const;

  static constexpr std::size_t kLeast = 8;

 private:
  struct Neighbour {
    Features features;
    double error = 0;  // log(measured / by the rates)
  };
  struct ClassModel {
    Rates rates{};
    std::vector<Neighbour> neighbours;
  };
  std::map<std::string, ClassModel> classes_;
  std::optional<Rates> all_;
};

// How well kernels of a class are predicted that the model was not fitted on.
struct HeldOut {
  std::string group;         // or "all"
  std::size_t kernels = 0;   // of the class, with times
  std::size_t held_out = 0;  // of these
  double median = 1;         // of the factors by which predicted times are too long or too short
  double most = 1;           // within which 9 of 10 are
};
// Fits on four fifths of each class and compares with the rest: every fifth in an order that has to do with nothing, where kernels that
// differ in post-operations alone go together. Classes by name, then all together.
std::vector<HeldOut> check(const Profile& profile);

}  // namespace xflow::cost::profile
