"""The Vision Transformer of the garments (vit-report section 1; Dosovitskiy et al. 2021), post-norm (D12).

image (batch, 1, 28, 28) -> p x p patches -> Linear -> class token first -> + 0.1 * positions
-> layers x [LayerNorm(x + attention(x)), LayerNorm(x + FFN(x))] -> Linear on the class token -> logits
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, cast

import torch
from torch import Tensor, nn

from core.messages import N_, BadValue
from core.models.config import AttentionConfig, need_one
from core.nn import AttentionMaps, EncoderLayer, SinusoidalPositions, after_layers

CLASSES = (
    N_("T-shirt/top"),
    N_("Trouser"),
    N_("Pullover"),
    N_("Dress"),
    N_("Coat"),
    N_("Sandal"),
    N_("Shirt"),
    N_("Sneaker"),
    N_("Bag"),
    N_("Ankle boot"),
)
"""Fashion-MNIST's classes, in the order of its labels 0 to 9."""

CHUNK = 16
"""Images at a time in prediction on a processor: more would leave its cache between two operations."""


@dataclass(frozen=True, kw_only=True)
class ViTConfig(AttentionConfig):
    """Everything that shapes the network; what the report never gives (width, heads, layers, dropout) was chosen here (D12).

    Attributes:
        side: height and width of an image, pixels.
        patch: height and width of a patch, pixels; must divide `side`.
        width: channels of a token (d_model).
        heads: attention heads a layer; must divide `width`.
        layers: encoder layers.
        hidden: middle width of a layer's feed-forward network.
        classes: outputs.
        position_scale: factor on the sinusoidal positions; the report's 0.1 (D11).
        dropout: inside the feed-forward networks, and on what each sublayer adds.
        colours: channels of an image.
        start: weights before training: "plain", or "local" (`lab.training.vit`). Without effect on the built network.
    """

    model: ClassVar[str] = "vit"
    colours: ClassVar[int] = 1
    side: int = 28
    patch: int = 4
    width: int = 128
    heads: int = 4
    layers: int = 6
    hidden: int = 256
    classes: int = 10
    position_scale: float = 0.1
    dropout: float = 0.0
    start: Literal["plain", "local"] = "plain"

    def __post_init__(self) -> None:
        super().__post_init__()
        need_one(self, "side", "patch", "width", "heads", "layers", "hidden", "classes")
        if self.side % self.patch:
            raise BadValue(
                "patches of {patch} pixels do not tile an image of {side}: take a divisor of {side}",
                patch=self.patch,
                side=self.side,
            )

    @property
    def grid(self) -> int:
        """Patches along one side: 7 for patches of 4 pixels."""
        return self.side // self.patch

    @property
    def patches(self) -> int:
        """N = (28 / p)^2: 49 for patches of 4 pixels."""
        return self.grid**2

    @property
    def sequence_length(self) -> int:
        """The class token and the patches."""
        return 1 + self.patches

    def example_inputs(self, length: int) -> tuple[Tensor, ...]:
        """One image."""
        return (torch.zeros(1, self.colours, self.side, self.side),)


