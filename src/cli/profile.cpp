#include "src/devices/profile/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "src/cli/command.h"
#include "src/devices/profile/show.h"
#include "src/optimizer/record_profile.h"
#include "src/support/file.h"

namespace xflow::cli {
namespace {

namespace profile = cost::profile;

struct ProfileArguments {
  std::string file;
  std::string output;
  std::vector<std::string> others;
  std::vector<std::string> models;
  std::string only;
  bool disturbed = false;
  bool refused = false;
  std::uint64_t states = 500;
  OptimizeOptions options;
};

// "OUT: 312 kernels", and what is to be said of them.
Result<void> write(const profile::Profile& written, const std::string& path, const std::string& more = {}) {
  const std::string text = profile::to_text(written);
  const std::string_view chunk = text;
  XFLOW_CHECK(onnx_io::write_file(path, {&chunk, 1}));
  print(fmt::format("{}: {} kernels{}\n", path, written.kernels.size(), more));
  return {};
}

// The files themselves, and the .onnx files of folders, sorted.
Result<std::vector<std::string>> models_of(const std::vector<std::string>& paths) {
  std::vector<std::string> models;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      models.push_back(path);
      continue;
    }
    const std::size_t before = models.size();
    for (const auto& entry : std::filesystem::directory_iterator(path, error))
      if (entry.path().extension() == ".onnx") models.push_back(entry.path().string());
    if (models.size() == before) return fail(ErrorCode::unreadable, "no .onnx files in the folder", path);
    std::sort(models.begin() + static_cast<std::ptrdiff_t>(before), models.end());
  }
  return models;
}

Result<void> record(ProfileArguments& a) {
  XFLOW_TRY(const std::vector<std::string> models, models_of(a.models));
  a.options.max_states = a.states;
  a.options.warning = warn;
  ProgressLine line;
  XFLOW_TRY(const profile::Profile recorded,
            api::record_profile(models, a.options, [&](const std::string& path) { line.show("timing the kernels of " + path); }));
  return write(recorded, a.output);
}

Result<void> show(ProfileArguments& a) {
  XFLOW_TRY(const profile::Profile shown, profile::read_profile(a.file));
  print(profile::describe(shown));
  return {};
}

Result<void> check(ProfileArguments& a) {
  XFLOW_TRY(const profile::Profile checked, profile::read_profile(a.file));
  print(profile::describe_check(checked));
  return {};
}

Result<void> merge(ProfileArguments& a) {
  XFLOW_TRY(profile::Profile merged, profile::read_profile(a.others[0]));
  std::size_t taken = 0;
  for (std::size_t k = 1; k < a.others.size(); ++k) {
    XFLOW_TRY(const profile::Profile other, profile::read_profile(a.others[k]));
    const auto more = profile::merge(merged, other);
    if (!more) return fail(more.error().code, more.error().message, a.others[k]);
    taken += *more;
  }
  return write(merged, a.output, fmt::format(", {} of them new or less disturbed than in {}", taken, a.others[0]));
}

Result<void> export_costs(ProfileArguments& a) {
  XFLOW_TRY(const profile::Profile known, api::export_profile(a.options));
  return write(known, a.output);
}

Result<void> import_costs(ProfileArguments& a) {
  XFLOW_TRY(const profile::Profile read, profile::read_profile(a.file));
  std::string problem;
  cost::Database database =
      cost::Database::open(a.options.cost_database, read.device, [&](const std::string& warning) { problem = warning; });
  if (!database.persistent()) return fail(ErrorCode::io, problem.empty() ? "--costs names no file" : problem);
  const std::size_t before = database.size();
  profile::add_to(database, read);
  print(fmt::format("{}: {} kernels of this device, {} of them new\n", a.options.cost_database, database.size(), database.size() - before));
  return {};
}

Result<void> prune(ProfileArguments& a) {
  XFLOW_TRY(profile::Profile kept, profile::read_profile(a.file));
  const std::size_t dropped = profile::prune(kept, {a.disturbed, a.refused, a.only});
  return write(kept, a.output, fmt::format(", {} dropped", dropped));
}

