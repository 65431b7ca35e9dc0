// Runs a fuzz target where there is no libFuzzer:
//
//   fuzz_NAME [--runs N] [--seconds N] [--seed N] [--accept SUFFIX] FILE_OR_FOLDER...
//
// first on every file named (in folders, those that end in SUFFIX), then for N seconds on mutations of them: bytes flipped, replaced,
// removed, repeated and exchanged between seeds, and so are words. The sequence of inputs depends on the seed alone. An input that ends the
// process, or takes more than a minute of processor time, is left in the file `crash` of the current folder. No coverage guides it; the
// preset fuzz has libFuzzer for that.
#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace {

constexpr std::size_t kLongestSeed = 1U << 16;  // of what is mutated; longer ones are only replayed
constexpr std::size_t kLongestInput = 1U << 17;
constexpr int kSecondsAnInput = 60;

std::string current;  // the current input, for on_end

// What is called here is safe in a signal handler.
void on_end(int signal) {
  const int file = open("crash", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const bool written = file >= 0 && write(file, current.data(), current.size()) == static_cast<ssize_t>(current.size());
  const std::string_view text = signal == SIGVTALRM ? "the input takes more than a minute; " : "the input ends the process; ";
  const std::string_view where = written ? "it is in the file crash\n" : "it cannot be written\n";
  if (write(STDERR_FILENO, text.data(), text.size()) < 0 || write(STDERR_FILENO, where.data(), where.size()) < 0) _exit(2);
  _exit(1);
}

// On a stack of its own, for an input that overflows the stack.
void catch_ends() {
  static std::array<char, 1U << 16> memory;
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = on_end;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGVTALRM}) sigaction(signal, &action, nullptr);
}

void run(std::string input) {
  current = std::move(input);
  itimerval limit{};
  limit.it_value.tv_sec = kSecondsAnInput;
  setitimer(ITIMER_VIRTUAL, &limit, nullptr);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(current.data()), current.size());
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(64);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

class Mutator {
 public:
  Mutator(const std::vector<std::string>& seeds, std::uint64_t seed) : seeds_(seeds), random_(seed) {}

  std::string next() {
    std::string input = seeds_[below(seeds_.size())];
    for (std::size_t steps = 1 + below(4); steps > 0; --steps) mutate(input);
    if (input.size() > kLongestInput) input.resize(kLongestInput);
    return input;
  }

 private:
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : static_cast<std::size_t>(random_() % limit); }

  // A part of `text`, mostly a short one.
  std::pair<std::size_t, std::size_t> part(const std::string& text) {
    const std::size_t begin = below(text.size() + 1);
    const std::size_t longest = below(8) == 0 ? text.size() : 24;
    return {begin, std::min(text.size() - begin, below(longest + 1))};
  }

  // A name, a number or a sign.
  std::pair<std::size_t, std::size_t> word(const std::string& text) {
    const auto in_name = [&](std::size_t at) {
      return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
    };
    std::size_t begin = below(text.size());
    while (begin < text.size() && text[begin] == ' ') ++begin;
    std::size_t end = begin;
    while (in_name(begin) && begin > 0 && in_name(begin - 1)) --begin;
    while (in_name(end)) ++end;
    return {begin, begin == end && end < text.size() ? 1 : end - begin};
  }

  void mutate(std::string& input) {
    static constexpr std::array<unsigned char, 8> kBytes = {0x00, 0x01, 0x7f, 0x80, 0xff, 0x0a, '0', '-'};
    const auto [begin, length] = part(input);
    switch (below(10)) {
      case 0:
        if (!input.empty()) input[below(input.size())] ^= static_cast<char>(1U << below(8));
        break;
      case 1:
        if (!input.empty()) input[below(input.size())] = static_cast<char>(kBytes[below(kBytes.size())]);
        break;
      case 2:
        input.erase(begin, length);
        break;
      case 3:
        input.insert(below(input.size() + 1), input.substr(begin, length));
        break;
      case 4: {  // a part of another seed
        const std::string& other = seeds_[below(seeds_.size())];
        const auto [from, count] = part(other);
        input.replace(begin, below(2) == 0 ? length : 0, other.substr(from, count));
        break;
      }
      case 5:
        input.insert(begin, 1 + below(4), static_cast<char>(random_() & 0xffU));
        break;
      case 6: {  // the same in place: lengths that are written down elsewhere stay right
        const std::string& other = below(2) == 0 ? input : seeds_[below(seeds_.size())];
        const std::size_t from = below(other.size());
        const std::size_t count = std::min(length, other.size() - from);
        input.replace(begin, std::min(count, input.size() - begin), other.substr(from, std::min(count, input.size() - begin)));
        break;
      }
      case 7:
        if (below(4) == 0) input.resize(begin);
        break;
      default: {  // a word of this seed or another in the place of a word
        const std::string& other = below(2) == 0 ? input : seeds_[below(seeds_.size())];
        const auto [from, count] = word(other);
        const auto [at, length_there] = word(input);
        input.replace(at, length_there, other.substr(from, count));
        break;
      }
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_;
};

}  // namespace

int main(int argc, char** argv) {
  double seconds = 0;
  std::uint64_t runs = 0;
  std::uint64_t seed = 1;
  std::string suffix;
  std::vector<std::filesystem::path> paths;
  for (int k = 1; k < argc; ++k) {
    const std::string_view argument = argv[k];
    const bool option = argument == "--runs" || argument == "--seconds" || argument == "--seed" || argument == "--accept";
    if (option && k + 1 == argc) return 64;
    if (argument == "--seconds") {
      seconds = std::strtod(argv[++k], nullptr);
    } else if (argument == "--runs") {
      runs = std::strtoull(argv[++k], nullptr, 10);
    } else if (argument == "--seed") {
      seed = std::strtoull(argv[++k], nullptr, 10);
    } else if (argument == "--accept") {
      suffix = argv[++k];
    } else if (std::filesystem::is_directory(argument)) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argument))
        if (entry.is_regular_file() && entry.path().string().ends_with(suffix)) paths.push_back(entry.path());
    } else {
      paths.emplace_back(argument);
    }
  }
  std::sort(paths.begin(), paths.end());
  if (paths.empty()) {
    std::fprintf(stderr, "no seeds\n");
    return 64;
  }
  catch_ends();

  std::vector<std::string> seeds;
  for (const auto& path : paths) {
    std::string input = read(path);
    if (input.size() <= kLongestSeed) seeds.push_back(input);
    run(std::move(input));
  }
  run("");
  std::printf("%zu seeds replayed\n", paths.size());
  std::fflush(stdout);
  if (seeds.empty()) seeds.emplace_back();

  Mutator mutator(seeds, seed);
  std::uint64_t count = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (; count < runs || std::chrono::steady_clock::now() < end; ++count) run(mutator.next());
  std::printf("%llu mutations\n", static_cast<unsigned long long>(count));
  return 0;
}
