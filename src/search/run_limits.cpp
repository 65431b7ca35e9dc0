#include "src/search/run_limits.h"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

namespace xflow::api {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Seconds kDefaultLimit{300};
constexpr double kTimesBudget = 10;     // total time per time of search budget, if that exceeds the default limit
constexpr double kShareOfSearch = 0.6;  // part of the time after which the search ends
constexpr std::chrono::milliseconds kBetweenLooks{20};
constexpr std::chrono::milliseconds kBetweenReleases{50};

std::optional<std::uint64_t> number_in(const char* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

}  // namespace

std::uint64_t machine_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  std::uint64_t bytes = pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) : 0;
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    if (const auto limit = number_in(path); limit && *limit > 0) bytes = bytes == 0 ? *limit : std::min(bytes, *limit);
  return bytes;
}

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  if (!(file >> all >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(std::max(sysconf(_SC_PAGESIZE), 0L));
}

void release_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

RunLimits::RunLimits(const OptimizeOptions& options) : cancel_(options.cancel) {
  const Seconds budget = options.search.max_time.value_or(Seconds(0));
  max_seconds_ = options.time_limit.value_or(std::max(kDefaultLimit, kTimesBudget * budget)).count();
  max_bytes_ = options.max_memory.value_or(machine_bytes() / 2);
}

double RunLimits::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

double RunLimits::seconds_left() const {
  return max_seconds_ ? std::max(0.0, *max_seconds_ - seconds()) : std::numeric_limits<double>::infinity();
}

double RunLimits::search_seconds_left() const {
  return max_seconds_ ? std::max(0.0, kShareOfSearch * *max_seconds_ - seconds()) : std::numeric_limits<double>::infinity();
}

double RunLimits::fraction() const { return max_seconds_ && *max_seconds_ > 0 ? std::min(1.0, seconds() / *max_seconds_) : 0; }

void RunLimits::begin_gate() const {
  if (!finished_before_gate_) finished_before_gate_ = cancel_.is_finishing();
}

std::uint64_t RunLimits::used_bytes() const {
  const std::uint64_t used = resident_bytes();
  const Clock::time_point now = Clock::now();
  if (used <= max_bytes_ / 2 || now - released_ < kBetweenReleases) return used;
  released_ = now;
  release_freed_memory();
  return resident_bytes();
}

std::uint64_t RunLimits::bytes_left() const {
  if (max_bytes_ == 0) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t used = used_bytes();
  return max_bytes_ - std::min(used, max_bytes_);
}

bool RunLimits::memory_is_short() const {
  if (max_bytes_ == 0 || short_) return short_;
  const Clock::time_point now = Clock::now();
  if (now - asked_ < kBetweenLooks) return false;
  asked_ = now;
  if (resident_bytes() <= max_bytes_) return false;
  return short_ = used_bytes() > max_bytes_;
}

std::optional<search::StopReason> RunLimits::ends_search() const {
  if (cancel_.is_finishing()) return search::StopReason::cancelled;
  if (max_seconds_ && seconds() >= kShareOfSearch * *max_seconds_) return search::StopReason::time_limit;
  if (memory_is_short()) return search::StopReason::memory_limit;
  return std::nullopt;
}

bool RunLimits::is_over() const { return cancel_.is_stopping() || (max_seconds_ && seconds() >= *max_seconds_); }

Result<void> RunLimits::check() const {
  if (cancel_.is_stopping()) return fail(ErrorCode::limit, "cancelled");
  return {};
}

eval::Options within(const RunLimits& limits) {
  eval::Options options;
  options.stop = [&limits] { return limits.is_over(); };
  // Elements are evaluated in double: 8 bytes each.
  if (limits.max_bytes() > 0) {
    options.most_elements = std::min(options.most_elements, limits.max_bytes() / 8);
    options.bytes_left = [&limits] { return limits.bytes_left(); };
  }
  return options;
}

eval::Options within_clean_ups(const RunLimits& limits) {
  eval::Options options = within(limits);
  options.stop = [&limits] { return limits.ends_clean_ups(); };
  return options;
}

Acceptance RunLimits::may_continue() const {
  if (cancel_.is_stopping()) return refused("it was cancelled");
  if (max_seconds_ && seconds() >= *max_seconds_) return refused(fmt::format("the time limit of {:g} s is over", *max_seconds_));
  return cancel_.is_finishing() ? refused("it was cancelled") : accepted();
}

}  // namespace xflow::api
