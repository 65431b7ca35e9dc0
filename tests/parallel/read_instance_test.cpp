// Instances and splits that are read, and every message about those that are not.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "src/parallel/instance.h"

namespace xflow::parallel {
namespace {

// Replaces a part of a text, which must be there.
std::string with(std::string text, const std::string& part, const std::string& by) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return at == std::string::npos ? text : text.replace(at, part.size(), by);
}

const std::string kInstance = R"({"maxFPGAs": 2, "maxCPUs": 1, "maxSizePerFPGA": 100.5,
 "nodes": [
  {"id": 7, "cpuLatency": 3, "fpgaLatency": 1, "size": 40, "supportedOnFpga": true, "isBackwardNode": false, "colorClass": 4, "name": "a"},
  {"id": -2, "cpuLatency": 5, "fpgaLatency": 2.5, "size": 70, "supportedOnFpga": 0, "isBackwardNode": 1, "layerId": 3}],
 "edges": [{"sourceId": 7, "destId": -2, "cost": 0.25, "size": 9}, {"sourceId": 7, "destId": -2, "cost": 0.25}]})";

TEST(ReadInstance, TakesTheFieldsOfTheFormat) {
  const auto instance = read_instance(kInstance, "f.json");
  ASSERT_TRUE(instance) << instance.error().text();
  EXPECT_EQ(instance->accelerators, 2U);
  EXPECT_EQ(instance->cpus, 1U);
  EXPECT_DOUBLE_EQ(instance->memory, 100.5);
  ASSERT_EQ(instance->nodes.size(), 2U);
  EXPECT_EQ(instance->nodes[0].id, 7);
  EXPECT_EQ(instance->nodes[0].colour, 4);
  EXPECT_TRUE(instance->nodes[0].on_accelerator);
  EXPECT_FALSE(instance->nodes[0].is_backward);
  EXPECT_EQ(instance->nodes[1].colour, std::nullopt);
  EXPECT_FALSE(instance->nodes[1].on_accelerator);
  EXPECT_TRUE(instance->nodes[1].is_backward);
  EXPECT_DOUBLE_EQ(instance->nodes[1].accelerator_time, 2.5);
  EXPECT_EQ(instance->edges, (std::vector<PlacementEdge>{{0, 1}}));
  EXPECT_EQ(instance->output_cost, (std::vector<double>{0.25, 0}));
}

std::string message(const std::string& text) {
  const auto instance = read_instance(text, "f.json");
  if (instance) return "no error";
  const ErrorCode expected =
      instance.error().message.find("fits no device") != std::string::npos ? ErrorCode::unsupported : ErrorCode::unreadable;
  EXPECT_EQ(instance.error().code, expected);
  return instance.error().text();
}

std::string with_fusions(const std::string& fusions) {
  return with(kInstance, "\n \"edges\"", "\n \"fusions\": " + fusions + ", \"edges\"");
}

TEST(ReadInstance, TakesFusions) {
  const auto instance = read_instance(with_fusions(R"([{"nodeId": 7, "intoId": -2, "saved": 0.5}])"), "f.json");
  ASSERT_TRUE(instance) << instance.error().text();
  ASSERT_EQ(instance->fusions.size(), 1U);
  EXPECT_EQ(instance->fusions[0].node, 0U);
  EXPECT_EQ(instance->fusions[0].into, 1U);
  EXPECT_DOUBLE_EQ(instance->fusions[0].saved, 0.5);
}

