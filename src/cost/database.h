// The database of measured costs: a SQLite file in WAL mode that persists between runs and is shared by the
// processes of one machine.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "src/kernels/device.h"
#include "src/support/acceptance.h"

namespace xflow::cost {

// The key of a measured kernel within a device. A row of the file is keyed by kernel text (with data types
// and post-operations), layout, device, model, threads and library.
struct DatabaseKey {
  std::string kernel;  // ops::to_string of the spec
  Layout layout = Layout::plain;
  friend bool operator==(const DatabaseKey&, const DatabaseKey&) = default;
};

// A cost, or the message with which the device refused the kernel ("cannot run ... here"). Refusals are
// stored as well.
struct DatabaseEntry {
  KernelCost cost;
  Acceptance ran = {};  // whether the kernel ran, or the message of the device
  int attempts = 1;     // number of timings; `cost` is the one with the least interference
  friend bool operator==(const DatabaseEntry&, const DatabaseEntry&) = default;
};

// The costs of one device. Opening reads all costs of the device from the file; `flush` writes new ones, and
// so does `insert` when enough of them wait. A stored cost is kept, so that all processes see the same,
// unless it is provisional and the new one had less interference. A file of an older schema is migrated and
// keeps its costs. A file that cannot be used (corrupted, read-only, of a newer schema) causes one warning,
// and the database works in memory. A Database is not thread-safe; several processes may use one file.
class Database {
 public:
  using Warning = std::function<void(const std::string&)>;

  // Opens the file `path`, creating it and its folder if needed. An empty path means in memory only.
  static Database open(const std::string& path, const DeviceInfo& device, Warning warn = {});
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();  // flushes

  const DatabaseEntry* find(const DatabaseKey& key) const;
  // Inserts an entry and returns the entry that is stored afterwards: the new one, or the earlier one if
  // that is kept.
  const DatabaseEntry& insert(const DatabaseKey& key, DatabaseEntry entry);
  // The shortest time of the device's calibration kernel on this machine over all runs; 0 if unknown.
  Nanoseconds fastest_calibration() const;
  void insert_calibration(Nanoseconds time);
  void flush();

  bool persistent() const;   // whether costs are written to the file
  std::size_t size() const;  // entries of this device
  // Calls `body` for each entry, in no particular order.
  void for_each(const std::function<void(const DatabaseKey&, const DatabaseEntry&)>& body) const;
  const std::string& path() const;  // as passed to open()

  static constexpr int kSchemaVersion = 3;

 private:
  struct State;
  explicit Database(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Why a database cannot be opened on a file system of this number (of <linux/magic.h>): network file systems
// have no shared memory between processes. nullopt for other file systems.
Acceptance may_be_shared(const std::string& path, std::uint64_t file_system);

}  // namespace xflow::cost
