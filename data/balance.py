"""Classes of which there are far fewer images than of others: the network would learn to ignore them.

findings = balance_findings(kept)
class_weights(scan)                         # {"cat": 0.6, "dog": 3.0}, the cure
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from data.findings import Finding, Item

IMBALANCE_RATIO = 5  # largest to smallest class in train; at 2 or 3, as real sets have it, training is no worse
LISTED = 3  # classes spelled out


def balance_findings(items: Iterable[Item]) -> list[Finding]:
    """One warning with the counts when train's largest class has `IMBALANCE_RATIO` times the smallest's images."""
    counts = Counter(item.label for item in items if item.split == "train").most_common()
    if not counts or counts[0][1] < IMBALANCE_RATIO * counts[-1][1]:
        return []
    (largest, most), fewest = counts[0], counts[-1][1]
    few = [f"{label} {count}" for label, count in reversed(counts) if most >= IMBALANCE_RATIO * count]
    listed = ", ".join(few[:LISTED]) + (", ..." if len(few) > LISTED else "")
    message = (
        f"classes out of balance, {most / fewest:.0f} to 1: {largest} has {most} training images, but {listed}; "
        "--balance weights or sampler makes up for it"
    )
    return [Finding("imbalance", "warning", message)]


def class_weights(scan: Any) -> dict[str, float]:
    """A weight for each class of `scan`, inverse to its training images, of mean 1 over the images.

    The heuristic of King and Zeng 2001, as scikit-learn's ``class_weight="balanced"``.
    """
    counts = Counter(sample.label for sample in scan.train)
    return {label: len(scan.train) / (len(counts) * counts[label]) for label in scan.classes}
