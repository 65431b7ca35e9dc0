// Measured costs, kept between runs and shared by the processes of one machine: a SQLite file in WAL mode.
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

// One measured kernel: the key is kernel text (with data types and post-operations), layout, device, model, threads, library.
struct DatabaseKey {
  std::string kernel;  // ops::to_string of the spec
  Layout layout = Layout::plain;
  friend bool operator==(const DatabaseKey&, const DatabaseKey&) = default;
};

// A cost, or the message with which the device refused the kernel ("cannot run ... here"), which is kept as well.
struct DatabaseEntry {
  KernelCost cost;
  Acceptance ran = {};  // whether the kernel ran, else the message of the device
  int attempts = 1;     // how often it was timed; the cost is that with the least interference
  friend bool operator==(const DatabaseEntry&, const DatabaseEntry&) = default;
};

// The costs of one device. Reads everything that the file has for the device when it is opened; new costs are written by `flush` or when
// enough of them wait. A cost stays once it is there, so that all processes see the same, unless it is provisional and the new one was
// less interference. A file of an older schema is brought up to date, and its costs stay. A file that cannot be used (corrupted,
// read-only, of a newer schema) gives one warning, and the database works in memory. Used by one thread at a time; several processes may
// use one file.
class Database {
 public:
  using Warning = std::function<void(const std::string&)>;

  // `path`: the file, made with its folder at need; empty: in memory only.
  static Database open(const std::string& path, const DeviceInfo& device, Warning warn = {});
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();  // flushes

  const DatabaseEntry* find(const DatabaseKey& key) const;
  // What stands afterwards: the entry, or the one that was there, which it does not replace.
  const DatabaseEntry& insert(const DatabaseKey& key, DatabaseEntry entry);
  // The time of the device's control on this machine at its best, in all runs; 0 if none was told.
  Nanoseconds fastest_control() const;
  void insert_control(Nanoseconds time);
  void flush();

  bool persistent() const;   // costs go to the file
  std::size_t size() const;  // entries of this device
  // All of them, in no order.
  void for_each(const std::function<void(const DatabaseKey&, const DatabaseEntry&)>& body) const;
  const std::string& path() const;  // as given

  static constexpr int kSchemaVersion = 3;

 private:
  struct State;
  explicit Database(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Why no database is opened on a file system of this number (of <linux/magic.h>): it is over a network, where processes share no memory.
// Nothing for others.
std::optional<std::string> why_not_shared(const std::string& path, std::uint64_t file_system);

}  // namespace xflow::cost
