#include "bench/models/families.h"

#include <array>

namespace xflow::bench {

std::span<const Family> families() {
  static constexpr std::array kFamilies{
      Family{"alexnet", "AlexNet on one device: 224 x 224, 5 convolutions, 3 products", alexnet},
      Family{"bert", "BERT: 8 layers, sequence 64, hidden 1024, 16 heads, no softmax", bert},
      Family{"bert_classifier", "a BERT-base classifier: 12 layers, sequence 128, hidden 768, 12 heads, of the first token",
             bert_classifier},
      Family{"hifigan", "the generator of HiFi-GAN V1: 32 frames to 8,192 samples, 1D, dilated, transposed convolutions", hifigan},
      Family{"inception_v3", "Inception-v3: 299 x 299, no auxiliary classifier", inception_v3},
      Family{"llama_lora", "a LLaMA 3 8B block: sequence 128, grouped-query attention, LoRA of rank 16 on its projections", llama_lora},
      Family{"mobilenet_v3_large", "MobileNetV3-Large: 224 x 224, squeeze-and-excitation, hard swish", mobilenet_v3_large},
      Family{"mobilenet_v3_small", "MobileNetV3-Small: 224 x 224, squeeze-and-excitation, hard swish", mobilenet_v3_small},
      Family{"nasnet_a", "NASNet-A (4 @ 1056), the mobile variant: 224 x 224", nasnet_a},
      Family{"nasrnn", "NasRNN: 5 steps, 8 gates, hidden 512, batch 1", nasrnn},
      Family{"nmt", "a translator: 2 + 2 LSTM layers with attention, hidden 1024, 40 steps, 32,000 words", nmt},
      Family{"resnet50", "ResNet-50: 224 x 224", resnet50},
      Family{"resnext50", "ResNeXt-50 (32x4d): 224 x 224, grouped convolutions", resnext50},
      Family{"rnnlm", "a language model: 2 LSTM layers, hidden 2048, 40 steps, 10,000 words", rnnlm},
      Family{"rnntc", "a text classifier: 4 LSTM layers, hidden 1024, 40 steps", rnntc},
      Family{"squeezenet", "SqueezeNet 1.1: 224 x 224", squeezenet},
      Family{"unet", "U-Net: 512 x 512, padded, batch normalisation, transposed convolutions", unet},
      Family{"vae_decoder", "the decoder of Stable Diffusion's autoencoder: 256 x 256, nearest upsampling, group normalisation",
             vae_decoder},
      Family{"vgg19", "VGG-19: 224 x 224", vgg19},
      Family{"vit", "a ViT-B/16 block: 197 tokens, hidden 768, one product for queries, keys and values", vit},
      Family{"vit_b16", "ViT-B/16: 224 x 224, 12 blocks, a classifier of the class token", vit_b16},
      Family{"whisper", "a Whisper base encoder block: sequence 1500, hidden 512, keys without bias", whisper},
      Family{"yolov8n", "YOLOv8-n: 640 x 640, nearest upsampling, boxes decoded", yolov8n},
  };
  return kFamilies;
}

}  // namespace xflow::bench
