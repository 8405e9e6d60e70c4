"""Trains a small ResNet on synthetic images with heddle.optim.AdamW and with torch.optim.AdamW, and compares the losses.

    python examples/python/train_resnet.py [--steps N] [--plot FILE]

Both runs have the same weights, images and schedule. Training amplifies differences of rounding, so the model is in
float64, where the curves stay equal to many digits. Needs PyTorch, and matplotlib for --plot.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse

import torch
from torch import nn

import heddle.optim

CLASSES = 4


class Block(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, inputs, outputs):
        super().__init__()
        stride = 1 if inputs == outputs else 2
        self.convolutions = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs),
        )
        self.shortcut = nn.Identity() if stride == 1 else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        return torch.relu(self.convolutions(x) + self.shortcut(x))


def resnet():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        Block(16, 16), Block(16, 32), Block(32, 64),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, CLASSES),
    )


def batches(steps, device):
    """Noise around one pattern for each class."""
    generator = torch.Generator().manual_seed(1)
    patterns = torch.randn(CLASSES, 3, 16, 16, generator=generator)
    for _ in range(steps):
        labels = torch.randint(CLASSES, (32,), generator=generator)
        images = patterns[labels] + 2 * torch.randn(32, 3, 16, 16, generator=generator)
        yield images.to(device, torch.float64), labels.to(device)


def train(module, steps, device):
    """The losses of all steps, and the parameters at the end."""
    model = resnet().to(device, torch.float64)
    optimizer = module.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=steps)
    losses = []
    for images, labels in batches(steps, device):
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses, torch.cat([param.detach().flatten() for param in model.parameters()])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--plot", metavar="FILE", help="draw both curves into an image")
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"

    ours, found = train(heddle.optim, arguments.steps, device)
    theirs, expected = train(torch.optim, arguments.steps, device)
    print(f"loss, heddle.optim.AdamW: {ours[0]:.4f} -> {ours[-1]:.4f}")
    print(f"loss, torch.optim.AdamW:  {theirs[0]:.4f} -> {theirs[-1]:.4f}")
    print(f"largest difference of a loss: {max(abs(a - b) for a, b in zip(ours, theirs)):.2e}")
    print(f"relative difference of the parameters: {((found - expected).norm() / expected.norm()).item():.2e}")

    if arguments.plot:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        matplotlib.rcParams.update({"svg.hashsalt": "heddle", "svg.fonttype": "none"})  # reproducible files
        pyplot.figure(figsize=(6, 3.2), layout="constrained")
        pyplot.plot(theirs, label="torch.optim.AdamW", linewidth=4, alpha=0.4)
        pyplot.plot(ours, label="heddle.optim.AdamW", linewidth=1)
        pyplot.xlabel("step")
        pyplot.ylabel("loss")
        pyplot.legend()
        is_svg = arguments.plot.endswith(".svg")
        pyplot.savefig(arguments.plot, metadata={"Date": None} if is_svg else None)


if __name__ == "__main__":
    main()
