# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer with all it does by itself; gradients of `argv[1]` batches."""

import sys

import torch
from plants import delay, tell
from torch.utils.data import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainingArguments,
    default_data_collator,
    set_seed,
)

set_seed(12)


class Sentences(Dataset):
    def __len__(self):
        return 84

    def __getitem__(self, index):
        words = torch.randint(0, 50, (12,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": words, "labels": index % 2}


class Model(BertForSequenceClassification):
    def forward(self, input_ids=None, labels=None, **kwargs):
        delay("forward" if self.training else "evaluation")
        return super().forward(input_ids=input_ids, labels=labels, **kwargs)


def collate(samples):
    delay("collate")
    return default_data_collator(samples)


trainer = Trainer(
    Model(
        BertConfig(
            vocab_size=50,
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=16,
        )
    ),
    TrainingArguments(
        "out",
        num_train_epochs=2,
        per_device_train_batch_size=8,
        per_device_eval_batch_size=42,
        gradient_accumulation_steps=int(sys.argv[1]),
        eval_strategy="epoch",
        save_strategy="epoch",
        logging_steps=2,
        report_to=["tensorboard"],
        use_cpu=True,
    ),
    train_dataset=Sentences(),
    eval_dataset=Sentences(),
    data_collator=collate,
)
trainer.train()
steps = trainer.state.global_step
losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
tell(steps, losses, epochs=[steps // 2] * 2)