using Action = Result<void> (*)(ProfileArguments&);

}  // namespace

void add_profile(CLI::App& app, Command& command) {
  auto a = std::make_shared<ProfileArguments>();
  CLI::App* sub = app.add_subcommand("profile", "Record what kernels take on a device, for searches elsewhere");
  sub->require_subcommand(1);
  const auto add = [&](const char* name, const char* text, Action action) {
    CLI::App* one = sub->add_subcommand(name, text);
    one->callback([a, action, &command] {
      command.run = [a, action] {
        const auto done = action(*a);
        return done ? ExitCode::done : report(done.error());
      };
    });
    return one;
  };
  const auto costs = [&](CLI::App* one, const char* text) { return one->add_option("--costs", a->options.cost_database, text); };
  const auto device = [&](CLI::App* one) {
    one->add_option("--device", a->options.device, "device: cpu, cuda:N, or runner; without it the runner if there is one, else this CPU");
    one->add_flag("--tf32", a->options.tf32, "on a GPU, products and convolutions of float may round their operands to 10 bits");
    one->add_option("--gpu-workspace", a->options.gpu_workspace, "bytes that a kernel's library may use on a GPU beside its tensors")
        ->capture_default_str();
    one->add_option("--runner", a->options.runner, "command of a program that runs models (docs/runner.md)");
    one->add_option("--caches", a->options.caches,
                    "what the caches of this CPU hold when a kernel is timed: warm, 4MiB, 16MiB, 64MiB (left after a run through so much); "
                    "auto: as it fits to the largest model")
        ->capture_default_str()
        ->check(CLI::IsMember({"auto", "warm", "4MiB", "16MiB", "64MiB"}));
    one->add_option("--threads", a->options.threads, "threads of one kernel")->capture_default_str()->check(CLI::Range(1, 1024));
  };
  const auto out = [&](CLI::App* one) { one->add_option("--out", a->output, "profile to write")->required(); };
  const auto file = [&](CLI::App* one) { one->add_option("FILE", a->file, "profile")->required(); };

  CLI::App* recording = add("record", "Time the kernels of models, and of rewrites of them, here or in a runner", record);
  device(recording);
  recording->add_option("--models", a->models, "ONNX models, or folders of them")->required()->take_all();
  recording->add_option("--states", a->states, "how many rewritten graphs of each model are costed")->capture_default_str();
  add_allow_external(*recording, a->options.allow_external);
  costs(recording, "file of measured costs: what it holds is not timed again, and goes into the profile");
  out(recording);
  file(add("show", "Say what a profile holds", show));
  file(add("check", "Fit the model on four fifths of the kernels and say how well it predicts the rest", check));
  CLI::App* merging = add("merge", "Join profiles of one device; the less disturbed measurement of a kernel stays", merge);
  merging->add_option("FILES", a->others, "profiles")->required()->expected(2, -1);
  out(merging);
  CLI::App* exporting = add("export", "Write what a file of measured costs holds for a device", export_costs);
  device(exporting);
  costs(exporting, "file of measured costs")->required();
  out(exporting);
  CLI::App* importing = add("import", "Add a profile to a file of measured costs", import_costs);
  file(importing);
  costs(importing, "file of measured costs")->required();
  CLI::App* pruning = add("prune", "Write a profile without some of its kernels", prune);
  file(pruning);
  pruning->add_flag("--disturbed", a->disturbed, "drop kernels that were timed while something disturbed the machine");
  pruning->add_flag("--refused", a->refused, "drop kernels that the device refused");
  pruning->add_option("--only", a->only, "keep kernels whose text contains this, such as 'matmul('");
  out(pruning);
  sub->footer(examples({"xflow profile record --models models --out cpu.xprof", "xflow profile show cpu.xprof",
                        "xflow profile check cpu.xprof", "xflow profile merge monday.xprof tuesday.xprof --out cpu.xprof",
                        "xflow optimize model.onnx faster.onnx --device profile:cpu.xprof"}));
}

}  // namespace xflow::cli
