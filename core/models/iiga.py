"""IIGA: intra-gloss and inter-gloss attention over the frames of a signed sentence (iiga-equations sections 2 to 10).

    frames (batch, T, H, W, 3) -> MobileNetV2 a frame --.
    tracks (batch, T, features) -> temporal convolution --+-> + positions -> L x [intra, FFN, inter, FFN] -> (batch, T, V)

Index 0 of the vocabulary is CTC's blank (D18); T is any length (D19).
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from core.messages import BadValue, compose
from core.models.config import AttentionConfig, need_one
from core.models.mobilenet import IMAGE_MEAN, IMAGE_STD, LAST_CHANNELS, MobileNetV2
from core.nn import AttentionMaps, FeedForward, MultiHeadAttention, padding_mask, sinusoidal_encoding, window_mask

Front = Literal["frames", "tracks"]
Residual = Literal["norm_of_sum", "sum_of_norm"]


@dataclass(frozen=True, kw_only=True)
class IIGAConfig(AttentionConfig):
    """Everything that shapes the network; the defaults are the document's, but for the window, which it leaves open.

    Attributes:
        front: "frames" for pictures, "tracks" for tracked positions (hands, nose) a frame.
        vocabulary: V, glosses and the blank.
        width: D. heads: N. layers: L, each an intra-gloss and an inter-gloss attention with a FFN each (D16).
        window: w, frames to either side that intra-gloss attention sees.
        expansion: hidden size of a FFN over D.
        residual: "norm_of_sum" is LayerNorm(x + Sublayer(x)) of section 9, which counts (D15);
            "sum_of_norm" is x + LayerNorm(Sublayer(x)) of section 7, kept for teaching.
        dropout: inside the FFNs and on what each sub-layer adds.
        image_size: height and width of a frame. width_multiplier, image_channels, stem_stride: of MobileNetV2.
        track_features: numbers a frame. track_kernel: frames that its convolution spans (odd). track_convolutions: how many.
    """

    model: ClassVar[str] = "iiga"
    front: Front = "frames"
    vocabulary: int = 1232
    width: int = 1280
    heads: int = 8
    layers: int = 2
    window: int = 3
    expansion: int = 4
    residual: Residual = "norm_of_sum"
    dropout: float = 0.1
    image_size: int = 224
    width_multiplier: float = 1.0
    image_channels: int = LAST_CHANNELS
    stem_stride: int = 2
    track_features: int = 6
    track_kernel: int = 5
    track_convolutions: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        need_one(self, "width", "heads", "layers", "expansion", "image_size", "track_features")
        if self.vocabulary < 2:
            raise BadValue(
                "a vocabulary of {vocabulary} holds no gloss beside the blank: it takes 2 or more", vocabulary=self.vocabulary
            )
        if self.window < 0 or self.track_kernel % 2 == 0 or self.track_convolutions < 1:
            raise ValueError(compose("the window must be 0 or more, the track kernel odd, and its convolutions 1 or more"))

    def example_inputs(self, length: int) -> tuple[Tensor, ...]:
        """One clip of `length` frames."""
        return (torch.zeros(1, length, *self.frame_shape),)

    @property
    def frame_shape(self) -> tuple[int, ...]:
        """Of one frame: (height, width, 3), or (features,) of tracks."""
        return (self.image_size, self.image_size, 3) if self.front == "frames" else (self.track_features,)


DOCUMENT = IIGAConfig()
"""The document's configuration: D 1280, N 8, L 2, V 1232, 224 x 224."""


