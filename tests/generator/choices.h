// What tests of small graphs share.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "src/generator/universe.h"

namespace xflow::generator {

// An operator with its attributes by name: "concat 1".
inline ChoiceId choice(const Universe& universe, std::string_view name) {
  for (std::size_t k = 0; k < universe.choices().size(); ++k)
    if (universe.choices()[k].name == name) return static_cast<ChoiceId>(k);
  ADD_FAILURE() << "no " << name;
  return {};
}

}  // namespace xflow::generator
