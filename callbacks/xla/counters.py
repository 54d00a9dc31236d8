"""What torch_xla counts: compilations, transfers, and the seconds they took, since the process began.

before = count(); ...; count() - before
"""

from dataclasses import astuple, dataclass

NANOSECONDS = 1e9


@dataclass(frozen=True)
class Counts:
    """Totals, or with ``later - earlier`` those of a span of time."""

    compiles: int
    """Graphs that were compiled."""

    cached: int
    """Graphs that were known."""

    compile_seconds: float
    from_device: int
    """Transfers to the CPU, of one tensor or of many at once."""

    to_device: int

    def __sub__(self, earlier: "Counts") -> "Counts":
        return Counts(*(now - then for now, then in zip(astuple(self), astuple(earlier))))


def count() -> Counts:
    """Read the counters; the device is not waited for."""
    return Counts(
        compiles=compiles(),
        cached=_counter("CachedCompile"),
        compile_seconds=_metric("CompileTime")[1] / NANOSECONDS,
        from_device=_metric("TransferFromDeviceTime")[0],
        to_device=_metric("TransferToDeviceTime")[0],
    )


def compiles() -> int:
    """Graphs compiled so far."""
    return _counter("UncachedCompile")


def report() -> str:
    """torch_xla's own report of everything that it counts and times."""
    from torch_xla.debug import metrics

    return metrics.metrics_report()


def _counter(name: str) -> int:
    from torch_xla.debug import metrics

    return metrics.counter_value(name) or 0


def _metric(name: str) -> tuple[int, float]:
    from torch_xla.debug import metrics

    found = metrics.metric_data(name)
    return (found[0], found[1]) if found else (0, 0.0)
