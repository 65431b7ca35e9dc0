// Profiles: what kernels take on a device, for searches elsewhere (docs/cost.md, Profiles).
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
  // Errors: syntax, `where` is file:line; io.
  static Result<Profile> read(const std::string& path);
  // Times the kernels of the models, and of up to options.search.max_states rewritten graphs of each, on the device of the options.
  // `models`: files, or folders of .onnx files. With a cost database: what it knows is not timed again, and all that it holds is in the
  // profile. A model that cannot be read or costed is told to options.warning and left out. `progress`: the model that is worked on.
  // Errors: unsupported for a device that is not here, invalid_argument for a profile as the device, those of the rules, unreadable if no
  // model is left.
  static Result<Profile> record(const std::vector<std::string>& models, const OptimizeOptions& options,
                                const std::function<void(const std::string&)>& progress = {});
  // What options.device.cost_database holds for the device of the options.
  static Result<Profile> of_costs(const OptimizeOptions& options);

  std::size_t kernels() const;
  std::string text() const;            // the file
  std::string describe() const;        // for people: device, roofline, kernels of each class
  std::string describe_check() const;  // how well the model that is fitted on four fifths of the kernels predicts the rest
  // Error::io.
  Result<void> write(const std::string& path) const;

  // Adds the kernels of `other`; of a kernel that both have the less disturbed measurement stays. How many are new or better. Errors:
  // invalid_argument for profiles of different devices or rooflines.
  Result<std::size_t> merge(const Profile& other);

  struct Prune {
    bool disturbed = false;  // drop kernels that were timed while something disturbed the machine
    bool refused = false;    // drop what the device refused
    std::string only;        // keep kernels whose text contains this
  };
  // How many kernels were dropped.
  std::size_t prune(const Prune& what);

  struct Imported {
    std::size_t kernels = 0;  // of this device in the file now
    std::size_t added = 0;
  };
  // Adds it to a file of measured costs. Error::io.
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
