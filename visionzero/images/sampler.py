"""Draws boards for training."""

from __future__ import annotations

from typing import Any

import numpy as np

from visionzero.images.source import ImagePair, ImageSource


class BoardSampler:
    """Draws every board of a source once an epoch, in an order of its own each epoch.

    The order of epoch `e` is a permutation that depends on the seed and `e` alone, so seed and position are the whole
    state. After `shard`, `n` processes divide each epoch into rounds of `n` different boards, one a process; the
    `len(source) % n` boards left at the end of the epoch's order sit that epoch out (others in every epoch), so no two
    processes ever draw the same board in the same round.

    Args:
        source: The boards.
        seed: What the orders are drawn from.

    Attributes:
        source: The boards.
        seed: The seed.
        position: How many boards this process has drawn.

    Raises:
        ValueError: The source is empty, or the seed is negative.
    """

    def __init__(self, source: ImageSource, seed: int = 0) -> None:
        if len(source) == 0:
            raise ValueError(f"{source.name} has no boards to draw")
        if seed < 0:
            raise ValueError(f"seed must be 0 or more, got {seed}")
        self.source = source
        self.seed = seed
        self.position = 0
        self._process_index, self._num_processes = 0, 1
        self._epoch = -1
        self._order = np.empty(0, dtype=np.int64)

    def shard(self, process_index: int, num_processes: int) -> BoardSampler:
        """Draw the share of one process from now on; every process needs the same source and seed.

        Args:
            process_index: Which process this is, from 0.
            num_processes: How many there are.

        Returns:
            This sampler.

        Raises:
            ValueError: There is no such process, more processes than boards, or boards have been drawn already.
        """
        if not 0 <= process_index < num_processes:
            raise ValueError(f"process_index must be 0 to {num_processes - 1}, got {process_index}")
        if num_processes > len(self.source):
            raise ValueError(
                f"{num_processes} processes cannot each draw a board of their own from the {len(self.source)} of "
                f"{self.source.name}; give at least {num_processes} images"
            )
        if self.position:
            raise ValueError(f"shard must come before the first draw, {self.position} boards have been drawn")
        self._process_index, self._num_processes = process_index, num_processes
        return self

    @property
    def rounds_per_epoch(self) -> int:
        """How many boards each process draws in an epoch."""
        return len(self.source) // self._num_processes

    @property
    def epoch(self) -> int:
        """The epoch that the next board belongs to, from 0."""
        return self.position // self.rounds_per_epoch

    def index_at(self, position: int) -> int:
        """Index in the source of the board that this process draws at `position`, from 0."""
        epoch, place = divmod(position, self.rounds_per_epoch)
        if epoch != self._epoch:
            self._order = np.random.default_rng([self.seed, epoch]).permutation(len(self.source))
            self._epoch = epoch
        return int(self._order[place * self._num_processes + self._process_index])

    def draw(self) -> ImagePair:
        """The next board."""
        board = self.source[self.index_at(self.position)]
        self.position += 1
        return board

    @property
    def current(self) -> ImagePair:
        """The board that was drawn last.

        Raises:
            RuntimeError: None has been drawn.
        """
        if self.position == 0:
            raise RuntimeError("no board has been drawn yet")
        return self.source[self.index_at(self.position - 1)]

    def state_dict(self) -> dict[str, Any]:
        """Everything that `load_state_dict` needs to go on from here; the same on every process that drew as many."""
        return {
            "seed": self.seed,
            "position": self.position,
            "source_length": len(self.source),
            "num_processes": self._num_processes,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where a sampler with the same source and the same number of processes stopped.

        Args:
            state: What `state_dict` gave.

        Raises:
            ValueError: The state belongs to a source of another length or to another number of processes, or is no state.
        """
        missing = {"seed", "position", "source_length", "num_processes"} - state.keys()
        if missing:
            raise ValueError(f"not the state of a BoardSampler: {', '.join(sorted(missing))} missing")
        if state["source_length"] != len(self.source):
            raise ValueError(
                f"the state was saved with {state['source_length']} boards, but {self.source.name} has {len(self.source)}; "
                "resume with the same images"
            )
        if state["num_processes"] != self._num_processes:
            raise ValueError(
                f"the state was saved by {state['num_processes']} processes, now there are {self._num_processes}; resume "
                "with as many, after calling shard"
            )
        if state["position"] < 0 or state["seed"] < 0:
            raise ValueError(f"position and seed must be 0 or more, got {state['position']} and {state['seed']}")
        self.seed, self.position = state["seed"], state["position"]
        self._epoch = -1
