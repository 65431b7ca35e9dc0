// Profiles: kernel times of a device, for searches on other machines (docs/cost.md, *Profiles*).
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/optimize.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace xflow {

class Context;

// Formats of published tables of kernel times.
enum class TableFormat : std::uint8_t {
  neusight,  // comma-separated tables of NeuSight, one for each operator (github.com/sitar-lab/NeuSight)
};
// Returns the name of a format, as on the command line.
constexpr const char* to_string(TableFormat format) {
  switch (format) {
    case TableFormat::neusight:
      return "neusight";
  }
  return "";
}

// The phase of Profile::record.
enum class ProfilePhase : std::uint8_t {
  measuring,  // timing the kernels of a model
  searching,  // timing the kernels of its rewrites
};
// Returns the name of a phase, for people.
constexpr const char* to_string(ProfilePhase phase) {
  switch (phase) {
    case ProfilePhase::measuring:
      return "measuring";
    case ProfilePhase::searching:
      return "searching";
  }
  return "";
}

// How far Profile::record is.
struct ProfileProgress {
  ProfilePhase phase = ProfilePhase::measuring;  // what it is doing
  double fraction = 0;                           // of all models, from 0 to 1; a search that starts again with new times goes back
  std::string model;                             // its path
  std::string message;                           // one line of text: "timing the kernels of a.onnx"
};
// Called when a phase begins and a few times per second while searching, from the calling thread.
using ProfileProgressCallback = std::function<void(const ProfileProgress&)>;

// How far predicted times of kernels of one class are from measured times.
struct ProfileErrors {
  std::string kernels_of;          // the class, such as "matmul float32"; "all" for all classes together
  bool modelled = false;           // times of the profile's model; otherwise times that the profile contains
  std::size_t kernels = 0;         // number of kernels
  double median = 0;               // median of |predicted / measured - 1|
  double mean = 0;                 // mean of the same
  std::optional<double> roofline;  // its mean where the profile's roofline predicts; nullopt without a roofline
  double covered = 0;              // share of the measured times within the interval of 90 % of their prices
};

// Whether one product of matrices is quicker than two whose columns it has, for all products with equal
// rows, inner size and batch where the columns of two add up to those of a third.
struct MergeSigns {
  bool modelled = false;                      // at least one of the three times is of the model
  std::size_t pairs = 0;                      // of products, with the product that they merge to
  std::size_t decided = 0;                    // pairs whose time and the time of one product differ by more than 5 %
  std::size_t one_is_quicker = 0;             // those of the decided pairs where one product was measured to be quicker
  std::size_t right = 0;                      // decided pairs where the prediction has the same sign
  std::optional<std::size_t> roofline_right;  // the same of the roofline; nullopt without a roofline
  std::size_t sure = 0;                       // decided pairs whose sign is predicted with a probability of 90 %
  std::size_t sure_right = 0;                 // those of them where it is right
};

// The predictions of a profile beside measured times.
struct ProfileComparison {
  std::string profile;                // the device of the profile
  std::string measured;               // the device of the measurements
  std::vector<ProfileErrors> errors;  // by class, then all classes; times that the profile contains come first
  std::vector<MergeSigns> merges;     // times that the profile contains come first
  std::size_t at_floor = 0;           // measured kernels that are left out, because they are at the launch floor
  std::size_t contradicted = 0;       // measured kernels that are left out, because their measurements differ
  std::size_t refused = 0;            // measured kernels that are left out, because the profile has no time for them

  // Several lines of text.
  XFLOW_API std::string to_text() const;
  // JSON (docs/profile-comparison.schema.json).
  XFLOW_API std::string to_json() const;
};

// The time of one launch of a kernel, as a search with a profile prices it.
struct ProfilePrice {
  std::string kernel;                   // its text, as in a profile
  Nanoseconds time{};                   // its price
  Nanoseconds least{};                  // with `most`, the interval of 90 % of the price
  Nanoseconds most{};                   // at least `time`
  bool modelled = false;                // a time of the profile's model; otherwise one that the profile contains
  std::optional<Nanoseconds> roofline;  // what the profile's roofline predicts; nullopt without a roofline
};

// Prices of a profile.
struct ProfilePrices {
  std::string profile;                // the device of the profile
  std::vector<ProfilePrice> kernels;  // in the order in which they were asked for

  // Several lines of text.
  XFLOW_API std::string to_text() const;
  // JSON (docs/profile-prices.schema.json).
  XFLOW_API std::string to_json() const;
};

// The kernel times of a device, which may be elsewhere (docs/cost.md, *Profiles*).
class XFLOW_API Profile {
 public:
  // Reads a profile from a file. Errors: syntax (`where` is file:line), io.
  static Result<Profile> read(const std::string& path);
  // Times the kernels of the models, and of up to options.search.max_states rewritten graphs of each, on the
  // device of the options. `models` are files, or folders of .onnx files. Calls `progress` if it is not
  // empty.
  //
  // With a cost database, known kernels are not timed again, and the profile contains everything in the
  // database. A model that cannot be read or costed is left out with a call of options.warning.
  //
  // options.cancel ends the call early: finish() with the kernels timed by then, stop() with an error. The
  // time and memory limits of the options do not apply.
  //
  // Errors: unsupported for a device that this machine lacks; invalid_argument for a profile as the device;
  // those of the rules; unreadable if no model is left; limit ("cancelled" after stop(), or after finish()
  // if no kernel was timed by then).
  static Result<Profile> record(const std::vector<std::string>& models, const OptimizeOptions& options,
                                const ProfileProgressCallback& progress = {});
  // The same with the rules, measured costs and device of a context. The profile contains every cost that
  // the context has for the device, also those of models of earlier calls.
  static Result<Profile> record(Context& context, const std::vector<std::string>& models, const OptimizeOptions& options,
                                const ProfileProgressCallback& progress = {});
  // The costs of the options' device in the file options.device.cost_database. Errors: as record, without
  // those of models.
  static Result<Profile> of_costs(const OptimizeOptions& options);

  // The profile of a device from published tables, whose files are named after operators. `device` is a name
  // in the tables, or a part of one name alone; it may be empty if the tables have one device. Errors:
  // syntax (`where` is file:line) for other columns, units, sizes or times; invalid_argument for another
  // device, with the names of the devices; unsupported for the table of another operator; unreadable.
  static Result<Profile> of_tables(const std::vector<std::string>& files, TableFormat format, const std::string& device);

  // Compares the times that a search with this profile would use with those that `measured` contains.
  // Refused kernels and kernels without work are left out. Errors: invalid_argument if no kernel is left.
  Result<ProfileComparison> compare(const Profile& measured) const;

  // The prices of kernels, whose texts are those of a profile:
  // "matmul(float32[8,64], const float32[64,32]) -> float32[8,32]". Errors: syntax for a text
  // that is no kernel; unsupported, with the text as `where`, for a kernel that the device refused.
  Result<ProfilePrices> price(const std::vector<std::string>& kernels) const;

  // Number of kernels.
  std::size_t kernels() const;
  // The device whose times these are: its model, as in the file.
  std::string device_model() const;
  // Kernels that the models of other kernels leave out.
  struct Marked {
    std::size_t at_floor = 0;      // their times are those of a launch
    std::size_t contradicted = 0;  // their measurements contradict each other, and they are modelled
  };
  // The number of marked kernels.
  Marked marked() const;
  // The content of a profile file.
  std::string text() const;
  // A description for people: device, views, roofline, kernels of each class.
  std::string describe() const;
  // How well a model that is fitted on four fifths of the kernels predicts the rest.
  std::string describe_check() const;
  // Writes text() to a file. Errors: io.
  Result<void> write(const std::string& path) const;

  // Adds the kernels of `other` and returns how many are new or better. If both have a kernel, the
  // measurement with less interference stays. Errors: invalid_argument for profiles of different devices,
  // rooflines or views.
  Result<std::size_t> merge(const Profile& other);

  // Which kernels prune drops.
  struct Prune {
    bool with_interference = false;  // drop kernels that were timed under interference
    bool refused = false;            // drop kernels that the device refused
    std::string only;                // keep kernels whose text contains this
  };
  // Drops kernels and returns how many.
  std::size_t prune(const Prune& what);

  // What add_to_costs added.
  struct Imported {
    std::size_t kernels = 0;  // kernels of this device in the file after the call
    std::size_t added = 0;    // new kernels
  };
  // Adds the profile to a file of measured costs. Errors: io.
  Result<Imported> add_to_costs(const std::string& database) const;

  ~Profile();
  Profile(const Profile&);                 // copies all kernels
  Profile(Profile&&) noexcept;             // the kernels move
  Profile& operator=(const Profile&);      // copies all kernels
  Profile& operator=(Profile&&) noexcept;  // the kernels move

 private:
  struct State;
  explicit Profile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace xflow
