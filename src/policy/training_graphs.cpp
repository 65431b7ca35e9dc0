#include "src/policy/training_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "src/policy/graph_families.h"
#include "src/support/file.h"

namespace xflow::policy {
namespace {

constexpr std::string_view kGenerator = "generator:";
constexpr std::size_t kValidatedOfFamily = 3;
constexpr std::size_t kMostValidated = 12;
// Numbers of graphs that are for validation alone.
constexpr std::uint64_t kFirstValidated = std::uint64_t{1} << 40U;

std::vector<std::string> names_of(std::string_view list) {
  std::vector<std::string> names;
  while (true) {
    const std::size_t comma = list.find(',');
    names.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return names;
    list.remove_prefix(comma + 1);
  }
}

Result<std::vector<std::string>> files_of(const std::string& source) {
  std::error_code error;
  if (!std::filesystem::is_directory(source, error)) return std::vector<std::string>{source};
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(source, error)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  }
  if (error) return fail(ErrorCode::unreadable, error.message(), source);
  if (files.empty()) return fail(ErrorCode::unreadable, "the folder has no .json files", source);
  std::ranges::sort(files);
  return files;
}

// Every placement of an instance without costs is as good as any other.
bool has_costs(const parallel::PlacementInstance& instance) {
  const auto takes_time = [](const parallel::PlacementNode& node) { return node.accelerator_time > 0 || node.cpu_time > 0; };
  return std::ranges::any_of(instance.nodes, takes_time) || std::ranges::any_of(instance.output_cost, [](double cost) { return cost > 0; });
}

}  // namespace

Result<TrainingGraphs> TrainingGraphs::open(const std::string& source, const std::string& cluster) {
  TrainingGraphs result;
  if (source.starts_with(kGenerator)) {
    result.families_ = names_of(std::string_view(source).substr(kGenerator.size()));
    XFLOW_TRY(result.cluster_, parallel::open_cluster(cluster));
    for (const std::string& family : result.families_) XFLOW_CHECK(family_graph(family, 0, *result.cluster_));
    return result;
  }
  XFLOW_TRY(const std::vector<std::string> files, files_of(source));
  for (const std::string& path : files) {
    XFLOW_TRY(const auto file, onnx_io::FileBytes::open(path));
    XFLOW_TRY(parallel::PlacementInstance instance, parallel::read_instance(file->bytes(), path));
    if (!has_costs(instance)) return fail(ErrorCode::unreadable, "no node and no edge takes time, so that there is nothing to learn", path);
    result.instances_.push_back(std::move(instance));
  }
  return result;
}

Result<parallel::PlacementInstance> TrainingGraphs::graph(std::uint64_t number, std::uint64_t seed) const {
  if (!cluster_) return instances_[number % instances_.size()];
  return family_graph(families_[number % families_.size()], seed * 0x9e3779b97f4a7c15U + number, *cluster_);
}

Result<std::vector<parallel::PlacementInstance>> TrainingGraphs::validation(std::uint64_t seed) const {
  const std::size_t count = cluster_ ? kValidatedOfFamily * families_.size() : std::min(kMostValidated, instances_.size());
  std::vector<parallel::PlacementInstance> result;
  for (std::uint64_t number = 0; number < count; ++number) {
    XFLOW_TRY(parallel::PlacementInstance instance, graph(cluster_ ? kFirstValidated + number : number, seed));
    result.push_back(std::move(instance));
  }
  return result;
}

}  // namespace xflow::policy
