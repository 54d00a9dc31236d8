"""Batches, counted for a progress bar: python -m pytest tests/callbacks/test_batch_progress.py"""

from callbacks.batch_progress import BatchProgress


def test_each_batch_of_each_loader(make_learner):
    calls = []
    make_learner().get_preds(cbs=BatchProgress(lambda done, total: calls.append((done, total))))
    assert calls == [(1, 2), (2, 2)]
    calls.clear()
    make_learner().fit(1, cbs=BatchProgress(lambda done, total: calls.append((done, total))))
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4), (1, 2), (2, 2)]
