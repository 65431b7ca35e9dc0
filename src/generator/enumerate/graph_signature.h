// The signature of an enumeration: inputs by type, constants, and operators with their attributes, over one
// kind of tensor.
//
// A dimension is a name with a size, or the sum of two dimensions that a concat joined, so that a split can
// undo it. Two dimensions are equal only if they consist of the same names in the same way. Accidentally
// equal sizes do not make tensors compatible.
#pragma once

#include <xflow/error.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/egraph/weights.h"
#include "src/generator/enumerate/dim_typing.h"
#include "src/generator/enumerate/element_plan.h"
#include "src/generator/enumerate/plan_cache.h"
#include "src/ir/graph.h"
#include "src/ops/op.h"

namespace xflow::generator {

enum class TypeId : std::uint16_t {};
enum class ChoiceId : std::uint8_t {};

// How the dimensions of the outputs follow from those of the operands.
enum class ShapeRule : std::uint8_t {
  same,         // those of the one operand
  broadcast,    // equal dimensions, 1, or a number without dimensions
  matmul,       // [m, k] [k, n] -> [m, n]
  transpose,    // dimensions in another order
  concat,       // the sum of the dimensions along an axis
  split,        // the two parts of an axis, two outputs
  convolution,  // [n, c, h, w] [o, c, r, s] -> [n, o, h, w], windows keep the size
  depthwise,    // [n, c, h, w] [c, 1, r, s] -> [n, c, h, w]
  enlarge,      // a kernel of 1 x 1 surrounded by zeros, 3 x 3
  reduce,       // the dimension of an axis becomes 1
  to_kernels,   // [1, c, 1, 1] -> [c, 1, 1, 1]: a number for each kernel instead of each channel
  add_axis,     // [m, n] with a dimension of 1 at an axis, or without: [1, m, n], [m, n, 1], [m, n]
  expand,       // dimensions of 1 become those of a matrix
};

inline constexpr int kNoAxis = -1;

// An operator with attributes: an operation that can be appended to a graph.
struct Choice {
  std::string name = {};           // "concat 0"
  std::string operator_name = {};  // as the user gives it: "concat"
  ir::OperatorId op{};
  ShapeRule shape = ShapeRule::same;
  std::size_t operands = 1;
  std::size_t outputs = 1;
  bool commutative = false;
  int axis = 0;                    // concat, split, reduce, add_axis (kNoAxis: without)
  ir::Attributes attributes = {};  // attributes that do not depend on sizes
  int weight = kMovementWeight;    // weights.h

  bool is(ops::Op other) const;
};

// The attributes of a slice of everything.
ir::Attributes whole_slice(std::vector<ir::Poly> dims);

// A tensor that graphs may read: an input or a constant. A type may have several inputs.
struct Leaf {
  enum class Kind : std::uint8_t { input, full, identity_matrix, identity_kernel };
  Kind kind = Kind::input;
  TypeId type{};
  std::size_t group = 0;  // inputs: the group of one type, whose members are interchangeable
  ir::Rational value;     // full: value of every element
  // Operations that may read the leaf. Identities are read by sums, and by products with one number for each
  // channel or column, because other products with identities change nothing. Among tensors of one number,
  // columns are read by products only, which become sums of rows; elsewhere the number itself does the same.
  enum class Readers : std::uint8_t { all, sums, products, none };
  Readers readers = Readers::all;
};

// The kinds of tensors: matrices, or images with kernels.
enum class TensorKind : std::uint8_t { matrix, image };
const char* name(TensorKind kind);

struct SignatureOptions {
  TensorKind kind = TensorKind::matrix;
  std::vector<std::string> operators;  // names of operators and constants of that kind
  std::size_t inputs = 4;              // of the main type
  std::size_t of_others = 2;           // inputs of every other type
};

class GraphSignature {
 public:
  GraphSignature(GraphSignature&&) = default;
  GraphSignature& operator=(GraphSignature&&) = default;
  GraphSignature(const GraphSignature&) = delete;
  GraphSignature& operator=(const GraphSignature&) = delete;
  ~GraphSignature() = default;

