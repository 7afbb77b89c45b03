"""Frozen baseline: an inference server as one would write it first. Do not improve it; ratios are measured against it.

One request at a time, eager torch, the standard library's json, asyncio streams. Reads a bundle and answers the line
protocol (action only). Run: eager_torch_server.py MODEL.zip PORT; prints "ready PORT".
"""

import asyncio
import contextlib
import json
import sys
from pathlib import Path

import torch

from pvp_ml.model.bundle import read_bundle


class EagerPolicy:
    """The bundle's network, head by head, in eager torch."""

    def __init__(self, bundle):
        self.network, self.interface = bundle.network, bundle.interface
        self.t = {name: torch.tensor(array) for name, array in bundle.tensors.items()}
        self.mean = torch.tensor(bundle.normalizer["obs/mean"], dtype=torch.float32)
        self.std = torch.sqrt(torch.tensor(bundle.normalizer["obs/var"], dtype=torch.float32) + 1e-8)
        if self.network.heads == "mlp":
            self.pick_mean = torch.tensor(bundle.normalizer["pick/mean"], dtype=torch.float32)
            self.pick_std = torch.sqrt(torch.tensor(bundle.normalizer["pick/var"], dtype=torch.float32) + 1e-8)
        names = [(head.name, choice) for head in self.interface.heads for choice in head.choices]
        self.column = {pair: i for i, pair in enumerate(names)}

    def linear(self, name, x):
        return torch.nn.functional.linear(x, self.t[f"{name}/weight"], self.t[f"{name}/bias"])

    @torch.no_grad()
    def act(self, obs, masks, greedy):
        x = torch.tensor(obs, dtype=torch.float32)[:1]
        x = ((x - self.mean) / self.std).clamp(-self.network.clip, self.network.clip)
        for i in range(len(self.network.trunk)):
            x = torch.relu(self.linear(f"actor/{i}", x))
        logits = self.linear("head", x) if self.network.heads != "mlp" else None
        picks = torch.zeros(1, self.interface.mask_size)
        action, offset = [], 0
        for head, mask in zip(self.interface.heads, masks, strict=True):
            part = self.head_logits(head, x, logits, picks, offset)
            allowed = torch.tensor([self.allowed(head, c, mask[i], picks) for i, c in enumerate(head.choices)])
            if not allowed.any():
                allowed[0] = True
            probs = torch.softmax(part + torch.where(allowed, 0.0, -1e8), dim=-1)
            pick = probs.argmax(-1) if greedy else torch.multinomial(probs, 1)[:, 0]
            picks[0, offset + pick] = 1.0
            action.append(int(pick))
            offset += head.size
        return action

    def head_logits(self, head, x, logits, picks, offset):
        if logits is not None:
            part = logits[:, offset : offset + head.size]
            return part + (picks @ self.t["table"])[:, offset : offset + head.size] if "table" in self.t else part
        seen = ((picks[:, :offset] - self.pick_mean[:offset]) / self.pick_std[:offset]).clamp(-5, 5)
        y = torch.cat([x, seen], dim=1)
        for i in range(len(self.network.head_layers)):
            y = torch.relu(self.linear(f"head/{head.name}/{i}", y))
        return self.linear(f"head/{head.name}/{len(self.network.head_layers)}", y)

    def allowed(self, head, choice, is_open, picks):
        if not is_open:
            return False
        for rule in (r for r in head.rules if r.choice == choice):
            hits = [bool(picks[0, self.column[pick]]) for pick in rule.picks]
            if not {"all": all(hits), "any": any(hits), "none": not any(hits)}[rule.when]:
                return False
        return True


async def main(path, port):
    torch.set_num_threads(1)
    policy = EagerPolicy(read_bundle(Path(path)))

    async def handle(reader, writer):
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                request = json.loads(line)
                action = policy.act(request["obs"], request["actionMasks"], request.get("deterministic", False))
                answer = {"action": action, "logProb": None, "entropy": None, "values": None, "probs": None}
                writer.write(json.dumps({**answer, "extensionResults": []}).encode() + b"\n")
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", port, limit=1 << 20)
    print("ready", server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
