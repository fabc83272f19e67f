"""How the spy game is dealt, repeated from its seed, and copied."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageChops
from spy_examples import play, to_the_vote

from visionzero.games import SpyConfig, SpyGame, derive_seed
from visionzero.images import ImagePair


class TestTheDeal:
    def test_every_seat_is_the_spys_equally_often(self, board: ImagePair) -> None:
        seats = Counter(SpyGame(board, seed=seed).spy_seat for seed in range(5000))
        assert sorted(seats) == [0, 1, 2, 3, 4]
        # Chi-square with 4 degrees of freedom: 18.5 at p = 0.001.
        assert sum((count - 1000) ** 2 / 1000 for count in seats.values()) < 18.5

    def test_the_spys_view_does_not_depend_on_its_seat(self, board: ImagePair) -> None:
        config = SpyConfig(spy_view="mixed")
        games = [SpyGame(board, config, seed=seed) for seed in range(3000)]
        blind = Counter(game.spy_seat for game in games if game.spy_view.image.getextrema() == ((255, 255),) * 3)
        assert sorted(blind) == [0, 1, 2, 3, 4]
        assert all(30 < count < 90 for count in blind.values())

    def test_a_seat_can_be_chosen(self, board: ImagePair) -> None:
        assert [SpyGame(board, spy_seat=seat).spy_seat for seat in range(5)] == [0, 1, 2, 3, 4]
        assert SpyGame(board, spy_seat=np.int64(3)).spy_seat == 3

    def test_numpy_seeds_are_seeds(self, board: ImagePair) -> None:
        for seed in range(20):
            assert SpyGame(board, seed=np.int32(seed)).spy_seat == SpyGame(board, seed=seed).spy_seat
        assert derive_seed(np.int64(3), "x") == derive_seed(3, "x") != derive_seed("3", "x")
        assert derive_seed("\udcff") != derive_seed("\udcfe")

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"spy_seat": 5}, ValueError, "spy_seat must be from 0 to 4, got 5"),
            ({"spy_seat": -1}, ValueError, "spy_seat must be from 0 to 4, got -1"),
            ({"spy_seat": 1.5}, TypeError, "float"),
            ({"seed": 1.5}, TypeError, "float"),
            ({"seed": "1"}, TypeError, "str"),
            ({"image": "photo.png"}, TypeError, "must be an ImagePair or a PIL image, got str"),
            ({"config": {"num_civilians": 3}}, TypeError, "config must be a SpyConfig or None, got dict"),
        ],
    )
    def test_bad_arguments_are_named(
        self, board: ImagePair, arguments: dict[str, Any], error: Any, message: str
    ) -> None:
        with pytest.raises(error, match=message):
            SpyGame(**{"image": board, **arguments})

    @pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "I;16", "F", "HSV"])
    def test_a_pil_image_of_any_mode_is_a_board(self, photo: Image.Image, mode: str) -> None:
        image = photo.convert("L").convert("I").convert("I;16") if mode == "I;16" else photo.convert(mode)
        game = SpyGame(image)
        assert game.pair.civilian.mode == "RGB"
        assert play(game).winner in ("civilians", "spy")

    def test_an_rgb_image_keeps_its_pixels(self, photo: Image.Image) -> None:
        assert ImageChops.difference(SpyGame(photo).pair.civilian, photo).getbbox() is None


class TestReproduction:
    SCRIPT = """
import json, random
import numpy as np
from PIL import Image
from visionzero.games import SpyConfig, SpyGame
from visionzero.images import EditedView, ImagePair

