#!/usr/bin/env python3
"""Writes examples/shapes/models.json: the parameter shapes of real models, in the order of an optimizer's parameters.

The library of a model (torchvision, timm or transformers) builds it on torch's meta device, which has shapes but no
weights and needs no downloads. If the library is not installed, the model keeps its entry in the file.

    pip install torch torchvision timm transformers
    tools/model_shapes.py              rewrite the file
    tools/model_shapes.py --list       list the models of the file with their numbers of tensors and parameters
    tools/model_shapes.py --format F   copy the models of F, a shapes file, into the file

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import json
import math
import os
import sys

FILE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "examples", "shapes", "models.json")


def dcgan():
    """The DCGAN generator: 64 x 64 RGB images from 100 latent values, 64 features."""
    from torch import nn

    widths, layers = [512, 256, 128, 64], []
    channels = 100
    for width in widths:
        layers += [nn.ConvTranspose2d(channels, width, 4, bias=False), nn.BatchNorm2d(width)]
        channels = width
    return nn.Sequential(*layers, nn.ConvTranspose2d(channels, 3, 4, bias=False))


def torchvision_model(name):
    def build():
        import torchvision

        return torchvision.models.get_model(name, weights=None)

    return build


def timm_model(name):
    def build():
        import timm

        return timm.create_model(name, pretrained=False)

    return build


def transformers_model(model, config, **settings):
    def build():
        import transformers

        return getattr(transformers, model)(getattr(transformers, config)(**settings))

    return build


MODELS = {
    "dcgan": dcgan,
    "ghostnet_100": timm_model("ghostnet_100"),
    "mobilenetv3_large_100": timm_model("mobilenetv3_large_100"),
    "resnet50": torchvision_model("resnet50"),
    "vit_base_patch16_224": timm_model("vit_base_patch16_224"),
    "bert-large": transformers_model(
        "BertModel", "BertConfig", hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
        intermediate_size=4096),
    "xglm-564m": transformers_model(
        "XGLMForCausalLM", "XGLMConfig", vocab_size=256008, d_model=1024, ffn_dim=4096, num_layers=24,
        attention_heads=16),
    "gpt2-xl": transformers_model("GPT2LMHeadModel", "GPT2Config", n_embd=1600, n_layer=48, n_head=25),
    "llama-1b": transformers_model(
        "LlamaForCausalLM", "LlamaConfig", vocab_size=128256, hidden_size=2048, intermediate_size=8192,
        num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8, tie_word_embeddings=True),
    "efficientnet_b0": timm_model("efficientnet_b0"),
    "densenet121": timm_model("densenet121"),
    "swin_tiny_patch4_window7_224": timm_model("swin_tiny_patch4_window7_224"),
    "convnext_tiny": timm_model("convnext_tiny"),
    "mixer_b16_224": timm_model("mixer_b16_224"),
    "t5-base": transformers_model(
        "T5ForConditionalGeneration", "T5Config", d_model=768, d_kv=64, d_ff=3072, num_layers=12, num_heads=12),
    "whisper-small": transformers_model(
        "WhisperForConditionalGeneration", "WhisperConfig", d_model=768, encoder_layers=12, decoder_layers=12,
        encoder_attention_heads=12, decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072),
    "llama-8b": transformers_model(
        "LlamaForCausalLM", "LlamaConfig", vocab_size=128256, hidden_size=4096, intermediate_size=14336,
        num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8),
}


def read(path):
    try:
        with open(path) as file:
            return json.load(file)
    except FileNotFoundError:
        return {}


def write(models, path=FILE):
    """Writes one model per line, so that a change of a model is a change of one line."""
    lines = [f" {json.dumps(name)}: {json.dumps(shapes, separators=(',', ':'))}" for name, shapes in models.items()]
    with open(path, "w") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


def build(name, builder):
    import torch

    with torch.device("meta"):
        # parameters() yields a weight that two layers share only once, as for an optimizer.
        return [list(parameter.shape) for parameter in builder().parameters() if parameter.requires_grad]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="list the models of the file")
    parser.add_argument("--format", metavar="FILE", help="copy the models of FILE into the file")
    options = parser.parse_args()
    models = read(FILE)
    if options.list:
        for name, shapes in models.items():
            print(f"{name:24} {len(shapes):4} tensors {sum(map(math.prod, shapes)):14,} parameters")
        return 0
    if options.format:
        write(read(options.format))
        return 0
    result, code = {}, 0
    for name, builder in MODELS.items():
        try:
            result[name] = build(name, builder)
            state = "unchanged" if result[name] == models.get(name) else "rewritten"
        except ImportError as error:
            state = f"kept ({error})"
            if name in models:
                result[name] = models[name]
            else:
                state, code = f"missing ({error})", 1
        print(f"{name:24} {state}")
    for name in models:
        result.setdefault(name, models[name])
    write(result)
    return code


if __name__ == "__main__":
    sys.exit(main())
