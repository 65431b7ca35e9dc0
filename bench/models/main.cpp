// xflow-bench-models: writes the models.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "bench/models/families.h"

namespace {

using xflow::bench::Family;

// 0, or what the program ends with.
int write(const Family& family, const std::filesystem::path& folder, const xflow::bench::Scale& scale) {
  const xflow::bench::Model model = family.build(scale);
  const std::filesystem::path path = folder / (model.name() + ".onnx");
  std::ofstream out(path, std::ios::binary);
  model.write(out);
  out.close();
  if (!out) {
    std::fprintf(stderr, "xflow-bench-models: cannot write %s\n", path.c_str());
    return 3;
  }
  std::printf("%s  %.2f M parameters\n", path.c_str(), static_cast<double>(model.parameters()) / 1e6);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Writes the ONNX models that optimisers are compared on, with seeded weights"};
  std::string folder;
  std::vector<std::string> names;
  xflow::bench::Scale scale;
  bool list = false;
  CLI::Option* listing = app.add_flag("--list", list, "name the models, a line each");
  app.add_option("OUTDIR", folder, "folder for NAME.onnx, made if it is not there")->excludes(listing);
  app.add_option("NAME", names, "which models; without a name all")->excludes(listing);
  app.add_option("--scale", scale.divisor, "divides channels, hidden sizes, images and sequences; depths stay")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  app.add_option("--batch", scale.batch, "samples of the inputs")->capture_default_str()->check(CLI::Range(1, 4096));
  app.add_option("--layers", scale.layers, "layers of bert; 0: 8")->capture_default_str()->check(CLI::Range(0, 512));
  app.add_option("--words", scale.words, "of bert: an embedding of as many before it, and a projection to them behind it")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000));
  CLI11_PARSE(app, argc, argv);
  if (list) {
    for (const Family& family : xflow::bench::families()) std::printf("%-19s %s\n", family.name.data(), family.summary.data());
    return 0;
  }
  if (folder.empty()) {
    std::fprintf(stderr, "xflow-bench-models: OUTDIR is required (or --list)\n");
    return 64;
  }
  for (const std::string& name : names) {
    const auto families = xflow::bench::families();
    if (std::none_of(families.begin(), families.end(), [&](const Family& family) { return family.name == name; })) {
      std::fprintf(stderr, "xflow-bench-models: no model '%s'; --list names them\n", name.c_str());
      return 64;
    }
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  int status = 0;
  for (const Family& family : xflow::bench::families()) {
    const bool wanted = names.empty() || std::find(names.begin(), names.end(), family.name) != names.end();
    if (wanted && status == 0) status = write(family, folder, scale);
  }
  return status;
}
