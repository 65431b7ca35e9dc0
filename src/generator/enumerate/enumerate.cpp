#include "src/generator/enumerate/enumerate.h"

#include <fmt/format.h>

#include <memory>

#include "src/generator/enumerate/enumeration.h"

namespace xflow::generator {

Result<EnumerationCounts> enumerate(const GraphSignature& signature, const EnumerationOptions& options, std::size_t part, std::size_t parts,
                                    const std::function<void(const Record&)>& found) {
  return Evaluator(signature, options).enumerate(part, parts, found);
}

Evaluator::Evaluator(const GraphSignature& signature, const EnumerationOptions& options) : signature_(&signature), options_(options) {
  switch (signature.numbers()) {
    case GraphSignature::Numbers::pairs:
      implementation_ = std::make_unique<Enumeration<Pair>>(signature, options);
      break;
    case GraphSignature::Numbers::integers:
      implementation_ = std::make_unique<Enumeration<Integer>>(signature, options);
      break;
    case GraphSignature::Numbers::field:
      implementation_ = std::make_unique<Enumeration<Residue>>(signature, options);
      break;
  }
}
Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&&) noexcept = default;
Result<EnumerationCounts> Evaluator::enumerate(std::size_t part, std::size_t parts, const std::function<void(const Record&)>& found) {
  XFLOW_CHECK(GraphCodec::make(*signature_, options_.max_operators));
  return implementation_->run(part, parts, found);
}
std::optional<Record> Evaluator::record(const SmallGraph& graph) { return implementation_->record(graph); }
std::vector<Naming> Evaluator::namings(const SmallGraph& graph) { return implementation_->namings(graph); }
std::vector<std::uint64_t> Evaluator::values(const SmallGraph& graph, std::span<const std::uint8_t> leaves) {
  return implementation_->values(graph, leaves);
}

}  // namespace xflow::generator
