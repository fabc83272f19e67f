"""Who Is the Spy? as a PettingZoo AEC environment: every seat is an agent."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.error import ClosedEnvironmentError
from gymnasium.utils import seeding
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from visionzero.envs.dealing import OPTION_NAMES, Dealer
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
from visionzero.games import SpyConfig, SpyGame, SpyTurn


def env(**kwargs: Any) -> AECEnv:
    """All seats of Who Is the Spy?, with PettingZoo's checks of the order of calls.

    Args:
        **kwargs: The arguments of `raw_env`.

    Returns:
        The wrapped environment.
    """
    return wrappers.OrderEnforcingWrapper(raw_env(**kwargs))


class raw_env(AECEnv):  # noqa: N801 - the name is PettingZoo's convention
    """All seats of Who Is the Spy?

    Agents are `player_0`, `player_1`, ..., one a seat, and `observer_0` where the rules let an observer vote. They act
    one after the other, in the order of the game's turns: clue by clue, then vote by vote. Nobody sees a vote before the
    game is over, so the order of the votes tells nothing. The spy is not asked to vote; it stays until the end, because
    only the votes say what its clues were worth. All rewards are paid when the last vote is in, to each agent the sum
    of the game's rewards for its turns; then all agents terminate together.

    Args:
        images: The boards: an `ImageSource`, or anything that `visionzero.images.registry.load_images` takes.
        config: The rules: a `SpyConfig`, a mapping of its fields, or None for the paper's.
        image_size: Size of the observed image in pixels: a side, or (height, width).
        render_mode: `"ansi"`, `"rgb_array"` or None.

    Attributes:
        game: The game being played, None before the first `reset`.
        images: The boards.
        config: The rules.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: An argument has a value that is not allowed.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "spy_aec_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
        # Clues answer earlier clues, so the seats cannot act at once.
        "is_parallelizable": False,
    }

    def __init__(
        self,
        images: Any = None,
        config: SpyConfig | Mapping[str, Any] | None = None,
        image_size: int | Sequence[int] = 224,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        self.render_mode = check_render_mode(render_mode)
        self._image_size = read_image_size(image_size)
        self._dealer = Dealer(images, config)
        self.images, self.config = self._dealer.images, self._dealer.config
        self.possible_agents = [f"player_{seat}" for seat in range(self.config.num_players)]
        if self.config.voters == "observer":
            self.possible_agents.append("observer_0")
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.observation_spaces = {
            agent: observation_space(self.config, self._image_size) for agent in self.possible_agents
        }
        self.action_spaces = {agent: action_space() for agent in self.possible_agents}
        self.agents: list[str] = []
        self.game: SpyGame | None = None
        self._observer: SeatObserver | None = None
        self._generator: np.random.Generator | None = None
        self._closed = False

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """The agent's observation space, the same object every time; see `visionzero.envs.observation`."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        """The agent's action space, the same object every time: any text."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a new game.

        Args:
            seed: Seed of the generator from which everything is dealt; None goes on with the generator.
            options: Any of `"image"`, `"index"` and `"spy_seat"`, see `Dealer.read_options`. Others are ignored with a
                warning, as PettingZoo's tests want it.

        Raises:
            ClosedEnvironmentError: The environment is closed.
            ValueError: An option is not allowed.
        """
        if self._closed:
            raise ClosedEnvironmentError("the environment is closed; make a new one")
        known = {name: value for name, value in (options or {}).items() if name in OPTION_NAMES}
        if len(known) < len(options or {}):
            ignored = [name for name in options or {} if name not in known]
            warnings.warn(
                f"options {ignored} are unknown and ignored; known are {', '.join(OPTION_NAMES)}", stacklevel=2
            )
        pinned = self._dealer.read_options(known)
        if seed is not None or self._generator is None:
            self._generator, _ = seeding.np_random(seed)
        self.game, _ = self._dealer.deal(self._generator, pinned)
        self._observer = SeatObserver(self.game, self._image_size)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self._select_next()

    def observe(self, agent: str) -> Observation:
        """What the agent observes; an agent that is not asked anything now has an empty prompt.

        Args:
            agent: An agent's name.

        Returns:
            An element of the agent's observation space.
        """
        assert self._observer is not None
        return self._observer.observe(self._seats[agent], self._turn_of(agent))

    def step(self, action: str | None) -> None:
        r"""Answer the turn of `agent_selection`.

        Args:
            action: The answer: reasoning, which stays private, and a clue or a vote as `\\boxed{...}`; None for an agent
                that has terminated.

        Raises:
            ClosedEnvironmentError: The environment is closed.
            TypeError: `action` is not a string.
            ValueError: `action` is longer than the action space allows, or not None after termination.
        """
        if self._closed:
            raise ClosedEnvironmentError("the environment is closed; make a new one")
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        game, turn = self.game, self._turn_of(agent)
        assert game is not None
        assert turn is not None
        game.submit(turn, check_action(action))
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        if game.done:
            for name in self.agents:
                self.rewards[name] = seat_return(game, self._seats[name])
                self.terminations[name] = True
        self._accumulate_rewards()
        self._select_next()

    def render(self) -> str | NDArray[np.uint8] | None:
        """The game so far, as the audience sees it: images and roles from the start, votes when all are in.

        Returns:
            A text in mode `"ansi"`, a uint8 frame of constant size in mode `"rgb_array"`, None without a mode.
        """
        if self.render_mode is None:
            gymnasium.logger.warn('render() shows nothing: make the environment with render_mode="ansi" or "rgb_array"')
            return None
        assert self.game is not None
        return render_game(self.game, self.render_mode)

    def close(self) -> None:
        """Leave the table; may be called again, `reset` and `step` may not."""
        self._closed = True

    def _turn_of(self, agent: str) -> SpyTurn | None:
        assert self.game is not None
        seat = self._seats[agent]
        return next((turn for turn in self.game.pending() if turn.seat == seat), None)

    def _select_next(self) -> None:
        """Select the agent of the next pending turn, or the first of the terminated ones."""
        assert self.game is not None
        pending = self.game.pending()
        self.agent_selection = self.possible_agents[pending[0].seat] if pending else self.agents[0]
        self.infos = {agent: self._info(agent) for agent in self.agents}

    def _info(self, agent: str) -> dict[str, Any]:
        game = self.game
        assert game is not None
        seat = self._seats[agent]
        role = "observer" if agent == "observer_0" else "spy" if seat == game.spy_seat else "civilian"
        if game.done:
            return {"role": role, **game_result(game), **seat_result(game, seat)}
        turn = self._turn_of(agent)
        if turn is None:
            return {"role": role}
        return {"role": role, "messages": copy_messages(turn), "turn": turn}
