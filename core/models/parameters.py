"""Counts the parameters of a built model (D4)."""

from torch import nn


def count(module: nn.Module) -> int:
    """Number of trainable values."""
    return sum(parameter.numel() for parameter in module.parameters())


def by_part(module: nn.Module) -> dict[str, int]:
    """Count of each direct child and parameter by name, each layer of a list by itself; they sum to `count`."""
    parts: dict[str, int] = {}
    for name, child in module.named_children():
        if isinstance(child, nn.ModuleList):
            parts |= {f"{name}.{index}": count(one) for index, one in enumerate(child)}
        else:
            parts[name] = count(child)
    parts |= {name: parameter.numel() for name, parameter in module.named_parameters(recurse=False)}
    return {name: number for name, number in parts.items() if number}
