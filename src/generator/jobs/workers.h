// Who does pieces of work: threads of this process, or other processes.
#pragma once

#include <xflow/result.h>

#include <functional>
#include <string>
#include <vector>

namespace xflow::generator {

// A piece of work is a text; so is its result.
using Piece = std::function<Result<std::string>(const std::string& piece)>;

class Workers {
 public:
  Workers() = default;
  virtual ~Workers() = default;
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Does all pieces, in any order and several at a time. `done` is called in this thread, once a piece, in the order in which they end. The
  // first error ends it.
  virtual Result<void> run(const std::vector<std::string>& pieces, const Piece& work,
                           const std::function<Result<void>(std::size_t piece, std::string result)>& done) = 0;
  // How many pieces are done at a time, and how many threads this process has for its own.
  virtual std::size_t width() const = 0;
  virtual int threads() const { return 1; }
};

// `jobs` threads.
class Threads final : public Workers {
 public:
  explicit Threads(int jobs) : jobs_(jobs) {}
  Result<void> run(const std::vector<std::string>& pieces, const Piece& work,
                   const std::function<Result<void>(std::size_t piece, std::string result)>& done) override;
  std::size_t width() const override { return static_cast<std::size_t>(jobs_); }
  int threads() const override { return jobs_; }

 private:
  int jobs_;
};

}  // namespace xflow::generator
