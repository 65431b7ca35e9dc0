#include "src/ir/attribute.h"

#include <algorithm>
#include <cassert>

namespace xflow::ir {

Attributes::Attributes(std::initializer_list<Attribute> list) {
  for (const Attribute& a : list) set(a.name, a.value);
}

void Attributes::set(std::string_view name, AttributeValue value) {
  const auto at = std::lower_bound(list_.begin(), list_.end(), name, [](const Attribute& a, std::string_view n) { return a.name < n; });
  if (at != list_.end() && at->name == name) {
    at->value = std::move(value);
  } else {
    list_.insert(at, Attribute{std::string(name), std::move(value)});
  }
}

const AttributeValue* Attributes::find(std::string_view name) const {
  for (const Attribute& a : list_)
    if (a.name == name) return &a.value;
  return nullptr;
}

namespace {

template <typename T>
const T& get_attribute(const Attributes& attributes, std::string_view name) {
  const AttributeValue* value = attributes.find(name);
  assert(value != nullptr && std::holds_alternative<T>(*value));
  return *std::get_if<T>(value);
}

}  // namespace

const Poly& Attributes::integer(std::string_view name) const { return get_attribute<Poly>(*this, name); }
const std::vector<Poly>& Attributes::integers(std::string_view name) const { return get_attribute<std::vector<Poly>>(*this, name); }
const Real& Attributes::real(std::string_view name) const { return get_attribute<Real>(*this, name); }
const std::string& Attributes::word(std::string_view name) const { return get_attribute<std::string>(*this, name); }
DataType Attributes::data_type(std::string_view name) const { return get_attribute<DataType>(*this, name); }

std::optional<std::vector<std::int64_t>> Attributes::known_integers(std::string_view name) const { return constant_shape(integers(name)); }

std::size_t Attributes::hash() const {
  std::size_t h = list_.size();
  const auto mix = [&](std::size_t v) { h = (h ^ v) * 0x9E3779B97F4A7C15ULL + (h >> 31); };
  for (const Attribute& a : list_) {
    mix(std::hash<std::string>{}(a.name));
    if (const auto* p = std::get_if<Poly>(&a.value)) {
      mix(p->hash());
    } else if (const auto* list = std::get_if<std::vector<Poly>>(&a.value)) {
      mix(list->size());
      for (const Poly& p2 : *list) mix(p2.hash());
    } else if (const auto* r = std::get_if<Real>(&a.value)) {
      mix(r->hash());
    } else if (const auto* w = std::get_if<std::string>(&a.value)) {
      mix(std::hash<std::string>{}(*w));
    } else {
      mix(static_cast<std::size_t>(std::get<DataType>(a.value)));
    }
  }
  return h;
}

std::vector<Poly> polys(std::span<const std::int64_t> integers) { return std::vector<Poly>(integers.begin(), integers.end()); }

std::string to_string(const Symbols& symbols, const AttributeValue& value) {
  if (const auto* p = std::get_if<Poly>(&value)) return symbols.to_string(*p);
  if (const auto* list = std::get_if<std::vector<Poly>>(&value)) return symbols.to_string(*list);
  if (const auto* r = std::get_if<Real>(&value)) return r->to_string();
  if (const auto* w = std::get_if<std::string>(&value)) return *w;
  return std::string(name(std::get<DataType>(value)));
}

std::string to_string(const Symbols& symbols, const Attributes& attributes) {
  std::string text;
  for (const Attribute& a : attributes.list()) {
    if (!text.empty()) text += ", ";
    text += a.name + ": " + to_string(symbols, a.value);
  }
  return text;
}

}  // namespace xflow::ir
