// What is enumerated: inputs by type, constants, and operators with their attributes, over one kind of tensor.
//
// A dimension is a name with a size, or the sum of two dimensions that a concat put together, so that a split can undo it. Two dimensions
// are one only if they are made of the same names in the same way: sizes that happen to be equal do not make tensors fit.
#pragma once

#include <xflow/error.h>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/egraph/weights.h"
#include "src/generator/enumerate/plan.h"
#include "src/generator/enumerate/plan_cache.h"
#include "src/ir/graph.h"

namespace xflow::generator {

enum class DimId : std::uint16_t {};
enum class TypeId : std::uint16_t {};
enum class ChoiceId : std::uint8_t {};

struct Dim {
  std::string name;  // of a dimension that is no sum
  std::optional<std::pair<DimId, DimId>> parts;
};

// How the dimensions of the outputs come from those of the operands.
enum class Shape : std::uint8_t {
  same,         // of the one operand
  broadcast,    // equal, or 1, or no dimensions at all
  matmul,       // [m, k] [k, n] -> [m, n]
  transpose,    // dimensions in another order
  concat,       // the sum along an axis
  split,        // the two parts of an axis, two outputs
  convolution,  // [n, c, h, w] [o, c, r, s] -> [n, o, h, w], windows keep the size
  depthwise,    // [n, c, h, w] [c, 1, r, s] -> [n, c, h, w]
  enlarge,      // a kernel of 1 x 1 surrounded by zeros, 3 x 3
  reduce,       // an axis becomes 1
};

// An operator with attributes, as one thing that can be appended to a graph.
struct Choice {
  std::string name = {};  // "concat 0"
  std::string word = {};  // as the user asks for it: "concat"
  ir::OperatorId op{};
  Shape shape = Shape::same;
  std::size_t operands = 1;
  std::size_t outputs = 1;
  bool commutative = false;
  int axis = 0;                    // concat, split, reduce
  ir::Attributes attributes = {};  // those that do not depend on sizes
  int weight = kMovementWeight;    // weights.h
};

// A tensor that graphs may read: an input, of which there are several of one type, or a constant.
struct Leaf {
  enum class Kind : std::uint8_t { input, full, identity_matrix, identity_kernel };
  Kind kind = Kind::input;
  TypeId type{};
  std::size_t group = 0;  // inputs: those of one type, whose values may be exchanged
  ir::Rational value;     // full: of every element
  // Which operations read it. Identities stand in sums, as products with them are what they were. Of tensors of one number columns stand in
  // products, which are sums of rows; elsewhere the number itself does as well.
  enum class Readers : std::uint8_t { all, sums, products, none };
  Readers readers = Readers::all;
};

// The kinds of tensors: matrices, or images with kernels.
enum class TensorKind : std::uint8_t { matrix, image };
const char* name(TensorKind kind);

struct SignatureOptions {
  TensorKind kind = TensorKind::matrix;
  std::vector<std::string> words;  // operators and constants of that kind
  std::size_t inputs = 4;          // of the main type of data; of every other type 2
};

class GraphSignature {
 public:
  GraphSignature(GraphSignature&&) = default;
  GraphSignature& operator=(GraphSignature&&) = default;
  GraphSignature(const GraphSignature&) = delete;
  GraphSignature& operator=(const GraphSignature&) = delete;
  ~GraphSignature() = default;

  // Error::invalid_argument names a word that is not known or not of that kind.
  static Result<GraphSignature> make(const SignatureOptions& options);
  // The signatures in which a set of words is enumerated, one after the other. matmul, transpose, softmax and reductions are of matrices,
  // convolutions and pools of images; elementwise operators and those that move data are of every kind that is asked for, and alone of
  // matrices. What compares numbers (maximum, max_pool, ...) and what is no function of integers (exp, div, ...) are told apart by
  // different numbers and are never in one signature. Error::invalid_argument names a word that is not known, with similar ones.
  static Result<std::vector<SignatureOptions>> divide(std::span<const std::string> words, std::size_t inputs);
  // What can be enumerated, in alphabetical order.
  static std::vector<std::string> known_words();
  // The words of a preset: cnn, transformer, rnn, all. Nothing for another name.
  static std::optional<std::vector<std::string>> preset(std::string_view name);

  TensorKind kind() const { return kind_; }
  std::span<const Choice> choices() const { return choices_; }
  const Choice& choice(ChoiceId id) const { return choices_[static_cast<std::size_t>(id)]; }
  // Inputs first, group after group, then constants.
  std::span<const Leaf> leaves() const { return leaves_; }
  std::size_t inputs() const { return inputs_; }
  // The first input of each group; the groups' sizes.
  std::span<const std::size_t> group_begins() const { return group_begins_; }
  std::size_t group_size(std::size_t group) const;

