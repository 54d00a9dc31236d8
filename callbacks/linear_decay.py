"""Learning rates that fall in a straight line, each group's of parameters to its own end.

learn.fit(8, cbs=LinearDecay([0.1, 0.2], ends=[3 / 8, 1]))
"""

from collections.abc import Sequence

from fastai.callback.schedule import ParamScheduler


class LinearDecay(ParamScheduler):
    """From its peak, at the first step, each group's rate falls to zero; there its parameters are trained no more.

    Parameters
    ----------
    peaks
        One a group of parameters.
    ends
        Shares of the training, in (0, 1], at which the groups' rates become zero.
    """

    def __init__(self, peaks: Sequence[float], ends: Sequence[float]):
        self._peaks, self._ends = list(peaks), list(ends)
        super().__init__({"lr": self._rates})

    def _rates(self, position: float) -> list[float]:
        return [max(0.0, peak * (1 - position / end)) for peak, end in zip(self._peaks, self._ends)]

    def before_batch(self):
        super().before_batch()
        for parameters, hypers in zip(self.opt.param_lists, self.opt.hypers):
            if hypers["lr"] == 0:  # no gradient has to be computed for them
                for parameter in parameters:
                    parameter.requires_grad_(False)
                    parameter.grad = None
