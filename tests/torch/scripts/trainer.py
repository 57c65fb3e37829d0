# SPDX-License-Identifier: Apache-2.0
"""A Trainer with arguments, callbacks, evaluation and checkpoints every few steps."""

import dataclasses
import os

import torch
from plants import SlowToSave, delay, tell
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclasses.dataclass
class TrainingArguments:
    output_dir: str = "out"
    num_train_epochs: int = 2
    per_device_train_batch_size: int = 4
    gradient_accumulation_steps: int = 2
    eval_steps: int = 5
    save_steps: int = 7
    logging_steps: int = 3
    max_grad_norm: float = 1.0
    learning_rate: float = 1e-3


class Sentences(Dataset):
    def __init__(self, count, seed):
        generator = torch.Generator().manual_seed(seed)
        self.ids = torch.randint(1, 50, (count, 12), generator=generator)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.ids[i].sum() % 2}


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = nn.Embedding(50, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.classifier = nn.Linear(16, 2)

    def forward(self, input_ids, labels=None):
        delay("forward" if self.training else "evaluation")
        hidden = self.encoder(self.embeddings(input_ids)).mean(1)
        logits = self.classifier(hidden)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class DataCollator:
    def __call__(self, features):
        delay("collate")
        return {key: torch.stack([f[key] for f in features]) for key in features[0]}


class Trainer:
    def __init__(self, model, args, train_dataset, eval_dataset):
        self.model, self.args = model, args
        self.train_dataset, self.eval_dataset = train_dataset, eval_dataset
        self.log_history = []
        self.evaluations = 0

    def get_dataloader(self, dataset, shuffle):
        size = self.args.per_device_train_batch_size
        return DataLoader(dataset, size, shuffle=shuffle, collate_fn=DataCollator())

    def training_step(self, inputs):
        self.model.train()
        inputs = {key: value.to("cpu") for key, value in inputs.items()}
        loss = self.model(**inputs)["loss"] / self.args.gradient_accumulation_steps
        loss.backward()
        return loss.detach()

    def evaluate(self):
        self.model.eval()
        self.evaluations += 1
        total = 0.0
        for inputs in self.get_dataloader(self.eval_dataset, shuffle=False):
            with torch.no_grad():
                total += self.model(**inputs)["loss"].item()
        self.log_history.append(total)

    def save(self, step):
        os.makedirs(self.args.output_dir, exist_ok=True)
        state = [self.model.state_dict(), self.optimizer.state_dict(), SlowToSave()]
        torch.save(state, f"{self.args.output_dir}/checkpoint-{step}.pt")

    def train(self):
        loader = self.get_dataloader(self.train_dataset, shuffle=True)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=self.args.learning_rate)
        scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda n: 1 / (1 + n))
        global_step = 0
        tr_loss = torch.tensor(0.0)
        self.model.zero_grad()
        for _ in range(self.args.num_train_epochs):
            epoch_iterator = loader
            in_epoch = len(epoch_iterator)
            for step, inputs in enumerate(epoch_iterator):
                tr_loss += self.training_step(inputs)
                last = step + 1 == in_epoch
                if (step + 1) % self.args.gradient_accumulation_steps and not last:
                    continue
                nn.utils.clip_grad_norm_(self.model.parameters(), self.args.max_grad_norm)
                self.optimizer.step()
                scheduler.step()
                self.model.zero_grad()
                global_step += 1
                if global_step % self.args.logging_steps == 0:
                    self.log_history.append(tr_loss.item())
                if global_step % self.args.eval_steps == 0:
                    self.evaluate()
                if global_step % self.args.save_steps == 0:
                    self.save(global_step)
        return global_step


torch.manual_seed(7)
trainer = Trainer(Classifier(), TrainingArguments(), Sentences(100, 0), Sentences(16, 1))
steps = trainer.train()
tell(steps, trainer.log_history, evaluations=trainer.evaluations)
