#include "src/generator/enumerate/candidate_list.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace xflow::generator {
namespace {

// How often inputs are read beyond the first time, on the side with fewer such reads.
std::size_t repeated(const GraphSignature& signature, const RuleCandidate& c) {
  std::size_t least = SIZE_MAX;
  for (const SmallGraph* side : {&c.source, &c.target}) {
    std::size_t reads = 0;
    for (const SmallGraphNode& n : side->nodes)
      for (const std::uint8_t o : n.operands) reads += o < signature.inputs() ? 1 : 0;
    const std::size_t inputs = inputs_of(signature, *side).size();
    least = std::min(least, reads - std::min(reads, inputs));
  }
  return least;
}

// How many operands are constants.
std::size_t constants(const GraphSignature& signature, const RuleCandidate& c) {
  std::size_t count = 0;
  for (const SmallGraph* side : {&c.source, &c.target})
    for (const SmallGraphNode& n : side->nodes)
      for (const std::uint8_t o : n.operands) count += signature.is_constant(o) ? 1 : 0;
  return count;
}

constexpr std::uint64_t kNoOutput = GraphCodec::kMostValues;

}  // namespace

CandidateList::CandidateList(const GraphSignature& signature, std::size_t max_operators)
    : signature_(&signature), codec_(GraphCodec::make(signature, max_operators).value()) {}

void CandidateList::add(RuleCandidate candidate) {
  const int source = weight_of(*signature_, candidate.source);
  const int target = weight_of(*signature_, candidate.target);
  const std::size_t repeats = repeated(*signature_, candidate);
  if (source < target) std::swap(candidate.source, candidate.target);
  const std::size_t operators = std::max(candidate.source.nodes.size(), candidate.target.nodes.size());
  const std::size_t inputs = std::max(inputs_of(*signature_, candidate.source).size(), inputs_of(*signature_, candidate.target).size());
  Packed packed;
  const auto digit = [&](std::uint64_t value, std::uint64_t radix) {
    assert(value < radix);
    packed.key = packed.key * radix + value;
  };
  digit(operators, 16);
  digit(candidate.source.outputs.size(), 4);
  digit(repeats, 64);
  digit(signature_->inputs() - inputs, 256);
  digit(static_cast<std::uint64_t>(source) + static_cast<std::uint64_t>(target), std::uint64_t{1} << 16);
  digit(std::min<std::size_t>(constants(*signature_, candidate), 15), 16);
  // A code lists outputs in ascending order, and none that is read.
  for (const SmallGraph* side : {&candidate.source, &candidate.target})
    for (std::size_t o = 0; o < 2; ++o) digit(o < side->outputs.size() ? side->outputs[o] : kNoOutput, kNoOutput + 1);
  packed.source = codec_.encode(candidate.source);
  packed.target = codec_.encode(candidate.target);
  packed_.push_back(packed);
}

void CandidateList::sort() { std::sort(packed_.begin(), packed_.end()); }

RuleCandidate CandidateList::operator[](std::size_t k) const {
  const Packed& packed = packed_[k];
  RuleCandidate result{codec_.decode(packed.source), codec_.decode(packed.target)};
  std::uint64_t key = packed.key;
  for (SmallGraph* side : {&result.target, &result.source}) {
    side->outputs.clear();
    for (std::size_t o = 0; o < 2; ++o, key /= kNoOutput + 1)
      if (key % (kNoOutput + 1) != kNoOutput) side->outputs.insert(side->outputs.begin(), static_cast<std::uint8_t>(key % (kNoOutput + 1)));
  }
  return result;
}

std::vector<RuleCandidate> CandidateList::part(std::size_t begin, std::size_t end) const {
  std::vector<RuleCandidate> result;
  result.reserve(end - begin);
  for (std::size_t k = begin; k < end; ++k) result.push_back((*this)[k]);
  return result;
}

std::string CandidateList::bytes() const {
  return std::string(reinterpret_cast<const char*>(packed_.data()), packed_.size() * sizeof(Packed));
}

void CandidateList::add_bytes(std::string_view bytes) {
  const std::size_t before = packed_.size();
  packed_.resize(before + bytes.size() / sizeof(Packed));
  std::memcpy(packed_.data() + before, bytes.data(), bytes.size() / sizeof(Packed) * sizeof(Packed));
}

}  // namespace xflow::generator