random.seed(NOISE); np.random.seed(NOISE)
image = Image.new("RGB", (16, 8), (10, 20, 30))
board = ImagePair(image, edit=lambda: EditedView(image.rotate(180)))
log = []
for seed in range(6):
    game = SpyGame(board, SpyConfig(spy_view="mixed", votes_per_civilian=2), seed=seed)
    while not game.done:
        for turn in game.pending():
            rng = np.random.default_rng(turn.seed)
            answer = f"\\\\boxed{{{rng.integers(7)}}}" if turn.stage == "decision" else f"\\\\boxed{{clue {rng.random()}}}"
            log.append([turn.seed, turn.role, turn.prompt, turn.images[0].getpixel((0, 0)), answer])
            game.submit(turn, answer)
    outcome = game.outcome
    log.append([outcome.winner, outcome.spy, outcome.vote_counts, outcome.seat_rewards, list(outcome.rewards.values())])
print(json.dumps(log))
"""

    def run(self, noise: int, hash_seed: str) -> list[Any]:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        script = self.SCRIPT.replace("NOISE", str(noise))
        run = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        return json.loads(run.stdout)

    def test_the_same_seed_is_the_same_game_in_any_process(self) -> None:
        first = self.run(noise=1, hash_seed="1")
        assert first == self.run(noise=2, hash_seed="2")
        assert len({entry[2] for entry in first if len(entry) == 5 and isinstance(entry[0], int)}) > 60

    def test_a_game_touches_no_global_generator(self, board: ImagePair) -> None:
        before = np.random.get_state()[1].copy()  # noqa: NPY002 - the legacy generator is what must stay untouched
        play(SpyGame(board, SpyConfig(spy_view="mixed")))
        assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


class TestCopies:
    MOMENTS = (0, 1, 6, 10, 12, 14)

    @staticmethod
    def advance(game: SpyGame, answers: int) -> SpyGame:
        for _ in range(answers):
            turn = game.pending()[-1]
            game.submit(turn, f"\\boxed{{{(turn.index % 5) + 1}}}")
        return game

    @pytest.mark.parametrize("moment", MOMENTS)
    @pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
    def test_are_independent_games_at_the_same_point(self, board: ImagePair, moment: int, copied: Any) -> None:
        game = self.advance(SpyGame(board, SpyConfig(spy_view="edited"), seed=3), moment)
        twin = copied(game)
        assert twin.pending() == game.pending()
        assert twin.history == game.history
        self.advance(twin, 14 - moment)
        assert twin.done
        assert len(game.history) == moment
        assert self.advance(game, 14 - moment).outcome == twin.outcome
        assert [p.turn.prompt for p in game.history] == [p.turn.prompt for p in twin.history]

    def test_share_the_images(self, board: ImagePair) -> None:
        game = SpyGame(board)
        twin = copy.deepcopy({"game": game})["game"]
        assert twin is not game
        assert twin.pair is game.pair
        assert twin.pending()[0].images[0] is game.pending()[0].images[0]

    def test_can_branch(self, board: ImagePair) -> None:
        game = SpyGame(board, spy_seat=0)
        to_the_vote(game)
        branches = [copy.copy(game) for _ in range(2)]
        for branch, vote in zip(branches, ("1", "n/a"), strict=True):
            for turn in branch.pending():
                branch.submit(turn, f"\\boxed{{{vote}}}")
        assert [branch.outcome.winner for branch in branches] == ["civilians", "spy"]
        assert len(game.pending()) == 4

    @pytest.mark.parametrize("moment", MOMENTS)
    def test_by_pickle_go_on_where_the_game_stood(self, photo: Image.Image, moment: int) -> None:
        game = self.advance(SpyGame(ImagePair(photo), seed=3), moment)
        for turn in game.pending():
            assert turn.prompt  # a rendered chat travels too
        twin = pickle.loads(pickle.dumps(game))
        assert twin.pending() == game.pending()
        assert [turn.prompt for turn in twin.pending()] == [turn.prompt for turn in game.pending()]
        assert self.advance(twin, 14 - moment).outcome == self.advance(game, 14 - moment).outcome

    def test_of_turns_by_pickle_can_be_submitted(self, board: ImagePair) -> None:
        game = SpyGame(ImagePair(board.civilian))
        (turn,) = game.pending()
        game.submit(pickle.loads(pickle.dumps(turn)), r"\boxed{x}")
        assert game.history[0].turn is turn
