// Devices: those of this machine, and those that are written in Python.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <map>
#include <string_view>

#include "call.h"

namespace xflow_python {
namespace {

using xflow::DataType;
using xflow::FusedOperation;
using xflow::Kernel;
using xflow::KernelTensor;
using xflow::ModelTensor;

constexpr std::array<std::pair<DataType, const char*>, 13> kDataTypes = {{
    {DataType::float32, "float32"},
    {DataType::uint8, "uint8"},
    {DataType::int8, "int8"},
    {DataType::uint16, "uint16"},
    {DataType::int16, "int16"},
    {DataType::int32, "int32"},
    {DataType::int64, "int64"},
    {DataType::boolean, "bool"},
    {DataType::float16, "float16"},
    {DataType::float64, "float64"},
    {DataType::uint32, "uint32"},
    {DataType::uint64, "uint64"},
    {DataType::bfloat16, "bfloat16"},
}};

std::string name_of(DataType type) {
  for (const auto& [known, name] : kDataTypes) {
    if (known == type) return name;
  }
  return "type " + std::to_string(static_cast<int>(type));
}

DataType data_type_of(std::string_view text) {
  for (const auto& [type, name] : kDataTypes) {
    if (name == text) return type;
  }
  throw nb::value_error(("no element type " + std::string(text)).c_str());
}

nb::tuple shape_of(const std::vector<std::int64_t>& dims) { return nb::tuple(nb::cast(dims)); }

nb::bytes bytes_of(const ModelTensor& tensor) { return nb::bytes(tensor.bytes.data(), tensor.bytes.size()); }

ModelTensor tensor_of(std::string name, const std::string& data_type, std::vector<std::int64_t> shape, const nb::bytes& data) {
  const auto* begin = reinterpret_cast<const std::byte*>(data.c_str());
  return {std::move(name), data_type_of(data_type), std::move(shape), std::vector<std::byte>(begin, begin + data.size())};
}

// The object of the caller. It is freed with Python's lock, whichever thread frees it.
class Held {
 public:
  explicit Held(nb::object object) : object_(std::move(object)) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    const nb::gil_scoped_acquire lock;
    object_.reset();
  }
  const nb::object& operator*() const { return object_; }

 private:
  nb::object object_;
};

xflow::Unexpected ended() { return xflow::fail(xflow::ErrorCode::unsupported, "the device raised an exception"); }

class PythonModel final : public xflow::LoadedModel {
 public:
  PythonModel(std::shared_ptr<Held> device, nb::object model, Call& call)
      : device_(std::move(device)), model_(std::move(model)), call_(call) {}

  xflow::Result<xflow::Nanoseconds> time(std::span<const ModelTensor> inputs, int repeats) override {
    auto answer = run(inputs, repeats);
    if (!answer) return xflow::fail(answer.error());
    return answer->first;
  }
  xflow::Result<std::vector<ModelTensor>> outputs(std::span<const ModelTensor> inputs) override {
    auto answer = run(inputs, 1);
    if (!answer) return xflow::fail(answer.error());
    return std::move(answer->second);
  }

 private:
  using Answer = std::pair<xflow::Nanoseconds, std::vector<ModelTensor>>;

  xflow::Result<Answer> run(std::span<const ModelTensor> inputs, int repeats) {
    Answer answer;
    const bool fine = call_.in_python([&] {
      const nb::object result = nb::module_::import_("xflow_onnx._device")
                                    .attr("run")(**device_, *model_, std::vector<ModelTensor>(inputs.begin(), inputs.end()), repeats);
      answer.first = xflow::Nanoseconds(nb::cast<double>(result[0]));
      answer.second = nb::cast<std::vector<ModelTensor>>(result[1]);
    });
    if (!fine) return ended();
    return answer;
  }

  std::shared_ptr<Held> device_;
  Held model_;
  Call& call_;
};

class PythonDevice final : public xflow::Device {
 public:
  PythonDevice(nb::object device, Call& call) : device_(std::make_shared<Held>(std::move(device))), call_(call) {
    const nb::object& object = **device_;
    name_ = nb::cast<std::string>(nb::str(nb::getattr(object, "name", nb::getattr(object.type(), "__qualname__"))));
    runs_models_ = nb::hasattr(object, "run");
    fuses_ = nb::hasattr(object, "can_fuse");
  }

  std::string name() const override { return name_; }

