// Bytes to and from a runner.
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

  // All bytes, in at most `seconds`. Errors: io if the other side has ended, limit if it takes longer. After an error the channel is of no
  // use any more.
  virtual Result<void> write(std::string_view bytes, double seconds) = 0;
  virtual Result<void> read(std::span<char> bytes, double seconds) = 0;
};

}  // namespace xflow::cost::runner
