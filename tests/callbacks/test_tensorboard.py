"""TensorBoard: one writer and one growing step a run.

python -m pytest tests/callbacks/test_tensorboard.py
"""

import re

import pytest
import torch
from fastai.callback.core import Callback
from fastai.metrics import F1Score, accuracy
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar import layout_pb2

from callbacks.tensorboard import EPOCH_TAGS, TensorBoard, group_names
from callbacks.timing import EpochTimer, RowCallback


@pytest.mark.parametrize(("every", "steps"), [(10, [10, 12]), (None, [10, 12]), (5, [5, 10, 12])])
def test_losses_every_so_many_steps_or_all_at_the_end(make_learner, tmp_path, every, steps):
    board = TensorBoard(tmp_path, every)
    learn = make_learner(cbs=[EpochTimer(), board])
    learn.dls.train.bs = 2  # 12 steps
    learn.fit(1)
    board.close()
    losses = EventAccumulator(str(tmp_path)).Reload().Scalars("train/loss")
    recorded = learn.recorder.losses
    assert [(loss.step, loss.value) for loss in losses] == [
        (step, pytest.approx(float(recorded[step - 1]))) for step in steps
    ]


class AddToRow(RowCallback):
    order = 57

    def on_row(self, row):
        row["chip/degrees"] = 40.0 + row["epoch"]


def test_what_others_add_to_the_row_under_a_name_with_a_slash(make_learner, tmp_path):
    board = TensorBoard(tmp_path)
    make_learner(cbs=[EpochTimer(), AddToRow(), board]).fit(2)
    board.close()
    degrees = EventAccumulator(str(tmp_path)).Reload().Scalars("chip/degrees")
    assert [(event.step, event.value) for event in degrees] == [(1, 41.0), (2, 42.0)]


def f1():
    metric = F1Score(average="macro")
    metric.name = "f1"
    return metric


def test_epoch_tags_count_epochs_and_step_tags_steps(make_learner, tmp_path):
    board = TensorBoard(tmp_path / "board")
    learn = make_learner(metrics=[accuracy, f1()], cbs=[EpochTimer(), board])
    learn.lr_find(num_it=8, show_plot=False, suggest_funcs=None)
    learn.freeze()
    learn.fit_one_cycle(2)
    learn.unfreeze()
    learn.validate()
    learn.fit_one_cycle(4)
    board.close()
    board.close()
    assert len(list((tmp_path / "board").iterdir())) == 1
    events = EventAccumulator(str(tmp_path / "board")).Reload()
    groups = {f"{kind}/{name}" for kind in ("lr", "momentum") for name in group_names(len(learn.opt.hypers))}
    others = {"time/warmup_epoch", "train/loss", "train/loss_raw", "train/gradient_norm", "memory/process"}
    assert set(events.Tags()["scalars"]) == {*EPOCH_TAGS.values(), *others, *groups}
    rows = learn.epoch_timer.rows
    for column, tag in EPOCH_TAGS.items():
        written = [(event.step, event.value) for event in events.Scalars(tag)]
        assert written == [(row["epoch"], pytest.approx(row[column], rel=1e-5)) for row in rows], tag
    assert [event.value for event in events.Scalars("time/warmup_epoch")] == [1, 0, 1, 0, 0, 0]
    for tag in ("train/loss", "lr/head"):  # 6 epochs of 4 steps: every tenth, and the last of each epoch
        assert [event.step for event in events.Scalars(tag)] == [4, 8, 10, 12, 16, 20, 24], tag


def test_a_resumed_run_writes_every_step_once(make_learner, tmp_path):
    timer, board = EpochTimer(), TensorBoard(tmp_path)
    learn = make_learner(cbs=[timer, board])
    learn.fit(2)
    kept = [{**timer.state_dict(), "rows": list(timer.rows)}, board.state_dict()]
    learn.fit(2)  # lost, as by a kill
    board.close()
    timer, board = EpochTimer(), TensorBoard(tmp_path)
    resumed = make_learner(cbs=[timer, board])
    timer.load_state_dict(kept[0])
    board.load_state_dict(kept[1])
    resumed.fit(3)
    board.close()
    # File by file: of files of one process and one second, TensorBoard takes the tenth for older than the ninth.
    files = sorted(tmp_path.glob("events*"), key=lambda file: file.stat().st_mtime_ns)
    parts = [EventAccumulator(str(file)).Reload() for file in files]

    def events(tag):
        return [event for part in parts if tag in part.Tags()["scalars"] for event in part.Scalars(tag)]

    assert [event.step for event in events("valid/loss")] == [1, 2, 3, 4, 5]
    assert [event.step for event in events("train/loss")] == [4, 8, 10, 12, 16, 20]
    assert [event.value for event in events("time/warmup_epoch")] == [1, 0, 1, 0, 0]


def test_the_layout_names_four_dashboards_and_only_tags_there_are(make_learner, tmp_path):
    board = TensorBoard(tmp_path, every=1)
    learn = make_learner(metrics=[accuracy, f1()], cbs=[EpochTimer(), board])
    learn.fit(1)
    board.close()
    events = EventAccumulator(str(tmp_path)).Reload()
    layout = layout_pb2.Layout.FromString(events.Tensors("custom_scalars__config__")[0].tensor_proto.string_val[0])
    assert [category.title for category in layout.category] == ["Quality", "Speed", "Optimisation", "Hardware"]
    patterns = [tag for category in layout.category for chart in category.chart for tag in chart.multiline.tag]
    tags = events.Tags()["scalars"]
    assert [pattern for pattern in patterns if not any(re.fullmatch(pattern, tag) for tag in tags)] == [
        "time/compile",
        "xla/compiles.*",
        "xla/transfers.*",
    ]


def test_raw_loss_and_gradient_are_those_of_the_step(make_learner, tmp_path):
    class Note(Callback):
        order = 90

        def after_backward(self):
            gradients = [parameter.grad.flatten() for parameter in self.learn.model.parameters()]
            norms.append(torch.cat(gradients).norm().item())

        def after_batch(self):
            if self.training:
                losses.append(self.learn.loss.item())

    norms, losses = [], []
    board = TensorBoard(tmp_path, every=2)
    make_learner(cbs=[EpochTimer(), board, Note()]).fit(1)
    board.close()
    events = EventAccumulator(str(tmp_path)).Reload()
    found = [(event.step, event.value) for event in events.Scalars("train/gradient_norm")]
    assert found == [(step, pytest.approx(norms[step - 1])) for step in range(2, len(norms) + 1, 2)]
    raw = [(event.step, event.value) for event in events.Scalars("train/loss_raw")]
    assert raw == [(step, pytest.approx(losses[step - 1])) for step in range(2, len(losses) + 1, 2)]
