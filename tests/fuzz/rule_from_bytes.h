// Text of a rule made of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace xflow::fuzz {

// The bytes themselves where they begin like text. A first byte of 0x80 or more says that each of the others is a decision of a grammar:
// the text is a rule of a few operators, its target a copy of the source with a few changes, with guards of every kind.
std::string rule_text(const std::uint8_t* data, std::size_t size);

}  // namespace xflow::fuzz
