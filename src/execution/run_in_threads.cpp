#include "src/execution/run_in_threads.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "src/execution/run_parts.h"
#include "src/parallel/part_manifest.h"
#include "src/support/file.h"

namespace xflow::execution {
namespace {

// Sender, receiver and tag, and the number of the message among those.
using Address = std::tuple<std::size_t, std::size_t, int, std::size_t>;

// What the threads share.
struct Office {
  explicit Office(std::size_t count) : threads(count) {}

  std::size_t threads;
  std::mutex mutex;
  std::map<Address, std::vector<std::byte>> letters;  // under way; their senders may have ended
  std::string broadcast;
  std::optional<Error> error;  // of the first thread that ended the run
  std::atomic<bool> has_ended = false;
  std::atomic<std::size_t> waiting = 0;  // at a barrier
  std::atomic<std::size_t> barriers = 0;
};

class OfficeMessages final : public RunMessages {
 public:
  OfficeMessages(Office& office, std::size_t thread) : office_(office), thread_(thread) {}

  std::size_t processes() const override { return office_.threads; }
  std::size_t process() const override { return thread_; }

  std::size_t send(std::size_t to, int tag, const std::byte* bytes, std::size_t size) override {
    std::vector<std::byte> letter(bytes, bytes + size);
    const std::lock_guard lock(office_.mutex);
    office_.letters.emplace(Address{thread_, to, tag, sent_[{to, tag}]++}, std::move(letter));
    transfers_.emplace_back();
    return transfers_.size() - 1;
  }
  std::size_t receive(std::size_t from, int tag, std::byte* bytes, std::size_t size) override {
    transfers_.push_back({{from, thread_, tag, received_[{from, tag}]++}, bytes, size});
    return transfers_.size() - 1;
  }
  bool is_done(std::size_t number) override {
    Transfer& transfer = transfers_[number];
    if (transfer.bytes == nullptr) return true;
    std::vector<std::byte> letter;
    {
      const std::lock_guard lock(office_.mutex);
      const auto found = office_.letters.find(transfer.from);
      if (found == office_.letters.end()) return waits();
      letter = std::move(found->second);
      office_.letters.erase(found);
    }
    std::memcpy(transfer.bytes, letter.data(), std::min(transfer.size, letter.size()));
    transfer.bytes = nullptr;
    return true;
  }

  void wait_for_all() override {
    const std::size_t barrier = office_.barriers.load(std::memory_order_acquire);
    if (office_.waiting.fetch_add(1, std::memory_order_acq_rel) + 1 == office_.threads) {
      office_.waiting.store(0, std::memory_order_relaxed);
      office_.barriers.store(barrier + 1, std::memory_order_release);
    }
    while (office_.barriers.load(std::memory_order_acquire) == barrier) waits();
  }
  std::string broadcast(std::size_t from, const std::string& text) override {
    if (from == thread_) office_.broadcast = text;
    wait_for_all();
    std::string result = office_.broadcast;
    wait_for_all();
    return result;
  }

  void introduce(const std::string& /*device*/) override {}
  void tell(RunPhase /*phase*/, std::size_t /*part*/, Seconds /*most*/) override {}
  void abort(const Error& error) override {
    const std::lock_guard lock(office_.mutex);
    if (!office_.error) office_.error = error;
    office_.has_ended = true;
  }

 private:
  struct Transfer {
    Address from;                // of a message that is received
    std::byte* bytes = nullptr;  // null once it is complete, as one that is sent always is
    std::size_t size = 0;
  };

  // False, once others had time to run. Throws, so that a thread whose peers have ended leaves the run.
  bool waits() const {
    if (office_.has_ended) throw std::runtime_error("another thread ended the run");
    std::this_thread::yield();
    return false;
  }

  Office& office_;
  std::size_t thread_;
  std::vector<Transfer> transfers_;
  std::map<std::pair<std::size_t, int>, std::size_t> sent_;
  std::map<std::pair<std::size_t, int>, std::size_t> received_;
};

}  // namespace

Result<RunResult> run_in_threads(const std::string& folder, const RunOptions& options) {
  const std::string file = (std::filesystem::path(folder) / parallel::kManifestName).string();
  XFLOW_TRY(const auto bytes, onnx_io::FileBytes::open(file));
  XFLOW_TRY(const PartManifest manifest, parallel::read_manifest(bytes->bytes(), file));
  const std::size_t devices = manifest.devices.size();
  Office office(devices);
  std::vector<Result<RunResult>> results(devices, fail(ErrorCode::internal, "not run"));
  std::vector<std::thread> threads;
  const auto run = [&](std::size_t number) {
    OfficeMessages messages(office, number);
    RunOptions own = options;
    own.messages = &messages;
    results[number] = execution::run_parts(folder, own);
  };
  for (std::size_t number = 1; number < devices; ++number) threads.emplace_back(run, number);
  run(0);
  for (std::thread& thread : threads) thread.join();
  if (office.error) return fail(*office.error);
  return std::move(results[0]);
}

}  // namespace xflow::execution
