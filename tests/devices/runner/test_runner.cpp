// A runner that runs nothing: what it says a model takes follows from the bytes of the model and from the command line. It shares no code
// with xflow, so that docs/runner.md is what both have in common.
//
//   --time NS          what every model takes (20 ms)
//   --each TEXT=NS     more (or less) for each time that TEXT stands in the model
//   --at K:TEXT=NS     the same on the inputs of number K alone
//   --processor NS     beside the wall clock also this processor time; --processor-each TEXT=NS: more of it
//   --noise SHARE      each time is drawn: the standard deviation of its logarithm
//   --value TEXT=V     its output y is 1, and V more for each TEXT
//   --refuse TEXT      answers with an error to a model in which TEXT stands
//   --crash TEXT       ends when such a model is run; --crash-loading TEXT: when it is loaded
//   --hang TEXT        never answers when such a model is run
//   --hold TEXT=BYTES  keeps so much memory when such a model is loaded, which then takes 0.6 s
//                      TEXT may be !TEXT for these four: where it does not stand
//   --nonsense WHAT    in answer to 'run': words, json, list, time, processor, tensors (to 'outputs'), long; or hello, protocol (to
//   'hello')
//   --log FILE         appends each request
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Json = nlohmann::json;

struct Options {
  double time = 20e6;
  double noise = 0;
  struct Each {
    int inputs = -1;
    std::string text;
    double amount = 0;
  };
  std::vector<Each> each;
  std::vector<Each> values;
  double processor = 0;
  std::vector<Each> processor_each;
  std::string refuse;
  std::string crash;
  std::string crash_loading;
  std::string hang;
  std::vector<Each> hold;
  std::string nonsense;
  std::string log;
};

bool read_all(char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t count = read(STDIN_FILENO, to, size);
    if (count <= 0) return false;
    to += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

void write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (count <= 0) std::exit(4);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::uint64_t number(const unsigned char* bytes, int count) {
  std::uint64_t value = 0;
  for (int k = count; k-- > 0;) value = value * 256 + bytes[k];
  return value;
}

std::string bytes_of(std::uint64_t value, int count) {
  std::string bytes;
  for (int k = 0; k < count; ++k, value /= 256) bytes += static_cast<char>(value % 256);
  return bytes;
}

void answer(const Json& json, const std::string& payload = {}) {
  const std::string text = json.dump();
  write_all("xfl1" + bytes_of(text.size(), 4) + bytes_of(payload.size(), 8) + text + payload);
}

int count(const std::string& bytes, const std::string& text) {
  int found = 0;
  for (std::size_t at = bytes.find(text); at != std::string::npos; at = bytes.find(text, at + text.size())) ++found;
  return found;
}

bool has(const std::string& bytes, const std::string& text) {
  if (!text.empty() && text[0] == '!') return count(bytes, text.substr(1)) == 0;
  return !text.empty() && count(bytes, text) > 0;
}

Options::Each each_of(std::string text) {
  Options::Each each;
  const std::size_t equals = text.rfind('=');
  each.amount = std::stod(text.substr(equals + 1));
  each.text = text.substr(0, equals);
  return each;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int k = 1; k + 1 < argc; k += 2) {
    const std::string name = argv[k];
    std::string value = argv[k + 1];
    if (name == "--time") options.time = std::stod(value);
    if (name == "--noise") options.noise = std::stod(value);
    if (name == "--each") options.each.push_back(each_of(value));
    if (name == "--at") {
      const std::size_t colon = value.find(':');
      options.each.push_back(each_of(value.substr(colon + 1)));
      options.each.back().inputs = std::stoi(value.substr(0, colon));
    }
    if (name == "--processor") options.processor = std::stod(value);
    if (name == "--processor-each") options.processor_each.push_back(each_of(value));
    if (name == "--value") options.values.push_back(each_of(value));
    if (name == "--refuse") options.refuse = value;
    if (name == "--crash") options.crash = value;
    if (name == "--crash-loading") options.crash_loading = value;
    if (name == "--hang") options.hang = value;
    if (name == "--hold") options.hold.push_back(each_of(value));
    if (name == "--nonsense") options.nonsense = value;
    if (name == "--log") options.log = value;
  }
  return options;
}

[[noreturn]] void crash() {
  std::cerr << "first line\nthe device is on fire\n";
  std::exit(3);
}

class TestRunner {
 public:
  explicit TestRunner(Options options) : options_(std::move(options)) {}

