"""Mixtures of sources are even; sampling from a source has a small, checked state."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from source_examples import Numbers

from visionzero.images import BoardSampler, MixedSource, mix_images


class TestMixing:
    def test_boards_keep_their_kinds_and_each_source_its_turn(self) -> None:
        mixture = mix_images([Numbers(4, "a", "clevr"), Numbers(2, "b", "charts")])
        assert [board.name for board in mixture] == ["a 0", "b 0", "a 1", "b 1", "a 2", "b 0", "a 3", "b 1"]
        assert {(board.name[0], board.kind) for board in mixture} == {("a", "clevr"), ("b", "charts")}
        assert mixture.kind == "photos"
        assert mix_images([Numbers(2, "a", "charts"), Numbers(2, "b", "charts")]).kind == "charts"
        assert [skip.name for skip in mixture.skipped] == ["a", "b"]

    def test_lengths_as_weights_give_every_board_once(self) -> None:
        mixture = mix_images([Numbers(7, "a"), Numbers(3, "b"), Numbers(1, "c")], weights=[7, 3, 1])
        assert len({board.name for board in mixture}) == len(mixture) == 11

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.tuples(st.integers(1, 20), st.floats(0.05, 10)), min_size=1, max_size=5))
    def test_every_start_of_the_order_has_about_the_right_shares_and_the_whole_has_every_board(
        self, parts: list[tuple[int, float]]
    ) -> None:
        sources = [Numbers(length, f"s{place}") for place, (length, _) in enumerate(parts)]
        mixture = MixedSource(sources, [weight for _, weight in parts])
        shares = np.array([weight for _, weight in parts]) / sum(weight for _, weight in parts)
        counts = np.zeros(len(parts))
        for done, turn in enumerate(mixture._turns, 1):
            counts[turn] += 1
            assert np.all(np.abs(counts - done * shares) <= max(1.0, len(parts) / 2))
        assert {board.name for board in mixture} == {board.name for source in sources for board in source}

    def test_one_and_the_same_index_is_always_the_same_board(self) -> None:
        first, second = (mix_images([Numbers(5, "a"), Numbers(9, "b")], [0.3, 0.7]) for _ in range(2))
        assert [board.name for board in first] == [board.name for board in second]
        assert first[-1].name == first[len(first) - 1].name

    def test_a_mixture_can_be_mixed_and_specs_are_loaded(self) -> None:
        inner = mix_images(["photos", Numbers(3, "a")])
        assert len(mix_images([inner, Numbers(3, "b")])) == 2 * len(inner)

    @pytest.mark.parametrize(
        ("sources", "weights", "message"),
        [
            ([], None, "at least one source"),
            ([Numbers(0)], None, "empty source"),
            ([Numbers(1)], [1, 2], "2 weights for 1 sources"),
            ([Numbers(1), Numbers(1)], [1, 0], "leave out a source of weight 0"),
            ([Numbers(1), Numbers(1)], [1, float("nan")], "positive and finite"),
            ([Numbers(1), Numbers(1)], [1, 1e-9], "make them more even"),
        ],
    )
    def test_unusable_mixtures_are_errors(self, sources: list[Any], weights: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            mix_images(sources, weights)

    def test_one_source_instead_of_a_list_is_an_error(self) -> None:
        with pytest.raises(TypeError, match="needs a list of sources, got 'photos'"):
            mix_images("photos")


class TestSampler:
    def test_every_epoch_has_every_board_once_in_an_order_of_its_own(self) -> None:
        sampler = BoardSampler(Numbers(6), seed=3)
        epochs = [[sampler.draw().name for _ in range(6)] for _ in range(4)]
        assert all(len(set(epoch)) == 6 for epoch in epochs)
        assert len({tuple(epoch) for epoch in epochs}) > 1
        assert (sampler.position, sampler.epoch) == (24, 4)

    def test_the_seed_decides(self) -> None:
        def order(seed: int) -> list[str]:
            sampler = BoardSampler(Numbers(20), seed)
            return [sampler.draw().name for _ in range(20)]

        assert order(1) == order(1) != order(2)

    @given(st.integers(1, 12), st.integers(0, 40), st.integers(1, 3))
    def test_a_restored_sampler_goes_on_as_the_one_that_was_saved(self, size: int, drawn: int, processes: int) -> None:
        processes = min(processes, size)
        source = Numbers(size)
        sampler = BoardSampler(source, seed=5).shard(processes - 1, processes)
        for _ in range(drawn):
            sampler.draw()
        restored = BoardSampler(source, seed=99).shard(processes - 1, processes)
        restored.load_state_dict(json.loads(json.dumps(sampler.state_dict())))
        if drawn:
            assert restored.current is sampler.current
        assert [restored.draw().name for _ in range(15)] == [sampler.draw().name for _ in range(15)]

    @given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 100))
    def test_processes_never_draw_the_same_board_in_the_same_round(self, size: int, processes: int, seed: int) -> None:
        processes = min(processes, size)
        samplers = [BoardSampler(Numbers(size), seed).shard(index, processes) for index in range(processes)]
        rounds = samplers[0].rounds_per_epoch
        for _ in range(3):
            epoch = [[sampler.draw().name for sampler in samplers] for _ in range(rounds)]
            assert all(len(set(names_)) == processes for names_ in epoch)
            assert len({name for names_ in epoch for name in names_}) == rounds * processes

    def test_boards_that_sit_out_change_from_epoch_to_epoch(self) -> None:
        samplers = [BoardSampler(Numbers(5), 0).shard(index, 2) for index in range(2)]
        seen = {sampler.draw().name for _ in range(20) for sampler in samplers}
        assert len(seen) == 5

    def test_a_state_of_something_else_is_refused(self) -> None:
        state = BoardSampler(Numbers(5), 1).state_dict()
        with pytest.raises(ValueError, match="saved with 5 boards, but numbers has 6"):
            BoardSampler(Numbers(6)).load_state_dict(state)
        with pytest.raises(ValueError, match=r"saved by 1 processes, now there are 2"):
            BoardSampler(Numbers(5)).shard(0, 2).load_state_dict(state)
        with pytest.raises(ValueError, match=r"position, .* missing"):
            BoardSampler(Numbers(5)).load_state_dict({"seed": 1})
        with pytest.raises(ValueError, match="must be 0 or more"):
            BoardSampler(Numbers(5)).load_state_dict({**state, "position": -1})

    def test_impossible_shards_and_sources_are_errors(self) -> None:
        with pytest.raises(ValueError, match="4 processes cannot each draw a board of their own from the 3"):
            BoardSampler(Numbers(3)).shard(0, 4)
        with pytest.raises(ValueError, match="process_index must be 0 to 1, got 2"):
            BoardSampler(Numbers(3)).shard(2, 2)
        with pytest.raises(ValueError, match="no boards"):
            BoardSampler(Numbers(0))
        with pytest.raises(ValueError, match="seed"):
            BoardSampler(Numbers(3), seed=-1)
        sampler = BoardSampler(Numbers(3))
        with pytest.raises(RuntimeError, match="no board"):
            _ = sampler.current
        assert sampler.draw() is sampler.current
        with pytest.raises(ValueError, match="before the first draw"):
            sampler.shard(0, 2)
