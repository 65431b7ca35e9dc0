// Pins threads to processors while kernels are timed.
#pragma once

#include <functional>
#include <memory>

namespace xflow::cost::cpu {

// Runs `run` concurrently on each thread that oneDNN computes with: on the calling thread with number 0 and,
// in a build with OpenMP, on the other threads of the team. The order is undefined.
void on_each_thread(int threads, const std::function<void(int)>& run);

// While it exists, each thread runs on a processor of its own: the calling thread on its current one, the
// others on the next allowed ones, on other cores while there are any. The destructor restores the previous
// affinities. Does nothing if there are fewer processors than threads or if the system has no thread
// affinity.
class Pins {
 public:
  explicit Pins(int threads);
  Pins(const Pins&) = delete;
  Pins& operator=(const Pins&) = delete;
  ~Pins();

 private:
  struct Masks;
  std::unique_ptr<Masks> before_;
};

}  // namespace xflow::cost::cpu
