"""A small convolutional network on scikit-learn's digits, trained by Opacus under a ledger: a program.

`python digits.py LEDGER STEPS [KILL]` trains, and is killed before its step KILL; it prints what it did.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings

POLICY = {
    "dataset": "digits",
    "neighbours": "add-remove-one",
    "columns": {"x": {"bounds": [0.0, 16.0]}},
    "caps": {"epsilon": 8.0, "delta": 1e-4, "delta_of_answers": 5e-5},
}


def main(url: str, steps: int, kill: int) -> None:
    # Not above: where the tests are collected PyTorch is not there.
    import torch
    from opacus import PrivacyEngine
    from sklearn.datasets import load_digits
    from torch import nn

    from leakcap.integrations.opacus import attach
    from leakcap.release import load_policy, open_ledger

    torch.set_num_threads(1)
    torch.manual_seed(7)
    found = load_digits()
    pictures = torch.tensor(found.images, dtype=torch.float32)[:, None] / 16.0
    labels = torch.tensor(found.target)
    data = torch.utils.data.TensorDataset(pictures[:1500], labels[:1500])
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.Tanh(), nn.Flatten(), nn.Linear(8 * 36, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
    batches = torch.utils.data.DataLoader(data, batch_size=100)
    engine = PrivacyEngine(accountant="prv")
    model, optimizer, batches = engine.make_private(
        module=model, optimizer=optimizer, data_loader=batches, noise_multiplier=1.1, max_grad_norm=1.0
    )
    with open_ledger(url, load_policy(POLICY)) as ledger:
        training = attach(optimizer, batches, ledger=ledger, max_steps=steps, delta=1e-6, name="digits",
                          insecure_generator=True, every=10)  # fmt: skip
        done, refused = 0, ""
        while not refused:
            for x, y in batches:
                if done == kill:
                    os.kill(os.getpid(), signal.SIGKILL)
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x), y).backward()
                try:
                    optimizer.step()
                except Exception as error:
                    refused = str(error)
                    break
                done += 1
        training.finish()
        ledger.verify()
        with torch.no_grad():
            right = (model(pictures[1500:]).argmax(1) == labels[1500:]).double().mean().item()
        history = engine.accountant.history
        told = {"done": done, "taken": training.taken, "refused": refused, "right": right, "history": history}
        told |= {"epsilon": training.entry.spend.epsilon, "rate": float(training.plan.rate)}
        told |= {"entries": ledger.totals().entries, "opacus": engine.get_epsilon(1e-6)}
        weights = b"".join(p.detach().numpy().tobytes() for p in model.parameters())
        with open(url.removeprefix("sqlite:///"), "rb") as file:
            told["weights_kept"] = any(weights[k : k + 16] in file.read() for k in range(0, 160, 16))
        print(json.dumps(told))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else -1)
