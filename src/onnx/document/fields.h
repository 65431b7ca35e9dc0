// Field numbers of the messages of ONNX 1.19 (onnx.proto), for models that are read and written field by
// field.
#pragma once

#include <cstdint>

namespace xflow::onnx_io {

namespace model_fields {
constexpr std::uint32_t kIrVersion = 1;
constexpr std::uint32_t kGraph = 7;
constexpr std::uint32_t kOpset = 8;
constexpr std::uint32_t kTraining = 20;
constexpr std::uint32_t kDevices = 26;
}  // namespace model_fields

namespace graph_fields {
constexpr std::uint32_t kNode = 1;
constexpr std::uint32_t kName = 2;
constexpr std::uint32_t kInitializer = 5;
constexpr std::uint32_t kDocString = 10;
constexpr std::uint32_t kInput = 11;
constexpr std::uint32_t kOutput = 12;
constexpr std::uint32_t kValueInfo = 13;
constexpr std::uint32_t kQuantization = 14;
constexpr std::uint32_t kSparseInitializer = 15;
constexpr std::uint32_t kMetadata = 16;
}  // namespace graph_fields

namespace node_fields {
constexpr std::uint32_t kInput = 1;
constexpr std::uint32_t kOutput = 2;
constexpr std::uint32_t kName = 3;
constexpr std::uint32_t kOpType = 4;
constexpr std::uint32_t kDomain = 7;
constexpr std::uint32_t kDevices = 10;
}  // namespace node_fields

}  // namespace xflow::onnx_io
