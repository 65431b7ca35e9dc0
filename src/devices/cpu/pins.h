// Threads that stay on their processors while kernels are timed.
#pragma once

#include <functional>
#include <memory>

namespace xflow::cost::cpu {

// Runs `run` on each of the threads with which oneDNN computes: on the calling one, number 0, and where it was built with OpenMP on the
// others of the team. In no order; not one after the other.
void on_each_thread(int threads, const std::function<void(int)>& run);

// While it lives, each of the threads runs on a processor of its own: the calling one where it is, the others on the next ones that they
// may use, of other cores as long as there are some. Then all may run where they could before. Where there are fewer processors than
// threads, or the system has no such thing, nothing is done.
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
