// Workers run tasks: threads of this process, or other processes.
#pragma once

#include <xflow/error.h>
#include <xflow/generate.h>

#include <functional>
#include <string>
#include <vector>

namespace xflow::generator {

using Workers = GeneratorWorkers;

// Runs tasks in `jobs` threads.
class Threads final : public Workers {
 public:
  explicit Threads(int jobs) : jobs_(jobs) {}
  Result<void> run(const std::vector<std::string>& tasks, const GeneratorTask& work,
                   const std::function<Result<void>(std::size_t task, std::string result)>& done) override;
  // Calls work(k) for each k below `count`. Returns the first error.
  Result<void> for_each(std::size_t count, const std::function<Result<void>(std::size_t k)>& work);
  std::size_t width() const override { return static_cast<std::size_t>(jobs_); }
  int threads() const override { return jobs_; }

 private:
  int jobs_;
};

}  // namespace xflow::generator
