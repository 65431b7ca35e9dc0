// The models, one file a family. Each is built at a scale; at 1 it has the sizes that its paper has.
#pragma once

#include <span>
#include <string_view>

#include "bench/models/blocks.h"

namespace xflow::bench {

struct Family {
  std::string_view name;
  std::string_view summary;  // one line
  Model (*build)(const Scale& scale);
};

// All, by name.
std::span<const Family> families();

Model alexnet(const Scale& scale);
Model bert(const Scale& scale);
Model bert_classifier(const Scale& scale);
Model hifigan(const Scale& scale);
Model inception_v3(const Scale& scale);
Model llama_lora(const Scale& scale);
Model mobilenet_v3_large(const Scale& scale);
Model mobilenet_v3_small(const Scale& scale);
Model nasnet_a(const Scale& scale);
Model nasrnn(const Scale& scale);
Model nmt(const Scale& scale);
Model resnet50(const Scale& scale);
Model resnext50(const Scale& scale);
Model rnnlm(const Scale& scale);
Model rnntc(const Scale& scale);
Model squeezenet(const Scale& scale);
Model unet(const Scale& scale);
Model vae_decoder(const Scale& scale);
Model vgg19(const Scale& scale);
Model vit(const Scale& scale);
Model vit_b16(const Scale& scale);
Model whisper(const Scale& scale);
Model yolov8n(const Scale& scale);

}  // namespace xflow::bench
