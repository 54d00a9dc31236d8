"""Seeded draws that keep the classes in proportion: the validation split, and ``--limit``.

train, valid = stratified_split(samples, valid_pct=0.2, seed=0)
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar

from data.errors import DataError
from data.findings import Item

T = TypeVar("T")  # anything with a `label`


def stratified_split(samples: Sequence[T], valid_pct: float, seed: int) -> tuple[list[T], list[T]]:
    """Split `samples` at random, class by class.

    Each class gives `valid_pct` of its images, rounded, to validation, but keeps at least one in train;
    a class of two or more images gives at least one.

    Raises
    ------
    DataError
        Nothing is left to validate on: every class has one image.
    """
    rng = random.Random(seed)
    train, valid = [], []
    for group in _by_label(samples).values():
        count = min(max(round(len(group) * valid_pct), 1), len(group) - 1)
        drawn = set(rng.sample(range(len(group)), count))
        for index, sample in enumerate(group):
            (valid if index in drawn else train).append(sample)
    if not valid:
        raise DataError(
            "every class has a single image, copies not counted: nothing is left to validate on, add images"
        )
    return train, valid


def drawn_split(items: Sequence[Item], valid_pct: float, seed: int) -> tuple[list[Item], list[Item]]:
    """`stratified_split` so that copies of one image of a class stay together: no leak is made here."""
    copies: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        copies.setdefault((item.label, item.facts.digest), []).append(item)
    drawn = stratified_split([group[0] for group in copies.values()], valid_pct, seed)
    train, valid = ([item for first in firsts for item in copies[first.label, first.facts.digest]] for firsts in drawn)
    return train, valid


def limit_samples(samples: Sequence[T], limit: int, seed: int) -> list[T]:
    """Draw `limit` of the samples, the classes in proportion, at least one of each.

    Raises
    ------
    DataError
        `limit` is below the number of classes.
    """
    if limit >= len(samples):
        return list(samples)
    groups = _by_label(samples)
    if limit < len(groups):
        raise DataError(f"--limit {limit} is below the number of classes ({len(groups)}): raise it")
    rng = random.Random(seed)
    return [
        sample
        for group, count in zip(groups.values(), _shares(groups.values(), limit))
        for sample in rng.sample(group, count)
    ]


def _shares(groups: Sequence[list], limit: int) -> list[int]:
    """Largest remainders: whole numbers in proportion to the groups that add up to `limit`, none zero."""
    total = sum(map(len, groups))
    exact = [len(group) * limit / total for group in groups]
    shares = [max(1, int(share)) for share in exact]
    while sum(shares) != limit:
        step = 1 if sum(shares) < limit else -1
        # The group that is furthest from its exact share in that direction moves by one.
        movable = [i for i in range(len(shares)) if shares[i] + step >= 1]
        shares[max(movable, key=lambda i: (exact[i] - shares[i]) * step)] += step
    return shares


def _by_label(samples: Sequence[T]) -> dict[str, list[T]]:
    groups = defaultdict(list)
    for sample in samples:
        groups[sample.label].append(sample)
    return dict(groups)
