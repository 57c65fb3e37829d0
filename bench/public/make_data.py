#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the data sets and weights that public_programs.py needs: random, small, always the same.

usage: make_data.py FOLDER
"""

import json
import os
import pathlib
import pickle
import random
import struct
import sys

import numpy

random_numbers = numpy.random.default_rng(0)
WORDS = [f"w{number}" for number in range(300)]
MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<s>", "</s>"]
MRPC = """---
configs:
- config_name: mrpc
  data_files:
  - split: train
    path: train.jsonl
  - split: validation
    path: validation.jsonl
---
"""
METRIC = """
import datasets
import evaluate


class Glue(evaluate.Metric):
    def _info(self):
        number = datasets.Value("int64")
        features = datasets.Features({"predictions": number, "references": number})
        return evaluate.MetricInfo(
            description="share of right answers", citation="", features=features
        )

    def _compute(self, predictions, references):
        right = sum(a == b for a, b in zip(predictions, references))
        return {"accuracy": right / len(references)}
"""


def sentence(words):
    return " ".join(random.choice(WORDS) for _ in range(words))


def write_mnist(folder, train, test):
    folder = folder / "MNIST/raw"
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", train), ("t10k", test)):
        images = random_numbers.integers(0, 256, (count, 28, 28), dtype=numpy.uint8)
        labels = random_numbers.integers(0, 10, count, dtype=numpy.uint8)
        for what, values in (("images-idx3", images), ("labels-idx1", labels)):
            head = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
            (folder / f"{name}-{what}-ubyte").write_bytes(head + values.tobytes())


def write_keras_mnist(path, train, test):
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {}
    for name, count in (("train", train), ("test", test)):
        arrays[f"x_{name}"] = random_numbers.integers(0, 256, (count, 28, 28), dtype=numpy.uint8)
        arrays[f"y_{name}"] = random_numbers.integers(0, 10, count, dtype=numpy.uint8)
    numpy.savez(path, **arrays)


def write_adults(folder, count):
    """ADULT_SAMPLE's form, as fastai finds it when it has been downloaded."""
    folder.mkdir(parents=True, exist_ok=True)
    words = ("workclass", "education", "marital-status", "occupation", "relationship", "race")
    numbers = ("age", "fnlwgt", "education-num")
    lines = [",".join((*words, *numbers, "salary"))]
    for _ in range(count):
        row = [random.choice(WORDS[:9]) for _ in words]
        row += [str(random.randint(1, 90)) for _ in numbers]
        lines.append(",".join((*row, random.choice(("<50k", ">=50k")))))
    (folder / "adult.csv").write_text("\n".join(lines) + "\n")


def write_images(folder, count, size):
    from PIL import Image

    for label in ("a", "b"):
        (folder / label).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            pixels = random_numbers.integers(0, 256, (size, size, 3), dtype=numpy.uint8)
            Image.fromarray(pixels).save(folder / label / f"{number}.jpg")


def write_texts(folder):
    for split, lines in (("train", 3000), ("valid", 300), ("test", 300)):
        (folder / "wikitext-2").mkdir(parents=True, exist_ok=True)
        text = "".join(sentence(19) + "\n" for _ in range(lines))
        (folder / f"wikitext-2/{split}.txt").write_text(text)
    (folder / "gpt").mkdir(parents=True, exist_ok=True)
    for split, count in (("train", 200000), ("val", 20000)):
        tokens = random_numbers.integers(0, 64, count).astype(numpy.uint16)
        tokens.tofile(folder / f"gpt/{split}.bin")
    (folder / "gpt/meta.pkl").write_bytes(pickle.dumps({"vocab_size": 64}))


def write_rows(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_sentences(folder):
    """MRPC's form under the name by which it is asked for, its metric, and a set of texts."""
    for split, count in (("train", 400), ("validation", 80)):
        pairs = [
            {"sentence1": sentence(20), "sentence2": sentence(random.randint(10, 30))}
            | {"label": number % 2, "idx": number}
            for number in range(count)
        ]
        write_rows(folder / f"nyu-mll/glue/{split}.jsonl", pairs)
    (folder / "nyu-mll/glue/README.md").write_text(MRPC)
    (folder / "glue").mkdir(exist_ok=True)
    (folder / "glue/glue.py").write_text(METRIC)
    for split, count in (("train", 320), ("test", 32)):
        texts = [{"text": sentence(random.randint(40, 60))} for _ in range(count)]
        write_rows(folder / f"sft/{split}.jsonl", texts)


def save_model(path, model, post_processor, **special):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    numbers = {word: number for number, word in enumerate(MARKS + WORDS)}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if post_processor:
        tokenizer.post_processor = post_processor
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", **special
    )
    fast.save_pretrained(path)
    model.save_pretrained(path)


def write_models(folder):
    import torch
    import transformers as t
    from tokenizers import processors

    torch.manual_seed(0)
    sizes = {"vocab_size": 320, "hidden_size": 64, "intermediate_size": 128}
    sizes |= {"num_hidden_layers": 2, "num_attention_heads": 2}
    pair = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    bert = t.BertForSequenceClassification(t.BertConfig(max_position_embeddings=128, **sizes))
    marks = {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    save_model(folder / "bert-base-cased", bert, pair, model_max_length=128, **marks)
    ends = {"bos_token_id": 5, "eos_token_id": 6, "pad_token_id": 0}
    llama = t.LlamaConfig(num_key_value_heads=2, max_position_embeddings=256, **sizes, **ends)
    llama = t.LlamaForCausalLM(llama)
    save_model(folder / "tiny-llama", llama, None, bos_token="<s>", eos_token="</s>")


def write_unet(folder):
    from diffusers import UNet2DModel

    down, up = ("DownBlock2D", "AttnDownBlock2D"), ("AttnUpBlock2D", "UpBlock2D")
    unet = UNet2DModel(
        sample_size=16, layers_per_block=1, block_out_channels=(16, 32), norm_num_groups=8,
        down_block_types=down, up_block_types=up,
    )  # fmt: skip
    unet.save_config(folder)


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    random.seed(0)
    write_mnist(folder / "mnist", 1024, 256)
    write_mnist(folder / "mnist60000", 60000, 1024)  # Lightning's example splits 55,000 and 5,000
    write_images(folder / "faces", 64, 64)
    write_images(folder / "imagenet/train", 24, 256)
    write_images(folder / "imagenet/val", 8, 256)
    write_texts(folder)
    write_keras_mnist(folder / "keras/datasets/mnist.npz", 2048, 512)
    write_adults(folder / "fastai/data/adult_sample", 1280)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    for write, where in (
        (write_sentences, folder / "hf"),
        (write_models, folder / "hf"),
        (write_unet, folder / "unet"),
    ):
        try:
            write(where)
        except ImportError as error:
            print(f"{where}: skipped: {error}")


if __name__ == "__main__":
    main()
