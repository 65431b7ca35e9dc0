#include "src/codegen/source_functions.h"

#include <fmt/format.h>

namespace xflow::eval {

using ops::Function;

std::string_view c_type(Format format, bool in_double) {
  switch (format) {
    case Format::number:
      return in_double ? "double" : "float";
    case Format::float64:
      return "double";
    case Format::float32:
      return "float";
    case Format::float16:
    case Format::bfloat16:
    case Format::uint16:
      return "unsigned short";
    case Format::int64:
      return "long long";
    case Format::uint64:
      return "unsigned long long";
    case Format::int32:
      return "int";
    case Format::uint32:
      return "unsigned";
    case Format::int16:
      return "short";
    case Format::int8:
      return "signed char";
    case Format::uint8:
      return "unsigned char";
  }
  return "float";
}

std::size_t bytes_of(Format format, bool in_double) {
  switch (format) {
    case Format::number:
      return in_double ? sizeof(double) : sizeof(float);
    case Format::float64:
    case Format::int64:
    case Format::uint64:
      return 8;
    case Format::float32:
    case Format::int32:
    case Format::uint32:
      return 4;
    case Format::float16:
    case Format::bfloat16:
    case Format::int16:
    case Format::uint16:
      return 2;
    case Format::int8:
    case Format::uint8:
      return 1;
  }
  return 0;
}

bool is_of_integers(Format format) {
  switch (format) {
    case Format::number:
    case Format::float64:
    case Format::float32:
    case Format::float16:
    case Format::bfloat16:
      return false;
    default:
      return true;
  }
}

std::string wrapped(const std::string& value, ir::DataType type) {
  switch (type) {
    case ir::DataType::boolean:
      return fmt::format("(xflow_integer)({} != 0)", value);
    case ir::DataType::int8:
      return fmt::format("(xflow_integer)(signed char){}", value);
    case ir::DataType::uint8:
      return fmt::format("(xflow_integer)(unsigned char){}", value);
    case ir::DataType::int16:
      return fmt::format("(xflow_integer)(short){}", value);
    case ir::DataType::uint16:
      return fmt::format("(xflow_integer)(unsigned short){}", value);
    case ir::DataType::int32:
      return fmt::format("(xflow_integer)(int){}", value);
    case ir::DataType::uint32:
      return fmt::format("(xflow_integer)(unsigned){}", value);
    default:
      return value;
  }
}

std::string real_function(Function function, const std::vector<std::string>& a, bool in_double) {
  const std::string suffix = in_double ? "" : "f";
  const auto call = [&](std::string_view name) {
    return a.size() == 1 ? fmt::format("{}{}({})", name, suffix, a[0]) : fmt::format("{}{}({}, {})", name, suffix, a[0], a[1]);
  };
  switch (function) {
    case Function::negate:
      return "-" + a[0];
    case Function::reciprocal:
      return fmt::format("({})1 / {}", (in_double ? "double" : "float"), a[0]);
    case Function::exp:
      return call("exp");
    case Function::log:
      return call("log");
    case Function::sqrt:
      return call("sqrt");
    case Function::sin:
      return call("sin");
    case Function::cos:
      return call("cos");
    case Function::tanh:
      return call("tanh");
    case Function::erf:
      return call("erf");
    case Function::abs:
      return call("fabs");
    case Function::sign:
      return fmt::format("xflow_sign({})", a[0]);
    case Function::floor:
      return call("floor");
    case Function::ceil:
      return call("ceil");
    case Function::round_even:
      return call("rint");
    case Function::add:
      return fmt::format("{} + {}", a[0], a[1]);
    case Function::subtract:
      return fmt::format("{} - {}", a[0], a[1]);
    case Function::multiply:
      return fmt::format("{} * {}", a[0], a[1]);
    case Function::divide:
      return fmt::format("{} / {}", a[0], a[1]);
    case Function::integer_divide:
      return fmt::format("trunc{}({} / {})", suffix, a[0], a[1]);
    case Function::modulo:
      return fmt::format("xflow_floored(fmod{}({}, {}), {})", suffix, a[0], a[1], a[1]);
    case Function::remainder:
      return call("fmod");
    case Function::power:
      return call("pow");
    case Function::minimum:
      return fmt::format("xflow_minimum({}, {})", a[0], a[1]);
    default:
      return fmt::format("xflow_maximum({}, {})", a[0], a[1]);
  }
}

std::string integer_function(Function function, const std::vector<std::string>& a, ir::DataType type) {
  const bool is_unsigned = type == ir::DataType::uint64;
  const auto in_type = [&](const std::string& value) { return wrapped("(" + value + ")", type); };
  const auto modular = [&](char sign, const std::string& x, const std::string& y) {
    return in_type(fmt::format("(xflow_integer)((xflow_unsigned){} {} (xflow_unsigned){})", x, sign, y));
  };
  const std::string sign = is_unsigned ? "(xflow_unsigned)" : "";
  switch (function) {
    case Function::negate:
      return modular('-', "0", a[0]);
    case Function::abs:
      return in_type(fmt::format("{} < 0 ? (xflow_integer)(0ull - (xflow_unsigned){}) : {}", a[0], a[0], a[0]));
    case Function::sign:
      return in_type(fmt::format("(xflow_integer)(({} > 0) - ({} < 0))", a[0], a[0]));
    case Function::logical_not:
      return fmt::format("{} == 0 ? 1 : 0", a[0]);
    case Function::is_nan:
      return "0";
    case Function::add:
      return modular('+', a[0], a[1]);
    case Function::subtract:
      return modular('-', a[0], a[1]);
    case Function::multiply:
      return modular('*', a[0], a[1]);
    case Function::power:
      return in_type(fmt::format("xflow_power({}, {})", a[0], a[1]));
    case Function::logical_and:
      return fmt::format("{} != 0 && {} != 0 ? 1 : 0", a[0], a[1]);
    case Function::logical_or:
      return fmt::format("{} != 0 || {} != 0 ? 1 : 0", a[0], a[1]);
    case Function::logical_xor:
      return fmt::format("({} != 0) != ({} != 0) ? 1 : 0", a[0], a[1]);
    case Function::equal:
      return fmt::format("{} == {} ? 1 : 0", a[0], a[1]);
    case Function::less:
      return fmt::format("{}{} < {}{} ? 1 : 0", sign, a[0], sign, a[1]);
    case Function::divide:
    case Function::integer_divide:
      return is_unsigned ? fmt::format("xflow_divide_unsigned({}, {})", a[0], a[1])
                         : in_type(fmt::format("xflow_divide({}, {})", a[0], a[1]));
    case Function::modulo:
      if (!is_unsigned) return fmt::format("xflow_floored(xflow_rest({}, {}), {})", a[0], a[1], a[1]);
      [[fallthrough]];
    case Function::remainder:
      return fmt::format("xflow_rest{}({}, {})", is_unsigned ? "_unsigned" : "", a[0], a[1]);
    case Function::minimum:
      return fmt::format("(xflow_integer)xflow_smaller({}{}, {}{})", sign, a[0], sign, a[1]);
    case Function::maximum:
      return fmt::format("(xflow_integer)xflow_larger({}{}, {}{})", sign, a[0], sign, a[1]);
    default:
      return a[0];  // floor, ceil, round_even
  }
}

}  // namespace xflow::eval
