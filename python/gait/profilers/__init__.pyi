# SPDX-License-Identifier: Apache-2.0
from .advanced import Advanced as Advanced
from .pytorch import PyTorch as PyTorch
from .simple import Simple as Simple

def by_name(name: str, **options: object) -> Simple | Advanced | PyTorch: ...
