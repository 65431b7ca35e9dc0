#include "src/parallel/part_manifest.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "src/parallel/json_fields.h"
#include "src/support/printable.h"

namespace xflow {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::int64_t kManifestVersion = 1;

OrderedJson json_of_tensor(const PartTensor& tensor) {
  OrderedJson json = {{"name", tensor.name}};
  if (tensor.part) json["part"] = *tensor.part;
  if (tensor.has_default) json["has_default"] = true;
  return json;
}

OrderedJson json_of_tensors(const std::vector<PartTensor>& tensors) {
  OrderedJson json = OrderedJson::array();
  for (const PartTensor& tensor : tensors) json.push_back(json_of_tensor(tensor));
  return json;
}

}  // namespace

std::string PartManifest::to_json() const {
  OrderedJson json = {{"version", kManifestVersion}, {"model", model}, {"cluster", cluster}, {"plan", plan}};
  json["devices"] = OrderedJson::array();
  for (std::size_t device = 0; device < devices.size(); ++device) {
    OrderedJson own = OrderedJson::array();
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (parts[k].device == device) own.push_back(k);
    }
    json["devices"].push_back({{"name", devices[device]}, {"parts", std::move(own)}});
  }
  json["parts"] = OrderedJson::array();
  for (const PartDescription& part : parts) {
    json["parts"].push_back({{"device", devices[part.device]},
                             {"file", part.file},
                             {"nodes", part.nodes},
                             {"inputs", json_of_tensors(part.inputs)},
                             {"outputs", part.outputs}});
  }
  json["inputs"] = inputs;
  json["outputs"] = json_of_tensors(outputs);
  json["left_out"] = left_out;
  json["copied"] = copied;
  return onnx_io::printable_json(json.dump(1, ' ', false, OrderedJson::error_handler_t::replace)) + "\n";
}

namespace parallel {
namespace {

Result<std::size_t> count_in(const JsonFields& fields, const char* name) {
  XFLOW_TRY(const std::int64_t number, fields.integer(name));
  if (number < 0) return fields.fault_of(name, fmt::format("'{}' is negative: {}", name, number));
  return static_cast<std::size_t>(number);
}

Result<std::vector<std::string>> read_names(const JsonFields& fields, const char* name) {
  XFLOW_TRY(const Json* array, fields.array(name));
  std::vector<std::string> names;
  for (const Json& value : *array) {
    if (!value.is_string()) return fields.fault_at(value, fmt::format("'{}' has an element that is not a text", name));
    names.push_back(value.get<std::string>());
  }
  return names;
}

class ManifestReader {
 public:
  explicit ManifestReader(const JsonDocument& document) : fields_(document.root(), "the manifest: ", document) {}

  Result<PartManifest> read() {
    constexpr std::array<std::string_view, 10> kKnown = {"version", "model",  "cluster", "plan",     "devices",
                                                         "parts",   "inputs", "outputs", "left_out", "copied"};
    XFLOW_CHECK(fields_.only(kKnown));
    XFLOW_TRY(const std::int64_t version, fields_.integer("version"));
    if (version != kManifestVersion)
      return fields_.fault_of("version", fmt::format("'version' is {}; this xflow reads {}", version, kManifestVersion));
    XFLOW_TRY(manifest_.model, fields_.text("model"));
    XFLOW_TRY(manifest_.cluster, fields_.text("cluster"));
    XFLOW_TRY(manifest_.plan, fields_.text("plan"));
    XFLOW_TRY(manifest_.left_out, count_in(fields_, "left_out"));
    XFLOW_TRY(manifest_.copied, count_in(fields_, "copied"));
    XFLOW_TRY(manifest_.inputs, read_names(fields_, "inputs"));
    XFLOW_CHECK(read_devices());
    XFLOW_TRY(const Json* parts, fields_.array("parts"));
    if (parts->empty()) return fields_.fault_of("parts", "'parts' is empty");
    for (const Json& part : *parts) XFLOW_CHECK(read_part(part));
    XFLOW_TRY(manifest_.outputs, read_tensors(fields_, "outputs"));
    XFLOW_CHECK(check_devices());
    return std::move(manifest_);
  }

 private:
  Result<void> read_devices() {
    XFLOW_TRY(const Json* devices, fields_.array("devices"));
    for (const Json& device : *devices) {
      const JsonFields own(device, fmt::format("devices[{}]: ", manifest_.devices.size()), fields_.document());
      if (!device.is_object()) return own.fault("expected an object");
      constexpr std::array<std::string_view, 2> kKnown = {"name", "parts"};
      XFLOW_CHECK(own.only(kKnown));
      XFLOW_TRY(std::string name, own.text("name"));
      if (std::ranges::find(manifest_.devices, name) != manifest_.devices.end())
        return own.fault_of("name", fmt::format("device '{}' occurs twice", name));
      manifest_.devices.push_back(std::move(name));
    }
    return {};
  }

