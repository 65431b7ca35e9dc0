// Any file is a cost database, becomes one, or gives one warning of one line and is not used; it neither hangs nor fills the memory. What a
// database holds are times, and a profile of it is read again.
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "src/cost/database.h"
#include "src/devices/profile/profile.h"
#include "tests/fuzz/fuzz.h"

using xflow::fuzz::expect;
namespace cost = xflow::cost;

namespace {

// One folder for a process; in memory where the system has such a file system.
const std::filesystem::path& folder() {
  static const std::filesystem::path path = [] {
    const std::filesystem::path memory = "/dev/shm";
    std::string name = (std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path()) / "xflow-costs-XXXXXX";
    expect(mkdtemp(name.data()) != nullptr, "a folder can be made");
    std::atexit([] { std::filesystem::remove_all(folder()); });
    return std::filesystem::path(name);
  }();
  return path;
}

// As in the seeds.
cost::DeviceInfo device() { return {"npu", "NPU 7", "vendor 2.1", 1, "wall time", "loop"}; }

void expect_costs(const cost::Database& database) {
  std::size_t count = 0;
  database.for_each([&](const cost::DatabaseKey& key, const cost::DatabaseEntry& entry) {
    ++count;
    expect(database.find(key) == &entry, "an entry is found by its key");
    expect(entry.cost.median.count() >= 0 && std::isfinite(entry.cost.median.count()), "a time is a number that is not negative");
    expect(entry.cost.spread.count() >= 0 && std::isfinite(entry.cost.spread.count()), "a spread is a number that is not negative");
    expect(entry.cost.interference >= 0 && std::isfinite(entry.cost.interference), "interference is a number that is not negative");
    expect(entry.cost.repeats >= 0 && entry.attempts >= 1, "counts are not negative");
  });
  expect(count == database.size(), "a database visits as many entries as it has");
  expect(database.fastest_calibration().count() >= 0 && std::isfinite(database.fastest_calibration().count()),
         "a calibration kernel takes time");
  const std::string text = to_text(cost::profile::profile_of(database, device()));
  const auto read = cost::profile::parse_profile(text, "exported");
  if (!read) std::fprintf(stderr, "%s\n%s\n", text.c_str(), read.error().text().c_str());
  expect(read.has_value(), "a profile of a database is read again");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = folder() / "costs.db";
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) std::filesystem::remove(path + suffix);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  int warnings = 0;
  const auto warn = [&](const std::string& message) {
    ++warnings;
    xflow::fuzz::expect_message(message);
    xflow::fuzz::expect_printable(message);
  };
  const cost::DatabaseKey key{"softmax(float32[2]) -> float32[2]", cost::Layout::plain};
  bool persistent = false;
  {
    cost::Database database = cost::Database::open(path, device(), warn);
    expect_costs(database);
    cost::DatabaseEntry entry;
    entry.cost.median = xflow::Nanoseconds(5);
    database.insert(key, entry);
    database.insert_calibration(xflow::Nanoseconds(3));
    database.flush();
    persistent = database.persistent();
    expect_costs(database);
    expect(database.find(key) != nullptr, "a database holds what it was given");
  }
  expect(warnings == (persistent ? 0 : 1), "a file that cannot be used gives one warning, any other none");
  if (persistent) {
    const cost::Database reopened = cost::Database::open(path, device(), warn);
    if (reopened.persistent()) expect(reopened.find(key) != nullptr, "a database that was written holds what it was given");
    expect_costs(reopened);
  }
  return 0;
}
