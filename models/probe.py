"""A linear probe: multinomial logistic regression on the features of a frozen network, solved to convergence.

probe = fit_probe(x, y, classes=17)         # features (N, F), labels (N,)
logits = probe(x)                           # (N, classes)
probe.write(learn.model)                    # into its head, exactly
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from models.linear_head import LinearHead

EPSILON = 1e-5  # of a feature's variance: batch norm's
HELD_OUT = 0.2  # of each class, to choose the strength on
# Of the L2 penalty, strongest first: each solution is the start of the next. A penalty of strength s adds
# s / 2 * |weight|^2 to the loss summed over the images (the inverse of scikit-learn's C).
STRENGTHS = (3000.0, 1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
USUAL = 30.0  # where nothing can be held out
STEPS, GRADIENT = 200, 1e-5  # of L-BFGS: the most of them, and the largest slope at which it stops


@dataclass(frozen=True)
class Probe:
    """The solution, for features standardised by `mean` and `variance` (F,)."""

    mean: torch.Tensor
    variance: torch.Tensor
    weight: torch.Tensor
    bias: torch.Tensor
    strength: float
    """Of the L2 penalty."""

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Logits, (N, classes), of features (N, F)."""
        return F.linear((x - self.mean) * self.variance.rsqrt(), self.weight, self.bias)

    def write(self, model: nn.Module) -> None:
        """Put the solution into the `LinearHead` of `model`."""
        LinearHead.of(model).write(self.mean, self.variance, self.weight, self.bias)


def fit_probe(
    x: torch.Tensor, y: torch.Tensor, classes: int, *, weights: torch.Tensor | None = None, seed: int = 0
) -> Probe:
    """Fit on all of `x`, with the strength that has the lowest loss on a stratified fifth of it, held out.

    Parameters
    ----------
    x, y
        Features, float32 (N, F), and labels, int64 (N,).
    weights
        What each class counts in the loss, (classes,).
    """
    mean, variance = x.mean(0), x.var(0, unbiased=False) + EPSILON
    x = (x - mean) * variance.rsqrt()
    strength = _choose(x, y, classes, weights, seed)
    weight, bias = _solve(x, y, strength, weights, torch.zeros(classes, x.shape[1] + 1, device=x.device))
    return Probe(mean, variance, weight, bias, strength)


def balanced(y: torch.Tensor, classes: int) -> torch.Tensor:
    """Weights that make up for classes of unequal size, (classes,): inverse to their images, of mean 1 over these."""
    counts = y.bincount(minlength=classes).clamp(min=1)
    return len(y) / (classes * counts.float())


def _choose(x: torch.Tensor, y: torch.Tensor, classes: int, weights: torch.Tensor | None, seed: int) -> float:
    """The strength whose solution on four fifths of each class has the lowest loss on the others."""
    held = hold_out(y, HELD_OUT, seed)
    if not held.any():
        return USUAL
    losses, start = {}, torch.zeros(classes, x.shape[1] + 1, device=x.device)
    for strength in STRENGTHS:
        weight, bias = _solve(x[~held], y[~held], strength, weights, start)
        losses[strength] = F.cross_entropy(F.linear(x[held], weight, bias), y[held], weights).item()
        start = torch.cat([weight, bias[:, None]], 1)
        if losses[strength] > min(losses.values()):
            break  # the loss has one valley: weaker penalties only cost more steps
    return min(losses, key=losses.get)


def hold_out(y: torch.Tensor, share: float, seed: int) -> torch.Tensor:
    """Draw `share` of each class, at least one image of two or more; a mask, bool (N,), on the device of `y`."""
    generator = torch.Generator().manual_seed(seed)
    held = torch.zeros(len(y), dtype=torch.bool)
    for label in y.unique().tolist():
        members = (y == label).nonzero().flatten().cpu()
        count = min(max(1, round(share * len(members))), len(members) - 1)
        held[members[torch.randperm(len(members), generator=generator)[:count]]] = True
    return held.to(y.device)


def _solve(
    x: torch.Tensor, y: torch.Tensor, strength: float, weights: torch.Tensor | None, start: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight (classes, F) and bias (classes,) of least penalised loss, from `start`, both side by side."""
    solution = start.clone().requires_grad_(True)
    optimizer = torch.optim.LBFGS(
        [solution], max_iter=STEPS, history_size=20, tolerance_grad=GRADIENT, line_search_fn="strong_wolfe"
    )

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        logits = F.linear(x, solution[:, :-1], solution[:, -1])
        penalty = strength / (2 * len(x)) * solution[:, :-1].square().sum()
        total = F.cross_entropy(logits, y, weights) + penalty
        total.backward()
        return total

    with torch.enable_grad():
        optimizer.step(loss)
    found = solution.detach()
    return found[:, :-1], found[:, -1]
