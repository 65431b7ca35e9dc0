// Attributes of an operation: named values, sorted by name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "src/ir/poly.h"
#include "src/ir/rational.h"
#include "src/ir/type.h"

namespace xflow::ir {

// An integer or axis; integers (pads, a permutation, a shape, sizes of a split); a real; a word (a mode); a
// data type. Integers are polynomials, so that one type rule and one semantics serve models (constants) and
// rules (variables).
using AttributeValue = std::variant<Poly, std::vector<Poly>, Real, std::string, DataType>;

struct Attribute {
  std::string name;
  AttributeValue value;
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

// The attributes of one operation. An operation in the IR has every attribute of its operator's signature,
// defaults included.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<Attribute> list);

  void set(std::string_view name, AttributeValue value);
  const AttributeValue* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

  // Accessors for attributes whose name and kind the signature guarantees. A wrong name or kind is a bug.
  const Poly& integer(std::string_view name) const;
  const std::vector<Poly>& integers(std::string_view name) const;
  const Real& real(std::string_view name) const;
  const std::string& word(std::string_view name) const;
  DataType data_type(std::string_view name) const;
  // The value as integers; nothing if it is symbolic.
  std::optional<std::int64_t> known_integer(std::string_view name) const { return integer(name).constant(); }
  std::optional<std::vector<std::int64_t>> known_integers(std::string_view name) const;

  std::span<const Attribute> list() const { return list_; }
  std::size_t hash() const;
  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  std::vector<Attribute> list_;  // sorted by name
};

std::vector<Poly> polys(std::span<const std::int64_t> integers);
std::string to_string(const Symbols& symbols, const AttributeValue& value);
std::string to_string(const Symbols& symbols, const Attributes& attributes);  // "axis: 1, pads: [0, 1]"

}  // namespace xflow::ir
