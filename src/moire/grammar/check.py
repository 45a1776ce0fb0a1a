"""A property over generated texts: growing trials until one fails, then the smallest that still does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .derive import SEEDS_A_RUN, Source
from .shrink import Step, shrink
from .tree import Tree, flat


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended. `shrinks` counts the texts that were tried on the way to the smallest."""

    passed: bool
    trials: int
    seed: int
    first_failure: str | None = None
    smallest: str | None = None
    tree: Tree | None = None
    shrinks: int = 0


def check(
    source: Source,
    holds: Callable[[Sequence[str]], Sequence[bool]],
    *,
    iterations: int = 10,
    max_size: int = 50,
    seed: int = 0,
    batch: int = 1,
    heard: Callable[[Step], None] = lambda step: None,
) -> Result:
    """Ask of `iterations` texts, tiny ones first, whether the property holds. `holds` answers for up to
    `batch` texts at a time, and need not go on behind one that fails; the result is the same for any batch."""

    def fails(texts: Sequence[str]) -> list[bool]:
        return [not well for well in holds(texts)]

    for start in range(0, iterations, batch):
        trials = range(start, min(start + batch, iterations))
        trees = [source.derive(*drawn(n, iterations, max_size, seed)) for n in trials]
        texts = [flat(tree) for tree in trees]
        for n, tree, text, failed in zip(trials, trees, texts, fails(texts), strict=False):
            heard(Step(text, failed))
            if failed:
                tried = 0

                def counted(step: Step) -> None:
                    nonlocal tried
                    tried += 1
                    heard(step)

                smallest = shrink(source, tree, fails, batch=batch, heard=counted)
                return Result(False, n + 1, seed, text, flat(smallest), smallest, tried)
    return Result(True, iterations, seed)


def drawn(number: int, iterations: int, max_size: int, seed: int) -> tuple[int, int]:
    """Seed and size of one of a run's derivations; sizes go from 1 to the largest in even steps."""
    return seed * SEEDS_A_RUN + number, 1 + (max_size - 1) * number // max(1, iterations - 1)