class FrameEncoder(nn.Module):
    """A picture to a vector: MobileNetV2, and a linear map where its channels are not the model's width."""

    mean: Tensor
    std: Tensor

    def __init__(self, config: IIGAConfig) -> None:
        super().__init__()
        self.cnn = MobileNetV2(
            width_multiplier=config.width_multiplier, last_channels=config.image_channels, stem_stride=config.stem_stride
        )
        same = config.image_channels == config.width
        self.project: nn.Module = nn.Identity() if same else nn.Linear(config.image_channels, config.width)
        self.register_buffer("mean", torch.tensor(IMAGE_MEAN), persistent=False)
        self.register_buffer("std", torch.tensor(IMAGE_STD), persistent=False)

    def pictures(self, x: Tensor) -> Tensor:
        """(n, H, W, 3), uint8 or 0 to 1 -> (n, 3, H, W) as the convolutions expect it."""
        x = x / 255.0 if x.dtype == torch.uint8 else x
        return ((x - self.mean) / self.std).permute(0, 3, 1, 2)  # (n, H, W, 3) -> (n, 3, H, W)

    def forward(self, x: Tensor, seen: Tensor | None) -> Tensor:
        """(batch, T, H, W, 3) and which frames are there (batch, T), all where None -> (batch, T, width).

        Padding never reaches the convolutions, whose batch norm would count it.
        """
        if seen is None:
            pictures = x.flatten(0, 1)  # (batch, T, H, W, 3) -> (batch * T, H, W, 3)
            features = self.project(self.cnn(self.pictures(pictures)))  # (batch * T, width)
            return features.unflatten(0, x.shape[:2])  # (batch, T, width)
        features = self.project(self.cnn(self.pictures(x[seen])))  # (frames that are there, width)
        y = features.new_zeros(*seen.shape, features.shape[-1])  # (batch, T, width)
        y[seen] = features
        return y


