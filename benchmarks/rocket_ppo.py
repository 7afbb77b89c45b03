"""A plain PPO learner in torch, the same for both sides of `rocket_league_train_vs_rlgym.py`. Only torch and numpy.

One trunk of 256×3, policy and value on top of it; one epoch over 64 steps of every car in minibatches of 4,096 rows.
"""

import numpy as np
import torch
from torch import nn

HORIZON, BATCH, EPOCHS = 64, 4096, 1
GAMMA, LAMBDA, CLIP, ENTROPY, VALUE, RATE = 0.995, 0.95, 0.2, 0.01, 0.5, 2e-4


class Net(nn.Module):
    def __init__(self, inputs, choices, hidden=(256, 256, 256)):
        super().__init__()
        layers, width = [], inputs
        for size in hidden:
            layers += [nn.Linear(width, size), nn.ReLU()]
            width = size
        self.trunk = nn.Sequential(*layers)
        self.policy, self.value = nn.Linear(width, choices), nn.Linear(width, 1)

    def forward(self, obs, mask):
        features = self.trunk(obs)
        logits = self.policy(features)
        if mask is not None:
            logits = logits.masked_fill(~mask, -1e9)
        return torch.log_softmax(logits, 1), self.value(features)[:, 0]


class Ppo:
    """`act` for N rows, then `pay` them; every 64th time it learns."""

    def __init__(self, rows, inputs, choices, masked, seed=0):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        self.net = Net(inputs, choices)
        self.adam = torch.optim.Adam(self.net.parameters(), lr=RATE, fused=True)
        shape = (HORIZON, rows)
        self.obs = torch.zeros((*shape, inputs))
        self.mask = torch.zeros((*shape, choices), dtype=torch.bool) if masked else None
        self.action = torch.zeros(shape, dtype=torch.int64)
        self.log_prob, self.value, self.reward, self.done = (torch.zeros(shape) for _ in range(4))
        self.t = 0

    @torch.no_grad()
    def act(self, obs, mask=None):
        """Sampled choices [N] for obs [N,D]; learns first when the last 64 steps are full."""
        rows, allowed = torch.from_numpy(obs), None if mask is None else torch.from_numpy(mask)
        log_probs, value = self.net(rows, allowed)
        if self.t == HORIZON:
            with torch.enable_grad():
                self.learn(value)
            log_probs, value = self.net(rows, allowed)
        noise = torch.empty_like(log_probs).exponential_().log_()
        action = (log_probs - noise).argmax(1)
        self.obs[self.t], self.action[self.t], self.value[self.t] = rows, action, value
        if allowed is not None:
            self.mask[self.t] = allowed
        self.log_prob[self.t] = log_probs.gather(1, action[:, None])[:, 0]
        return action.numpy()

    def pay(self, reward, done):
        """Rewards and ends [N] of the step."""
        self.reward[self.t] = torch.from_numpy(np.asarray(reward, np.float32))
        self.done[self.t] = torch.from_numpy(np.asarray(done, np.float32))
        self.t += 1

    def learn(self, last):
        """One epoch over the stored steps."""
        advantage, running, following = torch.zeros_like(self.reward), torch.zeros_like(last), last
        for t in range(HORIZON - 1, -1, -1):
            going = 1.0 - self.done[t]
            delta = self.reward[t] + GAMMA * following * going - self.value[t]
            advantage[t] = running = delta + GAMMA * LAMBDA * going * running
            following = self.value[t]
        target = (advantage + self.value).reshape(-1)
        advantage = (advantage.reshape(-1) - advantage.mean()) / (advantage.std() + 1e-8)
        flat = [x.reshape(-1, *x.shape[2:]) for x in (self.obs, self.action, self.log_prob)]
        mask = None if self.mask is None else self.mask.reshape(-1, self.mask.shape[2])
        for _ in range(EPOCHS):
            for part in torch.randperm(len(target)).split(BATCH):
                obs, action, old = (x[part] for x in flat)
                log_probs, value = self.net(obs, None if mask is None else mask[part])
                new = log_probs.gather(1, action[:, None])[:, 0]
                ratio, a = (new - old).exp(), advantage[part]
                policy = -torch.minimum(ratio * a, ratio.clamp(1 - CLIP, 1 + CLIP) * a).mean()
                entropy = -(log_probs.exp() * log_probs).sum(1).mean()
                loss = policy + VALUE * (value - target[part]).square().mean() - ENTROPY * entropy
                self.adam.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.net.parameters(), 0.5)
                self.adam.step()
        self.t = 0
