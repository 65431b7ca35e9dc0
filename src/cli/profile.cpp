#include "xflow/profile.h"

#include <fmt/format.h>

#include <memory>

#include "src/cli/command.h"

namespace xflow::cli {
namespace {

struct ProfileArguments {
  std::string file;
  std::string output;
  std::vector<std::string> others;
  std::vector<std::string> models;
  std::vector<std::string> tables;
  std::vector<std::string> kernels;
  std::string format;
  std::string table_device;
  bool json = false;
  Profile::Prune pruned;
  std::uint64_t states = 500;
  std::string caches = "auto";
  OptimizeOptions options;
};

// Writes a profile and prints "OUT: 312 kernels" with `more` appended.
Result<void> write(const Profile& profile, const std::string& path, const std::string& more = {}) {
  XFLOW_CHECK(profile.write(path));
  print(fmt::format("{}: {} kernels{}\n", path, profile.kernels(), more));
  return {};
}

Result<void> record(ProfileArguments& a) {
  a.options.search.max_states = a.states;
  a.options.warning = warn;
  ProgressLine line;
  XFLOW_TRY(const Profile recorded, Profile::record(a.models, a.options, [&](const ProfileProgress& progress) {
              if (progress.phase == ProfilePhase::measuring) line.show(progress.message);
            }));
  return write(recorded, a.output);
}

Result<void> show(ProfileArguments& a) {
  XFLOW_TRY(const Profile shown, Profile::read(a.file));
  print(shown.describe());
  return {};
}

Result<void> check(ProfileArguments& a) {
  XFLOW_TRY(const Profile checked, Profile::read(a.file));
  print(checked.describe_check());
  return {};
}

Result<void> merge(ProfileArguments& a) {
  XFLOW_TRY(Profile merged, Profile::read(a.others[0]));
  std::size_t taken = 0;
  for (std::size_t k = 1; k < a.others.size(); ++k) {
    XFLOW_TRY(const Profile other, Profile::read(a.others[k]));
    const auto more = merged.merge(other);
    if (!more) return fail(more.error().code, more.error().message, a.others[k]);
    taken += *more;
  }
  return write(merged, a.output, fmt::format(", {} of them new or with less interference than in {}", taken, a.others[0]));
}

Result<void> export_costs(ProfileArguments& a) {
  XFLOW_TRY(const Profile known, Profile::of_costs(a.options));
  return write(known, a.output);
}

Result<void> import_costs(ProfileArguments& a) {
  XFLOW_TRY(const Profile read, Profile::read(a.file));
  XFLOW_TRY(const Profile::Imported imported, read.add_to_costs(a.options.device.cost_database));
  print(fmt::format("{}: {} kernels of this device, {} of them new\n", a.options.device.cost_database, imported.kernels, imported.added));
  return {};
}

Result<void> prune(ProfileArguments& a) {
  XFLOW_TRY(Profile kept, Profile::read(a.file));
  const std::size_t dropped = kept.prune(a.pruned);
  return write(kept, a.output, fmt::format(", {} dropped", dropped));
}

bool is_profile(const std::string& file) { return file.ends_with(".xprof"); }

Result<void> convert(ProfileArguments& a) {
  XFLOW_TRY(const Profile made, Profile::of_tables(a.tables, TableFormat::neusight, a.table_device));
  const Profile::Marked marked = made.marked();
  return write(made, a.output,
               fmt::format(" of {}, {} at the launch floor, {} contradicted", made.device_model(), marked.at_floor, marked.contradicted));
}

// The measurements are a profile, or tables, of which the device of the profile is taken unless another is
// named.
Result<void> compare(ProfileArguments& a) {
  XFLOW_TRY(const Profile predicting, Profile::read(a.file));
  const auto read_measured = [&]() -> Result<Profile> {
    if (a.tables.size() == 1 && is_profile(a.tables[0])) {
      if (!a.table_device.empty())
        return fail(ErrorCode::invalid_argument, "--device is for tables, and a profile has one device", a.tables[0]);
      return Profile::read(a.tables[0]);
    }
    for (const std::string& file : a.tables)
      if (is_profile(file)) return fail(ErrorCode::invalid_argument, "expected one profile, or tables without a profile", file);
    return Profile::of_tables(a.tables, TableFormat::neusight, a.table_device.empty() ? predicting.device_model() : a.table_device);
  };
  XFLOW_TRY(const Profile measured, read_measured());
  XFLOW_TRY(const ProfileComparison comparison, predicting.compare(measured));
  print(a.json ? comparison.to_json() + "\n" : comparison.to_text());
  return {};
}

Result<void> price(ProfileArguments& a) {
  XFLOW_TRY(const Profile pricing, Profile::read(a.file));
  XFLOW_TRY(const ProfilePrices prices, pricing.price(a.kernels));
  print(a.json ? prices.to_json() + "\n" : prices.to_text());
  return {};
}

void add_format(CLI::App& sub, ProfileArguments& a) {
  a.format = to_string(TableFormat::neusight);
  sub.add_option("--format", a.format, "format of the tables")
      ->capture_default_str()
      ->check(CLI::IsMember({to_string(TableFormat::neusight)}));
}

void add_convert_options(CLI::App& sub, ProfileArguments& a) {
  sub.add_option("FILES", a.tables, "tables: add.csv, bmm.csv, conv.csv, ... (docs/cost.md)")->required()->expected(1, -1);
  add_format(sub, a);
  sub.add_option("--device", a.table_device, "device of the tables: its name, or a part of it");
}

void add_compare_options(CLI::App& sub, ProfileArguments& a) {
  sub.add_option("--against", a.tables, "profile of measured kernels, or tables of them")->required()->expected(1, -1);
  add_format(sub, a);
  sub.add_option("--device", a.table_device, "device of the tables; else that of the profile");
  sub.add_flag("--json", a.json, "print JSON (docs/profile-comparison.schema.json)");
}

using Action = Result<void> (*)(ProfileArguments&);

}  // namespace

void add_profile(CLI::App& sub, Command& command) {
  auto a = std::make_shared<ProfileArguments>();
  sub.require_subcommand(1);
  const auto add = [&](const char* name, const char* text, Action action) {
    CLI::App* one = sub.add_subcommand(name, text);
    one->callback([a, action, &command] {
      command.run = [a, action] {
        const auto caches = parse_cache_state(a->caches);
        if (!caches) return report(caches.error());
        a->options.device.caches = *caches;
        const auto done = action(*a);
        return done ? ExitCode::done : report(done.error());
      };
    });
    return one;
  };
  const auto costs = [&](CLI::App* one, const char* text) { return one->add_option("--costs", a->options.device.cost_database, text); };
  const auto device = [&](CLI::App* one) {
    one->add_option("--device", a->options.device.name, "device: cpu, cuda:N or runner; else the runner, or this CPU");
    one->add_flag("--tf32", a->options.device.tf32, "on a GPU, products and convolutions may round to 10 bits");
    one->add_option("--gpu-workspace", a->options.device.gpu_workspace, "workspace of a GPU library, in bytes")->capture_default_str();
    one->add_option("--runner", a->options.device.runner, "command of a program that runs models (docs/runner.md)");
    one->add_option("--caches", a->caches, "caches when a kernel is timed: auto, warm, 4MiB, 16MiB, 64MiB")
        ->capture_default_str()
        ->check(CLI::IsMember({"auto", "warm", "4MiB", "16MiB", "64MiB"}));
    one->add_option("--threads", a->options.device.threads, "threads of one kernel")->capture_default_str()->check(CLI::Range(1, 1024));
  };
  const auto out = [&](CLI::App* one) { one->add_option("--out", a->output, "profile to write")->required(); };
  const auto file = [&](CLI::App* one) { one->add_option("FILE", a->file, "profile")->required(); };

  CLI::App* recording = add("record", "Time the kernels of models and of their rewrites", record);
  device(recording);
  recording->add_option("--models", a->models, "ONNX models, or folders of them")->required()->take_all();
  recording->add_option("--states", a->states, "number of graphs costed for each model")->capture_default_str();
  add_allow_external(*recording, a->options.input.allow_external);
  costs(recording, "file of measured costs, whose kernels are not timed again");
  out(recording);
  file(add("show", "Show the contents of a profile", show));
  file(add("check", "Fit the model on four fifths of the kernels and predict the rest", check));
  CLI::App* merging = add("merge", "Merge profiles of one device; keep the times with less interference", merge);
  merging->add_option("FILES", a->others, "profiles")->required()->expected(2, -1);
  out(merging);
  CLI::App* exporting = add("export", "Write the measured costs of a device as a profile", export_costs);
  device(exporting);
  costs(exporting, "file of measured costs")->required();
  out(exporting);
  CLI::App* importing = add("import", "Add a profile to a file of measured costs", import_costs);
  file(importing);
  costs(importing, "file of measured costs")->required();
  CLI::App* pruning = add("prune", "Write a profile without some of its kernels", prune);
  file(pruning);
  pruning->add_flag("--interference", a->pruned.with_interference, "drop kernels that were timed under interference");
  pruning->add_flag("--refused", a->pruned.refused, "drop kernels that the device refused");
  pruning->add_option("--only", a->pruned.only, "keep kernels whose text contains this, such as 'matmul('");
  out(pruning);
  CLI::App* converting = add("convert", "Make a profile of published tables of kernel times", convert);
  add_convert_options(*converting, *a);
  out(converting);
  CLI::App* comparing = add("compare", "Compare the times of a profile with measured times", compare);
  file(comparing);
  add_compare_options(*comparing, *a);
  CLI::App* pricing = add("price", "Print what kernels cost in a search, with intervals", price);
  file(pricing);
  pricing->add_option("KERNELS", a->kernels, "kernels, as they are written in profiles")->required()->expected(1, -1);
  pricing->add_flag("--json", a->json, "print JSON (docs/profile-prices.schema.json)");
  sub.footer(examples({"xflow profile record --models models --out cpu.xprof", "xflow profile show cpu.xprof",
                       "xflow profile check cpu.xprof", "xflow profile convert bmm.csv linear.csv --device V100 --out v100.xprof",
                       "xflow profile compare v100.xprof --against measured.xprof",
                       "xflow profile price v100.xprof 'matmul(float32[8,64], const float32[64,32]) -> float32[8,32]'",
                       "xflow profile merge monday.xprof tuesday.xprof --out cpu.xprof",
                       "xflow optimize model.onnx faster.onnx --device profile:cpu.xprof"}));
}

}  // namespace xflow::cli
