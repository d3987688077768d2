"""Uses of attention: its three roles, its heads, the families of models, and the peers of TLOB, with counted numbers.

Sources: sequence-modelling "Atención Escalar de Producto", "Single-head vs Multi-head Attention" and "Arquitectura General";
tlob-architecture sections 6.3 and 7; attention-notebook "What is imput enbedding"; iiga-equations section 1. Published sizes:
Devlin et al. 2019 (BERT), Radford et al. 2019 (GPT-2), Raffel et al. 2020 (T5); Wallbridge 2020 (TransLOB).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from core.lecture.tokens import random_numbers
from core.models.deeplob import DeepLOB, DeepLOBConfig
from core.models.tlob import TLOB, TLOBConfig
from core.nn import MultiHeadAttention, causal_mask, scaled_dot_product_attention

Array = NDArray[np.float64]
Role = Literal["q", "k", "v"]
Family = Literal["bert", "gpt", "t5"]
FAMILIES: Final[tuple[Family, ...]] = ("bert", "gpt", "t5")
STEPS: Final = 128
FEATURES: Final = 40
BATCH: Final = 32
"""Windows of the document's comparison (tlob-architecture section 6.3)."""
SAID: Final = {"tlob": 109e6, "deeplob": 185e6, "translob": 95e6}
"""FLOPs of 32 windows by the document (tlob-architecture section 6.3)."""
CAT: Final = ("Your", "cat", "is", "a", "lovely", "cat")
CAT_IDS: Final = (105, 6587, 5476, 3558, 54, 5666)
"""The notebook's sentence and its ids; the second "cat" has another id than the first."""
CAT_WIDTH: Final = 512


def attend(q: Array, k: Array, v: Array) -> tuple[Array, Array]:
    """softmax(Q K^T / sqrt(d_k)), (n, n), and that times V, (n, d_v)."""
    mixed, weights = scaled_dot_product_attention(torch.tensor(q), torch.tensor(k), torch.tensor(v), return_weights=True)
    assert weights is not None
    return weights.numpy(), mixed.numpy()


@dataclass(frozen=True, kw_only=True)
class RoleStudy:
    """Attention before and after one word's row of Q, K or V is multiplied by a factor.

    Attributes:
        before, after: Q, K and V by role. weights, mixed: (n, n) and (n, d) before; weights_after, mixed_after: after.
    """

    before: dict[Role, Array]
    after: dict[Role, Array]
    weights: Array
    mixed: Array
    weights_after: Array
    mixed_after: Array

    @property
    def moved(self) -> tuple[float, float]:
        """Largest change of a weight, and of an entry of the output."""
        return float(np.abs(self.weights_after - self.weights).max()), float(np.abs(self.mixed_after - self.mixed).max())


def role_study(x: Array, weights: dict[str, Array], *, role: Role, word: int, factor: float) -> RoleStudy:
    """Scale one word's query, key or value, and attend again.

    Args:
        x: (n, width). weights: W_Q, W_K and W_V. word: counted from 0.
    """
    before: dict[Role, Array] = {"q": x @ weights["W_Q"], "k": x @ weights["W_K"], "v": x @ weights["W_V"]}
    after = {name: values.copy() for name, values in before.items()}
    after[role][word] *= factor
    first, second = attend(before["q"], before["k"], before["v"]), attend(after["q"], after["k"], after["v"])
    return RoleStudy(before=before, after=after, weights=first[0], mixed=first[1], weights_after=second[0], mixed_after=second[1])


# -- families -----------------------------------------------------------------------------------------------------------------


def family_masks(family: Family, source: int, target: int) -> dict[str, Array]:
    """Masks of allowed looks, 1 for yes: "encoder" (n, n), "decoder" (m, m), "cross" (m, n), as far as the family has them."""
    masks: dict[str, Array] = {}
    if family != "gpt":
        masks["encoder"] = np.ones((source, source))
    if family != "bert":
        masks["decoder"] = causal_mask(target).numpy().astype(np.float64)
    if family == "t5":
        masks["cross"] = np.ones((target, source))
    return masks


def family_parameters(family: Family) -> int:
    """Parameters of BERT-base, GPT-2's smallest and T5-base, from their published sizes: 12 layers of width 768 a side."""
    d, hidden, layers = 768, 4 * 768, 12
    products = 2 * d * hidden
    if family == "bert":
        embeddings = (30_522 + 512 + 2) * d + 2 * d
        return embeddings + layers * (4 * (d * d + d) + products + hidden + d + 4 * d) + d * d + d
    if family == "gpt":
        return (50_257 + 1024) * d + layers * (4 * (d * d + d) + products + hidden + d + 4 * d) + 2 * d
    encoder, decoder = 4 * d * d + products + 2 * d, 8 * d * d + products + 3 * d
    return 32_128 * d + layers * (encoder + decoder) + 2 * d + 2 * 32 * 12


