// Profiles: kernel times of a device, for searches on other machines (docs/cost.md, *Profiles*).
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/optimize.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace xflow {

class XFLOW_API Profile {
 public:
  // Reads a profile from a file. Errors: syntax (`where` is file:line), io.
  static Result<Profile> read(const std::string& path);
  // Times the kernels of the models, and of up to options.search.max_states rewritten graphs of each, on the device
  // of the options. `models` are files, or folders of .onnx files. `progress` is called with the current model.
  //
  // With a cost database, known kernels are not timed again, and the profile contains everything in the database. A
  // model that cannot be read or costed is left out with a call of options.warning.
  //
  // Errors: unsupported for a device that this machine lacks; invalid_argument for a profile as the device; those
  // of the rules; unreadable if no model is left.
  static Result<Profile> record(const std::vector<std::string>& models, const OptimizeOptions& options,
                                const std::function<void(const std::string&)>& progress = {});
  // The costs of the options' device in the file options.device.cost_database. Errors: as record, without those of
  // models.
  static Result<Profile> of_costs(const OptimizeOptions& options);

  // Number of kernels.
  std::size_t kernels() const;
  // The content of a profile file.
  std::string text() const;
  // A description for people: device, roofline, kernels of each class.
  std::string describe() const;
  // How well a model that is fitted on four fifths of the kernels predicts the rest.
  std::string describe_check() const;
  // Writes text() to a file. Errors: io.
  Result<void> write(const std::string& path) const;

  // Adds the kernels of `other` and returns how many are new or better. If both have a kernel, the measurement with
  // less interference stays. Errors: invalid_argument for profiles of different devices or rooflines.
  Result<std::size_t> merge(const Profile& other);

  struct Prune {
    bool with_interference = false;  // drop kernels that were timed under interference
    bool refused = false;            // drop kernels that the device refused
    std::string only;                // keep kernels whose text contains this
  };
  // Drops kernels and returns how many.
  std::size_t prune(const Prune& what);

  struct Imported {
    std::size_t kernels = 0;  // kernels of this device in the file after the call
    std::size_t added = 0;    // new kernels
  };
  // Adds the profile to a file of measured costs. Errors: io.
  Result<Imported> add_to_costs(const std::string& database) const;

  ~Profile();
  Profile(const Profile&);
  Profile(Profile&&) noexcept;
  Profile& operator=(const Profile&);
  Profile& operator=(Profile&&) noexcept;

 private:
  struct State;
  explicit Profile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace xflow
