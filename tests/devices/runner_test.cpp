// The protocol with a runner that runs nothing (tests/devices/runner/test_runner.cpp), and what becomes of faulty ones.
#include "src/devices/runner/runner.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "src/devices/runner/runner_executor.h"
#include "tests/places.h"

namespace xflow::cost::runner {
namespace {

std::string command(const std::string& arguments = {}) { return "'" + places::test_runner() + "' " + arguments; }

std::unique_ptr<Runner> started(const std::string& arguments = {}, double patience = 60, int threads = 1) {
  auto runner = Runner::start({command(arguments), threads, patience});
  EXPECT_TRUE(runner) << runner.error().text();
  return *std::move(runner);
}

eval::Tensor floats(std::vector<std::int64_t> dims, std::vector<double> values) {
  return eval::Tensor::of_doubles(ir::DataType::float32, std::move(dims), std::move(values));
}

// A runner with a model and inputs, both of number 0.
std::unique_ptr<Runner> loaded(const std::string& model, const std::string& arguments, double patience = 60, int threads = 1) {
  auto runner = started(arguments, patience, threads);
  EXPECT_TRUE(runner->load(0, {model, {}}));
  EXPECT_TRUE(runner->set_inputs(0, std::vector<NamedTensor>{{"x", floats({1}, {1})}}));
  return runner;
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "xflow-runner-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path path;
};

TEST(Runner, SaysWhatItIs) {
  const auto runner = started();
  EXPECT_EQ(runner->info().name, "runner");
  EXPECT_EQ(runner->info().model, "nothing");
  EXPECT_EQ(runner->info().library, "test runner 1.2");
  EXPECT_EQ(runner->info().threads, 1);
  EXPECT_EQ(runner->info().clock, "CPU time");
  const auto two = Runner::start({command(), 2, 60});
  ASSERT_TRUE(two);
  EXPECT_EQ((*two)->info().clock, "wall time");
}

TEST(Runner, GetsModelsAndInputsAndSaysTimes) {
  const Folder folder;
  const auto log = folder.path / "log";
  auto runner = started("--time 1000 --each Conv=250 --log '" + log.string() + "'");
  const std::vector<NamedTensor> inputs = {
      {"x", floats({2, 2}, {1, 2, 3, 4})},
      {"n", eval::Tensor::of_integers(ir::DataType::int64, {1}, {5})},
      {"s", eval::Tensor::of_strings({2}, {"a", "b"})},
      {"empty", floats({0}, {})},
  };
  ASSERT_TRUE(runner->set_inputs(3, inputs));
  ASSERT_TRUE(runner->load(7, {"Conv and Conv", {}}));
  std::ofstream(folder.path / "m") << "Conv";
  ASSERT_TRUE(runner->load(8, {{}, (folder.path / "m").string()}));
  EXPECT_EQ(runner->run(7, 3, 20)->time.count(), 1500);
  EXPECT_EQ(runner->run(8, 3, 1)->time.count(), 1250);
  ASSERT_TRUE(runner->unload(7));
  EXPECT_EQ(file_text(log),
            R"({"clock":"cpu","do":"hello","protocol":1,"threads":1} + 0 bytes
{"do":"inputs","inputs":3,"tensors":[{"dims":[2,2],"name":"x","type":"float32"},{"dims":[1],"name":"n","type":"int64"},)"
            R"({"dims":[2],"name":"s","strings":["a","b"],"type":"string"},{"dims":[0],"name":"empty","type":"float32"}]} + 24 bytes
{"do":"load","model":7} + 13 bytes
{"do":"load","model":8,"path":")" +
                (folder.path / "m").string() + R"("} + 0 bytes
{"do":"run","inputs":3,"model":7,"repeats":20} + 0 bytes
{"do":"run","inputs":3,"model":8,"repeats":1} + 0 bytes
{"do":"unload","model":7} + 0 bytes
)");
}

TEST(Runner, SaysProcessorTimeBesideTheWallClock) {
  const auto times = [](int threads) { return *loaded("Conv", "--time 1000 --processor 1800", 60, threads)->run(0, 0, 1); };
  EXPECT_EQ(times(2).time.count(), 1000);
  ASSERT_TRUE(times(2).processor);
  EXPECT_EQ(times(2).processor->count(), 1800);
  EXPECT_FALSE(times(1).processor) << "it is the clock itself";
}

TEST(Runner, GivesOutputsBack) {
  auto runner = loaded("Conv", "--value Conv=0.5");
  const auto outputs = runner->outputs(0, 0);
  ASSERT_TRUE(outputs);
  ASSERT_EQ(outputs->size(), 2U);
  EXPECT_EQ((*outputs)[0].name, "y");
  EXPECT_TRUE(eval::equal((*outputs)[0].tensor, floats({1}, {1.5})));
  EXPECT_TRUE(eval::equal((*outputs)[1].tensor, eval::Tensor::of_strings({2}, {"a", "b"})));
}

TEST(Runner, TakesLargeModels) {
  // More than a pipe holds, while the runner writes nothing.
  EXPECT_EQ(loaded(std::string(5'000'000, 'x') + "Conv", "--each Conv=1 --time 1")->run(0, 0, 1)->time.count(), 2);
}

TEST(Runner, ThatRefusesAModelGoesOn) {
  auto runner = started("--refuse Conv");
  const auto refused = runner->load(0, {"Conv", {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), (Error{ErrorCode::unsupported, "cannot load Conv", ""}));
  EXPECT_TRUE(runner->is_running());
  EXPECT_TRUE(runner->load(1, {"Relu", {}}));
}

TEST(Runner, SaysNothingThatATerminalObeys) {
  auto runner = started("--refuse \"$(printf '\\033[2JConv')\"");
  const auto refused = runner->load(0, {"\033[2JConv", {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), (Error{ErrorCode::unsupported, "cannot load  [2JConv", ""}));
}

TEST(Runner, ThatCrashesSaysItsLastWords) {
  auto runner = loaded("Conv", "--crash Conv");
  const auto crashed = runner->run(0, 0, 1);
  ASSERT_FALSE(crashed);
  EXPECT_EQ(crashed.error(), (Error{ErrorCode::io, "it ended with exit status 3: the device is on fire", ""}));
  EXPECT_FALSE(runner->is_running());
  EXPECT_EQ(runner->run(0, 0, 1).error().message, "it has ended");
}

TEST(Runner, ThatIsKilledSaysByWhat) {
  const auto killed = Runner::start({"kill -SEGV $$", 1, 60});
  ASSERT_FALSE(killed);
  EXPECT_EQ(killed.error().text(), "runner 'kill -SEGV $$': it was ended by signal 11 (Segmentation fault)");
}

TEST(Runner, ThatHangsIsLeftAfterAWhile) {
  auto runner = loaded("Conv", "--hang Conv");
  runner->set_patience(0.01);
  const auto hanging = runner->run(0, 0, 1);
  ASSERT_FALSE(hanging);
  EXPECT_EQ(hanging.error(), (Error{ErrorCode::limit, "it did not answer within 0.01 s", ""}));
  EXPECT_FALSE(runner->is_running());
}

// Here it is a child of the shell.
TEST(Runner, ThatHoldsMoreMemoryThanIsLeftIsEnded) {
  RunnerOptions options{"(" + command("--hold Conv=209715200") + "); true", 1, 60};
  options.bytes_left = [] { return std::uint64_t{128} << 20U; };
  auto runner = *Runner::start(options);
  ASSERT_TRUE(runner->load(0, {"Relu", {}}));
  const auto held = runner->load(1, {"Conv", {}});
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, ErrorCode::limit);
  // It is looked at while it fills the memory.
  int held_mib = 0;
  int length = 0;
  std::sscanf(held.error().message.c_str(), "it holds %d MiB of memory, more than the 128 MiB that are left%n", &held_mib, &length);
  EXPECT_EQ(held.error().message.size(), static_cast<std::size_t>(length)) << held.error().message;
  EXPECT_GE(held_mib, 128);
  EXPECT_LT(held_mib, 300);
  EXPECT_FALSE(runner->is_running());
}

TEST(Runner, ThatHoldsLessMemoryThanIsLeftGoesOn) {
  RunnerOptions options{command("--hold Conv=104857600"), 1, 60};
  options.bytes_left = [] { return std::uint64_t{2048} << 20U; };
  auto runner = *Runner::start(options);
  ASSERT_TRUE(runner->load(0, {"Conv", {}}));
  EXPECT_TRUE(runner->is_running());
}

TEST(Runner, ThatReadsNothingIsLeftAfterAWhile) {
  const auto deaf = Runner::start({"echo 'I am busy' >&2; sleep 1000", 1, 0.2});
  ASSERT_FALSE(deaf);
  EXPECT_EQ(deaf.error().code, ErrorCode::limit);
  EXPECT_TRUE(deaf.error().message.starts_with("runner 'echo 'I am busy' >&2; sleep 1000': it did not answer within 0.2 s"))
      << deaf.error().message;
}

TEST(Runner, ThatCannotBeStartedSaysWhy) {
  const auto missing = Runner::start({"no-such-program-anywhere", 1, 60});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::io);
  EXPECT_TRUE(missing.error().message.starts_with("runner 'no-such-program-anywhere': it ended with exit status 127: "))
      << missing.error().message;
  EXPECT_NE(missing.error().message.find("not found"), std::string::npos) << missing.error().message;
}

TEST(Runner, ThatWritesNonsenseIsEnded) {
  const auto said = [](const std::string& nonsense) {
    auto runner = loaded("Conv", "--nonsense " + nonsense, 60, nonsense == "processor" ? 2 : 1);
    const auto time = runner->run(0, 0, 1);
    EXPECT_FALSE(time);
    EXPECT_EQ(time.error().code, ErrorCode::unreadable);
    EXPECT_FALSE(runner->is_running());
    return time.error().message;
  };
  EXPECT_EQ(said("words"), "it wrote text other than an answer to its standard output: 'now I run this m'");
  EXPECT_EQ(said("json"), "its answer is not a JSON object");
  EXPECT_EQ(said("list"), "its answer is not a JSON object");
  EXPECT_EQ(said("time"), "its answer to 'run' has no time in 'nanoseconds'");
  EXPECT_EQ(said("processor"), "its answer to 'run' has something else than a time in 'processor_nanoseconds'");
  EXPECT_EQ(said("long"), "its answer has 3 bytes of text and 1152921504606846976 of data, which is too much");
  auto tensors = loaded("Conv", "--nonsense tensors");
  EXPECT_EQ(tensors->outputs(0, 0).error().message, "its answer to 'outputs' has no tensors that fit its data");
  EXPECT_EQ(Runner::start({command("--nonsense hello"), 1, 60}).error().message,
            "runner '" + command("--nonsense hello") +
                "': its answer to 'hello' lacks one of protocol, name, version, device, clock (cpu or wall)");
  EXPECT_EQ(Runner::start({command("--nonsense protocol"), 1, 60}).error().message,
            "runner '" + command("--nonsense protocol") + "': it speaks version 7 of the protocol, not 1");
}

TEST(Runner, LeavesTheSignalsOfTheProgramAlone) {
  // Somebody else's handler of SIGPIPE sees nothing of a runner that is gone.
  static volatile std::sig_atomic_t seen = 0;
  const auto before = std::signal(SIGPIPE, [](int) { seen = 1; });
  auto runner = Runner::start({"exit 0", 1, 60});
  EXPECT_FALSE(runner);
  auto gone = loaded("Conv", "--crash-loading Relu");
  EXPECT_FALSE(gone->load(1, {"Relu" + std::string(1'000'000, 'x'), {}}));
  EXPECT_EQ(seen, 0);
  std::signal(SIGPIPE, before);
}

TEST(Runner, LeavesNoProcessBehind) {
  const Folder folder;
  const auto file = folder.path / "pid";
  // The shell has a child beside the runner, which would go on.
  auto runner = Runner::start({"sleep 1000 & echo $! > '" + file.string() + "'; " + command(), 1, 60});
  ASSERT_TRUE(runner) << runner.error().text();
  runner->reset();
  const int child = std::atoi(file_text(file).c_str());
  ASSERT_GT(child, 0);
  // It was killed, which the system may get round to a little later. Then it is gone, or a zombie that nobody has waited for yet.
  const auto state = [&] {
    const std::string text = file_text("/proc/" + std::to_string(child) + "/stat");
    return text.empty() ? std::string("gone") : text.substr(text.rfind(')') + 2, 1);
  };
  for (int k = 0; k < 60'000 && state() != "gone" && state() != "Z" && state() != "X"; ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(state() == "gone" || state() == "Z" || state() == "X") << state();
}

class ExecutorTest : public ::testing::Test {
 protected:
  void open(const std::string& arguments) {
    auto opened = RunnerExecutor::open({command(arguments), 1, 60});
    ASSERT_TRUE(opened) << opened.error().text();
    executor = *std::move(opened);
    executor->add_inputs({{"x", floats({1}, {1})}});
  }
  std::unique_ptr<RunnerExecutor> executor;
};

TEST_F(ExecutorTest, LeavesAModelThatHangs) {
  open("--noise 0.01 --each Conv=1e6 --hang Slow");
  const ProgramId slow = executor->add({"Slow", {}});
  const ProgramId quick = executor->add({"Conv", {}});
  ASSERT_TRUE(executor->run(quick, 0, 1));
  executor->set_patience(0.01);
  EXPECT_EQ(executor->run(slow, 0, 1).error().message, "it did not answer within 0.01 s");
  executor->set_patience(60);
  EXPECT_TRUE(executor->run(quick, 0, 1));
  EXPECT_EQ(executor->starts(), 2U);
}

TEST_F(ExecutorTest, ForgetsPrograms) {
  const Folder folder;
  const auto log = folder.path / "log";
  open("--log '" + log.string() + "'");
  const ProgramId first = executor->add({"first", {}});
  const ProgramId second = executor->add({"second", {}});
  executor->remove(second);  // was never loaded
  EXPECT_TRUE(executor->run(first, 0, 1));
  executor->remove(first);
  const std::string text = file_text(log);
  EXPECT_EQ(text.find("\"model\":1"), std::string::npos) << text;
  EXPECT_NE(text.find(R"({"do":"unload","model":0})"), std::string::npos) << text;
}

}  // namespace
}  // namespace xflow::cost::runner
