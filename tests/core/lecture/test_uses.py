"""Published sizes, hand counts and PyTorch's own layers beside the numbers of the page on uses."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.lecture import attention_steps, tokens, uses


def test_published_models_have_their_published_parameters() -> None:
    """Of the checkpoints bert-base-uncased, gpt2 and t5-base."""
    assert [uses.family_parameters(one) for one in uses.FAMILIES] == [109_482_240, 124_439_808, 222_903_552]


def test_peers_are_counted_with_their_lstm_and_their_attention() -> None:
    tlob, deeplob, translob = uses.peers()
    assert (tlob.parameters, tlob.macs) == (883_179, 48_379_264)
    assert deeplob.macs == 10_436_800 + 128 * 4 * 64 * (96 + 64)  # convolutions and head, then the LSTM by hand
    convolutions, blocks = 128 * 2 * 14 * (40 + 4 * 14), 2 * (12 * 128 * 15**2 + 2 * 128**2 * 15)
    assert [one.said for one in (tlob, deeplob, translob)] == [109e6, 185e6, 95e6]  # tlob-architecture 6.3
    assert translob.macs == convolutions + blocks + 128 * 15 * 64 + 64 * 3


@pytest.mark.parametrize("role", ["q", "k", "v"])
def test_only_values_leave_the_weights_alone(role: uses.Role) -> None:
    x, weights = tokens.embed(["a", "b", "c", "d"], 4), attention_steps.random_weights(4)
    study = uses.role_study(x, weights, role=role, word=1, factor=3.0)
    moved, mixed = study.moved
    assert (moved == 0) == (role == "v") and mixed > 1e-3
    q, k, v = (torch.tensor(study.after[one]) for one in ("q", "k", "v"))
    after = torch.nn.functional.scaled_dot_product_attention(q, k, v).numpy()
    assert mixed == pytest.approx(np.abs(after - study.mixed).max())


def test_translobs_blocks_are_pytorchs_post_norm_layers() -> None:
    torch.manual_seed(1)
    model = uses.TransLOB(steps=9, features=3).double().eval()
    with torch.no_grad():
        for value in model.parameters():
            value.add_(torch.randn_like(value), alpha=0.3)
    first: list[torch.Tensor] = []
    model.attention[0].register_forward_pre_hook(lambda _m, x: first.append(x[0]))
    answer = model(torch.randn(2, 9, 3, dtype=torch.float64))
    z = first[0]
    for block in range(2):
        at, feed, names = model.attention[block], model.feed_forward[block], ("weight", "bias")
        twin = torch.nn.TransformerEncoderLayer(15, 3, 60, 0.0, batch_first=True).double().eval()
        weights = {f"self_attn.in_proj_{one}": torch.cat([getattr(part, one) for part in (at.q, at.k, at.v)]) for one in names}  # type: ignore[arg-type]
        parts = {"self_attn.out_proj": at.out, "linear1": feed[0], "linear2": feed[2]}  # type: ignore[index]
        parts |= {"norm1": model.norms[2 * block], "norm2": model.norms[2 * block + 1]}
        weights |= {f"{part}.{one}": getattr(module, one) for part, module in parts.items() for one in names}
        twin.load_state_dict(weights)
        z = twin(z, src_mask=torch.triu(torch.ones(9, 9, dtype=torch.bool), 1))
    torch.testing.assert_close(answer, model.head(z.flatten(1)))
    assert len(list(model.norms)) == 4


def test_translob_reads_no_later_step_and_all_earlier_ones() -> None:
    """In the sequence before the head; each of five layers doubles how far it looks, so that 32 steps reach the convolutions."""
    torch.manual_seed(0)
    model = uses.TransLOB(steps=40, features=3).double().eval()
    seen: list[torch.Tensor] = []
    model.head.register_forward_pre_hook(lambda _m, x: seen.append(x[0].reshape(40, 15)))
    model.norm.register_forward_pre_hook(lambda _m, x: seen.append(x[0][0]))
    x = torch.randn(1, 40, 3, dtype=torch.float64)
    changed = x.clone()
    changed[0, 4] += 5
    for one in (x, changed):
        model(one)
    convolved, whole = (seen[2] != seen[0]).any(dim=1), (seen[3] != seen[1]).any(dim=1)
    assert convolved.nonzero().flatten().tolist() == list(range(4, 36))
    assert whole.nonzero().flatten().tolist() == list(range(4, 40))
    places = np.linspace(-1, 1, 40)
    assert np.allclose(model.get_buffer("places")[0, :, 0], places)


def test_the_notebooks_ids_tell_one_cat_from_the_other() -> None:
    assert len(set(uses.cat_ids(as_written=True))) == 6 and len(set(uses.cat_ids(as_written=False))) == 5


def test_layer_norm_needs_its_root() -> None:
    x = np.array([1.0, 2.0, 4.0, 9.0])
    right, written = uses.without_root(x)
    assert np.allclose(right, torch.nn.functional.layer_norm(torch.tensor(x), (4,)))
    assert np.allclose(uses.without_root(10 * x)[0], right, atol=1e-5) and np.allclose(
        uses.without_root(10 * x)[1], written / 10, atol=1e-5
    )
