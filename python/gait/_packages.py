# SPDX-License-Identifier: Apache-2.0
"""Which Python and which packages a process runs with, for its metadata.

Names of folders tell them: nothing is imported, neither importlib.metadata (25 ms) nor json.
"""

import os
import sys

from . import _native
from ._vocabulary import META_PACKAGES, META_PYTHON

MATTER = frozenset(
    "accelerate bitsandbytes datasets deepspeed fastai flash_attn horovod hydra_core itwinai jax"
    " keras lightning megatron_core mpi4py numpy nvidia_dali nvidia_nccl_cu12 omegaconf peft"
    " pytorch_lightning ray safetensors tensorflow timm tokenizers torch torchaudio torchdata"
    " torchvision transformers triton trl xformers".split()
)
ENDINGS = (".dist-info", ".egg-info")


def installed():
    """{name: version} as sys.path has them; the first of a name counts, as for an import."""
    found: dict[str, str] = {}
    for folder in sys.path:
        try:
            entries = os.listdir(folder or ".")
        except OSError:  # a zip file, or none
            continue
        for entry in entries:
            stem, ending = os.path.splitext(entry)
            if ending in ENDINGS:
                name, _, rest = stem.partition("-")
                name = name.lower().replace(".", "_")
                if name in MATTER and rest:
                    found.setdefault(name.replace("_", "-"), rest.partition("-py")[0])
    return dict(sorted(found.items()))


def quoted(text):
    """As JSON; what folders are named by hardly has more than ASCII."""
    plain = "".join(one for one in text if " " <= one <= "~")
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def tell() -> None:
    """To the recording that has begun, unless its user wants none of this."""
    if os.environ.get("GAIT_METADATA") != "0":
        _native._metadata(META_PYTHON, quoted(".".join(map(str, sys.version_info[:3]))))
        pairs = [f"{quoted(name)}: {quoted(version)}" for name, version in installed().items()]
        _native._metadata(META_PACKAGES, "{" + ", ".join(pairs) + "}")
