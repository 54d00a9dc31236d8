"""Train an image classifier and export it.

python -m app.train data/
python -m app.train cifar10 --arch resnet18_cifar --epochs 10
"""

import sys
import time
from argparse import Namespace
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from app.errors import UsageError, run, running, signalled
from app.resuming import last_checkpoint, resumed
from app.run_lock import hold
from app.settings import parse
from app.speed_recipe import apply_recipe
from app.train_args import build_parser


def main(argv: list[str]) -> int:
    """Settings, device, scan, spec, loaders, learner, callbacks, fit, report: one after the other."""
    args = parse(build_parser(), argv)
    if args.list_archs:
        return _list_archs(args.list_archs)
    if args.resume:
        args = resumed(build_parser, argv, Path(args.resume))
    if args.source is None and args.csv is None:
        raise UsageError("SOURCE is missing: give a folder of images, or cifar10")
    apply_recipe(args)
    started = time.perf_counter()
    from app import run_folder

    run_folder.check_outputs(args.source, Path(args.output), Path(args.export))
    import data
    import models
    from app import input_pipeline, report
    from app.allocator import keep_freed_memory
    from app.starting import earlier_model, starting_point

    report.say_versions()
    keep_freed_memory()
    # What may fail, fails before the files are looked at; what cannot, needs torch, which is imported meanwhile.
    asked = None if args.device == "auto" else _device(args)
    start = earlier_model(args)
    pixels = input_pipeline.open_pixels(args)
    scan = _scan(args, pixels)
    report.say_scan(scan)
    device, reason = asked or _device(args)
    spec = starting_point(args, scan, start)
    from app import fitting  # fastai takes seconds: only now that the source is known to be good
    from app.augmentation import loader_augmentation
    from app.determinism import repeatable
    from app.dry_run import dry_run
    from app.finishing import finish
    from app.memory import say_peak_memory
    from app.settling import settle
    from app.speed import Speed
    from app.xla import loader_device

    settings = settle(args, spec, scan)
    report.say_spec(spec, settings)
    input_pipeline.settle(settings, scan)
    repeatable(args.seed, args.deterministic)
    loaders = data.loaders(
        scan,
        spec,
        batch_size=settings["batch_size"],
        workers=args.workers,
        device=loader_device(device),
        **loader_augmentation(settings),
        flip=settings["flip"],
        balanced=args.balance == "sampler",
        pixels=pixels,
    )
    weights = data.class_weights(scan) if args.balance == "weights" else None
    learn = models.learner(
        loaders,
        spec,
        opt=settings["opt"],
        class_weights=weights,
        label_smoothing=settings["label_smoothing"],
        train_bn=settings["train_bn"],
        start=start,
    )
    state = last_checkpoint(Path(args.resume), scan.classes, settings) if args.resume else None
    learn.path = folder = _run_folder(args, spec)
    report.say(f"run folder: {folder}")
    run_folder.write_run(folder, settings, device, reason, scan.skipped)
    if args.dry_run:
        return dry_run(learn, settings, folder)
    hold(folder)
    speed = Speed(learn, settings, probe_batch=args.batch_size == "auto")
    save = partial(models.export, learn, spec, folder / "model.pkl")
    with running(), closing(fitting.open_board(settings, folder)) as board:
        outcome = fitting.fit(learn, settings, folder, board, speed.settle, save, state)
        finish(learn, scan, settings, board, outcome, save)
    input_pipeline.say_cache(pixels)
    say_peak_memory()
    speed.say_end()
    if outcome.interrupted:
        report.say_interrupted(folder, outcome.best, outcome.steps)
        return signalled(outcome.interrupted)
    replaced = run_folder.copy_export(folder / "model.pkl", Path(args.export))
    report.say_end(scan, spec, folder, args, outcome.best, time.perf_counter() - started, replaced=replaced)
    return 0


def _device(args: Namespace) -> tuple[Any, str]:
    from app import report
    from app.device import choose_device

    device, reason = choose_device(args.device, args.xla_devices, args.xla_cache)
    report.say(f"device: {device} ({reason})")
    return device, reason


def _scan(args: Namespace, pixels: Any) -> Any:
    import data
    from app.importing_ahead import importing_ahead
    from app.progress import progress_bar

    with progress_bar("files looked at") as progress:
        return data.scan(
            args.source,
            csv=args.csv,
            csv_columns=args.csv_columns,
            valid_pct=args.valid_pct,
            limit=args.limit,
            seed=args.seed,
            data_dir=args.data_dir,
            allow_truncated=args.allow_truncated,
            drop_leaks=args.drop_leaks,
            progress=importing_ahead("app.fitting", progress),
            pixels=pixels,
        )


def _run_folder(args: Namespace, spec: Any) -> Path:
    from app import run_folder

    if args.resume:
        return Path(args.resume)
    return run_folder.new_run_folder(Path(args.output), spec.arch.name, spec.image_size, args.name)


def _list_archs(pattern: str) -> int:
    from models.architectures import names

    found = names(pattern)
    if not found:
        raise UsageError(f"--list-archs {pattern}: no architecture matches")
    print("\n".join(found))
    return 0


if __name__ == "__main__":
    sys.exit(run(main))
