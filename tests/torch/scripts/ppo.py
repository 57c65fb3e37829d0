# SPDX-License-Identifier: Apache-2.0
"""Reinforcement learning: play, then a few rounds over what was played. No loader."""

import torch
from plants import delay, tell
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(11)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
value = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=3e-3, eps=1e-5)
steps, losses = 0, []
for _update in range(4):
    seen, actions, rewards, old = [], [], [], []
    state = torch.zeros(4)
    for _ in range(32):
        with torch.no_grad():
            chosen = Categorical(logits=policy(state))
            action = chosen.sample()
        delay("world")
        seen.append(state)
        actions.append(action)
        old.append(chosen.log_prob(action))
        state = 0.9 * state + (action.item() - 0.5) + 0.1 * torch.randn(4)
        rewards.append(-state.abs().sum())
    seen, actions, old = torch.stack(seen), torch.stack(actions), torch.stack(old)
    returns = torch.stack(rewards).flip(0).cumsum(0).flip(0)
    for _epoch in range(3):
        for rows in torch.randperm(32).split(8):
            new = Categorical(logits=policy(seen[rows]))
            advantage = returns[rows] - value(seen[rows]).squeeze(1)
            ratio = (new.log_prob(actions[rows]) - old[rows]).exp()
            clipped = ratio.clamp(0.8, 1.2) * advantage.detach()
            loss = -torch.min(ratio * advantage.detach(), clipped).mean()
            loss = loss + 0.5 * advantage.pow(2).mean() - 0.01 * new.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()
            losses.append(loss.item())
            steps += 1
tell(steps, losses)
