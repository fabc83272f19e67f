"""Who Is the Spy? as a gymnasium environment: one seat is the caller's, players answer for the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from numpy.typing import NDArray

from visionzero.envs.dealing import Dealer, Seat, read_seat
from visionzero.envs.observation import (
    Observation,
    SeatObserver,
    action_space,
    check_action,
    copy_messages,
    observation_space,
    read_image_size,
)
from visionzero.envs.rendering import RENDER_FPS, RENDER_MODES, check_render_mode, render_game
from visionzero.envs.results import game_result, seat_result, seat_return
from visionzero.games import SpyConfig, SpyGame, SpyOutcome, SpyTurn
from visionzero.players.base import Player


class SpyEnv(gymnasium.Env[Observation, str]):
    """One seat of Who Is the Spy?

    An episode is a game. The caller answers the turns of its seat: `clue_rounds` clues, and as a civilian its votes.
    Everybody else is played by `opponents`. The reward is paid with the last step, because no clue is worth anything
    before the votes are in, and a vote that was paid at once would give the spy away to the voter's next vote: it is the
    sum of the game's rewards for the caller's turns; `info["turn_rewards"]` has them one by one. Steps before pay 0.

    Args:
        images: The boards: an `ImageSource`, or anything that `visionzero.images.registry.load_images` takes.
        config: The rules: a `SpyConfig`, a mapping of its fields, or None for the paper's.
        seat: The caller's seat: `"random"`, `"spy"`, `"civilian"`, or a number from 0.
        opponents: Who plays the other seats: one player, or a player for each role; scripted players if None.
        image_size: Size of the observed image in pixels: a side, or (height, width).
        render_mode: `"ansi"`, `"rgb_array"` or None.

    Attributes:
        game: The game being played, None before the first `reset`.
        seat: The caller's seat in this game, from 0.
        turn: The turn that the next action answers; None when the game is over.
        images: The boards.
        config: The rules.
        opponents: The player of each role.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: An argument has a value that is not allowed.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - gymnasium declares it so
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
    }

    def __init__(
        self,
        images: Any = None,
        config: SpyConfig | Mapping[str, Any] | None = None,
        seat: Seat = "random",
        opponents: Player | Mapping[str, Player] | None = None,
        image_size: int | Sequence[int] = 224,
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = check_render_mode(render_mode)
        self._image_size = read_image_size(image_size)
        self._dealer = Dealer(images, config)
        self.images, self.config = self._dealer.images, self._dealer.config
        self._seat_rule = read_seat(seat, self.config)
        self.opponents = read_opponents(opponents, self._seat_rule, self.config)
        self.observation_space = observation_space(self.config, self._image_size)
        self.action_space = action_space()
        self.game: SpyGame | None = None
        self.seat = -1
        self.turn: SpyTurn | None = None
        self._observer: SeatObserver | None = None
        self._closed = False

    @property
    def outcome(self) -> SpyOutcome:
        """How the game ended.

        Raises:
            RuntimeError: The game is not done.
        """
        return self._playing().outcome

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Deal a new game and play it up to the caller's first turn.

        Args:
            seed: Seed of `np_random`, from which everything is dealt; None goes on with the generator.
            options: Any of `"image"`, `"index"` and `"spy_seat"`, see `Dealer.read_options`.

        Returns:
            The observation, and an info with `role`, `messages` (the chat with the full-size image) and `turn` (what a
            `Player` can answer).

        Raises:
            ClosedEnvironmentError: The environment is closed.
            ValueError: An option is unknown or not allowed.
        """
        self._check_open()
        pinned = self._dealer.read_options(options)
        super().reset(seed=seed)
        self.game, self.seat = self._dealer.deal(self.np_random, pinned, self._seat_rule)
        self._observer = SeatObserver(self.game, self._image_size)
        self._play_opponents()
        return self._observe(), self._info()

    def step(self, action: str) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        r"""Answer the caller's turn and play on up to its next one, or to the end of the game.

        Args:
            action: The answer: reasoning, which stays private, and a clue or a vote as `\\boxed{...}`. An answer that
                cannot be read is scored as the rules say.

        Returns:
            Observation, reward, whether the game is over, False, and an info as from `reset`; at the end of the game the
            info has `role` and the results, see `results`.

        Raises:
            ClosedEnvironmentError: The environment is closed.
            ResetNeeded: There is no game, or it is over.
            TypeError: `action` is not a string.
            ValueError: `action` is longer than the action space allows.
        """
        self._check_open()
        game = self._playing()
        if self.turn is None:
            raise ResetNeeded("the game is over: call reset() to deal a new one")
        game.submit(self.turn, check_action(action))
        self._play_opponents()
        reward = seat_return(game, self.seat) if game.done else 0.0
        return self._observe(), reward, game.done, False, self._info()

    def render(self) -> str | NDArray[np.uint8] | None:
        """The game so far as the caller may see it, and all of it once it is over.

        Returns:
            A text in mode `"ansi"`, a uint8 frame of constant size in mode `"rgb_array"`, None without a mode.

        Raises:
            ResetNeeded: There is no game yet.
        """
        if self.render_mode is None:
            gymnasium.logger.warn('render() shows nothing: make the environment with render_mode="ansi" or "rgb_array"')
            return None
        return render_game(self._playing(), self.render_mode, viewer=self.seat)

    def close(self) -> None:
        """Leave the table; may be called again, `reset` and `step` may not."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedEnvironmentError("the environment is closed; make a new one")

    def _playing(self) -> SpyGame:
        if self.game is None:
            raise ResetNeeded("call reset() first: no game was dealt yet")
        return self.game

    def _play_opponents(self) -> None:
        """Answer the turns of the other seats until it is the caller's turn or the game is over."""
        game = self._playing()
        while others := [turn for turn in game.pending() if turn.seat != self.seat]:
            asked: dict[str, list[SpyTurn]] = {}
            for turn in others:
                asked.setdefault(turn.role, []).append(turn)
            for role, turns in asked.items():
                player = self.opponents[role]
                replies = player.reply(turns)
                if len(replies) != len(turns):
                    raise RuntimeError(f"{player.name} was asked {len(turns)} turns and answered {len(replies)}")
                for turn, reply in zip(turns, replies, strict=True):
                    game.submit(turn, reply.text)
        self.turn = next(iter(game.pending()), None)

    def _observe(self) -> Observation:
        assert self._observer is not None
        return self._observer.observe(self.seat, self.turn)

    def _info(self) -> dict[str, Any]:
        game = self._playing()
        role = "spy" if self.seat == game.spy_seat else "civilian"
        if self.turn is None:
            return {"role": role, **game_result(game), **seat_result(game, self.seat)}
        return {"role": role, "messages": copy_messages(self.turn), "turn": self.turn}


def read_opponents(opponents: Player | Mapping[str, Player] | None, seat: Seat, config: SpyConfig) -> dict[str, Player]:
    """Turn the `opponents` of an environment into a player for each role that they play.

    Args:
        opponents: One player, a player for each role, or None for scripted players.
        seat: The caller's seat; as the spy it leaves no spy to the opponents.
        config: The rules; with `voters="observer"` there is one more role to play.

    Returns:
        The player of each role.

    Raises:
        TypeError: `opponents`, or what it holds, is no player.
        ValueError: A role is missing, or nobody plays it.
    """
    if opponents is None:
        from visionzero.players.scripted import ScriptedPlayer

        opponents = ScriptedPlayer()
    roles = ["civilian"]
    if seat != "spy":
        roles.append("spy")
    if config.voters == "observer":
        roles.append("observer")
    if isinstance(opponents, Player):
        return dict.fromkeys(roles, opponents)
    if not isinstance(opponents, Mapping):
        raise TypeError(f"opponents must be a Player or map roles to players, got {type(opponents).__name__}")
    missing = [role for role in roles if role not in opponents]
    useless = [role for role in opponents if role not in roles]
    if missing:
        raise ValueError(f"opponents must have a player for {', '.join(map(repr, missing))}")
    if useless:
        raise ValueError(
            f"opponents has a player for {', '.join(map(repr, useless))}, but with seat={seat!r} and "
            f"voters={config.voters!r} the other roles are {', '.join(roles)}"
        )
    for role, player in opponents.items():
        if not isinstance(player, Player):
            raise TypeError(f"opponents[{role!r}] must be a Player, got {type(player).__name__}")
    return dict(opponents)
