# SPDX-License-Identifier: Apache-2.0
"""Public training programs, and how each is run: nothing here is of theirs.

SOURCE in a command is the folder with the clones, named as their repositories; DATA
that of the made data sets; a program runs in a folder of its own.
"""

import dataclasses
import re
import statistics


@dataclasses.dataclass(frozen=True)
class Program:
    """How a public program is run, and what is known of it."""

    name: str
    kind: str
    command: tuple  # the program and its arguments
    launch: tuple = ()  # what starts it, between `python` and the program
    optimizers: int = 1  # optimizer steps in one step; 0: it has none of torch's
    loader: bool = True  # a DataLoader drives the loop
    batch: int = 0  # samples of a step where no loader tells
    losses: str = ""  # finds what must be printed the same with gait and without
    saved: str = ""  # the file that must be the same byte by byte
    own: object = None  # its output -> (what it measured, the row of the table it stands for)
    env: tuple = ()
    links: tuple = ()  # (name in its folder, what it is a link to)
    folders: tuple = ()  # made before it begins
    processes: int = 1  # that train
    varies: str = ""  # why two runs of it lose differently


def printed(pattern, row, middle=statistics.median_low, scale=1):
    """The middle one, or another figure, of what the program printed as it went on."""

    def own(text):
        found = [float(value) for value in re.findall(pattern, text)]
        return (middle(found) * scale, row) if found else None

    return own


NUMBER = r"(-?\d+\.\d+(?:e[+-]\d+)?)"
HF = (("HF_HUB_OFFLINE", "1"), ("TOKENIZERS_PARALLELISM", "false"))
NANOGPT = (
    "SOURCE/nanoGPT/train.py", "--dataset=gpt", "--device=cpu", "--dtype=float32",
    "--n_layer=2", "--n_head=2", "--n_embd=64", "--block_size=64", "--batch_size=8",
    "--gradient_accumulation_steps=4", "--eval_interval=20", "--eval_iters=5",
    "--log_interval=1",
)  # fmt: skip
NANOGPT_FILES = (
    ("data/gpt", "DATA/gpt"),
    ("configurator.py", "SOURCE/nanoGPT/configurator.py"),
)
HF_NAMES = ("bert-base-cased", "nyu-mll", "glue", "sft", "tiny-llama")
HF_FILES = tuple((name, f"DATA/hf/{name}") for name in HF_NAMES)
NLP = "SOURCE/accelerate/examples/nlp_example.py"
AUTOENCODER = (
    "pytorch/basics/autoencoder.py",  # its data are beside that
    "--trainer.accelerator", "cpu", "--trainer.limit_train_batches", "100",
    "--trainer.limit_val_batches", "20", "--trainer.max_epochs", "3",
)  # fmt: skip
AUTOENCODER_FILES = (
    (AUTOENCODER[0], f"SOURCE/pytorch-lightning/examples/{AUTOENCODER[0]}"),
    ("Datasets", "DATA/mnist60000"),
    ("data", "DATA/mnist60000"),  # Lightning tries torchvision's data there, and takes its own else
)

SFT = (
    "-m", "trl.scripts.sft", "--model_name_or_path", "./tiny-llama", "--dataset_name",
    "./sft", "--output_dir", "out", "--use_cpu", "--per_device_train_batch_size", "8",
    "--num_train_epochs", "2", "--max_length", "64", "--bf16", "False",
    "--eval_strategy", "epoch", "--report_to", "none", "--logging_steps", "5",
    "--save_strategy", "epoch",
)  # fmt: skip

