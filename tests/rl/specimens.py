"""Small interfaces, networks of every shape, and policies with random weights, for tests of acting and learning."""

from dataclasses import replace

import numpy as np
import torch
from hypothesis import strategies as st

from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.model.sampling.heads import Heads, legal_given
from pvp_ml.rl.policy.policy import Policy
from pvp_ml.spec import Block, Feature, Head, Interface, Link, Rule

FIGHT_SIZES = (4, 3, 3, 4, 5, 2, 2, 2, 2, 5, 7, 6)


@st.composite
def head_sets(draw):
    """One to four heads with random rules; a head that rules may empty has a fallback."""
    heads = []
    for h in range(draw(st.integers(1, 4))):
        choices = tuple(f"c{h}{i}" for i in range(draw(st.integers(1, 4))))
        earlier = tuple((head.name, c) for head in heads for c in head.choices)
        rules = tuple(
            Rule(c, when, tuple(draw(st.lists(st.sampled_from(earlier), unique=True, max_size=3))))
            for c in choices
            if earlier
            for when in draw(st.lists(st.sampled_from(("all", "any", "none")), unique=True, max_size=2))
        )
        heads.append(Head(f"h{h}", choices, rules, choices[draw(st.integers(0, len(choices) - 1))]))
    return tuple(heads)


def legal_by_words(heads, h, mask, picks):
    """Which choices of head h are legal under mask [A] after the earlier picks, read word by word from the rules."""
    start = sum(head.size for head in heads[:h])
    made = {(head.name, head.choices[pick]) for head, pick in zip(heads[:h], picks[:h], strict=True)}
    legal = []
    for c, choice in enumerate(heads[h].choices):
        ok = bool(mask[start + c])
        for rule in (r for r in heads[h].rules if r.choice == choice):
            hits = [pick in made for pick in rule.picks]
            ok &= {"all": all(hits), "any": any(hits), "none": not any(hits)}[rule.when]
        legal.append(ok)
    if not any(legal) and heads[h].fallback is not None:
        legal[heads[h].choices.index(heads[h].fallback)] = True
    return legal


def plain_heads(*sizes):
    return tuple(Head(f"h{h}", tuple(f"c{i}" for i in range(size))) for h, size in enumerate(sizes))


def fight_heads():
    """Sizes of the NH game, with rules between an attack and its kinds and a fallback everywhere."""
    heads = []
    for h, size in enumerate(FIGHT_SIZES):
        choices = tuple(f"c{i}" for i in range(size))
        rules = ()
        if h in (1, 2, 3):
            pick = (("h0", f"c{h}"),)
            rules = (Rule("c0", "none", pick), *(Rule(c, "all", pick) for c in choices[1:]))
        heads.append(Head(f"h{h}", choices, rules, "c0"))
    return tuple(heads)


def plain_interface(heads, width=9, privileged=0):
    hidden = (Block("hidden", 1, tuple(Feature(f"p{i}") for i in range(privileged))),) if privileged else ()
    return Interface((Block("seen", 1, tuple(Feature(f"f{i}") for i in range(width))),), heads, hidden)


def block_interface(heads, privileged=3):
    """Numbers, flags and ids, alone and in repeated blocks."""
    monster = (
        Feature("hp"), Feature("move1", "id", 11), Feature("move2", "id", 11), Feature("is_out", "flag"),
        Feature("kind", "id", 7),
    )  # fmt: skip
    blocks = (
        Block("field", 1, (Feature("turn"), Feature("weather", "id", 4))),
        Block("monsters", 6, monster),
        Block("near.pads", 3, (Feature("boost"), Feature("is_ready", "flag"))),
    )
    return Interface(blocks, heads, (Block("hidden", 1, tuple(Feature(f"p{i}") for i in range(privileged))),))


def linked_heads(heads):
    """The same heads; choices of the first are about two monsters each, those of the last about pads and a monster."""
    pairs = tuple(
        Link(choice, "monsters", row, role)
        for i, choice in enumerate(heads[0].choices)
        for row, role in ((1 + i % 4, "leads"), (2 + i % 4, "waits"))
    )
    pads = tuple(Link(choice, "near.pads", i % 3, "goes to") for i, choice in enumerate(heads[-1].choices[1:]))
    last = (*pads, Link(heads[-1].choices[0], "monsters", 0, "waits"))
    return (replace(heads[0], links=pairs), *heads[1:-1], replace(heads[-1], links=last))


