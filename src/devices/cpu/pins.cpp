#include "src/devices/cpu/pins.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif

extern "C" {
// From the OpenMP runtime that oneDNN was linked with; null if there is none.
__attribute__((weak)) void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
__attribute__((weak)) int omp_get_thread_num();
}

namespace xflow::cost::cpu {

void on_each_thread(int threads, const std::function<void(int)>& run) {
  if (threads == 1 || GOMP_parallel == nullptr || omp_get_thread_num == nullptr) return run(0);
  const auto call = [](void* data) { (*static_cast<const std::function<void(int)>*>(data))(omp_get_thread_num()); };
  GOMP_parallel(call, const_cast<std::function<void(int)>*>(&run), static_cast<unsigned>(threads), 0);
}

#ifdef __linux__

namespace {

// The core of each processor, as a string that is equal for processors of the same core.
const std::vector<std::string>& cores() {
  static const std::vector<std::string> found = [] {
    std::vector<std::string> result;
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
      std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", processor));
      std::string core;
      if (!std::getline(file, core)) core = fmt::format("processor {}", processor);
      result.push_back(std::move(core));
    }
    return result;
  }();
  return found;
}

// The current processor of the calling thread, followed by other allowed processors, those of unused cores
// first. At most `count`; fewer if not enough are allowed.
std::vector<int> processors(const cpu_set_t& allowed, std::size_t count) {
  std::vector<int> result;
  const int here = sched_getcpu();
  if (here >= 0 && here < CPU_SETSIZE && CPU_ISSET(here, &allowed)) result.push_back(here);
  if (result.size() == count) return result;
  std::vector<int> of_used_cores;
  std::set<std::string> used;
  for (const int processor : result) used.insert(cores()[static_cast<std::size_t>(processor)]);
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (processor == here || !CPU_ISSET(processor, &allowed)) continue;
    (used.insert(cores()[static_cast<std::size_t>(processor)]).second ? result : of_used_cores).push_back(processor);
  }
  result.insert(result.end(), of_used_cores.begin(), of_used_cores.end());
  result.resize(std::min(result.size(), count));
  return result;
}

}  // namespace

struct Pins::Masks {
  std::vector<cpu_set_t> of_threads;
};

Pins::Pins(int threads) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || CPU_COUNT(&allowed) < threads) return;
  const std::vector<int> places = processors(allowed, static_cast<std::size_t>(threads));
  if (places.size() < static_cast<std::size_t>(threads)) return;
  before_ = std::make_unique<Masks>();
  before_->of_threads.resize(static_cast<std::size_t>(threads), allowed);
  on_each_thread(threads, [&](int thread) {
    const auto k = static_cast<std::size_t>(thread);
    if (k >= places.size() || sched_getaffinity(0, sizeof(cpu_set_t), &before_->of_threads[k]) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(places[k], &one);
    sched_setaffinity(0, sizeof(one), &one);
  });
}

Pins::~Pins() {
  if (before_ == nullptr) return;
  on_each_thread(static_cast<int>(before_->of_threads.size()), [&](int thread) {
    const auto k = static_cast<std::size_t>(thread);
    if (k < before_->of_threads.size()) sched_setaffinity(0, sizeof(cpu_set_t), &before_->of_threads[k]);
  });
}

#else

struct Pins::Masks {};
Pins::Pins(int /*threads*/) {}
Pins::~Pins() = default;

#endif

}  // namespace xflow::cost::cpu
