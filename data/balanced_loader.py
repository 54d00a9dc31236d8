"""fastai's ``WeightedDL``, which draws images by weights, and goes on doing so with another batch size."""

from fastai.callback.data import WeightedDL


class BalancedDL(WeightedDL):
    """A new loader of the same images keeps their weights; fastai's draws each equally often then."""

    def new(self, dataset=None, cls=None, **options):
        if (dataset is None or dataset is self.dataset) and issubclass(cls or type(self), WeightedDL):
            options = {"wgts": self.wgts} | options
        return super().new(dataset, cls, **options)