TEST(ReadInstance, NamesTheFaultOfAFusion) {
  EXPECT_EQ(message(with_fusions("1")), "f.json:5: the instance 'fusions' is not an array");
  EXPECT_EQ(message(with_fusions("[1]")), "f.json:5: fusions[0] is not an object");
  EXPECT_EQ(message(with_fusions(R"([{"intoId": -2, "saved": 1}])")), "f.json:5: fusions[0] has no 'nodeId'");
  EXPECT_EQ(message(with_fusions(R"([{"nodeId": 8, "intoId": -2, "saved": 1}])")), "f.json:5: fusion 8 -> -2: there is no node 8");
  EXPECT_EQ(message(with_fusions(R"([{"nodeId": 7, "intoId": 9, "saved": 1}])")), "f.json:5: fusion 7 -> 9: there is no node 9");
  EXPECT_EQ(message(with_fusions(R"([{"nodeId": -2, "intoId": 7, "saved": 1}])")),
            "f.json:5: fusion -2 -> 7: node 7 is not the only reader of node -2");
  EXPECT_EQ(message(with_fusions(R"([{"nodeId": 7, "intoId": -2, "saved": -1}])")), "f.json:5: fusion 7 -> -2: 'saved' is negative: -1");
  const std::string fusion = R"({"nodeId": 7, "intoId": -2, "saved": 1})";
  EXPECT_EQ(message(with_fusions("[" + fusion + "," + fusion + "]")), "f.json:5: fusion 7 -> -2: node 7 has two fusions");
  const std::string third = R"({"id": 3, "cpuLatency": 1, "fpgaLatency": 1, "size": 1, "supportedOnFpga": 1, "isBackwardNode": 0}, )";
  const std::string two_readers = with(with(with_fusions("[" + fusion + "]"), "{\"id\": 7", third + "{\"id\": 7"), "\"edges\": [",
                                       R"("edges": [{"sourceId": 7, "destId": 3, "cost": 0.25}, )");
  EXPECT_EQ(message(two_readers), "f.json:5: fusion 7 -> -2: node -2 is not the only reader of node 7");
}

TEST(ReadInstance, NamesTheFaultOfTheDocument) {
  EXPECT_EQ(message("{"), "f.json:1: not JSON; expected an instance of a placement");
  EXPECT_EQ(message(with(kInstance, "40", "1e999")), "f.json:3: a number is out of range: 1e999");
  EXPECT_EQ(message("[]"), "f.json:1: expected an instance of a placement, which is an object");
  for (const char* name : {"maxFPGAs", "maxCPUs", "maxSizePerFPGA", "nodes", "edges"})
    EXPECT_EQ(message(with(kInstance, "\"" + std::string(name) + "\"", "\"x\"")),
              "f.json:1: the instance has no '" + std::string(name) + "'");
  EXPECT_EQ(message(with(kInstance, "\"maxFPGAs\": 2", "\"maxFPGAs\": 2.5")), "f.json:1: the instance 'maxFPGAs' is not an integer: 2.5");
  EXPECT_EQ(message(with(kInstance, "\"maxFPGAs\": 2", "\"maxFPGAs\": -1")), "f.json:1: the instance 'maxFPGAs' is not from 0 to 4096: -1");
  EXPECT_EQ(message(with(kInstance, "\"maxCPUs\": 1", "\"maxCPUs\": 5000")),
            "f.json:1: the instance 'maxCPUs' is not from 0 to 4096: 5000");
  EXPECT_EQ(message(with(kInstance, "100.5", "-1")), "f.json:1: the instance 'maxSizePerFPGA' is negative: -1");
  EXPECT_EQ(message(R"({"maxFPGAs": 1, "maxCPUs": 1, "maxSizePerFPGA": 1, "nodes": [], "edges": []})"), "f.json:1: 'nodes' is empty");
  EXPECT_EQ(message(R"({"maxFPGAs": 1, "maxCPUs": 1, "maxSizePerFPGA": 1, "nodes": 3, "edges": []})"),
            "f.json:1: the instance 'nodes' is not an array");
  EXPECT_EQ(message(with(with(kInstance, "\"maxFPGAs\": 2", "\"maxFPGAs\": 0"), "\"maxCPUs\": 1", "\"maxCPUs\": 0")),
            "f.json:1: there are no devices: 'maxFPGAs' and 'maxCPUs' are 0");
}

