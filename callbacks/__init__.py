"""What is added to training, one file a behaviour; each is a fastai ``Callback`` for any Learner.

    from callbacks.timing import EpochTimer
    learn.fit_one_cycle(3, cbs=EpochTimer())    # learn.epoch_timer.rows

``EpochTimer`` counts epochs and steps over the whole run and keeps a row per epoch; the files beside it
write those rows somewhere.
"""
