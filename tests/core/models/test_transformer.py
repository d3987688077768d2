"""The encoder-decoder against `torch.nn.Transformer` with the same weights."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.models.transformer import DecoderLayer, Transformer, TransformerConfig
from core.nn import EncoderLayer
from tests.core.models.unsettled import unsettled
from tests.core.nn import torchs

CONFIG = TransformerConfig(vocabulary=13, width=16, heads=4, layers=2, hidden=24, length=20)


def gelu(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


def reference(model: Transformer) -> nn.Transformer:
    """PyTorch's own, without the extra norms it puts after each stack."""
    c = model.config
    arguments = {"dim_feedforward": c.hidden, "dropout": 0.0, "activation": gelu, "batch_first": True}
    theirs = nn.Transformer(c.width, c.heads, c.layers, c.layers, **arguments)
    theirs.encoder.norm = theirs.decoder.norm = None
    for mine, other in zip(model.encoder, theirs.encoder.layers, strict=True):
        assert isinstance(mine, EncoderLayer)
        other.load_state_dict(torchs.encoder_weights(mine))
    for mine, other in zip(model.decoder, theirs.decoder.layers, strict=True):
        assert isinstance(mine, DecoderLayer)
        other.self_attn.load_state_dict(torchs.attention_weights(mine.self_attention))
        other.multihead_attn.load_state_dict(torchs.attention_weights(mine.cross_attention))
        for a, b in ((other.norm1, mine.norm1), (other.norm2, mine.norm2), (other.norm3, mine.norm3)):
            a.load_state_dict(b.state_dict())
        other.linear1.load_state_dict(mine.feed_forward.fc1.state_dict())
        other.linear2.load_state_dict(mine.feed_forward.fc2.state_dict())
    return theirs.eval()


@pytest.fixture
def model() -> Transformer:
    return unsettled(Transformer, CONFIG)


def inputs() -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    source = torch.randint(1, CONFIG.vocabulary, (3, 9))
    source[1, 6:] = 0
    return source, torch.randint(1, CONFIG.vocabulary, (3, 7))


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@torch.no_grad()
def test_it_equals_pytorchs(model: Transformer) -> None:
    source, target = inputs()
    theirs = reference(model)
    embed = lambda x: model.embedding(x) + model.positions.encoding[: x.shape[1]]  # noqa: E731
    padding = source == 0
    hidden = theirs(
        embed(source),
        embed(target),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(target.shape[1]),
        src_key_padding_mask=padding,
        memory_key_padding_mask=padding,
    )
    torch.testing.assert_close(model(source, target), model.out(hidden), atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_the_maps_are_there_by_name_and_change_nothing(model: Transformer) -> None:
    source, target = inputs()
    logits, maps = model(source, target, return_attention=True)
    torch.testing.assert_close(logits, model(source, target), atol=1e-5, rtol=1e-4)
    shapes = {"encoder": (3, 4, 9, 9), "decoder": (3, 4, 7, 7), "cross": (3, 4, 7, 9)}
    assert {name: tuple(one.shape) for name, one in maps.items()} == {
        f"{kind} {layer}": shape for kind, shape in shapes.items() for layer in (1, 2)
    }
    for name, weights in maps.items():
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))
        if name.startswith("decoder"):
            assert not weights.triu(diagonal=1).any()
        else:
            assert not weights[1, :, :, 6:].any()  # padding is not looked at


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(ValueError, match="cannot be split into 5 equal heads"):
        TransformerConfig(vocabulary=3, width=16, heads=5)
    with pytest.raises(ValueError, match="21 symbols: this Transformer takes at most 20"):
        Transformer(CONFIG).encode(torch.ones(1, 21, dtype=torch.long))
