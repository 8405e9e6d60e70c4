#!/usr/bin/env python3
"""Gives one picture the colours of another by optimal transport.

The colours of both pictures are two clouds of points in RGB. `heddle.ot.solve` couples a sample of them, for several
strengths of the entropy in one batch. The barycentric projection of the transport plan is the new colour of each
sampled colour; every pixel takes the change of its nearest sample.

    examples/optimal_transport/colour_transfer.py [FILE.png]

Without a file, or without Matplotlib, it only prints what it checks: the new colours have the mean and the covariance of
the target's colours.
"""

import sys

import numpy

import heddle.ot

SIZE, SAMPLES = 96, 600
STRENGTHS = (0.003, 0.03, 0.3)  # in units of the cost, squared distances of colours in [0, 1]^3


def sunset():
    """A synthetic picture: a gradient from orange to violet, with a sun."""
    y, x = numpy.mgrid[0:1:SIZE * 1j, 0:1:SIZE * 1j]
    sky = numpy.stack([0.95 - 0.55 * y, 0.55 - 0.35 * y + 0.1 * x, 0.25 + 0.45 * y], axis=-1)
    sun = numpy.exp(-((x - 0.65) ** 2 + (y - 0.35) ** 2) / 0.01)[..., None]
    return numpy.clip(sky + sun * [0.3, 0.35, 0.1], 0, 1)


def meadow():
    """A synthetic picture: blue sky over green hills."""
    y, x = numpy.mgrid[0:1:SIZE * 1j, 0:1:SIZE * 1j]
    sky = numpy.stack([0.35 + 0.35 * y, 0.55 + 0.3 * y, 0.9 + 0 * y], axis=-1)
    hill = numpy.stack([0.15 + 0.2 * x, 0.45 + 0.25 * numpy.sin(9 * x) * y, 0.1 + 0.1 * y], axis=-1)
    return numpy.clip(numpy.where((y > 0.55 + 0.1 * numpy.sin(6 * x))[..., None], hill, sky), 0, 1)


def squared_distances(x, y):
    """The squared distance of each row of `x` to each row of `y`."""
    return numpy.maximum((x**2).sum(1)[:, None] + (y**2).sum(1) - 2 * x @ y.T, 0)


def transfer(picture, target, generator):
    """The picture with the colours of the target, for each strength; the sampled colours, and their new colours."""
    pixels, others = picture.reshape(-1, 3), target.reshape(-1, 3)
    source = pixels[generator.choice(len(pixels), SAMPLES, replace=False)]
    goal = others[generator.choice(len(others), SAMPLES, replace=False)]
    costs = squared_distances(source, goal)
    # The same costs for every strength: a batch of views, without a copy.
    batch = numpy.broadcast_to(costs, (len(STRENGTHS), *costs.shape))
    result = heddle.ot.sinkhorn(batch, eps=STRENGTHS, anneal="geometric", eps0=1.0, decay=0.8, tol=1e-4, limit=20000)
    result.check()
    moved = result.projection(goal)
    nearest = squared_distances(pixels, source).argmin(1)
    pictures = [numpy.clip(pixels + (new - source)[nearest], 0, 1).reshape(picture.shape) for new in moved]
    return pictures, goal, moved, result


def main():
    picture, target = sunset(), meadow()
    pictures, goal, moved, result = transfer(picture, target, numpy.random.default_rng(0))
    for strength, new, iterations, value in zip(STRENGTHS, moved, result.n_iter, result.value_linear):
        mean = abs(new.mean(0) - goal.mean(0)).max()
        spread = numpy.linalg.norm(numpy.cov(new.T)) / numpy.linalg.norm(numpy.cov(goal.T))
        print(f"reg {strength:5.3f}: {iterations:4} iterations, cost {value:.4f}, "
              f"means differ by {mean:.4f}, spread {spread:.3f} of the target's")
        assert mean < 1e-2
    # A small entropy keeps the spread of colours; a large one averages them.
    spreads = [numpy.linalg.norm(numpy.cov(new.T)) for new in moved]
    assert spreads == sorted(spreads, reverse=True)
    assert spreads[0] > 0.9 * numpy.linalg.norm(numpy.cov(goal.T))
    if len(sys.argv) > 1:
        draw(sys.argv[1], picture, target, pictures)


def draw(path, picture, target, pictures):
    try:
        from matplotlib import pyplot
    except ImportError:
        print("Matplotlib is not installed: no picture")
        return
    titles = ["picture", "target", *(f"reg = {strength:g}" for strength in STRENGTHS)]
    figure, axes = pyplot.subplots(1, len(titles), figsize=(2.4 * len(titles), 2.7))
    for axis, title, image in zip(axes, titles, [picture, target, *pictures]):
        axis.imshow(image)
        axis.set_title(title)
        axis.axis("off")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
