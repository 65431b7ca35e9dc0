// Profiles: kernel times of a device, for searches on other machines (docs/cost.md, *Profiles*).
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/optimize.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace xflow {

class Context;

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

  // Number of kernels.
  std::size_t kernels() const;
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
