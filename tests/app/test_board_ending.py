"""Texts about a run in TensorBoard: python -m pytest tests/app/test_board_ending.py"""

from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter

from app.board_ending import write_facts
from app.run_folder import write_environment
from data import Sample, Scan


def test_device_and_data(tmp_path):
    write_environment(tmp_path, "cpu", "no GPU was found; x86_64")
    photo = Sample(Path("a.jpg"), "a")
    skipped = [(Path(f"{index}.jpg"), "a copy") for index in range(2)] + [(Path("\ud800.jpg"), "empty \ud800")]
    scan = Scan(
        "photos", "one folder", ["a", "b"], [photo] * 3, [photo] * 2, 96, skipped=skipped, notices=["look\nhere"]
    )
    with SummaryWriter(str(tmp_path)) as writer:
        write_facts(writer, tmp_path, scan)
    events = EventAccumulator(str(tmp_path)).Reload()
    device, found = (
        events.Tensors(f"run/{name}/text_summary")[0].tensor_proto.string_val[0].decode().splitlines()
        for name in ("device", "data")
    )
    assert device[0] == "- device: cpu (no GPU was found; x86_64)"
    assert "fastai " in device[2]
    assert found == [
        "- photos (one folder): 3 training and 2 validation images of 2 classes",
        "- audit: 3 files left out, 0 warnings, 0 notes",
        "- left out, 2: a copy",
        "- left out, 1: empty \\ud800",
        "- look\\nhere",
    ]