SHAPES = {
    "default": (NetworkConfig(trunk=(32, 24)), "plain"),
    "separate": (NetworkConfig(trunk=(16,), critic="separate", critic_trunk=(24, 8), activation="tanh"), "plain"),
    "privileged": (NetworkConfig(trunk=(16,), critic="separate", privileged=True), "plain"),
    "independent": (NetworkConfig(trunk=(16,), heads="independent", win_head=True), "plain"),
    "original": (
        NetworkConfig(trunk=(32, 32), critic="separate", privileged=True, heads="mlp", head_layers=(16, 8)),
        "plain",
    ),
    "frames": (NetworkConfig(trunk=(16,), frames=(0, 2), critic="separate", privileged=True), "plain"),
    "memory": (NetworkConfig(trunk=(16,), memory=12, activation="silu"), "plain"),
    "memory separate": (NetworkConfig(trunk=(16,), memory=12, critic="separate", win_head=True), "plain"),
    "memory mlp": (NetworkConfig(trunk=(16,), memory=5, heads="mlp", head_layers=(8,)), "plain"),
    "embeddings": (NetworkConfig(trunk=(16,), embedding=5), "blocks"),
    "encoder": (NetworkConfig(trunk=(16,), embedding=4, encoder=(12, 6)), "blocks"),
    "pooled": (
        NetworkConfig(trunk=(16,), embedding=4, encoder=(12, 6), pooling="mean_max", frames=(0, 1)),
        "blocks",
    ),
    "pointer": (NetworkConfig(trunk=(16,), embedding=4, encoder=(12, 6), pointer=5), "linked"),
    "pointer frames": (
        NetworkConfig(
            trunk=(16,), encoder=(6,), pointer=4, frames=(0, 1), memory=7, heads="independent", activation="silu"
        ),
        "linked",
    ),
    "everything": (
        NetworkConfig(
            trunk=(16, 8), embedding=4, encoder=(6,), pooling="mean_max", frames=(0, 1, 3), memory=7, heads="mlp",
            head_layers=(8,), critic="separate", privileged=True, win_head=True,
        ),
        "blocks",
    ),
}  # fmt: skip


def interface_for(kind, heads=None):
    heads = heads or fight_heads()
    if kind == "linked":
        heads = linked_heads(heads)
    return plain_interface(heads, privileged=4) if kind == "plain" else block_interface(heads)


def random_policy(network, interface, seed=0, spread=0.3):
    """Weights and statistics that matter: nothing at its initial value."""
    policy = Policy(network, interface)
    generator = torch.Generator().manual_seed(seed)
    policy.initialise(generator)
    with torch.no_grad():
        policy.flat.add_(torch.randn(policy.size, generator=generator) * spread)
    rng = np.random.default_rng(seed)
    for name, array in policy.normalizer.items():
        if name.endswith("/mean"):
            array[:] = rng.normal(0, 0.5, array.shape)
        elif name.endswith("/var"):
            array[:] = rng.uniform(0.2, 3.0, array.shape)
    return policy


def random_obs(network, interface, rows, rng):
    """[rows, F·D] with whole numbers where ids stand."""
    frame = [
        rng.integers(0, f.vocab, rows) if f.kind == "id" else rng.normal(0, 2, rows)
        for _ in network.frames
        for f in interface.features
    ]
    return np.stack(frame, axis=1).astype(np.float32)


def random_rows(network, interface, rows, rng):
    """obs, privileged, mask (no head empty unless it has a fallback), memory or None."""
    mask = rng.random((rows, interface.mask_size)) < 0.7
    start = 0
    for head in interface.heads:
        empty = np.flatnonzero(~mask[:, start : start + head.size].any(1))
        if head.fallback is None:
            mask[empty, start + rng.integers(0, head.size, len(empty))] = True
        start += head.size
    privileged = rng.normal(0, 1, (rows, interface.privileged_size)).astype(np.float32)
    memory = rng.normal(0, 0.5, (rows, network.memory)).astype(np.float32) if network.memory else None
    return random_obs(network, interface, rows, rng), privileged, mask, memory


def legal_of(interface, mask, actions):
    return legal_given(Heads.compile(interface.heads), mask, actions)
