// Clusters that are read, those that are built in, and every message about a document that is none.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "src/parallel/cluster.h"
#include "tests/places.h"

namespace xflow::parallel {
namespace {

const std::string kCluster = R"({"name": "two hosts", "devices": [
 {"name": "a", "kind": "x", "memory": 1e9, "roofline": {"launch": 1e-6, "operations": 1e12, "bandwidth": 1e11}},
 {"name": "b", "kind": "y", "host": 1, "memory": 2e9, "roofline": {"launch": 0, "operations": 2e12, "bandwidth": 1e11}}],
 "across": {"latency": 1e-5, "bandwidth": 1e10}})";

// The message about the cluster with a part of its text replaced.
std::string message_with(const std::string& part, const std::string& by) {
  std::string text = kCluster;
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  if (at != std::string::npos) text.replace(at, part.size(), by);
  const auto read = read_cluster(text, "c.json");
  return read ? "" : read.error().text();
}

TEST(ReadCluster, TakesTheFieldsOfTheFormat) {
  const auto cluster = read_cluster(kCluster, "c.json");
  ASSERT_TRUE(cluster) << cluster.error().text();
  EXPECT_EQ(cluster->name, "two hosts");
  ASSERT_EQ(cluster->size(), 2U);
  EXPECT_EQ(cluster->hosts, 2U);
  EXPECT_EQ(cluster->devices[0], (ClusterDevice{"a", "x", 0, 1e9, {1e-6, 1e12, 1e11}, TimeSource::roofline, "", 1}));
  EXPECT_EQ(cluster->devices[1], (ClusterDevice{"b", "y", 1, 2e9, {0, 2e12, 1e11}, TimeSource::roofline, "", 1}));
  EXPECT_EQ(cluster->link(0, 1), (LinkRates{1e-5, 1e10}));
  EXPECT_EQ(cluster->link_resource(0, 1), cluster->port_resource(0));
  EXPECT_LT(cluster->port_resource(1), cluster->resources());
}

TEST(ReadCluster, TakesTimesFromARooflineAProfileOrThisMachine) {
  const std::string start = R"({"name": "n", "devices": [{"name": "a", "kind": "x", "memory": 1)";
  const auto device = [&](const std::string& source) -> ClusterDevice {
    const auto cluster = read_cluster(start + source + "}]}", "c.json");
    EXPECT_TRUE(cluster) << cluster.error().text();
    return cluster ? cluster->devices[0] : ClusterDevice{};
  };
  EXPECT_EQ(device(R"(, "profile": "v100.xprof")"), (ClusterDevice{"a", "x", 0, 1, {}, TimeSource::profile, "v100.xprof", 1}));
  EXPECT_EQ(device(R"(, "cpu": {})"), (ClusterDevice{"a", "x", 0, 1, {}, TimeSource::cpu, "", 1}));
  EXPECT_EQ(device(R"(, "cpu": {"threads": 2})"), (ClusterDevice{"a", "x", 0, 1, {}, TimeSource::cpu, "", 2}));
  const auto message = [&](const std::string& source) { return read_cluster(start + source + "}]}", "c.json").error().text(); };
  EXPECT_EQ(message(""), "c.json:1: device 'a': needs one of 'roofline', 'profile' and 'cpu'");
  EXPECT_EQ(message(R"(, "cpu": {}, "profile": "p")"), "c.json:1: device 'a': needs one of 'roofline', 'profile' and 'cpu'");
  EXPECT_EQ(message(R"(, "profile": 3)"), "c.json:1: device 'a': 'profile' is not a text, or empty");
  EXPECT_EQ(message(R"(, "cpu": true)"), "c.json:1: device 'a': 'cpu': expected an object");
  EXPECT_EQ(message(R"(, "cpu": {"cores": 2})"), "c.json:1: device 'a': 'cpu': unknown field 'cores'");
  EXPECT_EQ(message(R"(, "cpu": {"threads": 0})"), "c.json:1: device 'a': 'cpu': 'threads' is not from 1 to 1024: 0");
}

TEST(ReadCluster, NeedsOnlyTheLinksThatExist) {
  EXPECT_EQ(message_with(R"("across": {"latency": 1e-5, "bandwidth": 1e10})", R"("inside": {"latency": 0, "bandwidth": 1})"),
            "c.json:1: the cluster: has no 'across'");
  EXPECT_EQ(message_with(R"("host": 1)", R"("host": 0)"), "c.json:1: the cluster: has no 'inside'");
}