  void serve(const Json& request, const std::string& payload) {
    const std::string what = request.at("do");
    if (!options_.log.empty()) std::ofstream(options_.log, std::ios::app) << request.dump() << " + " << payload.size() << " bytes\n";
    if (what == "hello") return hello(request);
    if (what == "load") return load(request, payload);
    if (what == "unload") {
      models_.erase(request.at("model").get<int>());
      return answer(Json::object());
    }
    if (what == "inputs") {
      inputs_[request.at("inputs").get<int>()] = request.at("tensors");
      return answer(Json::object());
    }
    const std::string& model = models_.at(request.at("model").get<int>());
    const int inputs = request.at("inputs");
    if (inputs_.count(inputs) == 0) return answer({{"error", "no such inputs"}});
    if (what == "run") return run(model, inputs);
    if (what == "outputs") return outputs(model);
    answer({{"error", "cannot " + what}});
  }

 private:
  void hello(const Json& request) {
    if (options_.nonsense == "hello") return answer({{"name", "test"}});
    answer({{"protocol", options_.nonsense == "protocol" ? 7 : 1},
            {"name", "test runner"},
            {"version", "1.2"},
            {"device", "nothing"},
            {"clock", request.at("clock")}});
  }

  void load(const Json& request, const std::string& payload) {
    std::string model = payload;
    if (request.contains("path")) {
      std::ifstream file(request.at("path").get<std::string>(), std::ios::binary);
      model.assign(std::istreambuf_iterator<char>(file), {});
    }
    if (has(model, options_.crash_loading)) crash();
    for (const Options::Each& each : options_.hold) {
      if (!has(model, each.text)) continue;
      held_.emplace_back(static_cast<std::size_t>(each.amount), 'x');
      usleep(600'000);
    }
    if (has(model, options_.refuse)) return answer({{"error", "cannot load\n" + options_.refuse}});
    models_[request.at("model").get<int>()] = model;
    answer(Json::object());
  }

  void run(const std::string& model, int inputs) {
    if (has(model, options_.crash)) crash();
    if (has(model, options_.hang)) {
      while (true) pause();
    }
    if (options_.nonsense == "words") return write_all("now I run this model\n");
    if (options_.nonsense == "json") return write_all("xfl1" + bytes_of(3, 4) + bytes_of(0, 8) + "{a}");
    if (options_.nonsense == "list") return answer(Json::array({1}));
    if (options_.nonsense == "time") return answer({{"nanoseconds", "soon"}});
    if (options_.nonsense == "long") return write_all("xfl1" + bytes_of(3, 4) + bytes_of(std::uint64_t{1} << 60U, 8) + "{}");
    double time = options_.time;
    for (const Options::Each& each : options_.each)
      if (each.inputs < 0 || each.inputs == inputs) time += each.amount * count(model, each.text);
    Json times = {{"nanoseconds", time * std::exp(options_.noise * normal_(random_))}};
    if (options_.nonsense == "processor") times["processor_nanoseconds"] = "soon";
    if (options_.processor > 0) {
      double processor = options_.processor;
      for (const Options::Each& each : options_.processor_each) processor += each.amount * count(model, each.text);
      times["processor_nanoseconds"] = processor * std::exp(options_.noise * normal_(random_));
    }
    answer(times);
  }

  void outputs(const std::string& model) {
    if (options_.nonsense == "tensors")
      return answer({{"outputs", Json::array({{{"name", "y"}, {"type", "float32"}, {"dims", {2}}}})}}, "1234");
    float value = 1;
    for (const Options::Each& each : options_.values)
      value += static_cast<float>(each.amount) * static_cast<float>(count(model, each.text));
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    answer({{"outputs", Json::array({{{"name", "y"}, {"type", "float32"}, {"dims", {1}}},
                                     {{"name", "words"}, {"type", "string"}, {"dims", {2}}, {"strings", {"a", "b"}}}})}},
           bytes);
  }

  Options options_;
  std::map<int, std::string> models_;
  std::map<int, Json> inputs_;
  std::vector<std::string> held_;
  std::mt19937_64 random_{1};
  std::normal_distribution<double> normal_;
};

}  // namespace

int main(int argc, char** argv) {
  TestRunner runner(parse(argc, argv));
  unsigned char head[16];
  while (read_all(reinterpret_cast<char*>(head), sizeof head)) {
    if (std::memcmp(head, "xfl1", 4) != 0) return 5;
    std::string text(number(head + 4, 4), '\0');
    std::string payload(number(head + 8, 8), '\0');
    if (!read_all(text.data(), text.size()) || !read_all(payload.data(), payload.size())) return 5;
    runner.serve(Json::parse(text), payload);
  }
}