class TrackEncoder(nn.Module):
    """Tracked positions to vectors: convolutions over time, each with LayerNorm, ReLU and dropout."""

    def __init__(self, config: IIGAConfig) -> None:
        super().__init__()
        sizes = [config.track_features, *[config.width] * config.track_convolutions]
        kernel = config.track_kernel
        self.convolutions = nn.ModuleList(
            nn.Conv1d(before, after, kernel, padding=kernel // 2) for before, after in pairwise(sizes)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(size) for size in sizes[1:])
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, seen: Tensor | None) -> Tensor:
        """(batch, T, features) and which frames are there (batch, T), all where None -> (batch, T, width)."""
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            if seen is not None:
                x = x.masked_fill(~seen[..., None], 0.0)  # what lies past the end counts as the zeros that pad the convolution
            y = convolution(x.transpose(1, 2))  # (batch, T, channels) -> (batch, channels, T) -> (batch, width, T)
            x = self.dropout(norm(y.transpose(1, 2)).relu())  # (batch, width, T) -> (batch, T, width)
        return x


class IIGASublayer(nn.Module):
    """One attention and its FFN, each with a residual and a LayerNorm (section 9; D15)."""

    def __init__(self, config: IIGAConfig) -> None:
        super().__init__()
        self.residual = config.residual
        self.attention = MultiHeadAttention(config.width, config.heads)
        self.norm1 = nn.LayerNorm(config.width)
        self.ffn = FeedForward(config.width, config.expansion * config.width, activation="relu", dropout=config.dropout)
        self.norm2 = nn.LayerNorm(config.width)
        self.dropout = nn.Dropout(config.dropout)

    def add(self, x: Tensor, y: Tensor, norm: nn.Module) -> Tensor:
        """LayerNorm(x + y), or section 7's x + LayerNorm(y)."""
        y = self.dropout(y)
        return norm(x + y) if self.residual == "norm_of_sum" else x + norm(y)

    def forward(self, x: Tensor, *, mask: Tensor, return_attention: bool = False) -> tuple[Tensor, Tensor | None]:
        """(batch, T, D) -> the same shape, and the weights (batch, heads, T, T) where asked for."""
        y, weights = self.attention(x, mask=mask, return_attention=return_attention)
        x = self.add(x, y, self.norm1)
        return self.add(x, self.ffn(x), self.norm2), weights


class IIGA(nn.Module):
    """The whole network.

    >>> model = IIGA(IIGAConfig(front="tracks", vocabulary=5, width=16, heads=2))
    >>> model(torch.zeros(2, 30, 6)).shape
    torch.Size([2, 30, 5])
    """

    def __init__(self, config: IIGAConfig = DOCUMENT) -> None:
        super().__init__()
        c = self.config = config
        self.front: FrameEncoder | TrackEncoder = FrameEncoder(c) if c.front == "frames" else TrackEncoder(c)
        self.dropout = nn.Dropout(c.dropout)
        self.layers = nn.ModuleList(IIGASublayer(c) for _ in range(2 * c.layers))
        self.decoder = nn.Linear(c.width, c.vocabulary)
        for module in self.modules():
            if isinstance(module, nn.Linear):  # section 16.2
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    @property
    def layer_names(self) -> list[str]:
        """intra 1, inter 1, intra 2, inter 2, ...: one a sub-layer with attention, in order (D16)."""
        return [f"{kind} {layer}" for layer in range(1, self.config.layers + 1) for kind in ("intra", "inter")]

    def encode(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The front end alone, before positions: (batch, T, ...) -> (batch, T, D)."""
        seen = None if lengths is None else padding_mask(lengths, x.shape[1])[:, 0, 0]  # (batch, 1, 1, T) -> (batch, T)
        encoded: Tensor = self.front(x, seen)
        return encoded

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, *, return_attention: bool = False
    ) -> Tensor | tuple[Tensor, AttentionMaps]:
        """Logits of each frame.

        Args:
            x: (batch, T, H, W, 3) RGB, uint8 or floats of 0 to 1; or (batch, T, features) for tracks.
            lengths: (batch,) frames of each sequence, where shorter ones are padded: what lies past an end changes nothing.
            return_attention: also return each sub-layer's weights by name, (batch, heads, T, T).

        Returns:
            (batch, T, V); index 0 is the blank.

        Raises:
            ValueError: for an input of another shape, or lengths that do not fit it.
        """
        self._check(x, lengths)
        logits, maps = self.attend(self.encode(x, lengths), lengths, return_attention=return_attention)
        return (logits, maps) if return_attention else logits

    def attend(
        self, encoded: Tensor, lengths: Tensor | None = None, *, return_attention: bool = False
    ) -> tuple[Tensor, AttentionMaps]:
        """Everything after the front end: (batch, T, D) of `encode` -> (batch, T, V), and the weights where asked for."""
        steps = encoded.shape[1]
        x = self.dropout(encoded + sinusoidal_encoding(steps, self.config.width).to(encoded))
        whole = torch.ones(1, 1, 1, steps, dtype=torch.bool, device=x.device)
        inter = whole if lengths is None else padding_mask(lengths, steps)  # (batch or 1, 1, 1, T)
        intra = inter & window_mask(steps, self.config.window, device=x.device)  # (batch or 1, 1, T, T)
        maps: AttentionMaps = {}
        for index, (name, layer) in enumerate(zip(self.layer_names, self.layers, strict=True)):
            x, weights = layer(x, mask=inter if index % 2 else intra, return_attention=return_attention)
            if weights is not None:
                maps[name] = weights
        logits: Tensor = self.decoder(x)  # (batch, T, D) -> (batch, T, V)
        return logits, maps

    def _check(self, x: Tensor, lengths: Tensor | None) -> None:
        frame = self.config.frame_shape
        if tuple(x.shape[2:]) != frame or x.ndim != len(frame) + 2 or x.shape[1] < 1:
            shown = ", ".join(map(str, frame))
            raise BadValue(
                "this IIGA takes (batch, T, {shown}) with 1 or more frames, not {found}", shown=shown, found=tuple(x.shape)
            )
        if lengths is not None and (lengths.shape != x.shape[:1] or not bool(((lengths >= 1) & (lengths <= x.shape[1])).all())):
            raise BadValue(
                "lengths must hold one number of 1 to {most} a sequence, not {found}", most=x.shape[1], found=lengths.tolist()
            )


def folded_iiga(model: IIGA) -> IIGA:
    """The network in evaluation with the batch norms of its convolutions multiplied into them, in place; of tracks as it is.

    In evaluation a batch norm is a scale and a shift: a film takes two thirds of the time. Answers differ by a millionth.
    """
    for block in [one for one in model.modules() if isinstance(one, nn.Sequential)]:
        for place in range(len(block) - 1):
            convolution, norm = block[place], block[place + 1]
            if isinstance(convolution, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                block[place], block[place + 1] = fuse_conv_bn_eval(convolution, norm), nn.Identity()
    return model
