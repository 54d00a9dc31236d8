"""The rate finder tells how far it is, over all its steps; the rest is in `tests/app/test_train.py`.

python -m pytest tests/app/test_rate_finder.py
"""

import os

from fastai.test_utils import synth_learner

from app.rate_finder import STEPS, find_rate, told


def test_the_steps_are_counted_over_all_epochs(tmp_path):
    learn, seen = synth_learner(path=tmp_path), []
    with learn.added_cbs(told(learn, lambda *progress: seen.append(progress))):
        rate = find_rate(learn, tmp_path)
    assert 1e-7 < rate < 10
    assert len(learn.dls.train) < 20 <= len(seen)
    assert seen == [(done, STEPS) for done in range(1, len(seen) + 1)]
    assert os.listdir(tmp_path) == ["lr_find.png"]
