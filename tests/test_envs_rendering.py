from __future__ import annotations

import itertools

import gymnasium
import numpy as np
import pytest
from envs_table import Chatterbox, Gradients
from gymnasium.error import ResetNeeded
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from visionzero.envs import spy_aec_v0
from visionzero.envs.rendering import FRAME_SIZE, render_frame, render_text
from visionzero.envs.spy import SpyEnv
from visionzero.games import SpyConfig, SpyGame

BOARD = Image.new("RGB", (40, 30), (10, 200, 30))


def play(
    game: SpyGame, clue: str = r"\boxed{a green field}", vote: str = r"\boxed{1}", turns: int | None = None
) -> SpyGame:
    while not game.done and (turns is None or len(game.history) < turns):
        turn = game.pending()[0]
        game.submit(turn, clue if turn.stage == "clue" else vote)
    return game


def shows(frame: np.ndarray, color: tuple[int, int, int]) -> bool:
    """Whether a good part of the frame has exactly this colour."""
    return bool((frame == color).all(axis=-1).sum() > 10_000)


def test_the_text_tells_the_game_so_far_and_votes_only_when_it_is_over():
    game = SpyGame(BOARD, SpyConfig(num_civilians=3, clue_rounds=1), spy_seat=1)
    assert "Clue round 1 of 1" in render_text(game)
    play(game, turns=2)
    assert "Player 2 (spy): a green field" in render_text(game)
    assert "Player 3" not in render_text(game)
    play(game, turns=5)
    assert "Vote: 1 of 3 are in" in render_text(game)
    assert "->" not in render_text(game)
    play(game, vote=r"\boxed{2}")
    text = render_text(game)
    assert "The civilians win: player 2 was the spy" in text
    assert "  Player 1 -> invalid\n  Player 3 -> 2\n  Player 4 -> 2\n" in text
    assert "Votes received  1: 0, 2: 2, 3: 0, 4: 0" in text


def test_the_observers_votes_are_named_as_such():
    game = play(SpyGame(BOARD, SpyConfig(voters="observer", votes_per_game=2), spy_seat=4))
    assert render_text(game).count("Observer -> 1") == 2


def test_a_seat_sees_no_more_than_it_may_until_the_game_is_over():
    game = play(SpyGame(BOARD, SpyConfig(num_civilians=2, clue_rounds=1), spy_seat=0), turns=4)
    assert "spy)" not in render_text(game, viewer=1)
    assert "You are player 2, a civilian" in render_text(game, viewer=1)
    assert "You are player 1, the spy" in render_text(game, viewer=0)
    civilian, spy, audience = (render_frame(game, viewer) for viewer in (1, 0, None))
    green, white = (10, 200, 30), (255, 255, 255)
    assert (shows(civilian, green), shows(civilian, white)) == (True, False)
    assert (shows(spy, green), shows(spy, white)) == (False, True)
    assert (shows(audience, green), shows(audience, white)) == (True, True)
    play(game)
    for viewer in (0, 1):
        assert "Player 1 (spy)" in render_text(game, viewer)
        assert shows(render_frame(game, viewer), green)
        assert shows(render_frame(game, viewer), white)


def test_frames_change_with_every_clue_and_with_the_votes():
    game = SpyGame(BOARD, SpyConfig(num_civilians=2, clue_rounds=1), spy_seat=0)
    frames = [render_frame(game)]
    while not game.done:
        play(game, turns=len(game.history) + 1)
        frames.append(render_frame(game))
    assert all((first != second).any() for first, second in itertools.pairwise(frames))


@settings(max_examples=25, deadline=None)
@given(
    clue=st.text(st.characters(exclude_categories=()), max_size=300),
    vote=st.sampled_from([r"\boxed{1}", r"\boxed{n/a}", ""]),
    turns=st.integers(0, 60),
    players=st.integers(2, 8),
    rounds=st.integers(1, 4),
)
def test_any_text_is_drawn_on_frames_of_one_size(clue, vote, turns, players, rounds):
    config = SpyConfig(num_civilians=players, clue_rounds=rounds)
    game = play(SpyGame(BOARD, config), f"\\boxed{{{clue}}}", vote, turns)
    frame = render_frame(game)
    assert frame.shape == (*FRAME_SIZE, 3)
    assert frame.dtype == np.uint8
    assert frame.flags.writeable
    text = render_text(game)
    text.encode()
    assert len(text.split("\n")) <= 2 + rounds * (2 + 1 + players) + 7 + players


@pytest.mark.parametrize("clue", ["x" * 5000, "漢" * 5000, "word " * 1000, "W" * 399 + " end"])
def test_long_clues_stay_inside_their_column(clue):
    config = SpyConfig(num_civilians=8, clue_rounds=4, max_clue_chars=5000)
    frame = render_frame(play(SpyGame(BOARD, config), f"\\boxed{{{clue}}}"))
    paper = frame[0, 0]
    assert (frame[:, -12:] == paper).all()
    assert (frame[:12] == paper).all()


def test_environments_render_in_the_mode_they_were_made_with():
    kwargs = {"images": Gradients(), "opponents": Chatterbox()}
    for mode, kind in (("ansi", str), ("rgb_array", np.ndarray)):
        env = SpyEnv(render_mode=mode, **kwargs)
        with pytest.raises(ResetNeeded):
            env.render()
        env.reset(seed=0)
        assert isinstance(env.render(), kind)
        table = spy_aec_v0.env(images=Gradients(), render_mode=mode)
        table.reset(seed=0)
        assert isinstance(table.render(), kind)
    env = SpyEnv(**kwargs)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match='render_mode="ansi"'):
        assert env.render() is None


def test_gymnasiums_frame_collection_works():
    env = gymnasium.make(
        "visionzero/WhoIsTheSpy-v0", images=Gradients(), opponents=Chatterbox(), render_mode="rgb_array_list"
    )
    env.reset(seed=0)
    env.step("")
    assert [frame.shape for frame in env.render()] == [(*FRAME_SIZE, 3)] * 2
