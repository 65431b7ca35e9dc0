// What a framework does with the installed library: builds a graph in code and has it optimised, optimises the bytes of a model, and is
// given an error for bytes that are no model. Exits with the number of the first expectation that does not hold.
#include <xflow/all.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

// relu(transpose(transpose(x))): the transposes cancel.
xflow::Result<xflow::Graph> graph_with_two_transposes() {
  xflow::GraphBuilder builder;
  const xflow::Value x = builder.input("x", xflow::DataType::float32, {256, 512});
  const xflow::Value turned = builder.apply("transpose", {x}, {{"perm", {1, 0}}});
  const xflow::Value back = builder.apply("transpose", {turned}, {{"perm", {1, 0}}});
  builder.output("y", builder.apply("relu", {back}));
  return builder.build();
}

// y = Relu(x) for x: float32[2, 3], IR version 8, opset 13; nothing can be gained here.
const unsigned char relu[] = {0x08, 0x08, 0x3a, 0x3b, 0x0a, 0x0c, 0x0a, 0x01, 0x78, 0x12, 0x01, 0x79, 0x22, 0x04, 0x52, 0x65, 0x6c, 0x75,
                              0x12, 0x01, 0x67, 0x5a, 0x13, 0x0a, 0x01, 0x78, 0x12, 0x0e, 0x0a, 0x0c, 0x08, 0x01, 0x12, 0x08, 0x0a, 0x02,
                              0x08, 0x02, 0x0a, 0x02, 0x08, 0x03, 0x62, 0x13, 0x0a, 0x01, 0x79, 0x12, 0x0e, 0x0a, 0x0c, 0x08, 0x01, 0x12,
                              0x08, 0x0a, 0x02, 0x08, 0x02, 0x0a, 0x02, 0x08, 0x03, 0x42, 0x04, 0x0a, 0x00, 0x10, 0x0d};

int expectations = 0;
#define EXPECT(condition)                                                       \
  do {                                                                          \
    ++expectations;                                                             \
    if (!(condition)) {                                                         \
      std::printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      return expectations;                                                      \
    }                                                                           \
  } while (false)

}  // namespace

int main() {
  xflow::OptimizeOptions options;
  options.search.max_states = 100;

  const auto graph = graph_with_two_transposes();
  EXPECT(graph.has_value());
  EXPECT(graph->nodes().size() == 3);
  const auto better = xflow::optimize(*graph, options);
  EXPECT(better.has_value());
  EXPECT(better->report.improved);
  EXPECT(better->graph.nodes().size() == 1);
  EXPECT(better->graph.nodes()[0].op == "relu");
  EXPECT(better->graph.inputs()[0].name == "x");
  EXPECT(better->graph.outputs()[0].name == "y");

  const std::string model(reinterpret_cast<const char*>(relu), sizeof(relu));
  const auto same = xflow::optimize(model, options);
  EXPECT(same.has_value());
  EXPECT(same->model == model);
  EXPECT(!same->report.improved);
  EXPECT(!same->report.to_text().empty());

  const auto rules = xflow::select_rules({"merge-matmuls-sharing-lhs"}, xflow::RuleSet::Records::read);
  EXPECT(rules.has_value());
  EXPECT(rules->rules.size() == 1);
  const auto decided = xflow::verify(rules->rules);
  EXPECT(decided.has_value());
  EXPECT((*decided)[0].verdict == xflow::Verdict::proved);
  EXPECT(xflow::explain(rules->rules)->proved);
  EXPECT(xflow::derive(rules->rules, rules->others).has_value());
  EXPECT(!xflow::generator_operators().empty());
  EXPECT(!xflow::generate({}).has_value());
  EXPECT(!xflow::Profile::read("no.xprof").has_value());
  EXPECT(!xflow::inspect_model("no.onnx").has_value());
  EXPECT(!xflow::check_files("no.onnx", "no.onnx").has_value());
  EXPECT(xflow::printable("a\nb") == "a\\nb");
  EXPECT(!xflow::devices().empty());

  const auto none = xflow::optimize("no model", options);
  EXPECT(!none.has_value());
  EXPECT(none.error().code == xflow::ErrorCode::unreadable);

  std::printf("%d expectations hold\n", expectations);
  return 0;
}