  // The parts of each device are those that name it, in their order.
  Result<void> check_devices() const {
    XFLOW_TRY(const Json* devices, fields_.array("devices"));
    for (std::size_t device = 0; device < manifest_.devices.size(); ++device) {
      const JsonFields own((*devices)[device], fmt::format("device '{}': ", manifest_.devices[device]), fields_.document());
      Json expected = Json::array();
      for (std::size_t k = 0; k < manifest_.parts.size(); ++k) {
        if (manifest_.parts[k].device == device) expected.push_back(k);
      }
      XFLOW_TRY(const Json* parts, own.array("parts"));
      if (*parts != expected)
        return own.fault_of("parts",
                            fmt::format("'parts' is {}, but the parts of this device are {}", brief_text(*parts), brief_text(expected)));
      if (expected.empty()) return own.fault_of("parts", "has no parts");
    }
    return {};
  }

  Result<void> read_part(const Json& json) {
    const std::size_t number = manifest_.parts.size();
    const JsonFields own(json, fmt::format("parts[{}]: ", number), fields_.document());
    if (!json.is_object()) return own.fault("expected an object");
    constexpr std::array<std::string_view, 5> kKnown = {"device", "file", "nodes", "inputs", "outputs"};
    XFLOW_CHECK(own.only(kKnown));
    PartDescription part;
    XFLOW_TRY(const std::string device, own.text("device"));
    const auto found = std::ranges::find(manifest_.devices, device);
    if (found == manifest_.devices.end()) return own.fault_of("device", fmt::format("there is no device '{}'", device));
    part.device = static_cast<std::size_t>(found - manifest_.devices.begin());
    XFLOW_TRY(part.file, own.text("file"));
    const std::filesystem::path file(part.file);
    if (file.has_parent_path() || file == "." || file == "..")
      return own.fault_of("file", "'file' is not a file in the folder of the manifest");
    XFLOW_TRY(part.nodes, count_in(own, "nodes"));
    XFLOW_TRY(part.inputs, read_tensors(own, "inputs"));
    XFLOW_TRY(part.outputs, read_names(own, "outputs"));
    manifest_.parts.push_back(std::move(part));
    return {};
  }

  // Tensors of parts that were read already, and inputs of the model.
  Result<std::vector<PartTensor>> read_tensors(const JsonFields& owner, const char* list) const {
    XFLOW_TRY(const Json* array, owner.array(list));
    std::vector<PartTensor> tensors;
    for (const Json& json : *array) {
      if (!json.is_object()) return owner.fault_at(json, fmt::format("'{}' has an element that is no object", list));
      const JsonFields own(json, fmt::format("{}[{}]: ", list, tensors.size()), fields_.document());
      constexpr std::array<std::string_view, 3> kKnown = {"name", "part", "has_default"};
      XFLOW_CHECK(own.only(kKnown));
      PartTensor tensor;
      XFLOW_TRY(tensor.name, own.text("name"));
      if (own.has("has_default")) {
        XFLOW_TRY(tensor.has_default, own.flag("has_default"));
      }
      if (own.has("part")) {
        XFLOW_TRY(tensor.part, count_in(own, "part"));
        if (*tensor.part >= manifest_.parts.size())
          return owner.fault_at(json, fmt::format("'{}' needs '{}' of part {}, which is not before it", list, tensor.name, *tensor.part));
        const auto& outputs = manifest_.parts[*tensor.part].outputs;
        if (std::ranges::find(outputs, tensor.name) == outputs.end())
          return owner.fault_at(json, fmt::format("'{}' needs '{}' of part {}, which has no such output", list, tensor.name, *tensor.part));
      } else if (std::ranges::find(manifest_.inputs, tensor.name) == manifest_.inputs.end()) {
        return owner.fault_at(json, fmt::format("'{}' needs '{}', which is no input of the model", list, tensor.name));
      }
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

  JsonFields fields_;
  PartManifest manifest_;
};

}  // namespace

Result<PartManifest> read_manifest(std::string_view text, const std::string& where) {
  XFLOW_TRY(const JsonDocument document, JsonDocument::parse(text, where, "a manifest"));
  return ManifestReader(document).read();
}

}  // namespace parallel
}  // namespace xflow