PROGRAMS = (
    Program(
        "mnist", "vision, evaluation after each epoch",
        ("SOURCE/examples/mnist/main.py", "--epochs", "2", "--no-accel", "--save-model"),
        saved="mnist_cnn.pt", losses=rf"[Ll]oss: {NUMBER}", links=(("../data", "DATA/mnist"),),
    ),
    Program(
        "vae", "vision, variational autoencoder",
        ("SOURCE/examples/vae/main.py", "--epochs", "3", "--no-accel"),
        losses=rf"loss: {NUMBER}", links=(("../data", "DATA/mnist"),), folders=("results",),
    ),
    Program(
        "imagenet", "vision, ResNet-18, a worker, logging each step",
        ("SOURCE/examples/imagenet/main.py", "-a", "resnet18", "-b", "8", "-j", "1",
         "--epochs", "1", "-p", "1", "--seed", "1", "DATA/imagenet"),
        losses=r"Loss (\S+)", saved="checkpoint.pth.tar",
        own=printed(r"Epoch: \[0\]\[ *\d+/\d+\]\tTime +(\d+\.\d+)", "p50 ms", scale=1e3),
    ),
    Program(
        "word_language_model", "language, LSTM, updates by hand: no optimizer, no loader",
        ("SOURCE/examples/word_language_model/main.py", "--data", "DATA/wikitext-2",
         "--model", "LSTM", "--emsize", "64", "--nhid", "64", "--epochs", "2",
         "--log-interval", "20"),
        optimizers=0, loader=False, losses=rf"(?:loss|ppl) +{NUMBER}", saved="model.pt",
        own=printed(r"ms/batch +(\d+\.\d+)", "steps/s", lambda ms: 1e3 / statistics.mean(ms)),
    ),
    Program(
        "nanogpt", "language, gradients gathered over four batches, no loader",
        (*NANOGPT, "--compile=False", "--max_iters=40"),
        loader=False, losses=rf"loss {NUMBER}", links=NANOGPT_FILES,
        own=printed(r"time (\d+\.\d+)ms", "p50 ms"),
    ),
    Program(
        "nanogpt_compiled", "torch.compile",
        (*NANOGPT, "--compile=True", "--max_iters=80"),
        loader=False, losses=rf"loss {NUMBER}", links=NANOGPT_FILES,
        own=printed(r"time (\d+\.\d+)ms", "p50 ms"),
        env=(("CLOCK_FORWARD", "compiled"),),
    ),
    Program(
        "mingpt", "language, a loop without an end left by a maximum of steps",
        ("SOURCE/minGPT/projects/adder/adder.py", "--trainer.max_iters=505",
         "--data.ndigit=1", "--trainer.batch_size=16", "--trainer.num_workers=0"),
        losses=rf"loss {NUMBER}", env=(("PYTHONPATH", "SOURCE/minGPT"),),
        own=printed(r"iter_dt (\d+\.\d+)ms", "p50 ms"),
    ),
    Program(
        "dcgan", "GAN, two optimizers",
        ("SOURCE/examples/dcgan/main.py", "--dataset", "folder", "--dataroot", "DATA/faces",
         "--imageSize", "64", "--batchSize", "16", "--ngf", "8", "--ndf", "8", "--niter", "2",
         "--workers", "1", "--manualSeed", "1"),
        optimizers=2, saved="netG_epoch_1.pth", losses=rf"Loss_[DG]: {NUMBER}",
    ),
    Program(
        "cleanrl_ppo", "reinforcement learning, rollouts in training mode",
        ("SOURCE/cleanrl/cleanrl/ppo.py", "--total-timesteps", "8192", "--no-cuda"),
        loader=False, batch=128, losses=r"episodic_return=(\S+)",
    ),
    Program(
        "sb3_ppo", "reinforcement learning, rollouts in eval mode (rl_zoo3)",
        ("-m", "rl_zoo3.train", "--algo", "ppo", "--env", "CartPole-v1", "-n", "6000",
         "--seed", "1", "--device", "cpu", "--eval-freq", "2000"),
        loader=False, losses=r"(?:mean_reward|loss|n_updates) +\| (\S+)",
    ),
    Program(
        "diffusers_ddpm", "diffusion, accelerate, samples and saves at the end",
        ("SOURCE/diffusers/examples/unconditional_image_generation/train_unconditional.py",
         "--train_data_dir", "DATA/faces", "--resolution", "16", "--center_crop",
         "--output_dir", "out", "--train_batch_size", "8", "--num_epochs", "1",
         "--save_images_epochs", "1", "--ddpm_num_steps", "50",
         "--ddpm_num_inference_steps", "5", "--eval_batch_size", "2",
         "--lr_warmup_steps", "5", "--model_config_name_or_path", "DATA/unet",
         "--logger", "tensorboard"),
        env=(*HF, ("CLOCK_ACCELERATE", "1")),
    ),
    Program(
        "trl_sft", "fine-tuning a causal model with Hugging Face's Trainer",
        SFT,
        losses=r"'(?:eval_)?loss': '(\S+)'", saved="out/model.safetensors",
        env=(*HF, ("CLOCK_ACCELERATE", "1")), links=HF_FILES,
        own=printed(r"'train_samples_per_second': '(\S+)'", "samples/s"),
    ),
    Program(
        "accelerate_nlp", "fine-tuning BERT with accelerate", (NLP, "--cpu"),
        losses=r"accuracy': (\S+)", env=(*HF, ("CLOCK_ACCELERATE", "1")), links=HF_FILES,
    ),
    Program(
        "accelerate_bf16", "mixed precision: bf16 autocast",
        (NLP, "--cpu", "--mixed_precision", "bf16"),
        losses=r"accuracy': (\S+)", env=(*HF, ("CLOCK_ACCELERATE", "1")), links=HF_FILES,
    ),
    Program(
        "accelerate_ddp", "DDP on gloo, two processes", (NLP, "--cpu"),
        processes=2, launch=("-m", "torch.distributed.run", "--nproc_per_node", "2"),
        losses=r"accuracy': (\S+)", env=(*HF, ("CLOCK_ACCELERATE", "1")), links=HF_FILES,
    ),
    Program(
        "lightning", "Lightning's command line, fit, test and predict", AUTOENCODER,
        losses=r"(?:test_loss_epoch|test_loss).* (\d+\.\d+)", links=AUTOENCODER_FILES,
    ),
    Program(
        "fsdp2", "FSDP on gloo, two processes",
        ("HERE/cpu_as_accelerator.py", "SOURCE/examples/distributed/FSDP2/example.py"),
        processes=2, launch=("-m", "torch.distributed.run", "--nproc_per_node", "2"),
        loader=False, batch=32,
    ),
    Program(
        "timm", "vision, timm's train.py, two persistent workers, evaluation and checkpoints",
        ("SOURCE/timm/train.py", "--data-dir", "DATA/imagenet", "--model", "resnet18",
         "--num-classes", "2", "--img-size", "64", "-b", "8", "-j", "2", "--epochs", "3",
         "--warmup-epochs", "0", "--device", "cpu", "--log-interval", "1", "--output", "out"),
        losses=rf"Loss: {NUMBER}", env=(("CLOCK_TIMM", "1"),),
        own=printed(r"Time: \S+ +\((\d+\.\d+)s", "p50 ms", scale=1e3),
    ),
    Program(
        "fastai_tabular", "fastai's learner, its own loader and optimizer",
        ("SOURCE/fastai/nbs/examples/train_tabular.py",),
        losses=rf"{NUMBER}", env=(("CLOCK_FASTAI", "1"), ("FASTAI_HOME", "DATA/fastai")),
        varies="it sets no seed",
    ),
    Program(
        "keras_fit", "Keras on torch: fit with validation, its own optimizer",
        ("HERE/made_mnist.py", "SOURCE/keras/examples/demo_mnist_convnet.py"),
        losses=rf"loss: {NUMBER}", varies="it sets no seed",
        env=(("KERAS_BACKEND", "torch"), ("KERAS_HOME", "DATA/keras"), ("CLOCK_KERAS", "1")),
        own=printed(r"(\d+)ms/step", "p50 ms"),
    ),
    Program(
        "trl_workers", "Hugging Face's Trainer with two persistent workers",
        (*SFT, "--dataloader_num_workers", "2", "--dataloader_persistent_workers", "True"),
        losses=r"'(?:eval_)?loss': '(\S+)'", saved="out/model.safetensors",
        env=(*HF, ("CLOCK_ACCELERATE", "1")), links=HF_FILES,
        own=printed(r"'train_samples_per_second': '(\S+)'", "samples/s"),
    ),
    Program(
        "hogwild", "two processes train one shared model; the parent tests it",
        ("SOURCE/examples/mnist_hogwild/main.py", "--epochs", "3"),
        losses=rf"Loss: {NUMBER}", links=(("../data", "DATA/mnist"),),
        env=(("CLOCK_CHILDREN", "1"),), processes=2,
        varies="the processes write one model without a lock",
    ),
)  # fmt: skip
