// Manifests are read as they were written, and faults are named.
#include "src/parallel/part_manifest.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace xflow::parallel {
namespace {

PartManifest small_manifest() {
  PartManifest manifest;
  manifest.model = "model.onnx";
  manifest.cluster = "pair";
  manifest.plan = "plan.json";
  manifest.devices = {"a", "b"};
  manifest.inputs = {"x", "w"};
  manifest.parts = {{0, "part-0.onnx", 2, {{"x", std::nullopt, false}, {"w", std::nullopt, true}}, {"t", "y"}},
                    {1, "part-1.onnx", 1, {{"t", 0, false}}, {"z"}}};
  manifest.outputs = {{"y", 0, false}, {"z", 1, false}, {"x", std::nullopt, false}};
  manifest.left_out = 3;
  manifest.copied = 1;
  return manifest;
}

TEST(PartManifest, IsReadAsItWasWritten) {
  const std::string text = small_manifest().to_json();
  const auto read = read_manifest(text, "m.json");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->to_json(), text);
  EXPECT_EQ(read->parts[0].inputs[1].has_default, true);
  EXPECT_EQ(read->parts[1].inputs[0].part, 0U);
}

// The error of a manifest with one change.
template <typename Change>
std::string error_with(const Change& change) {
  nlohmann::json json = nlohmann::json::parse(small_manifest().to_json());
  change(json);
  const auto read = read_manifest(json.dump(1), "m.json");
  return read ? "" : read.error().text();
}

TEST(PartManifest, FaultsAreNamed) {
  using Json = nlohmann::json;
  EXPECT_EQ(read_manifest("[", "m.json").error().text(), "m.json:1: not JSON; expected a manifest");
  EXPECT_EQ(error_with([](Json& m) { m["version"] = 7; }), "m.json:72: the manifest: 'version' is 7; this xflow reads 1");
  EXPECT_EQ(error_with([](Json& m) { m["more"] = 7; }), "m.json:24: the manifest: unknown field 'more'");
  EXPECT_EQ(error_with([](Json& m) { m.erase("parts"); }), "m.json:1: the manifest: has no 'parts'");
  EXPECT_EQ(error_with([](Json& m) { m["parts"] = Json::array(); }), "m.json:37: the manifest: 'parts' is empty");
  EXPECT_EQ(error_with([](Json& m) { m["parts"][1]["device"] = "c"; }), "m.json:57: parts[1]: there is no device 'c'");
  EXPECT_EQ(error_with([](Json& m) { m["parts"][1]["file"] = "../part-1.onnx"; }),
            "m.json:58: parts[1]: 'file' is not a file in the folder of the manifest");
  EXPECT_EQ(error_with([](Json& m) { m["parts"][1]["inputs"][0]["part"] = 1; }),
            "m.json:60: parts[1]: 'inputs' needs 't' of part 1, which is not before it");
  EXPECT_EQ(error_with([](Json& m) { m["parts"][1]["inputs"][0]["name"] = "u"; }),
            "m.json:60: parts[1]: 'inputs' needs 'u' of part 0, which has no such output");
  EXPECT_EQ(error_with([](Json& m) { m["outputs"][2]["name"] = "u"; }),
            "m.json:33: the manifest: 'outputs' needs 'u', which is no input of the model");
  EXPECT_EQ(error_with([](Json& m) { m["devices"][1]["name"] = "a"; }), "m.json:12: devices[1]: device 'a' occurs twice");
  EXPECT_EQ(error_with([](Json& m) { m["devices"][0]["parts"] = {1}; }),
            "m.json:7: device 'a': 'parts' is [1], but the parts of this device are [0]");
  EXPECT_EQ(error_with([](Json& m) {
              m["devices"].push_back({{"name", "c"}, {"parts", Json::array()}});
            }),
            "m.json:19: device 'c': has no parts");
  EXPECT_EQ(error_with([](Json& m) { m["left_out"] = -1; }), "m.json:22: the manifest: 'left_out' is negative: -1");
}

}  // namespace
}  // namespace xflow::parallel