  // Of a graph's values, which are numbered leaves first.
  bool is_constant(std::size_t value) const { return value >= inputs_ && value < leaves_.size(); }
  // Whether an operation may read a leaf.
  bool reads(ChoiceId choice, std::size_t leaf) const {
    const Leaf::Readers readers = leaves_[leaf].readers;
    if (readers == Leaf::Readers::all) return true;
    const std::string& word = this->choice(choice).word;
    if (readers == Leaf::Readers::sums) return word == "add" || word == "sub";
    return readers == Leaf::Readers::products && word == "matmul";
  }
  // An operation on operands of certain types.
  struct Operation {
    std::array<TypeId, 2> types{};          // of the outputs
    std::size_t outputs = 0;                // 0 where operands do not fit
    std::uint32_t number = 0;               // of all that were asked for
    std::array<PlanCache::Plans, 2> plans;  // by assignment of sizes; made by plans()
  };
  // Found when it is asked for the first time; stays where it is. `b` is TypeId{} of operators of one operand.
  const Operation& operation(ChoiceId choice, TypeId a, TypeId b) const { return find_operation(choice, a, b); }
  // The types of the outputs; empty where operands do not fit.
  std::span<const TypeId> type(ChoiceId choice, std::span<const TypeId> operands) const;
  const std::vector<DimId>& dims(TypeId type) const { return types_[static_cast<std::size_t>(type)]; }
  const Dim& dim(DimId id) const { return dims_[static_cast<std::size_t>(id)]; }

  // Sizes are assigned several times: 0 and up to kAssignments - 1.
  static constexpr std::size_t kAssignments = 2;
  std::int64_t size(DimId id, std::size_t sizes) const;
  std::vector<std::int64_t> shape(TypeId type, std::size_t sizes) const;
  std::size_t elements(TypeId type, std::size_t sizes) const { return elements_[static_cast<std::size_t>(type)][sizes]; }
  // A hash of a type that does not depend on when the type was met: the names of which its dimensions are the sums.
  std::uint64_t salt(TypeId type) const { return salts_[static_cast<std::size_t>(type)]; }
  ir::Attributes attributes(ChoiceId choice, std::span<const TypeId> operands, std::size_t sizes) const;
  // The operation without operands that makes a constant.
  ir::OperatorId op(const Leaf& constant) const;
  ir::Attributes attributes(const Leaf& constant, std::size_t sizes) const;
  // How the outputs are computed. Requires operands that fit.
  const std::vector<Plan>& plans(ChoiceId choice, std::span<const TypeId> operands, std::size_t sizes) const;

  // From now on plans are those of a cache that signatures of other threads have too.
  void share_plans(std::shared_ptr<PlanCache> cache) { cache_ = std::move(cache); }
  // They are asked for again when they are needed.
  void forget_plans();

  // Which numbers tell graphs of this signature apart.
  enum class Numbers : std::uint8_t { field, pairs, integers };
  Numbers numbers() const { return numbers_; }

  bool is_kernel(TypeId type) const;         // of a convolution
  std::string to_string(TypeId type) const;  // "[n, (n + n)]"

 private:
  friend class GraphSignatureBuilder;
  GraphSignature() = default;

  DimId named(const std::string& name, std::vector<std::int64_t> sizes);
  DimId sum(DimId a, DimId b) const;
  TypeId intern(std::vector<DimId> dims) const;
  std::vector<TypeId> find_type(const Choice& choice, std::span<const TypeId> operands) const;
  Operation& find_operation(ChoiceId choice, TypeId a, TypeId b) const;
  std::uint64_t make_salt(std::span<const DimId> dims) const;

  TensorKind kind_{};
  Numbers numbers_{};
  DimId one_{};     // a dimension of size 1
  DimId kernel_{};  // the size of a kernel's larger windows
  std::vector<Choice> choices_;
  std::vector<Leaf> leaves_;
  std::size_t inputs_ = 0;
  std::vector<std::size_t> group_begins_;
  std::map<DimId, std::vector<std::int64_t>> sizes_;
  // What was asked for. Types and plans are found when they are asked for the first time; a signature is used by one thread.
  mutable std::vector<Dim> dims_;
  mutable std::vector<std::vector<DimId>> types_;
  mutable std::map<std::pair<DimId, DimId>, DimId> sums_;
  mutable std::map<std::vector<DimId>, TypeId> type_ids_;
  mutable std::vector<std::uint64_t> salts_;                             // by type
  mutable std::vector<std::array<std::size_t, kAssignments>> elements_;  // by type
  // By operator, then by type: 1 + the number of an operation, 0 of what was not asked for.
  mutable std::vector<std::vector<std::vector<std::uint32_t>>> operation_at_;
  mutable std::deque<Operation> operations_;
  std::shared_ptr<PlanCache> cache_ = std::make_shared<PlanCache>();
};

}  // namespace xflow::generator
