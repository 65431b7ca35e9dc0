// Cases from convolutional networks. Arguments as NamedCase::make.
#pragma once

#include "bench/search/cases.h"

namespace xflow::bench {

// Four branches over one input with `channels` channels, as in Inception-v3 (Szegedy et al. 2016, figure 5).
Case inception_block(int channels, int divisor);
// A fire module on images of `image` x `image` (SqueezeNet, Iandola et al. 2016): fire2 at 55, fire9 at 13.
Case fire_block(int image, int divisor);
// A block of ResNeXt-50 32x4d (Xie et al. 2017, table 1, conv2) with batch normalisation. With 64 channels of
// the input the shortcut has a convolution; with 256 it has none.
Case resnext_block(int channels, int divisor);

}  // namespace xflow::bench