  // Makes a signature. Error::invalid_argument names an operator that is unknown or not of that kind.
  static Result<GraphSignature> make(const SignatureOptions& options);
  // Divides operators into the signatures that are enumerated one after the other. matmul, transpose,
  // softmax and reductions need matrices; convolutions and pools need images. Elementwise and data-movement
  // operators belong to every requested kind, and to matrices if they are alone.
  // Operators that compare numbers (maximum, max_pool, ...) and operators that are no functions of integers
  // (exp, div, ...) are evaluated on different kinds of numbers and never share a signature.
  // Error::invalid_argument names an unknown operator and suggests similar ones.
  static Result<std::vector<SignatureOptions>> divide(std::span<const std::string> operators, std::size_t inputs);
  // All operators and constants that can be enumerated, in alphabetical order.
  static std::vector<std::string> known_operators();
  // The operators of a preset: cnn, transformer, rnn, all. Nothing for any other name.
  static std::optional<std::vector<std::string>> preset(std::string_view name);

  TensorKind kind() const { return kind_; }
  std::span<const Choice> choices() const { return choices_; }
  const Choice& choice(ChoiceId id) const { return choices_[static_cast<std::size_t>(id)]; }
  // Inputs, group by group, then constants.
  std::span<const Leaf> leaves() const { return leaves_; }
  std::size_t inputs() const { return inputs_; }
  // The first input of each group.
  std::span<const std::size_t> group_begins() const { return group_begins_; }
  std::size_t group_size(std::size_t group) const;

  // Whether a value of a graph is a constant. Values are numbered with leaves first.
  bool is_constant(std::size_t value) const { return value >= inputs_ && value < leaves_.size(); }
  // Whether an operation may read a leaf beside another operand.
  bool reads(ChoiceId choice, std::size_t leaf, TypeId other) const {
    const Leaf::Readers readers = leaves_[leaf].readers;
    if (readers == Leaf::Readers::all) return true;
    const Choice& c = this->choice(choice);
    if (readers == Leaf::Readers::sums)
      return c.is(ops::Op::Add) || c.is(ops::Op::Sub) || (c.is(ops::Op::Mul) && (is_channels(other) || is_row(other)));
    return readers == Leaf::Readers::products && c.is(ops::Op::Matmul);
  }
  // An operation on operands of given types.
  struct Operation {
    std::array<TypeId, 2> types{};          // types of the outputs
    std::size_t outputs = 0;                // 0 if the operands do not fit
    std::uint32_t number = 0;               // index among the operations requested so far
    std::array<PlanCache::Plans, 2> plans;  // by assignment of sizes; set by plans()
  };
  // Finds an operation, and creates it at the first request. The reference stays valid. `b` is TypeId{} for
  // operators with one operand.
  const Operation& operation(ChoiceId choice, TypeId a, TypeId b) const { return find_operation(choice, a, b); }
  // The types of the outputs; empty if the operands do not fit.
  std::span<const TypeId> type(ChoiceId choice, std::span<const TypeId> operands) const;
  const std::vector<DimId>& dims(TypeId type) const { return types_[static_cast<std::size_t>(type)]; }
  DimId main_dim() const { return main_; }  // the size of a square matrix
  const Dim& dim(DimId id) const { return dims_[static_cast<std::size_t>(id)]; }

  // Dimensions have several assignments of sizes: 0 to kAssignments - 1.
  static constexpr std::size_t kAssignments = 2;
  std::int64_t size(DimId id, std::size_t sizes) const;
  std::vector<std::int64_t> shape(TypeId type, std::size_t sizes) const;
  std::size_t elements(TypeId type, std::size_t sizes) const { return elements_[static_cast<std::size_t>(type)][sizes]; }
  // A hash of a type by the names that its dimensions are sums of. It does not depend on the order in which
  // types are met.
  std::uint64_t salt(TypeId type) const { return salts_[static_cast<std::size_t>(type)]; }
  ir::Attributes attributes(ChoiceId choice, std::span<const TypeId> operands, std::size_t sizes) const;
  // The operation without operands that makes a constant.
  ir::OperatorId op(const Leaf& constant) const;
  ir::Attributes attributes(const Leaf& constant, std::size_t sizes) const;
  // The plans of the outputs. Requires operands that fit.
  const std::vector<ElementPlan>& plans(ChoiceId choice, std::span<const TypeId> operands, std::size_t sizes) const;