TEST(ReadCluster, NamesTheFirstFault) {
  EXPECT_EQ(message_with("{\"name\"", "x"), "c.json:1: not JSON; expected a cluster");
  EXPECT_EQ(message_with("\"two hosts\"", "\"\""), "c.json:1: the cluster: 'name' is not a text, or empty");
  EXPECT_EQ(message_with("\"across\"", "\"acros\""), "c.json:4: the cluster: unknown field 'acros'");
  EXPECT_EQ(message_with("\"name\": \"a\", ", ""), "c.json:2: devices[0]: has no 'name'");
  EXPECT_EQ(message_with("\"name\": \"b\"", "\"name\": \"a\""), "c.json:3: the cluster: device 'a' occurs twice");
  EXPECT_EQ(message_with("\"kind\": \"y\", ", ""), "c.json:3: device 'b': has no 'kind'");
  EXPECT_EQ(message_with("\"host\": 1", "\"host\": 1024"), "c.json:3: device 'b': 'host' is not from 0 to 1023: 1024");
  EXPECT_EQ(message_with("\"host\": 1", "\"hosts\": 1"), "c.json:3: device 'b': unknown field 'hosts'");
  EXPECT_EQ(message_with("\"memory\": 2e9", "\"memory\": -1"), "c.json:3: device 'b': 'memory' is negative: -1");
  EXPECT_EQ(message_with("\"operations\": 1e12", "\"operations\": 0"), "c.json:2: device 'a': 'roofline': 'operations' is 0");
  EXPECT_EQ(message_with("\"launch\": 0", "\"start\": 0"), "c.json:3: device 'b': 'roofline': unknown field 'start'");
  EXPECT_EQ(message_with("\"bandwidth\": 1e10", "\"bandwidth\": \"fast\""), "c.json:4: 'across': 'bandwidth' is not a number: \"fast\"");
  EXPECT_EQ(read_cluster(R"({"name": "n", "devices": []})", "c.json").error().text(), "c.json:1: the cluster: 'devices' is empty");
  EXPECT_EQ(read_cluster(R"({"name": "n", "devices": [3]})", "c.json").error().text(), "c.json:1: devices[0] is not an object");
}

TEST(ReadCluster, NamesTheLineOfTheFaultWhateverEndsLines) {
  for (const std::string end : {"\n", "\r\n"}) {
    const std::string text = "{" + end + "\"name\": \"n\"," + end + "\"devices\": [{\"name\": \"a\", \"kind\": \"x\"," + end +
                             "\"memory\": 1," + end + "\"roofline\": {\"launch\": 0," + end + "\"operations\": -1}}]}";
    const auto read = read_cluster(text, "c.json");
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().text(), "c.json:6: device 'a': 'roofline': 'operations' is negative: -1");
  }
}

// Removes each required field of a schema's object, which is at `at` in the document, and adds an unknown one.
void expect_schema(const nlohmann::json& schema, const std::string& at) {
  const auto refusal = [](const nlohmann::json& changed) {
    const auto read = read_cluster(changed.dump(), "c.json");
    return read ? "" : read.error().message;
  };
  const nlohmann::json cluster = nlohmann::json::parse(kCluster);
  const nlohmann::json::json_pointer object(at);
  EXPECT_EQ(schema["additionalProperties"], false) << at;
  for (const nlohmann::json& name : schema["required"]) {
    nlohmann::json changed = cluster;
    changed[object].erase(name.get<std::string>());
    EXPECT_NE(refusal(changed).find("has no '" + name.get<std::string>() + "'"), std::string::npos) << at << ' ' << name;
  }
  nlohmann::json changed = cluster;
  changed[object]["else"] = 1;
  EXPECT_NE(refusal(changed).find("unknown field 'else'"), std::string::npos) << at;
  // All fields of the document are in the schema.
  for (const auto& [name, value] : cluster[object].items()) EXPECT_TRUE(schema["properties"].contains(name)) << at << ' ' << name;
}

TEST(ReadCluster, AgreesWithItsSchema) {
  std::ifstream file(places::repository() + "/docs/cluster.schema.json");
  const nlohmann::json schema = nlohmann::json::parse(file);
  expect_schema(schema, "");
  const nlohmann::json& device = schema["properties"]["devices"]["items"];
  expect_schema(device, "/devices/1");
  expect_schema(device["properties"]["roofline"], "/devices/1/roofline");
  expect_schema(schema["$defs"]["link"], "/across");
  EXPECT_EQ(schema["properties"]["devices"]["maxItems"], kMostClusterDevices);
  EXPECT_EQ(device["properties"]["host"]["maximum"], kMostClusterDevices - 1);
}

TEST(PresetCluster, HasTheNamedOnes) {
  const auto devices_and_hosts = [](std::string_view name) {
    const auto cluster = preset_cluster(name);
    return cluster ? std::pair(cluster->size(), cluster->hosts) : std::pair(0U, 0U);
  };
  EXPECT_EQ(devices_and_hosts("dgx-h100"), std::pair(8U, 1U));
  EXPECT_EQ(devices_and_hosts("flexflow-k80"), std::pair(64U, 16U));
  EXPECT_EQ(devices_and_hosts("slow-16"), std::pair(16U, 4U));
  EXPECT_FALSE(preset_cluster("dgx"));
  for (const std::string& name : cluster_presets()) {
    const auto cluster = preset_cluster(name);
    ASSERT_TRUE(cluster) << name;
    EXPECT_EQ(cluster->name, name);
    EXPECT_EQ(cluster->devices.back().host, cluster->hosts - 1);
  }
  EXPECT_DOUBLE_EQ(preset_cluster("slow-16")->devices[0].rates.seconds(4e12, 4), 2 + 5e-6);
  EXPECT_DOUBLE_EQ(preset_cluster("slow-16")->devices[0].rates.seconds(4, 4e12), 10 + 5e-6);
  EXPECT_DOUBLE_EQ(preset_cluster("slow-16")->link(0, 4).seconds(6e9), 1 + 10e-6);
}

}  // namespace
}  // namespace xflow::parallel
