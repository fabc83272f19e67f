"""Matches of one player against another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visionzero.arena import play_match, wilson_interval
from visionzero.games import SpyConfig
from visionzero.images import ImagePair
from visionzero.players.base import Player, Reply

RULES = SpyConfig(num_civilians=2, clue_rounds=1)


class Oracle(Player):
    """Says its marker, and as a civilian votes for whoever does not."""

    name = "oracle"

    def __init__(self, marker: str) -> None:
        self.marker = marker

    def reply(self, turns):
        return [Reply(self.one(turn)) for turn in turns]

    def one(self, turn):
        if turn.stage == "clue":
            return f"\\boxed{{{self.marker}}}"
        others = [clue.player for clue in turn.clues if clue.text != self.marker]
        return f"\\boxed{{{others[0] if others else 'n/a'}}}"


class Silent(Player):
    name = "silent"

    def reply(self, turns):
        return [Reply("") for _ in turns]


@pytest.fixture
def boards(photo):
    return [ImagePair(photo, name=str(i)) for i in range(3)]


def test_a_player_that_always_wins_wins_every_round(boards):
    result = play_match(Oracle("a"), Silent(), boards, RULES, rounds=20)
    assert (result.wins_as_spy, result.wins_as_civilians) == (10, 10)
    assert result.win_rate == 1.0
    assert result.interval[1] == 1.0


def test_the_other_side_of_a_match_loses_what_the_first_wins(boards):
    result = play_match(Silent(), Oracle("a"), boards, RULES, rounds=20)
    assert result.win_rate == 0.0
    assert (result.rounds_as_spy, result.rounds_as_civilians) == (10, 10)


def test_equal_players_share_the_rounds_exactly(boards):
    """Each deal is played twice with the roles exchanged, so for players that answer alike one of the two is won."""
    first, second = Oracle("same"), Oracle("same")
    assert play_match(first, second, boards, RULES, rounds=10).win_rate == 0.5
    quiet = Silent()
    assert play_match(quiet, quiet.__class__(), boards, RULES, rounds=10).win_rate == 0.5


def test_both_halves_are_dealt_the_same_boards_and_seeds(boards):
    result = play_match(Oracle("a"), Silent(), boards, RULES, rounds=8, seed=3)
    deals = [(e.game.pair.name, e.game.seed, e.game.spy_seat) for e in result.episodes]
    assert deals[:4] == deals[4:]
    assert len(set(deals[:4])) == 4
    assert len({name for name, *_ in deals[:3]}) == 3


def test_the_same_seed_gives_the_same_match(boards):
    def deals(seed):
        return [
            (e.game.pair.name, e.game.seed)
            for e in play_match(Silent(), Oracle("a"), boards, RULES, rounds=6, seed=seed).episodes
        ]

    assert deals(1) == deals(1) != deals(2)


def test_figures_are_those_of_the_first_player(boards):
    assert play_match(Silent(), Oracle("a"), boards, RULES, rounds=4).figures["unreadable_clue_rate"] == 1.0
    assert play_match(Oracle("a"), Silent(), boards, RULES, rounds=4).figures == pytest.approx(
        {
            "unreadable_clue_rate": 0,
            "invalid_vote_rate": 0,
            "na_rate": 0,
            "right_vote_rate": 1,
            "length/clue": 9,
            "length/decision": 9,
        }
    )


@pytest.mark.parametrize("rounds", [0, 1, 7])
def test_an_odd_number_of_rounds_is_an_error(boards, rounds):
    with pytest.raises(ValueError, match="even number"):
        play_match(Silent(), Silent(), boards, RULES, rounds=rounds)


def test_a_match_needs_boards():
    with pytest.raises(ValueError, match="at least one board"):
        play_match(Silent(), Silent(), [], RULES, rounds=2)


def test_progress_is_told_in_turns(boards):
    counts = []
    play_match(Oracle("a"), Silent(), boards, RULES, rounds=6, on_turns=counts.append)
    assert sum(counts) == 6 * (3 + 2)


def test_wilson_interval_by_hand():
    # 71 of 100 at z = 1.95996: centre (0.71 + 1.92073 / 100) / 1.0384146 = 0.702231, half width 0.087853
    low, high = wilson_interval(71, 100)
    assert (low, high) == pytest.approx((0.61464, 0.78987), abs=2e-4)


@given(st.integers(1, 500), st.data())
def test_the_interval_holds_the_rate(rounds, data):
    wins = data.draw(st.integers(0, rounds))
    low, high = wilson_interval(wins, rounds)
    assert 0 <= low <= wins / rounds <= high <= 1


@pytest.mark.parametrize(("wins", "rounds"), [(1, 0), (-1, 5), (6, 5)])
def test_no_interval_of_impossible_counts(wins, rounds):
    with pytest.raises(ValueError, match="wins"):
        wilson_interval(wins, rounds)
