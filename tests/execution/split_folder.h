// Models that are split at random, in a folder.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "src/parallel/model_parts.h"
#include "src/parallel/part_document.h"
#include "src/parallel/part_manifest.h"
#include "tests/onnx/model_builder.h"

namespace xflow::execution {

inline void write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// A model of sums and functions of a few floats, of which every sink is an output.
inline onnx_io::testing::GraphParts random_graph(std::mt19937& random, std::size_t nodes) {
  onnx_io::testing::GraphParts graph;
  graph.inputs = {onnx_io::testing::float_info("x", {2, 3})};
  std::vector<bool> is_read(nodes);
  const auto earlier = [&](std::size_t k) -> std::string {
    const std::size_t from = random() % (k + 1);
    if (from == k) return "x";
    is_read[from] = true;
    return fmt::format("v{}", from);
  };
  for (std::size_t k = 0; k < nodes; ++k) {
    const std::string output = fmt::format("v{}", k);
    if (random() % 2 == 0) {
      graph.nodes.push_back(onnx_io::testing::node("Sub", "", {earlier(k), earlier(k)}, {output}));
    } else {
      graph.nodes.push_back(onnx_io::testing::node("Tanh", "", {earlier(k)}, {output}));
    }
  }
  for (std::size_t k = 0; k < nodes; ++k) {
    if (!is_read[k]) graph.outputs.push_back(onnx_io::testing::float_info(fmt::format("v{}", k), {2, 3}));
  }
  return graph;
}

// Splits a model over devices, of which each node has one, and writes it to a folder. Returns the manifest.
inline PartManifest split(const std::string& bytes, const std::vector<std::optional<std::uint32_t>>& placed, std::uint32_t devices,
                          const std::string& folder) {
  const onnx_io::Document document = onnx_io::testing::parsed(bytes);
  ir::Arena arena;
  const auto lifted = onnx_io::lift(document, arena, {.infer = true});
  const auto parts = parallel::divide(document, placed, {});
  const parallel::KnownIntegers known;
  const parallel::PartWriter writer(document, *lifted, arena, known);
  PartManifest manifest;
  manifest.model = manifest.cluster = manifest.plan = "test";
  for (std::uint32_t device = 0; device < devices; ++device) manifest.devices.push_back(fmt::format("d{}", device));
  manifest.inputs = {"x"};
  const auto described = [](const parallel::CutTensor& tensor) {
    return PartTensor{std::string(tensor.name), tensor.part ? std::optional<std::size_t>(*tensor.part) : std::nullopt, false};
  };
  for (std::size_t k = 0; k < parts.parts.size(); ++k) {
    const parallel::ModelPart& part = parts.parts[k];
    PartDescription description{part.device, fmt::format("part-{}.onnx", k), part.nodes.size(), {}, {}};
    for (const auto& input : part.inputs) description.inputs.push_back(described(input));
    description.outputs.assign(part.outputs.begin(), part.outputs.end());
    write(folder + "/" + description.file, *writer.write(part, k));
    manifest.parts.push_back(std::move(description));
  }
  for (const auto& output : parts.outputs) manifest.outputs.push_back(described(output));
  write(folder + "/" + parallel::kManifestName, manifest.to_json());
  return manifest;
}

inline PartManifest split_at_random(const std::string& bytes, std::uint32_t devices, std::mt19937& random, const std::string& folder) {
  std::vector<std::optional<std::uint32_t>> placed;
  for (std::size_t k = 0; k < onnx_io::testing::parsed(bytes).nodes().size(); ++k)
    placed.emplace_back(k < devices ? k : random() % devices);
  return split(bytes, placed, devices, folder);
}

}  // namespace xflow::execution
