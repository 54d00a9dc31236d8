"""Gradients of several batches for one step of the optimizer: a large batch in little memory.

learn.fit_one_cycle(3, cbs=Accumulate(64))  # batches of 16: a step every fourth
"""

from fastai.callback.training import GradientAccumulation


class Accumulate(GradientAccumulation):
    """fastai's, which counts images; but a fit does not begin with gradients that the one before has left over.

    Parameters
    ----------
    n_acc
        Images per step of the optimizer.
    """

    def before_fit(self):
        super().before_fit()
        if self.learn.opt is not None:  # there is none in validate and get_preds before the first fit
            self.learn.opt.zero_grad()