TEST(ReadInstance, NamesTheNodeWithTheFault) {
  EXPECT_EQ(message(R"({"maxFPGAs": 1, "maxCPUs": 1, "maxSizePerFPGA": 1, "nodes": [3], "edges": []})"),
            "f.json:1: nodes[0] is not an object");
  EXPECT_EQ(message(with(kInstance, "\"id\": 7", "\"x\": 7")), "f.json:3: nodes[0] has no 'id'");
  EXPECT_EQ(message(with(kInstance, "\"id\": 7", "\"id\": \"7\"")), "f.json:3: nodes[0] 'id' is not an integer: \"7\"");
  EXPECT_EQ(message(with(kInstance, "\"id\": 7", "\"id\": 18446744073709551615")),
            "f.json:3: nodes[0] 'id' is not an integer: 18446744073709551615");
  EXPECT_EQ(message(with(kInstance, "\"id\": 7", "\"id\": -2")), "f.json:4: node -2: the id occurs twice");
  for (const char* name : {"cpuLatency", "fpgaLatency", "size", "supportedOnFpga", "isBackwardNode"}) {
    EXPECT_EQ(message(with(kInstance, "\"" + std::string(name) + "\"", "\"x\"")), "f.json:3: node 7: has no '" + std::string(name) + "'");
  }
  EXPECT_EQ(message(with(kInstance, "\"cpuLatency\": 3", "\"cpuLatency\": -3")), "f.json:3: node 7: 'cpuLatency' is negative: -3");
  EXPECT_EQ(message(with(kInstance, "\"cpuLatency\": 3", "\"cpuLatency\": null")), "f.json:3: node 7: 'cpuLatency' is not a number: null");
  EXPECT_EQ(message(with(kInstance, "\"cpuLatency\": 3", "\"cpuLatency\": 1e40")), "f.json:3: node 7: 'cpuLatency' is above 1e+30: 1e+40");
  EXPECT_EQ(message(with(kInstance, "\"fpgaLatency\": 2.5", "\"fpgaLatency\": -2.5")),
            "f.json:4: node -2: 'fpgaLatency' is negative: -2.5");
  EXPECT_EQ(message(with(kInstance, "\"supportedOnFpga\": 0", "\"supportedOnFpga\": 2")),
            "f.json:4: node -2: 'supportedOnFpga' is not true, false, 0 or 1: 2");
  EXPECT_EQ(message(with(kInstance, "\"colorClass\": 4", "\"colorClass\": [4]")), "f.json:3: node 7: 'colorClass' is not an integer: [4]");
  EXPECT_EQ(message(with(kInstance, "\"colorClass\": 4", "\"colorClass\": null")), "no error");
}

TEST(ReadInstance, NamesTheEdgeWithTheFault) {
  const std::string edge = "\"sourceId\": 7, \"destId\": -2, \"cost\": 0.25, \"size\"";
  EXPECT_EQ(message(with(kInstance, "{" + edge + ": 9}", "4")), "f.json:5: edges[0] is not an object");
  EXPECT_EQ(message(with(kInstance, "\"sourceId\"", "\"x\"")), "f.json:5: edges[0] has no 'sourceId'");
  EXPECT_EQ(message(with(kInstance, "\"destId\"", "\"x\"")), "f.json:5: edges[0] has no 'destId'");
  EXPECT_EQ(message(with(kInstance, "\"cost\"", "\"x\"")), "f.json:5: edge 7 -> -2: has no 'cost'");
  EXPECT_EQ(message(with(kInstance, "\"sourceId\": 7", "\"sourceId\": 8")), "f.json:5: edge 8 -> -2: there is no node 8");
  EXPECT_EQ(message(with(kInstance, "\"destId\": -2", "\"destId\": 9")), "f.json:5: edge 7 -> 9: there is no node 9");
  EXPECT_EQ(message(with(kInstance, "\"destId\": -2", "\"destId\": 7")), "f.json:5: edge 7 -> 7: a node cannot read its own output");
  EXPECT_EQ(message(with(kInstance, "\"cost\": 0.25", "\"cost\": -1")), "f.json:5: edge 7 -> -2: 'cost' is negative: -1");
  EXPECT_EQ(message(with(kInstance, "\"cost\": 0.25", "\"cost\": 2")),
            "f.json:5: edge 7 -> -2: its cost is 0.25, but another edge of node 7 has 2");
  EXPECT_EQ(message(with(kInstance, "{" + edge + ": 9}", R"({"sourceId": -2, "destId": 7, "cost": 1})")), "f.json:3: node 7 is in a cycle");
}

TEST(ReadInstance, NamesTheNodeThatFitsNoDevice) {
  const std::string no_cpu = with(kInstance, "\"maxCPUs\": 1", "\"maxCPUs\": 0");
  EXPECT_EQ(message(no_cpu), "f.json:4: node -2 fits no device: it needs a CPU, and there is none");
  const std::string supported = with(no_cpu, "\"supportedOnFpga\": 0", "\"supportedOnFpga\": 1");
  EXPECT_EQ(message(supported), "no error");
  EXPECT_EQ(message(with(supported, "70", "101")),
            "f.json:4: node -2 fits no device: it takes 101 bytes, an accelerator has 100, and there is no CPU");
  EXPECT_EQ(message(with(supported, "\"layerId\": 3", "\"colorClass\": 4")),
            "f.json:4: node -2 and its colour class 4 fits no device: it takes 110 bytes, an accelerator has 100, and there is no CPU");
  // A CPU holds everything.
  EXPECT_EQ(message(with(kInstance, "70", "101")), "no error");
}

