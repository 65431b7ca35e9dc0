// A device of the caller that times kernels and runs whole models. This one is an accelerator that is simulated: a launch
// takes two microseconds and a byte to move a nanosecond. It runs models that are chains of transposes of matrices and
// one relu, which it reads itself.
#include <xflow/all.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace {

using Bytes = std::vector<std::byte>;

double bytes_of(const xflow::KernelTensor& tensor) {
  double bytes = sizeof(float);
  for (const std::int64_t dim : tensor.dims) bytes *= static_cast<double>(dim);
  return bytes;
}

class Accelerator final : public xflow::Device {
 public:
  std::string name() const override { return "accelerator 1, simulated"; }

  xflow::Result<xflow::Nanoseconds> measure(const xflow::Kernel& kernel) override {
    ++measured;
    if (kernel.name == "none") return xflow::Nanoseconds(0);
    double bytes = 0;
    for (const xflow::KernelTensor& operand : kernel.operands) bytes += bytes_of(operand);
    for (const xflow::KernelTensor& result : kernel.results) bytes += bytes_of(result);
    return xflow::Nanoseconds(2000 + bytes);
  }

  bool runs_models() const override { return true; }

  // The library says what the model holds, so that nothing here reads ONNX.
  xflow::Result<std::unique_ptr<xflow::LoadedModel>> load(std::string_view model, const std::string& path) override {
    if (!path.empty()) return xflow::fail(xflow::ErrorCode::unsupported, "no models with external data");
    const auto count = [&](std::string_view op) {
      std::size_t found = 0;
      for (std::size_t at = model.find(op); at != std::string_view::npos; at = model.find(op, at + 1)) ++found;
      return found;
    };
    ++loaded;
    return std::unique_ptr<xflow::LoadedModel>(std::make_unique<Model>(count("Transpose"), count("Relu")));
  }

  int measured = 0;
  int loaded = 0;

 private:
  class Model final : public xflow::LoadedModel {
   public:
    Model(std::size_t transposes, std::size_t relus) : transposes_(transposes), relus_(relus) {}

    xflow::Result<xflow::Nanoseconds> time(std::span<const xflow::ModelTensor> inputs, int /*repeats*/) override {
      const double bytes = 2 * static_cast<double>(inputs[0].bytes.size());
      return xflow::Nanoseconds(static_cast<double>(transposes_ + relus_) * (2000 + bytes));
    }

    xflow::Result<std::vector<xflow::ModelTensor>> outputs(std::span<const xflow::ModelTensor> inputs) override {
      xflow::ModelTensor result = inputs[0];
      result.name = "y";
      std::vector<float> values(result.bytes.size() / sizeof(float));
      std::memcpy(values.data(), result.bytes.data(), result.bytes.size());
      for (std::size_t k = 0; k < transposes_; ++k) values = transposed(values, result.dims);
      if (relus_ > 0) std::ranges::transform(values, values.begin(), [](float x) { return std::max(x, 0.0F); });
      std::memcpy(result.bytes.data(), values.data(), result.bytes.size());
      return std::vector<xflow::ModelTensor>{std::move(result)};
    }

   private:
    static std::vector<float> transposed(const std::vector<float>& values, std::vector<std::int64_t>& dims) {
      const auto rows = static_cast<std::size_t>(dims[0]);
      const auto columns = static_cast<std::size_t>(dims[1]);
      std::vector<float> result(values.size());
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) result[c * rows + r] = values[r * columns + c];
      std::swap(dims[0], dims[1]);
      return result;
    }

    std::size_t transposes_;
    std::size_t relus_;
  };
};

// relu(transpose(transpose(x))) for x: float32[48, 32], IR version 8, opset 13.
const unsigned char kModel[] = {
    0x08, 0x08, 0x3a, 0x7f, 0x0a, 0x20, 0x0a, 0x01, 0x78, 0x12, 0x01, 0x61, 0x22, 0x09, 0x54, 0x72,
    0x61, 0x6e, 0x73, 0x70, 0x6f, 0x73, 0x65, 0x2a, 0x0d, 0x0a, 0x04, 0x70, 0x65, 0x72, 0x6d, 0x40,
    0x01, 0x40, 0x00, 0xa0, 0x01, 0x07, 0x0a, 0x20, 0x0a, 0x01, 0x61, 0x12, 0x01, 0x62, 0x22, 0x09,
    0x54, 0x72, 0x61, 0x6e, 0x73, 0x70, 0x6f, 0x73, 0x65, 0x2a, 0x0d, 0x0a, 0x04, 0x70, 0x65, 0x72,
    0x6d, 0x40, 0x01, 0x40, 0x00, 0xa0, 0x01, 0x07, 0x0a, 0x0c, 0x0a, 0x01, 0x62, 0x12, 0x01, 0x79,
    0x22, 0x04, 0x52, 0x65, 0x6c, 0x75, 0x12, 0x01, 0x67, 0x5a, 0x13, 0x0a, 0x01, 0x78, 0x12, 0x0e,
    0x0a, 0x0c, 0x08, 0x01, 0x12, 0x08, 0x0a, 0x02, 0x08, 0x30, 0x0a, 0x02, 0x08, 0x20, 0x62, 0x13,
    0x0a, 0x01, 0x79, 0x12, 0x0e, 0x0a, 0x0c, 0x08, 0x01, 0x12, 0x08, 0x0a, 0x02, 0x08, 0x30, 0x0a,
    0x02, 0x08, 0x20, 0x42, 0x04, 0x0a, 0x00, 0x10, 0x0d,
};

int fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  return 1;
}

}  // namespace

int main() {
  const auto accelerator = std::make_shared<Accelerator>();
  xflow::OptimizeOptions options;
  options.search.max_states = 100;
  options.device.own = accelerator;
  const auto result = xflow::optimize(std::string_view(reinterpret_cast<const char*>(kModel), sizeof(kModel)), options);
  if (!result) return fail(result.error().text());
  std::printf("%s\n", result->report.to_text().c_str());
  if (!result->report.improved || !result->report.gate.run) return fail("the model was not optimised");
  std::printf("%d kernels were asked for, %d models were loaded\n", accelerator->measured, accelerator->loaded);
  return 0;
}
