#include "src/cost/database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#ifdef __linux__
#include <sys/vfs.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace xflow::cost {
namespace {

// How long a process waits for another process that writes. An xflow transaction takes milliseconds.
constexpr int kBusyMilliseconds = 10'000;
constexpr std::size_t kWaiting = 64;
// Limits for untrusted files: bytes of one value, and steps of SQLite's virtual machine for each byte of the
// file plus a constant.
constexpr int kMostValue = 1 << 20;
constexpr std::uintmax_t kStepsOfAByte = 100;
constexpr std::uintmax_t kSteps = 10'000'000;
constexpr int kMostAttemptsKept = 1'000'000;

constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS cost ("
    " device TEXT NOT NULL, model TEXT NOT NULL, library TEXT NOT NULL, threads INTEGER NOT NULL, kernel TEXT NOT NULL,"
    " layout TEXT NOT NULL, median REAL NOT NULL, spread REAL NOT NULL, repeats INTEGER NOT NULL, operands TEXT NOT NULL,"
    " results TEXT NOT NULL, clock TEXT NOT NULL, refusal TEXT NOT NULL, disturbance REAL NOT NULL DEFAULT 0,"
    " attempts INTEGER NOT NULL DEFAULT 1,"
    " PRIMARY KEY (device, model, library, threads, kernel, layout)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS control (device TEXT NOT NULL, model TEXT NOT NULL, threads INTEGER NOT NULL, control TEXT NOT NULL,"
    " fastest REAL NOT NULL, PRIMARY KEY (device, model, threads, control)) WITHOUT ROWID";
// kMigrations[k] migrates a file from schema version k + 1 to k + 2.
constexpr std::array<const char*, Database::kSchemaVersion - 1> kMigrations = {
    "ALTER TABLE cost ADD COLUMN disturbance REAL NOT NULL DEFAULT 0",
    "ALTER TABLE cost ADD COLUMN attempts INTEGER NOT NULL DEFAULT 1;"
    "CREATE TABLE control (device TEXT NOT NULL, model TEXT NOT NULL, threads INTEGER NOT NULL, control TEXT NOT NULL,"
    " fastest REAL NOT NULL, PRIMARY KEY (device, model, threads, control)) WITHOUT ROWID",
};
constexpr const char* kSelect =
    "SELECT kernel, layout, median, spread, repeats, operands, results, refusal, disturbance, attempts FROM cost"
    " WHERE device = ? AND model = ? AND library = ? AND threads = ?";
// A row is kept, so that all processes see the same costs, unless it is provisional (see is_provisional) and
// the new one had less interference. The column `disturbance` stores the interference.
constexpr const char* kInsert =
    "INSERT INTO cost (device, model, library, threads, kernel, layout, median, spread, repeats, operands, results, clock, refusal,"
    " disturbance, attempts) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET median = excluded.median,"
    " spread = excluded.spread, repeats = excluded.repeats, operands = excluded.operands, results = excluded.results,"
    " clock = excluded.clock, disturbance = excluded.disturbance"
    " WHERE cost.refusal = '' AND excluded.refusal = '' AND cost.disturbance > ? AND excluded.disturbance < cost.disturbance";
constexpr const char* kCount =
    "UPDATE cost SET attempts = max(attempts, ?) WHERE device = ? AND model = ? AND library = ? AND threads = ? AND kernel = ? AND layout "
    "= ?";
// Deletes a row with invalid costs, which kInsert would keep instead of the new measurement.
constexpr const char* kDelete =
    "DELETE FROM cost WHERE device = ? AND model = ? AND library = ? AND threads = ? AND kernel = ? AND layout = ?";
constexpr const char* kSelectCalibration = "SELECT fastest FROM control WHERE device = ? AND model = ? AND threads = ? AND control = ?";
constexpr const char* kInsertCalibration =
    "INSERT INTO control (device, model, threads, control, fastest) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT DO UPDATE SET fastest = min(fastest, excluded.fastest)";

// Whether a new measurement of a kernel replaces the old one.
bool replaces(const DatabaseEntry& fresh, const DatabaseEntry& old) {
  return old.ran && fresh.ran && is_provisional(old.cost) && fresh.cost.interference < old.cost.interference;
}

// A prepared statement.
class Statement {
 public:
  Statement(sqlite3* connection, const char* sql) { sqlite3_prepare_v2(connection, sql, -1, &statement_, nullptr); }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  explicit operator bool() const { return statement_ != nullptr; }
  void bind(int index, std::string_view text) {
    sqlite3_bind_text(statement_, index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void bind(int index, double value) { sqlite3_bind_double(statement_, index, value); }
  void bind(int index, int value) { sqlite3_bind_int(statement_, index, value); }
  int step() { return sqlite3_step(statement_); }
  void reset() { sqlite3_reset(statement_); }
  std::string text(int column) {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }
  double real(int column) { return sqlite3_column_double(statement_, column); }
  int integer(int column) { return sqlite3_column_int(statement_, column); }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace

Acceptance may_be_shared(const std::string& path, std::uint64_t file_system) {
  constexpr std::array<std::pair<std::uint32_t, std::string_view>, 11> kNetworks = {{{0x00006969, "NFS"},
                                                                                     {0x0000517B, "SMB"},
                                                                                     {0xFF534D42, "CIFS"},
                                                                                     {0xFE534D42, "SMB 2"},
                                                                                     {0x01021997, "9P"},
                                                                                     {0x5346414F, "AFS"},
                                                                                     {0x6B414653, "kAFS"},
                                                                                     {0x73757245, "Coda"},
                                                                                     {0x00C36400, "Ceph"},
                                                                                     {0x0BD00BD0, "Lustre"},
                                                                                     {0x47504653, "GPFS"}}};
  for (const auto& [number, name] : kNetworks) {
    // The kernel's type of this number may be signed and wider than 32 bits.
    if ((file_system & 0xFFFFFFFFU) != number) continue;
    return refused(fmt::format(
        "{}: the cost database needs shared memory, which a network folder ({}) does not have; costs are kept in memory for this run only; "
        "choose a local file with option 'cost_database'",
        path, name));
  }
  return accepted();
}

struct Database::State {
  struct KeyHash {
    std::size_t operator()(const DatabaseKey& key) const {
      return std::hash<std::string>()(key.kernel) * 31 + static_cast<std::size_t>(key.layout);
    }
  };
  std::string path;
  DeviceInfo device;
  Warning warn;
  sqlite3* connection = nullptr;
  std::unordered_map<DatabaseKey, DatabaseEntry, KeyHash> entries;
  std::vector<DatabaseKey> waiting;
  std::vector<DatabaseKey> no_costs;  // keys of rows in the file with invalid costs
  Nanoseconds fastest_calibration{};
  bool calibration_waits = false;
  std::uintmax_t steps_left = 0;

  ~State() { close(); }

  void close() {
    sqlite3_close_v2(connection);  // statements may still be open
    connection = nullptr;
  }

  // Continues in memory. There is one warning only, since the file is not used afterwards.
  void give_up(const std::string& doing) { give_up(doing, connection == nullptr ? "" : fmt::format(": {}", sqlite3_errmsg(connection))); }
  void give_up(const std::string& doing, std::string reason) {
    for (char& c : reason)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';  // the reason may quote the file
    close();
    waiting.clear();
    if (warn) warn(fmt::format("{}: cannot {} the cost database{}; costs are kept in memory for this run only", path, doing, reason));
  }

  bool execute(const char* sql) { return sqlite3_exec(connection, sql, nullptr, nullptr, nullptr) == SQLITE_OK; }

  // In WAL mode readers never wait for the writer, and a killed process loses at most its last transaction.
  // The switch needs an exclusive lock while it already holds a read lock. If two processes switch at once,
  // SQLite refuses one of them without waiting, so this loop waits.
  bool switch_to_wal() {
    constexpr int kTry = 5;
    for (int waited = 0;; waited += kTry) {
      if (execute("PRAGMA journal_mode = WAL")) return true;
      if (sqlite3_errcode(connection) != SQLITE_BUSY || waited >= kBusyMilliseconds) return false;
      sqlite3_sleep(kTry);
    }
  }

  int schema_version() {
    Statement statement(connection, "PRAGMA user_version");
    return statement && statement.step() == SQLITE_ROW ? statement.integer(0) : -1;
  }

  // Migrates any older schema, or an empty file, to the current one. The version is read again inside the
  // exclusive transaction, because another process may migrate at the same time.
  bool migrate() {
    if (!execute("BEGIN IMMEDIATE")) return false;
    const int found = schema_version();
    bool done = found >= 0;
    if (found == 0) done = execute(kSchema);
    for (int version = found; done && version > 0 && version < kSchemaVersion; ++version) {
      done = execute(kMigrations[static_cast<std::size_t>(version) - 1]);
    }
    if (found < kSchemaVersion) done = done && execute(fmt::format("PRAGMA user_version = {}", kSchemaVersion).c_str());
    return execute(done ? "COMMIT" : "ROLLBACK") && done;
  }

  // The file is untrusted: none of its contents are executed, and reading it terminates
  // (https://www.sqlite.org/security.html).
  void distrust() {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, kMostValue);
    execute("PRAGMA cell_size_check = ON");
    allow_steps();
    constexpr int kSlice = 10'000;
    sqlite3_progress_handler(
        connection, kSlice,
        [](void* left) {
          auto& steps = *static_cast<std::uintmax_t*>(left);
          if (steps < kSlice) return 1;
          steps -= kSlice;
          return 0;
        },
        &steps_left);
  }

  // Resets the step limit, for opening and reading or for one transaction.
  void allow_steps() {
    std::error_code none;
    const std::uintmax_t bytes = std::filesystem::file_size(path, none);
    steps_left = kSteps + (none ? 0 : std::min(bytes, std::uintmax_t{1} << 40U) * kStepsOfAByte);
  }

  // The costs of a row; nullopt if they are invalid.
  static std::optional<DatabaseEntry> entry_of(Statement& row) {
    const auto is_time = [](double value) { return value >= 0 && std::isfinite(value); };
    const auto operands = layout_from_name(row.text(5));
    const auto results = layout_from_name(row.text(6));
    if (!operands || !results) return std::nullopt;
    DatabaseEntry entry;
    entry.cost = KernelCost{Nanoseconds(row.real(2)), Nanoseconds(row.real(3)), row.integer(4), *operands, *results};
    if (std::string reason = row.text(7); !reason.empty()) entry.ran = refused(std::move(reason));
    entry.cost.interference = row.real(8);
    entry.attempts = std::min(row.integer(9), kMostAttemptsKept);
    const bool numbers = is_time(entry.cost.median.count()) && is_time(entry.cost.spread.count()) && is_time(entry.cost.interference);
    if (!numbers || entry.cost.repeats < 0 || entry.attempts < 1) return std::nullopt;
    return entry;
  }

  void open() {
    std::error_code ignored;  // if the folder cannot be created, opening the file fails
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
#ifdef __linux__
    struct statfs system {};
    if (statfs(folder.empty() ? "." : folder.c_str(), &system) == 0) {
      if (const Acceptance shared = may_be_shared(path, static_cast<std::uint64_t>(system.f_type)); !shared) {
        if (warn) warn(shared.reason);
        return;
      }
    }
#endif
    if (sqlite3_open_v2(path.c_str(), &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr) !=
        SQLITE_OK) {
      return give_up("open");
    }
    sqlite3_busy_timeout(connection, kBusyMilliseconds);
    distrust();
    const int found = schema_version();
    if (found < 0) return give_up("read");
    if (found > kSchemaVersion) {
      close();
      if (warn) {
        warn(fmt::format(
            "{}: the cost database has schema version {}, this xflow supports up to {}; costs are kept in memory for this run only", path,
            found, kSchemaVersion));
      }
      return;
    }
    if (!switch_to_wal() || !execute("PRAGMA synchronous = NORMAL")) return give_up("write");
    if (found < kSchemaVersion) {
      if (!migrate()) return give_up("write");
    } else if (!execute("BEGIN IMMEDIATE") || !execute("ROLLBACK")) {  // the file is read-only
      return give_up("write");
    }
    read();
  }

  // Rows written to a file with inconsistent pages may not be found again, and SQLite reports no error.
  bool is_damaged() {
    Statement check(connection, "PRAGMA integrity_check(1)");
    if (!check) return false;  // the error is reported on reading
    if (check.step() != SQLITE_ROW || check.text(0) == "ok") return false;
    give_up("use", fmt::format(", which is damaged: {}", check.text(0)));
    return true;
  }

  void read() {
    if (is_damaged()) return;
    Statement select(connection, kSelect);
    if (!select) return give_up("read");
    select.bind(1, device.name);
    select.bind(2, device.model);
    select.bind(3, device.library);
    select.bind(4, device.threads);
    int code = SQLITE_ROW;
    while ((code = select.step()) == SQLITE_ROW) {
      const auto layout = layout_from_name(select.text(1));
      auto entry = entry_of(select);
      if (!layout) continue;  // written by a version with more layouts
      if (!entry) {           // invalid costs: measured again if needed
        no_costs.push_back({select.text(0), *layout});
        continue;
      }
      entries.insert_or_assign(DatabaseKey{select.text(0), *layout}, *std::move(entry));
    }
    if (code != SQLITE_DONE) return give_up("read");
    Statement calibration(connection, kSelectCalibration);
    if (!calibration) return give_up("read");
    bind_calibration(calibration);
    if (calibration.step() != SQLITE_ROW) return;
    const double fastest = calibration.real(0);
    if (fastest > 0 && std::isfinite(fastest)) fastest_calibration = Nanoseconds(fastest);
  }

  void bind_calibration(Statement& statement) const {
    statement.bind(1, device.name);
    statement.bind(2, device.model);
    statement.bind(3, device.threads);
    statement.bind(4, device.calibration);
  }

  // Binds the key of a kernel to the columns from `first` on.
  void bind_key(Statement& statement, int first, const DatabaseKey& key) const {
    statement.bind(first, device.name);
    statement.bind(first + 1, device.model);
    statement.bind(first + 2, device.library);
    statement.bind(first + 3, device.threads);
    statement.bind(first + 4, key.kernel);
    statement.bind(first + 5, name(key.layout));
  }

  bool write_calibration() {
    if (!calibration_waits) return true;
    Statement insert(connection, kInsertCalibration);
    if (!insert) return false;
    bind_calibration(insert);
    insert.bind(5, fastest_calibration.count());
    calibration_waits = false;
    return insert.step() == SQLITE_DONE;
  }

  void write() {
    if (connection == nullptr || (waiting.empty() && !calibration_waits)) return;
    allow_steps();
    if (!execute("BEGIN IMMEDIATE") || !write_calibration()) return give_up("write");
    {
      Statement remove(connection, kDelete);
      Statement insert(connection, kInsert);
      Statement count(connection, kCount);
      if (!remove || !insert || !count) return give_up("write");
      for (const DatabaseKey& key : waiting) {
        const DatabaseEntry& entry = entries.at(key);
        if (std::erase(no_costs, key) > 0) {
          bind_key(remove, 1, key);
          remove.step();
          remove.reset();
        }
        bind_key(insert, 1, key);
        insert.bind(7, entry.cost.median.count());
        insert.bind(8, entry.cost.spread.count());
        insert.bind(9, entry.cost.repeats);
        insert.bind(10, name(entry.cost.operands));
        insert.bind(11, name(entry.cost.results));
        insert.bind(12, device.clock);
        insert.bind(13, entry.ran.reason);
        insert.bind(14, entry.cost.interference);
        insert.bind(15, entry.attempts);
        insert.bind(16, kProvisional);
        count.bind(1, entry.attempts);
        bind_key(count, 2, key);
        if (insert.step() != SQLITE_DONE || (entry.attempts > 1 && count.step() != SQLITE_DONE)) {
          execute("ROLLBACK");
          return give_up("write");
        }
        insert.reset();
        count.reset();
      }
    }
    if (!execute("COMMIT")) return give_up("write");
    waiting.clear();
  }
};

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;

Database::~Database() {
  if (state_) flush();
}

Database Database::open(const std::string& path, const DeviceInfo& device, Warning warn) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->device = device;
  state->warn = std::move(warn);
  if (!path.empty()) state->open();
  return Database(std::move(state));
}

const DatabaseEntry* Database::find(const DatabaseKey& key) const {
  const auto it = state_->entries.find(key);
  return it == state_->entries.end() ? nullptr : &it->second;
}

const DatabaseEntry& Database::insert(const DatabaseKey& key, DatabaseEntry entry) {
  const auto [known, is_new] = state_->entries.try_emplace(key, entry);
  DatabaseEntry& kept = known->second;
  if (!is_new) {
    const int attempts = std::min(kept.attempts, kMostAttemptsKept) + std::min(entry.attempts, kMostAttemptsKept);
    if (replaces(entry, kept)) kept = std::move(entry);
    kept.attempts = attempts;
  }
  if (state_->connection == nullptr) return kept;
  state_->waiting.push_back(key);
  if (state_->waiting.size() >= kWaiting) flush();
  return kept;
}

Nanoseconds Database::fastest_calibration() const { return state_->fastest_calibration; }

void Database::insert_calibration(Nanoseconds time) {
  if (time.count() <= 0 || (state_->fastest_calibration.count() > 0 && time >= state_->fastest_calibration)) return;
  state_->fastest_calibration = time;
  state_->calibration_waits = true;
}

void Database::flush() { state_->write(); }
bool Database::persistent() const { return state_->connection != nullptr; }
std::size_t Database::size() const { return state_->entries.size(); }
const std::string& Database::path() const { return state_->path; }

void Database::for_each(const std::function<void(const DatabaseKey&, const DatabaseEntry&)>& body) const {
  for (const auto& [key, entry] : state_->entries) body(key, entry);
}

}  // namespace xflow::cost
