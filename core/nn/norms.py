"""Normalisations that PyTorch does not ship."""

from torch import Tensor, nn


class BiN(nn.Module):
    """0.5 * batch norm + 0.5 * instance norm (tlob-architecture section 2.2, D5).

    The instance half removes each window's own level and scale; the batch half keeps its level and scale relative to the other
    windows. Both add an epsilon to the variance, so that a constant channel gives a finite value.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.batch_norm = nn.BatchNorm1d(channels)
        self.instance_norm = nn.InstanceNorm1d(channels, affine=True)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, length) -> the same shape."""
        return 0.5 * self.batch_norm(x) + 0.5 * self.instance_norm(x)
