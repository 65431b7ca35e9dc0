#include "src/execution/measure_cluster.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "src/devices/cpu/cpu_device.h"
#include "src/execution/guarded_run.h"
#include "src/search/run_limits.h"

namespace xflow::execution {
namespace {

constexpr std::array<std::size_t, 7> kSizes = {1U << 10U, 4U << 10U, 16U << 10U, 64U << 10U, 256U << 10U, 1U << 20U, 4U << 20U};
constexpr int kWarmUps = 5;
constexpr int kRounds = 60;
// Messages pass through so much memory before the same bytes are used again, as other tensors do in a step.
constexpr std::size_t kRotation = 16U << 20U;

double seconds_of(std::chrono::steady_clock::duration time) { return std::chrono::duration<double>(time).count(); }

class LinkBenchmark {
 public:
  explicit LinkBenchmark(RunMessages& messages) : messages_(messages), out_(kRotation, std::byte{1}), in_(kRotation) {}

  // The first process and `other` send each other messages that they have just written; further processes
  // wait.
  std::vector<MeasuredCluster::Sample> run(std::size_t other) {
    std::vector<MeasuredCluster::Sample> samples;
    messages_.tell(RunPhase::waiting, kNoPart, Seconds(0));
    messages_.wait_for_all();
    if (messages_.process() != 0 && messages_.process() != other) return samples;
    for (const std::size_t size : kSizes) {
      std::vector<double> times;
      for (int round = 0; round < kWarmUps + kRounds; ++round) {
        const std::size_t at = next(size);
        std::fill_n(out_.begin() + static_cast<std::ptrdiff_t>(at), size, static_cast<std::byte>(round));
        if (messages_.process() == 0) {
          receive(other, at, 1);  // it has written its message
          const auto begin = std::chrono::steady_clock::now();
          send(other, at, size);
          receive(other, at, size);
          if (round >= kWarmUps) times.push_back(seconds_of(std::chrono::steady_clock::now() - begin) / 2);
        } else {
          send(0, at, 1);
          receive(0, at, size);
          send(0, at, size);
        }
      }
      if (times.empty()) continue;  // of the first process alone
      std::ranges::sort(times);
      samples.push_back({size, Seconds(times[times.size() / 2])});
    }
    return samples;
  }

 private:
  void wait(std::size_t transfer) {
    while (!messages_.is_done(transfer)) {
    }
  }
  void send(std::size_t to, std::size_t at, std::size_t size) { wait(messages_.send(to, 0, out_.data() + at, size)); }
  void receive(std::size_t from, std::size_t at, std::size_t size) { wait(messages_.receive(from, 0, in_.data() + at, size)); }
  // The place of the next message.
  std::size_t next(std::size_t size) {
    const std::size_t at = at_ + size <= kRotation ? at_ : 0;
    at_ = at + size;
    return at;
  }

  RunMessages& messages_;
  std::size_t at_ = 0;
  std::vector<std::byte> out_;
  std::vector<std::byte> in_;
};

std::string host_name() {
  constexpr std::size_t kMost = 256;
  std::array<char, kMost + 1> name = {};
  return gethostname(name.data(), kMost) == 0 ? name.data() : "";
}

// The hosts of the processes, numbered in the order of their first process.
std::vector<std::uint32_t> hosts_of(RunMessages& messages) {
  std::vector<std::string> names;
  std::vector<std::uint32_t> hosts;
  for (std::size_t process = 0; process < messages.processes(); ++process) {
    const std::string name = messages.broadcast(process, host_name());
    auto found = std::ranges::find(names, name);
    if (found == names.end()) found = names.insert(names.end(), name);
    hosts.push_back(static_cast<std::uint32_t>(found - names.begin()));
  }
  return hosts;
}

}  // namespace

std::pair<double, double> fit_link(std::span<const MeasuredCluster::Sample> samples) {
  // Minimises the sum of ((a + b s) / t - 1)^2 over samples of size s and time t.
  double w = 0;    // sum of 1/t^2
  double ws = 0;   // of s/t^2
  double wss = 0;  // of s^2/t^2
  double v = 0;    // of 1/t
  double vs = 0;   // of s/t
  for (const MeasuredCluster::Sample& sample : samples) {
    const auto s = static_cast<double>(sample.bytes);
    const double t = sample.time.count();
    w += 1 / (t * t);
    ws += s / (t * t);
    wss += s * s / (t * t);
    v += 1 / t;
    vs += s / t;
  }
  const double determinant = w * wss - ws * ws;
  double a = determinant > 0 ? (v * wss - vs * ws) / determinant : 0;
  double b = determinant > 0 ? (vs * w - v * ws) / determinant : 0;
  if (a < 0 || determinant <= 0) {
    a = 0;
    b = vs / wss;
  } else if (b < 0) {
    a = v / w;
    b = 0;
  }
  return {a, b};
}

namespace {

Result<MeasuredCluster> measure(RunMessages& messages) {
  if (messages.processes() < 2)
    return fail(ErrorCode::invalid_argument, "links are measured between processes; start two or more by mpirun");
  messages.introduce(fmt::format("cpu{}", messages.process()));
  const auto device = cost::cpu::open_cpu_device();
  if (!device) {
    messages.abort(device.error());  // the others do not know of it
    return fail(device.error());
  }
  MeasuredCluster cluster;
  cluster.name = fmt::format("cpu-{}", messages.processes());
  cluster.kind = (*device)->info().model;
  cluster.host = hosts_of(messages);
  const auto on_first = static_cast<double>(std::ranges::count(cluster.host, 0U));
  cluster.memory = static_cast<double>(api::machine_bytes()) / on_first;
  LinkBenchmark benchmark(messages);
  for (std::size_t other = 1; other < messages.processes(); ++other) {
    const std::vector<MeasuredCluster::Sample> samples = benchmark.run(other);
    auto& link = cluster.host[other] == 0 ? cluster.inside : cluster.across;
    if (!link) link = MeasuredCluster::Link{};
    link->samples.insert(link->samples.end(), samples.begin(), samples.end());
  }
  messages.wait_for_all();
  for (auto* link : {&cluster.inside, &cluster.across}) {
    if (!*link || messages.process() != 0) continue;
    const auto [latency, per_byte] = fit_link((*link)->samples);
    (*link)->latency = Seconds(latency);
    constexpr double kMostBandwidth = 1e15;  // where sizes make no difference
    (*link)->bandwidth = per_byte > 0 ? 1 / per_byte : kMostBandwidth;
  }
  return cluster;
}

}  // namespace

Result<MeasuredCluster> measure_cluster(RunMessages& messages) {
  return guarded_run<MeasuredCluster>(&messages, [&] { return measure(messages); });
}

}  // namespace xflow::execution
