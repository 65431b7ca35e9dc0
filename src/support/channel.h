// Byte stream to and from a runner.
#pragma once

#include <xflow/error.h>

#include <span>
#include <string_view>

namespace xflow::cost::runner {

class Channel {
 public:
  Channel() = default;
  virtual ~Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Transfers all bytes within `seconds`. Errors: io if the other side has ended, limit if the transfer
  // takes longer. The channel must not be used after an error.
  virtual Result<void> write(std::string_view bytes, double seconds) = 0;
  virtual Result<void> read(std::span<char> bytes, double seconds) = 0;
};

}  // namespace xflow::cost::runner
