// The models of bench/models, at an eighth of their size: what a measurement on them assumes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "bench/models/families.h"
#include "src/eval/evaluate.h"
#include "src/onnx/document/document.h"
#include "src/onnx/document/document_builder.h"
#include "src/onnx/lift/lift.h"
#include "src/validation/check_inputs.h"
#include "tests/places.h"

namespace xflow::bench {
namespace {

constexpr Scale kReduced{8};

std::string bytes_of(const Model& model) {
  std::ostringstream out;
  model.write(out);
  return out.str();
}

// What a program prints, and its exit status.
std::pair<std::string, int> run(const std::string& command) {
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  const int status = ::pclose(pipe);
  return {text, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

// A folder that goes with the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "xflow-models-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void write_tensor(const std::filesystem::path& path, std::string_view name, const eval::Tensor& tensor) {
  const ir::Constant constant = eval::to_constant(tensor).value();
  const auto bytes = constant.source->bytes().value();
  const std::string_view raw(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::ofstream(path, std::ios::binary) << onnx_io::tensor_message(name, tensor.data_type, tensor.dims, raw);
}

class EachBenchModel : public ::testing::TestWithParam<Family> {};

TEST_P(EachBenchModel, IsTheSameBytesEveryTime) {
  const std::string bytes = bytes_of(GetParam().build(kReduced));
  EXPECT_EQ(bytes, bytes_of(GetParam().build(kReduced)));
  EXPECT_NE(bytes, bytes_of(GetParam().build(Scale{16}))) << "another scale is another model";
}

TEST_P(EachBenchModel, IsUnderstoodAndComputesWhatOnnxRuntimeDoes) {
  const Model built = GetParam().build(kReduced);
  EXPECT_EQ(built.name(), GetParam().name);
  const auto document = onnx_io::Document::parse(bytes_of(built));
  ASSERT_TRUE(document) << document.error().text();
  ir::Arena arena;
  const auto model = onnx_io::lift(*document, arena);
  ASSERT_TRUE(model) << model.error().text();
  for (const onnx_io::OpaqueNode& opaque : model->opaque)
    ADD_FAILURE() << onnx_io::describe(*document, opaque.node) << " is opaque: " << opaque.reason;

  std::vector<api::NamedInput> inputs;
  for (std::size_t k = 0; k < model->inputs.size(); ++k) inputs.push_back({model->input_names[k], model->inputs[k]});
  const api::InputSet set = api::seeded_inputs(arena, inputs, {}, {}).value();
  eval::Bindings bindings;
  for (const api::NamedInput& input : inputs) bindings.emplace(input.value, set.tensors.at(std::string(input.name)));
  const auto outputs = eval::evaluate(arena, model->graph, bindings);
  ASSERT_TRUE(outputs) << outputs.error().text();
  ASSERT_EQ(outputs->size(), 1U);

  // Nothing vanishes and nothing overflows on the way.
  const std::vector<double> values = eval::doubles(outputs->front()).value();
  double squares = 0;
  for (const double value : values) {
    ASSERT_TRUE(std::isfinite(value));
    squares += value * value;
  }
  const double magnitude = std::sqrt(squares / static_cast<double>(values.size()));
  EXPECT_GT(magnitude, 0.01);
  EXPECT_LT(magnitude, 100);

  const Folder folder;
  std::ofstream(folder.path() / "model.onnx", std::ios::binary) << bytes_of(built);
  for (const api::NamedInput& input : inputs) {
    const std::string name(input.name);
    write_tensor(folder.path() / (name + ".pb"), name, set.tensors.at(name));
  }
  write_tensor(folder.path() / "output.pb", "output", outputs->front());
  const auto [text, status] =
      run(fmt::format("{} {}/tests/models/run_model.py {}", places::testenv_python(), places::repository(), folder.path().string()));
  EXPECT_EQ(status, 0) << text;
}

std::string name_of(const ::testing::TestParamInfo<Family>& info) { return std::string(info.param.name); }
INSTANTIATE_TEST_SUITE_P(Bench, EachBenchModel, ::testing::ValuesIn(families().begin(), families().end()), name_of);

// In millions, as papers and the frameworks' own models say. U-Net's paper has no count; the blocks are parts of models.
TEST(BenchModels, HaveThePublishedParameters) {
  const std::map<std::string_view, double> published{
      {"alexnet", 61.10},
      {"inception_v3", 23.83},  // 27.16 with the auxiliary classifier, which has 3.33
      {"mobilenet_v3_large", 5.48},
      {"mobilenet_v3_small", 2.54},
      {"nasnet_a", 5.29},  // of the mobile variant
      {"resnet50", 25.56},
      {"resnext50", 25.03},
      {"squeezenet", 1.24},
      {"vgg19", 143.67},
      {"vit", (86.568 - 1.513) / 12},        // of 12 blocks in ViT-B; 1.5 are patches, positions and classifier
      {"bert", 8 * 302.31 / 24},             // of 24 layers in BERT-large
      {"bert_classifier", 109.482 + 0.002},  // BERT-base, and a classifier
      {"hifigan", 13.93},
      {"vae_decoder", 49.49},
      {"vit_b16", 86.57},
      {"yolov8n", 3.152},                               // with batch normalisation folded
      {"llama_lora", (8030.26 - 1050.68) / 32 + 1.31},  // of 32 blocks; the rest are embeddings; 1.31 are LoRA
  };
  std::size_t found = 0;
  for (const Family& family : families()) {
    const auto expected = published.find(family.name);
    if (expected == published.end()) continue;
    const double millions = static_cast<double>(family.build(Scale{}).parameters()) / 1e6;
    EXPECT_NEAR(millions, expected->second, 0.005 + 0.0005 * expected->second) << family.name;
    ++found;
  }
  EXPECT_EQ(found, published.size());
}

TEST(BenchModels, OfBertWithWordsHaveATableAndAProjection) {
  const Model built = bert(Scale{8, 2, 1, 96});
  const auto document = onnx_io::Document::parse(bytes_of(built));
  ASSERT_TRUE(document) << document.error().text();
  ir::Arena arena;
  const auto model = onnx_io::lift(*document, arena);
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_TRUE(model->opaque.empty());
  EXPECT_EQ(arena.type(model->inputs.at(0)).data_type, ir::DataType::int64);
  EXPECT_EQ(arena.type(model->graph.outputs.at(0)).shape, ir::polys(std::vector<std::int64_t>{2, 8, 96}));
  constexpr std::uint64_t kHidden = 128;
  EXPECT_EQ(built.parameters() - bert(Scale{8, 2, 1}).parameters(), 2 * 96 * kHidden + 96);
}

TEST(BenchModelsProgram, NamesTheModels) {
  const auto [text, status] = run(places::bench_models() + " --list");
  EXPECT_EQ(status, 0);
  std::string expected;
  for (const Family& family : families()) expected += fmt::format("{:<19} {}\n", family.name, family.summary);
  EXPECT_EQ(text, expected);
}

TEST(BenchModelsProgram, WritesTheModelsThatAreAskedFor) {
  const Folder folder;
  const std::string made = (folder.path() / "made").string();
  const auto [text, status] = run(fmt::format("{} {} nasrnn squeezenet --scale 8", places::bench_models(), made));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text, fmt::format("{0}/nasrnn.onnx  {1:.2f} M parameters\n{0}/squeezenet.onnx  {2:.2f} M parameters\n", made,
                              static_cast<double>(nasrnn(kReduced).parameters()) / 1e6,
                              static_cast<double>(squeezenet(kReduced).parameters()) / 1e6));
  std::ifstream file(made + "/nasrnn.onnx", std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  EXPECT_EQ(bytes.str(), bytes_of(nasrnn(kReduced)));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(made), {}), 2);
}

TEST(BenchModelsProgram, SaysWhatItDoesNotKnow) {
  const Folder folder;
  const std::string path = folder.path().string();
  EXPECT_EQ(run(fmt::format("{} {} nonsense", places::bench_models(), path)),
            std::pair(std::string("xflow-bench-models: no model 'nonsense'; --list names them\n"), 64));
  EXPECT_EQ(run(places::bench_models()), std::pair(std::string("xflow-bench-models: OUTDIR is required (or --list)\n"), 64));
  EXPECT_EQ(run(fmt::format("{} /dev/null/no nasrnn --scale 8", places::bench_models())),
            std::pair(std::string("xflow-bench-models: cannot write /dev/null/no/nasrnn.onnx\n"), 3));
}

}  // namespace
}  // namespace xflow::bench