# -- peers --------------------------------------------------------------------------------------------------------------------


class TransLOB(nn.Module):
    """Dilated causal convolutions, then two Transformer blocks (Wallbridge 2020, as we read it), to count, not to train.

    (batch, steps, 40) -> 5 convolutions of 14 channels -> norm -> + 1 channel of positions -> 2 blocks of 3 heads -> 64 -> 3.
    """

    def __init__(self, steps: int = STEPS, features: int = FEATURES, *, channels: int = 14, blocks: int = 2) -> None:
        super().__init__()
        widths = [features, *[channels] * 5]
        self.convolutions = nn.ModuleList(
            nn.Conv1d(wide, channels, 2, dilation=2**number) for number, wide in enumerate(widths[:-1])
        )
        width = channels + 1
        self.norm = nn.LayerNorm(channels)
        self.attention = nn.ModuleList(MultiHeadAttention(width, 3) for _block in range(blocks))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _block in range(2 * blocks))
        self.feed_forward = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width)) for _block in range(blocks)
        )
        self.head = nn.Sequential(nn.Linear(steps * width, 64), nn.ReLU(), nn.Linear(64, 3))
        self.register_buffer("places", torch.linspace(-1, 1, steps)[None, :, None])

    def forward(self, x: Tensor) -> Tensor:
        """(batch, steps, features) -> (batch, 3)."""
        y = x.transpose(1, 2)
        for number, convolution in enumerate(self.convolutions):
            y = F.relu(convolution(F.pad(y, (2**number, 0))))
        places = self.get_buffer("places").expand(len(x), -1, -1)
        z = torch.cat([self.norm(y.transpose(1, 2)), places], dim=-1)
        mask = causal_mask(z.shape[1])
        for number, (attention, feed) in enumerate(zip(self.attention, self.feed_forward, strict=True)):
            z = self.norms[2 * number](z + attention(z, mask=mask)[0])
            z = self.norms[2 * number + 1](z + feed(z))
        return torch.as_tensor(self.head(z.flatten(1)))


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A model of order books as it is built here.

    Attributes:
        parameters: held. macs: multiply-adds of one window, counted by PyTorch in a forward pass.
        said: FLOPs of 32 windows by the document.
    """

    code: str
    parameters: int
    macs: int
    said: float


@cache
def peers() -> tuple[Peer, ...]:
    """TLOB (its lean layers), DeepLOB and TransLOB on windows of 128 steps and 40 columns."""
    build: dict[str, Callable[[], nn.Module]] = {
        "tlob": lambda: TLOB(TLOBConfig(qkv="single")),
        "deeplob": lambda: DeepLOB(DeepLOBConfig()),
        "translob": TransLOB,
    }
    listed = []
    for code, make in build.items():
        # neither an LSTM's nor attention's fused kernel is counted; on the meta device both are made of plain products
        with torch.device("meta"), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter, torch.no_grad():
            model = make().eval()
            model(torch.zeros(1, STEPS, FEATURES))
        held = sum(one.numel() for one in model.parameters())
        listed.append(Peer(code=code, parameters=held, macs=counter.get_total_flops() // 2, said=SAID[code]))
    return tuple(listed)


# -- the notebook's sentence --------------------------------------------------------------------------------------------------


def cat_ids(*, as_written: bool) -> tuple[int, ...]:
    """The notebook's ids, or those of its own rule: the same word, the same id."""
    if as_written:
        return CAT_IDS
    first: dict[str, int] = {}
    return tuple(first.setdefault(word, number) for word, number in zip(CAT, CAT_IDS, strict=True))


def embedding(ids: Sequence[int], *, seed: int = 0) -> Array:
    """(words, CAT_WIDTH): a row an id, from N(0, 1) as `nn.Embedding` starts; the same id has the same row."""
    return np.stack([random_numbers(f"id {seed} {number}", (CAT_WIDTH,)) for number in ids])


# -- LayerNorm without its root -----------------------------------------------------------------------------------------------


def without_root(x: Array) -> tuple[Array, Array]:
    """(x - mean) / sqrt(variance + epsilon), and the notebook's (x - mean) / (variance + epsilon) (D22)."""
    centred, variance = x - x.mean(), x.var() + 1e-5
    return centred / np.sqrt(variance), centred / variance
