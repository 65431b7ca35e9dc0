// The database of measured costs: kept between runs, shared by processes, never in the way.
#include "src/cost/database.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/places.h"

namespace xflow::cost {
namespace {

namespace fs = std::filesystem;

DeviceInfo device_info() { return {"cpu", "a processor", "oneDNN 1.2.3", 1, "thread CPU time", "arithmetic"}; }

DatabaseEntry entry(double median, double interference = 0) {
  return {{Nanoseconds(median), Nanoseconds(0.5), 7, Layout::channels_last, Layout::blocked16, interference}, {}};
}

class DatabaseTest : public ::testing::Test {
 protected:
  DatabaseTest() : folder_(fs::temp_directory_path() / fmt::format("xflow-database-test-{}", getpid())) { fs::create_directories(folder_); }
  ~DatabaseTest() override {
    fs::permissions(folder_, fs::perms::owner_all);
    fs::remove_all(folder_);
  }
  std::string path(const std::string& name = "costs.db") const { return (folder_ / name).string(); }
  Database open(const std::string& path) {
    return Database::open(path, device_info(), [this](const std::string& text) { warnings.push_back(text); });
  }
  std::vector<std::string> warnings;

 private:
  fs::path folder_;
};

TEST_F(DatabaseTest, KeepsEntriesBetweenRuns) {
  const DatabaseKey kernel{"relu(float32[4]) -> float32[4]", Layout::plain};
  const DatabaseKey refused{"erf(float16[4]) -> float16[4]", Layout::any};
  {
    Database database = open(path());
    EXPECT_TRUE(database.persistent());
    EXPECT_EQ(database.find(kernel), nullptr);
    database.insert(kernel, entry(12.25));
    database.insert(refused, {{}, xflow::refused("cannot run erf here")});
  }
  Database database = open(path());
  ASSERT_NE(database.find(kernel), nullptr);
  EXPECT_EQ(*database.find(kernel), entry(12.25));
  EXPECT_EQ(database.find(refused)->ran.reason, "cannot run erf here");
  EXPECT_EQ(database.find({kernel.kernel, Layout::channels_last}), nullptr);
  EXPECT_EQ(database.size(), 2U);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(DatabaseTest, TellsDevicesLibrariesAndThreadsApart) {
  const DatabaseKey key{"k", Layout::plain};
  open(path()).insert(key, entry(1));
  for (int changed = 0; changed < 4; ++changed) {
    DeviceInfo info = device_info();
    if (changed == 0) info.name = "cuda:0";
    if (changed == 1) info.model = "another processor";
    if (changed == 2) info.library = "oneDNN 1.2.4";
    if (changed == 3) info.threads = 2;
    EXPECT_EQ(Database::open(path(), info).find(key), nullptr) << changed;
  }
  EXPECT_NE(open(path()).find(key), nullptr);
}

TEST_F(DatabaseTest, MakesTheFoldersOfItsPath) {
  const std::string deep = path("a/b/costs.db");
  open(deep).insert({"k", Layout::plain}, entry(1));
  EXPECT_TRUE(fs::exists(deep));
  EXPECT_TRUE(warnings.empty());
}

TEST_F(DatabaseTest, WithoutAPathWorksInMemory) {
  Database database = open("");
  database.insert({"k", Layout::plain}, entry(3));
  database.flush();
  EXPECT_EQ(*database.find({"k", Layout::plain}), entry(3));
  EXPECT_FALSE(database.persistent());
  EXPECT_TRUE(warnings.empty());
}

TEST_F(DatabaseTest, SeveralProcessesWriteAndOneThatIsKilledHarmsNobody) {
  constexpr int kWriters = 8;
  constexpr int kEntries = 60;
  std::vector<pid_t> children;
  for (int writer = 0; writer < kWriters; ++writer) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Database database = open(path());
      // The last two write until they are killed; the others write what they have and leave.
      const bool endless = writer >= kWriters - 2;
      for (int k = 0; endless || k < kEntries; ++k) {
        database.insert({fmt::format("{} of {}", k, writer), Layout::plain}, entry(k));
        if (k % 10 != 0) continue;
        database.flush();
        usleep(1000);  // somebody else's turn
      }
      database.flush();
      _exit(warnings.empty() && database.persistent() ? 0 : 1);
    }
    children.push_back(child);
  }
  for (int writer = 0; writer < kWriters - 2; ++writer) {
    int status = 0;
    ASSERT_EQ(waitpid(children[static_cast<std::size_t>(writer)], &status, 0), children[static_cast<std::size_t>(writer)]);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  for (int writer = kWriters - 2; writer < kWriters; ++writer) {
    kill(children[static_cast<std::size_t>(writer)], SIGKILL);
    int status = 0;
    waitpid(children[static_cast<std::size_t>(writer)], &status, 0);
  }
  Database database = open(path());
  EXPECT_TRUE(warnings.empty());
  for (int writer = 0; writer < kWriters - 2; ++writer) {
    for (int k = 0; k < kEntries; ++k) {
      const DatabaseEntry* found = database.find({fmt::format("{} of {}", k, writer), Layout::plain});
      ASSERT_NE(found, nullptr) << k << " of " << writer;
      EXPECT_EQ(*found, entry(k));
    }
  }
}

TEST_F(DatabaseTest, TheFirstMeasurementStays) {
  Database first = open(path());
  Database second = open(path());
  first.insert({"k", Layout::plain}, entry(1));
  second.insert({"k", Layout::plain}, entry(2));
  first.flush();
  second.flush();
  EXPECT_EQ(*open(path()).find({"k", Layout::plain}), entry(1));
}

TEST_F(DatabaseTest, ACostUnderInterferenceGivesWayToABetterOneAndNeverToAWorse) {
  const DatabaseKey key{"k", Layout::plain};
  // What is there, what comes, and what stands: in memory, in the file, and where two processes write the same file.
  struct Case {
    double old, fresh, stands;
  };
  for (const Case& c : {Case{0.5, 0, 0}, Case{0.5, 0.3, 0.3}, Case{0.5, 0.7, 0.5}, Case{0.5, 0.5, 0.5}, Case{0.05, 0, 0.05}}) {
    for (const bool other_process : {false, true}) {
      const std::string file = path(fmt::format("{}-{}-{}.db", c.old, c.fresh, other_process));
      {
        Database first = open(file);
        Database second = open(file);
        EXPECT_EQ(first.insert(key, entry(1, c.old)), entry(1, c.old));
        first.flush();
        const DatabaseEntry kept = (other_process ? second : first).insert(key, entry(2, c.fresh));
        EXPECT_EQ(kept.cost.interference, other_process ? c.fresh : c.stands);
      }
      const Database database = open(file);
      ASSERT_NE(database.find(key), nullptr);
      EXPECT_EQ(database.find(key)->cost.interference, c.stands) << c.old << " then " << c.fresh;
      EXPECT_EQ(database.find(key)->cost.median.count(), c.stands == c.old ? 1 : 2);
      EXPECT_EQ(database.find(key)->attempts, other_process ? 1 : 2);
    }
  }
  EXPECT_TRUE(warnings.empty());
}

TEST_F(DatabaseTest, ARefusalStays) {
  const DatabaseKey key{"k", Layout::plain};
  open(path()).insert(key, {{}, xflow::refused("cannot run k here")});
  open(path()).insert(key, entry(1));
  EXPECT_EQ(open(path()).find(key)->ran.reason, "cannot run k here");
}

TEST_F(DatabaseTest, KnowsTheMachineAtItsBest) {
  EXPECT_EQ(open(path()).fastest_calibration().count(), 0);
  {
    Database first = open(path());
    Database second = open(path());
    first.insert_calibration(Nanoseconds(12));
    first.insert_calibration(Nanoseconds(15));
    EXPECT_EQ(first.fastest_calibration().count(), 12);
    second.insert_calibration(Nanoseconds(14));
    first.flush();
    second.flush();
  }
  EXPECT_EQ(open(path()).fastest_calibration().count(), 12);
  DeviceInfo other = device_info();
  other.calibration = "other arithmetic";
  EXPECT_EQ(Database::open(path(), other).fastest_calibration().count(), 0);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(DatabaseTest, ACorruptedFileGivesAWarningAndMemory) {
  std::ofstream(path()) << std::string(5000, 'x');
  Database database = open(path());
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], path() + ": cannot read the cost database: file is not a database; costs are kept in memory for this run only");
  database.insert({"k", Layout::plain}, entry(3));
  database.flush();
  EXPECT_EQ(*database.find({"k", Layout::plain}), entry(3));
  EXPECT_FALSE(database.persistent());
  EXPECT_EQ(warnings.size(), 1U);
  EXPECT_EQ(fs::file_size(path()), 5000U);  // nobody's file is overwritten
}

TEST_F(DatabaseTest, AFileWithDamageInsideGivesAWarning) {
  {
    Database database = open(path());
    for (int k = 0; k < 2000; ++k) database.insert({fmt::format("kernel number {}", k), Layout::plain}, entry(k));
  }
  std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
  for (int page = 1; page < 20; ++page) {
    file.seekp(page * 4096);
    file << std::string(4096, '\xff');
  }
  file.close();
  Database database = open(path());
  EXPECT_EQ(warnings.size(), 1U);
  EXPECT_FALSE(database.persistent());
}

TEST_F(DatabaseTest, AFileWhoseRowsAreOutOfOrderGivesAWarning) {
  // Pages that are whole by themselves: what is written to them is not found again.
  {
    Database database = open(path());
    for (const char* kernel : {"kernel a", "kernel b", "kernel c"}) database.insert({kernel, Layout::plain}, entry(1));
  }
  std::ifstream in(path(), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  ASSERT_NE(bytes.find("kernel a"), std::string::npos);
  ASSERT_NE(bytes.find("kernel c"), std::string::npos);
  std::swap(bytes[bytes.find("kernel a") + 7], bytes[bytes.find("kernel c") + 7]);
  std::ofstream(path(), std::ios::binary) << bytes;
  Database database = open(path());
  ASSERT_EQ(warnings.size(), 1U);
  const std::string begin = path() + ": cannot use the cost database, which is damaged: ";
  EXPECT_EQ(warnings[0].substr(0, begin.size()), begin);
  EXPECT_TRUE(warnings[0].ends_with("; costs are kept in memory for this run only")) << warnings[0];
  EXPECT_FALSE(database.persistent());
}

TEST_F(DatabaseTest, AFileThatCannotBeOpenedGivesAWarning) {
  fs::create_directories(path("folder"));
  Database database = open(path("folder"));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0],
            path("folder") + ": cannot open the cost database: unable to open database file; costs are kept in memory for this run only");
  EXPECT_FALSE(database.persistent());
}

