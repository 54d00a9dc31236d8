"""Batch norms that keep the statistics they came with: a small data set's batches say less than ImageNet did.

learn.fine_tune(3, cbs=FixedBatchNorm())
"""

from fastai.callback.core import Callback
from fastai.learner import TrainEvalCallback
from torch.nn.modules.batchnorm import _BatchNorm


class FixedBatchNorm(Callback):
    """In training, every batch norm normalises as in evaluation; its weight and bias are trained as before.

    So a body that is frozen, by a Learner with ``train_bn=False``, is constant: the same image has the same features
    in every batch and epoch. fastai's BnFreeze does this while the parameters are frozen alone.
    """

    run_after, run_valid = TrainEvalCallback, False  # which puts the whole model into training mode

    def before_train(self):
        for module in self.learn.model.modules():
            if isinstance(module, _BatchNorm):
                module.eval()