std::string split_message(const std::string& split) {
  const auto instance = read_instance(kInstance, "f.json");
  EXPECT_TRUE(instance);
  const auto devices = read_split(split, *instance, "s.json");
  if (!devices) {
    EXPECT_EQ(devices.error().code, ErrorCode::unreadable);
    return devices.error().text();
  }
  std::string text = "devices";
  for (const std::uint32_t device : *devices) text += " " + std::to_string(device);
  return text;
}

TEST(ReadSplit, NamesTheFault) {
  EXPECT_EQ(split_message(R"({"fpgas": [{"nodes": []}, {"nodes": [7]}], "cpus": [{"nodes": [-2]}]})"), "devices 0 2");
  EXPECT_EQ(split_message("{"), "s.json:1: not JSON; expected a split of an instance");
  EXPECT_EQ(split_message(R"({"cpus": []})"), "s.json:1: the split has no 'fpgas'");
  EXPECT_EQ(split_message(R"({"fpgas": []})"), "s.json:1: the split has no 'cpus'");
  EXPECT_EQ(split_message(R"({"fpgas": [4], "cpus": []})"), "s.json:1: fpgas[0] is not an object");
  EXPECT_EQ(split_message(R"({"fpgas": [{}], "cpus": []})"), "s.json:1: fpgas[0] has no 'nodes'");
  EXPECT_EQ(split_message(R"({"fpgas": [{"nodes": [1.5]}], "cpus": []})"), "s.json:1: fpgas[0]: the id of a node is not an integer");
  EXPECT_EQ(split_message(R"({"fpgas": [{"nodes": [5]}], "cpus": []})"), "s.json:1: fpgas[0]: the instance has no node 5");
  EXPECT_EQ(split_message(R"({"fpgas": [{"nodes": [7, 7]}], "cpus": []})"), "s.json:1: fpgas[0]: node 7 is named twice");
  EXPECT_EQ(split_message(R"({"fpgas": [{"nodes": [-2]}], "cpus": []})"), "s.json:1: fpgas[0]: node -2 needs a CPU");
  EXPECT_EQ(split_message(R"({"fpgas": [{"nodes": [7]}], "cpus": []})"), "s.json:1: node -2 is on no device");
  EXPECT_EQ(split_message(R"({"fpgas": [], "cpus": [{"nodes": [7]}, {"nodes": [-2]}]})"),
            "s.json:1: cpus[1]: more parts than CPUs of the instance (1)");
}

TEST(ReadSplit, NamesTheLineOfTheFault) {
  EXPECT_EQ(split_message("{\"fpgas\": [\n{\"nodes\": [7,\n7]}],\n\"cpus\": []}"), "s.json:3: fpgas[0]: node 7 is named twice");
  EXPECT_EQ(split_message("{\"fpgas\": [],\r\n\"cpus\": [\r\n{\"nodes\": [7]},\r\n{\"nodes\": [-2]}]}"),
            "s.json:4: cpus[1]: more parts than CPUs of the instance (1)");
  EXPECT_EQ(split_message("\n{\"fpgas\":\n[{\"nodes\": [7]}], \"cpus\": []}"), "s.json:2: node -2 is on no device");
  EXPECT_EQ(split_message("{\"cpus\": [{\"nodes\": [\n18446744073709551614]}], \"fpgas\": []}"),
            "s.json:2: cpus[0]: the id of a node is not an integer");
}

TEST(ReadSplit, GivesNodesThatItDoesNotNameTheDeviceOfTheirClass) {
  const std::string one_class =
      with(with(kInstance, "\"layerId\": 3", "\"colorClass\": 4"), "\"supportedOnFpga\": 0", "\"supportedOnFpga\": 1");
  const auto instance = read_instance(one_class, "f.json");
  ASSERT_TRUE(instance);
  const auto devices = read_split(R"({"fpgas": [{"nodes": [-2]}], "cpus": []})", *instance, "s.json");
  ASSERT_TRUE(devices) << devices.error().text();
  EXPECT_EQ(*devices, (NodeDevices{0, 0}));
  const auto apart = read_split(R"({"fpgas": [{"nodes": [-2]}], "cpus": [{"nodes": [7]}]})", *instance, "s.json");
  ASSERT_FALSE(apart);
  EXPECT_EQ(apart.error().text(), "s.json:1: node -2: its colour class 4 is on two devices");
}

}  // namespace
}  // namespace xflow::parallel