TEST_F(DatabaseTest, IsNotOpenedInNetworkFolders) {
  EXPECT_EQ(may_be_shared("/net/costs.db", 0x6969).reason,
            "/net/costs.db: the cost database needs shared memory, which a network folder (NFS) does not have; costs are kept in memory "
            "for this run only; choose a local file with option 'cost_database'");
  EXPECT_FALSE(may_be_shared("x", 0xFF534D42));
  EXPECT_FALSE(may_be_shared("x", 0xFFFFFFFFFF534D42));  // as a signed number of 32 bits, widened
  EXPECT_TRUE(may_be_shared("x", 0xEF53));               // ext4
}

TEST_F(DatabaseTest, AReadOnlyFileGivesAWarning) {
  open(path()).insert({"k", Layout::plain}, entry(1));
  for (const auto& file : fs::directory_iterator(fs::path(path()).parent_path())) fs::permissions(file, fs::perms::all);
  fs::permissions(path(), fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  fs::permissions(fs::path(path()).parent_path(),
                  fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Permissions do not bind the superuser: be somebody else.
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    Database database = open(path());
    database.insert({"new", Layout::plain}, entry(2));
    database.flush();
    const bool works = database.find({"new", Layout::plain}) != nullptr && !database.persistent();
    if (!works || warnings.size() != 1) _exit(1);
    // In a folder that is read-only, too, SQLite does not even open the file.
    const std::string text =
        path() + ": cannot open the cost database: unable to open database file; costs are kept in memory for this run only";
    if (warnings[0] != text) std::fprintf(stderr, "%s\n", warnings[0].c_str());
    _exit(warnings[0] == text ? 0 : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// Of the device of the seeds in tests/fuzz/seeds/costs.
TEST_F(DatabaseTest, RowsThatAreNoCostsAreLeftOut) {
  const fs::path seeds = fs::path(places::repository()) / "tests/fuzz/seeds/costs";
  fs::copy_file(seeds / "strange-numbers.db", path());
  const DeviceInfo info{"npu", "NPU 7", "vendor 2.1", 1, "wall time", "loop"};
  Database database = Database::open(path(), info);
  EXPECT_TRUE(database.persistent());
  const auto has = [&](int size) {
    return database.find({fmt::format("softmax(float32[{0}]) -> float32[{0}]", size), Layout::plain}) != nullptr;
  };
  EXPECT_FALSE(has(3)) << "an infinite time";
  EXPECT_FALSE(has(4)) << "a negative time";
  EXPECT_FALSE(has(6)) << "an infinite spread";
  ASSERT_TRUE(has(2));
  const DatabaseKey often{"softmax(float32[2]) -> float32[2]", Layout::plain};
  DatabaseEntry more = entry(1);
  more.attempts = std::numeric_limits<int>::max();
  EXPECT_EQ(database.insert(often, more).attempts, 2'000'000) << "counts do not overflow";
}

TEST_F(DatabaseTest, NothingInAFileIsExecuted) {
  const fs::path seeds = fs::path(places::repository()) / "tests/fuzz/seeds/costs";
  const DeviceInfo info{"npu", "NPU 7", "vendor 2.1", 1, "wall time", "loop"};
  for (const char* name : {"endless-view.db", "endless-trigger.db", "huge-default.db"}) {
    fs::copy_file(seeds / name, path(name));
    Database database = Database::open(path(name), info);
    database.insert({"k", Layout::plain}, entry(1));
    database.flush();
    EXPECT_EQ(database.size(), 1U) << name;
  }
}

TEST_F(DatabaseTest, AnOlderSchemaIsBroughtUpToDateAndItsCostsStay) {
  // Written by the first version, which did not say how much interference there was.
  fs::copy_file(fs::path(places::repository()) / "tests/cost/data/schema1.db", path());
  const DatabaseKey old{"relu(float32[4]) -> float32[4]", Layout::plain};
  DatabaseEntry with_interference = entry(3);
  with_interference.cost.interference = 0.25;
  {
    // Two at once: the second finds that the first has done it.
    Database database = open(path());
    Database other = open(path());
    ASSERT_NE(database.find(old), nullptr);
    EXPECT_EQ(*database.find(old), entry(12.25));
    EXPECT_EQ(database.find({"erf(float16[4]) -> float16[4]", Layout::any})->ran.reason, "cannot run erf here");
    EXPECT_TRUE(other.persistent());
    database.insert({"new", Layout::plain}, with_interference);
  }
  Database database = open(path());
  EXPECT_EQ(database.size(), 3U);
  EXPECT_EQ(*database.find({"new", Layout::plain}), with_interference);
  EXPECT_TRUE(warnings.empty());
  EXPECT_TRUE(database.persistent());
}

TEST_F(DatabaseTest, TheSecondSchemaIsBroughtUpToDateToo) {
  // It said how much interference there was, but not how often a kernel was timed.
  fs::copy_file(fs::path(places::repository()) / "tests/cost/data/schema2.db", path());
  const DatabaseKey old{"relu(float32[4]) -> float32[4]", Layout::plain};
  {
    Database database = open(path());
    ASSERT_NE(database.find(old), nullptr);
    EXPECT_EQ(*database.find(old), entry(12.25, 0.5));
    database.insert(old, entry(11));
    database.insert_calibration(Nanoseconds(3));
  }
  const Database database = open(path());
  EXPECT_EQ(database.find(old)->cost, entry(11).cost);
  EXPECT_EQ(database.find(old)->attempts, 2);
  EXPECT_EQ(database.fastest_calibration().count(), 3);
  EXPECT_TRUE(warnings.empty());
  EXPECT_TRUE(database.persistent());
}

TEST_F(DatabaseTest, ProcessesThatStartAtOnceMakeOneSchema) {
  // Several rounds, because two that switch the file to WAL at the same moment are rare.
  for (int round = 0; round < 20; ++round) {
    const bool old = round % 2 == 1;
    const std::string file = path(fmt::format("{}.db", round));
    if (old) fs::copy_file(fs::path(places::repository()) / "tests/cost/data/schema1.db", file);
    std::vector<pid_t> children;
    for (int writer = 0; writer < 8; ++writer) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        {
          Database database = open(file);
          database.insert({fmt::format("of {}", writer), Layout::plain}, entry(writer));
        }
        for (const std::string& warning : warnings) std::fputs((warning + "\n").c_str(), stderr);
        _exit(warnings.empty() ? 0 : 1);
      }
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    EXPECT_EQ(open(file).size(), old ? 10U : 8U);
  }
  EXPECT_TRUE(warnings.empty());
}

TEST_F(DatabaseTest, ANewerSchemaIsLeftAlone) {
  open(path()).insert({"k", Layout::plain}, entry(1));
  {
    // user_version is the big-endian number at offset 60 of the file.
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(60);
    file.write("\0\0\0\x63", 4);
  }
  Database database = open(path());
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0],
            path() + ": the cost database has schema version 99, this xflow supports up to 3; costs are kept in memory for this run only");
  EXPECT_FALSE(database.persistent());
}

}  // namespace
}  // namespace xflow::cost