  xflow::Result<xflow::Nanoseconds> measure(const Kernel& kernel) override {
    std::optional<double> time;
    const bool fine = call_.in_python([&] {
      const nb::object answer = (**device_).attr("measure")(kernel);
      if (!answer.is_none()) time = nb::cast<double>(answer);
    });
    if (!fine) return ended();
    if (!time) return xflow::fail(xflow::ErrorCode::unsupported, "the device lacks " + kernel.text);
    return xflow::Nanoseconds(*time);
  }

  bool can_fuse(const Kernel& kernel, const FusedOperation& next) const override {
    bool fuses = false;
    if (fuses_) call_.in_python([&] { fuses = nb::cast<bool>((**device_).attr("can_fuse")(kernel, next)); });
    return fuses;
  }

  bool runs_models() const override { return runs_models_; }

  xflow::Result<std::unique_ptr<xflow::LoadedModel>> load(std::string_view model, const std::string& path) override {
    if (!runs_models_) return xflow::fail(xflow::ErrorCode::unsupported, "the device runs no models");
    std::unique_ptr<xflow::LoadedModel> loaded;
    const bool fine = call_.in_python([&] {
      nb::object argument = path.empty() ? nb::object(nb::bytes(model.data(), model.size())) : nb::object(nb::str(path.c_str()));
      loaded = std::make_unique<PythonModel>(device_, std::move(argument), call_);
    });
    if (!fine) return ended();
    return loaded;
  }

 private:
  std::shared_ptr<Held> device_;
  Call& call_;
  std::string name_;
  bool runs_models_ = false;
  bool fuses_ = false;
};

}  // namespace

std::shared_ptr<xflow::Device> device_of(nb::object object, Call& call) { return std::make_shared<PythonDevice>(std::move(object), call); }

void bind_device(nb::module_& module) {
  nb::class_<KernelTensor>(module, "KernelTensor", "A dense tensor that a kernel reads or writes.")
      .def_prop_ro("data_type", [](const KernelTensor& tensor) { return name_of(tensor.data_type); })
      .def_prop_ro(
          "shape", [](const KernelTensor& tensor) { return shape_of(tensor.dims); }, nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_ro("constant", &KernelTensor::constant, "Known before the run.");
  nb::class_<FusedOperation>(module, "FusedOperation", "A pointwise operation on each element of a kernel's result, in the same launch.")
      .def_ro("name", &FusedOperation::name)
      .def_ro("reals", &FusedOperation::reals)
      .def_ro("operands", &FusedOperation::operands);
  nb::class_<Kernel>(module, "Kernel", "One kernel launch.")
      .def_ro("name", &Kernel::name)
      .def_ro("variant", &Kernel::variant)
      .def_ro("operands", &Kernel::operands)
      .def_ro("results", &Kernel::results)
      .def_ro("integers", &Kernel::integers, "Attributes: (\"strides\", [2, 2]).")
      .def_ro("reals", &Kernel::reals)
      .def_ro("fused", &Kernel::fused)
      .def_ro("text", &Kernel::text, "The whole kernel in one line; equal kernels have equal texts.")
      .def("__repr__", [](const Kernel& kernel) { return "<kernel " + kernel.text + ">"; });
  nb::class_<ModelTensor>(module, "Tensor", "An input or output of a model, with its elements: row-major, little-endian.")
      .def(
          "__init__",
          [](ModelTensor* self, std::string name, const std::string& data_type, std::vector<std::int64_t> shape, const nb::bytes& data) {
            new (self) ModelTensor(tensor_of(std::move(name), data_type, std::move(shape), data));
          },
          nb::arg("name"), nb::arg("data_type"), nb::arg("shape"), nb::arg("data"))
      .def_ro("name", &ModelTensor::name)
      .def_prop_ro("data_type", [](const ModelTensor& tensor) { return name_of(tensor.data_type); })
      .def_prop_ro(
          "shape", [](const ModelTensor& tensor) { return shape_of(tensor.dims); }, nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro("data", &bytes_of);
  nb::class_<xflow::DeviceDescription>(module, "DeviceDescription")
      .def_ro("name", &xflow::DeviceDescription::name)
      .def_ro("text", &xflow::DeviceDescription::text, "Hardware and libraries, or why the device cannot be used.")
      .def_ro("usable", &xflow::DeviceDescription::usable)
      .def("__repr__", [](const xflow::DeviceDescription& device) { return "<device " + device.name + ": " + device.text + ">"; });
  module.def("devices", [] {
    const nb::gil_scoped_release release;
    return xflow::devices();
  });
}

}  // namespace xflow_python