  // Uses the plans of a cache that it shares with signatures of other threads.
  void share_plans(std::shared_ptr<PlanCache> cache) { cache_ = std::move(cache); }
  // Drops the plans; they are requested again when they are needed.
  void forget_plans();

  // The kind of numbers that distinguishes graphs of this signature.
  enum class Numbers : std::uint8_t { field, pairs, integers };
  Numbers numbers() const { return numbers_; }

  bool is_kernel(TypeId type) const;    // whether a type is a kernel of a convolution
  bool is_channels(TypeId type) const;  // whether a type has one number for each channel of an image: [1, c, 1, 1]
  bool is_matrix(TypeId type) const;    // whether a type has two dimensions, neither of which is 1
  bool is_row(TypeId type) const;       // whether a type has one number for each column of a matrix: [1, n]
  // Whether inputs of a type are constants in models: kernels, channels, rows.
  bool is_parameter(TypeId type) const { return is_kernel(type) || is_channels(type) || is_row(type); }
  std::string to_string(TypeId type) const;  // "[n, (n + n)]"

 private:
  friend class GraphSignatureBuilder;
  GraphSignature() = default;

  DimId named(const std::string& name, std::vector<std::int64_t> sizes);
  DimId sum(DimId a, DimId b) const;
  TypeId intern(std::vector<DimId> dims) const;
  // Whether graphs apply an operation to operands of these types, provided that they fit.
  bool admits(const Choice& choice, std::span<const TypeId> operands) const;
  bool meets_channels(const Choice& choice, TypeId type, TypeId channels) const;
  // The types that the operator's own type rule yields; empty if the operands are not admitted or do not
  // fit.
  std::vector<TypeId> find_type(const Choice& choice, std::span<const TypeId> operands) const;
  // The dimensions of the result of add_axis.
  std::vector<DimId> with_axis(const Choice& choice, std::vector<DimId> dims) const;
  // The attributes on a first operand with dimensions `dims`, whose sizes `size` gives.
  ir::Attributes attributes(const Choice& choice, const std::vector<DimId>& dims, const std::function<ir::Poly(DimId)>& size) const;
  Operation& find_operation(ChoiceId choice, TypeId a, TypeId b) const;
  std::uint64_t make_salt(std::span<const DimId> dims) const;

  TensorKind kind_{};
  Numbers numbers_{};
  DimId one_{};     // a dimension of size 1
  DimId main_{};    // the size of a square matrix
  DimId kernel_{};  // the size of a kernel's larger windows
  std::vector<Choice> choices_;
  std::vector<Leaf> leaves_;
  std::size_t inputs_ = 0;
  std::vector<std::size_t> group_begins_;
  std::map<DimId, std::vector<std::int64_t>> sizes_;
  // Types and plans requested so far. They are computed at the first request; only one thread uses a
  // signature.
  mutable std::vector<Dim> dims_;
  mutable DimTyping typing_;  // of the dimensions that typed operations have had
  mutable std::vector<std::vector<DimId>> types_;
  mutable std::map<std::pair<DimId, DimId>, DimId> sums_;
  mutable std::map<std::vector<DimId>, TypeId> type_ids_;
  mutable std::vector<std::uint64_t> salts_;                             // by type
  mutable std::vector<std::array<std::size_t, kAssignments>> elements_;  // by type
  // By operator, then by type: 1 + the number of an operation, or 0 before the first request.
  mutable std::vector<std::vector<std::vector<std::uint32_t>>> operation_at_;
  mutable std::deque<Operation> operations_;
  std::shared_ptr<PlanCache> cache_ = std::make_shared<PlanCache>();
};

}  // namespace xflow::generator