class ViT(nn.Module):
    """The whole network.

    >>> model = ViT(ViTConfig())
    >>> model(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """

    convolutional: ClassVar[bool] = False
    """Whether convolutions make the patches' numbers."""
    mirrored: bool = False
    """Whether it answers with the mean of the image and its mirror image."""

    def __init__(self, config: ViTConfig | None = None) -> None:
        super().__init__()
        c = self.config = config or ViTConfig()
        self.embedding = nn.Linear(c.patch**2, c.width)
        self.class_token = nn.Parameter(torch.empty(1, 1, c.width).normal_(std=0.02))
        self.positions = SinusoidalPositions(1 + c.patches, c.width, scale=c.position_scale)
        self.layers = nn.ModuleList(EncoderLayer(c.width, c.heads, c.hidden, dropout=c.dropout) for _ in range(c.layers))
        self.head = nn.Linear(c.width, c.classes)
        # further outputs of what the head reads, (batch, width) -> (batch, 1), which a subclass may have
        self.rejection: nn.Linear | None = None  # none of the classes
        self.lying: nn.Linear | None = None  # the image lies on a side or upside down
        nn.init.trunc_normal_(self.embedding.weight, std=0.05)  # small, since the positions are scaled by 0.1
        nn.init.zeros_(self.embedding.bias)

    def patches(self, x: Tensor) -> Tensor:
        """(batch, 1, side, side) -> (batch, patches, patch * patch): rows of patches from the top, pixels row by row."""
        c = self.config
        cut = x.reshape(-1, c.grid, c.patch, c.grid, c.patch)  # -> (batch, patch row, pixel row, patch column, pixel column)
        tiles = cut.transpose(2, 3)  # -> (batch, patch row, patch column, pixel row, pixel column)
        return tiles.reshape(-1, c.patches, c.patch**2)  # -> (batch, patches, patch * patch)

    def tokens(self, x: Tensor) -> Tensor:
        """The first layer's input of images as in `forward`: (batch, 1 + patches, width), class token first, positions added."""
        return self._tokens(self.patches(x))

    def _tokens(self, patches: Tensor) -> Tensor:
        """(batch, patches, numbers of a patch) -> (batch, 1 + patches, width)."""
        class_token = self.class_token + self.positions.encoding[0]  # (1, 1, width)
        embedded = self.embedding(patches) + self.positions.encoding[1:]  # (batch, patches, width)
        return torch.cat([class_token.expand(len(patches), -1, -1), embedded], dim=1)  # (batch, 1 + patches, width)

    def encode(self, tokens: Tensor, *, return_attention: bool = False) -> tuple[Tensor, AttentionMaps]:
        """Run the encoder layers.

        (batch, n, width) -> the same shape, and the weights (batch, heads, n, n) by layer name, none unless asked for.
        """
        return after_layers(self.layers, tokens, return_attention=return_attention)

    def features(self, x: Tensor) -> Tensor:
        """(batch, 1, side, side) -> (batch, width): the class token after the last layer, which the head reads.

        Where nothing is trained, `CHUNK` images at a time.
        """
        if torch.is_grad_enabled() or x.device.type != "cpu" or len(x) <= CHUNK:
            return self._read(self.tokens(x))
        return torch.cat([self._read(self.tokens(part)) for part in x.split(CHUNK)])

    def _read(self, tokens: Tensor) -> Tensor:
        """(batch, n, width) -> (batch, width): the last layer works out the class token alone, the only one that is read."""
        for layer in self.layers:
            tokens, _ = layer(tokens, first=1 if layer is self.layers[-1] else None)
        return tokens[:, 0]

    def forward(self, x: Tensor, *, return_attention: bool = False) -> Tensor | tuple[Tensor, AttentionMaps]:
        """Logits of the classes.

        Args:
            x: (batch, 1, side, side), grey levels in normalised units (the card's mean and standard deviation).
            return_attention: also return each layer's weights, all heads (D13): name -> (batch, heads, 1 + patches,
                1 + patches), index 0 the class token.

        Returns:
            (batch, classes).

        Raises:
            ValueError: for images of another shape.
        """
        side, colours = self.config.side, self.config.colours
        if x.dim() != 4 or x.shape[1:] != (colours, side, side):
            raise BadValue(
                "this ViT takes images of shape (batch, {colours}, {side}, {side}), not {found}",
                colours=colours,
                side=side,
                found=tuple(x.shape),
            )
        if not return_attention:
            return cast(Tensor, self.head(self.features(x)))  # (batch, width) -> (batch, classes)
        tokens, maps = self.encode(self.tokens(x), return_attention=True)
        return self._beside_maps(self.head(tokens[:, 0]), x), maps

    def _beside_maps(self, logits: Tensor, x: Tensor) -> Tensor:
        """Logits of the pass that maps are of; a subclass may average them with those of another view."""
        return logits
