"""Muon: momentum whose steps are orthogonalised, for the filters of convolutions; Nesterov's SGD for all else.

    learn = Learner(..., opt_func=muon(network_rates), splitter=...)

Source: Jordan et al., "Muon: An optimizer for hidden layers in neural networks" (2024,
kellerjordan.github.io/posts/muon). torch.optim.Muon is for matrices alone.
"""

from typing import Any

from fastai.optimizer import Optimizer, average_grad, l2_reg
from torch import Tensor

# Of p(s) = a s + b s^3 + c s^5, as steep at zero as it may be: singular values end between 0.7 and 1.2, not at 1.
QUINTIC = (3.4445, -4.7750, 2.0315)
ITERATIONS = 3
TINY = 1e-7


def orthogonalised(matrix: Tensor) -> Tensor:
    """Roughly U V^T of the matrix U S V^T, by Newton and Schulz's iteration in bfloat16.

    Parameters
    ----------
    matrix
        float32 (rows, columns), of any size of its entries.

    Returns
    -------
    Tensor
        float32, of the same shape.
    """
    a, b, c = QUINTIC
    x = matrix.bfloat16()
    x = x / (x.norm() + TINY)  # no singular value is above 1
    upright = len(matrix) > matrix.shape[1]
    x = x.T if upright else x
    for _ in range(ITERATIONS):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x.T if upright else x).to(matrix.dtype)


def muon_step(p: Tensor, lr: float, mom: float, grad_avg: Tensor, **_: Any) -> None:
    """A step along Nesterov's momentum; filters (4 dimensions) keep a norm of sqrt(their number), and turn."""
    update = p.grad.data.add(grad_avg, alpha=mom)
    if p.ndim == 4:
        p.data.mul_(len(p) ** 0.5 / p.data.norm())
        update = orthogonalised(update.flatten(1)).view_as(p)
    p.data.add_(update, alpha=-lr)


def muon(params: Any, lr: Any, mom: Any = 0.6, wd: Any = 0.0, **_: Any) -> Optimizer:
    """The optimizer; `lr`, `mom` and `wd` are numbers, or lists of one for each group of parameters.

    ``wd`` is the L2 penalty, added to the gradient; filters, whose norm is constant, are to have none.
    """
    return Optimizer(params, cbs=[l2_reg, average_grad, muon_step], lr=lr, mom=mom, wd=wd)
