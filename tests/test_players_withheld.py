"""Players from whom images are withheld: blind and text-only voters."""

import pytest
from PIL import Image

from visionzero.arena import play_match
from visionzero.games import SpyConfig, SpyGame, Turn
from visionzero.images import ImagePair
from visionzero.players import WithheldPlayer
from visionzero.players.base import Player, Reply
from visionzero.rollout import rollout

RULES = SpyConfig(num_civilians=2, clue_rounds=1)


class Looker(Player):
    """Clues are what it sees; votes are for player 1, or 2 as player 1. Remembers every turn that it was asked."""

    name = "looker"

    def __init__(self):
        self.asked = []

    def reply(self, turns):
        self.asked.append(list(turns))
        return [Reply(self.one(turn)) for turn in turns]

    def one(self, turn):
        if turn.stage == "decision":
            return f"\\boxed{{{2 if turn.player == 1 else 1}}}"
        colours = {image.getpixel((0, 0)) for image in turn.images}
        return f"\\boxed{{{sorted(colours) or 'nothing'}}}"

    def turns_of(self, stage):
        return [turn for turns in self.asked for turn in turns if turn.stage == stage]


def game(seed=0):
    return SpyGame(Image.new("RGB", (40, 30), (200, 30, 30)), RULES, seed=seed)


def test_a_blind_voter_gets_a_white_image_of_the_same_size_and_the_same_text():
    inner = Looker()
    (episode,) = rollout([game()], WithheldPlayer(inner, votes="blank"))
    for asked, played in zip(inner.turns_of("decision"), episode.game.history[3:], strict=True):
        (image,) = asked.images
        assert image.size == (40, 30)
        assert image.getextrema() == ((255, 255),) * 3
        assert asked.prompt == played.turn.prompt
        assert [m["role"] for m in asked.messages] == [m["role"] for m in played.turn.messages]
        assert played.turn.images[0].getpixel((0, 0)) == (200, 30, 30)


def test_a_text_only_voter_gets_the_same_text_and_no_image():
    inner = Looker()
    (episode,) = rollout([game()], WithheldPlayer(inner, votes="removed"))
    for asked, played in zip(inner.turns_of("decision"), episode.game.history[3:], strict=True):
        assert asked.images == []
        assert asked.prompt == played.turn.prompt


def test_clues_are_given_with_images_unless_these_are_withheld_too():
    (seeing,) = rollout([game()], WithheldPlayer(Looker(), votes="blank"))
    texts = {clue.text for clue in seeing.game.clues if clue.player != seeing.game.spy_seat + 1}
    assert texts == {"[(200, 30, 30)]"}
    (blind,) = rollout([game()], WithheldPlayer(Looker(), clues="blank"))
    assert {clue.text for clue in blind.game.clues} == {"[(255, 255, 255)]"}
    (without,) = rollout([game()], WithheldPlayer(Looker(), clues="removed"))
    assert {clue.text for clue in without.game.clues} == {"nothing"}


def test_answers_depend_on_the_turn_as_if_it_were_seen():
    """Seeds, seats and equality are the turn's own, so a sampled answer differs by what was seen alone."""
    inner = Looker()
    (episode,) = rollout([game(seed=5)], WithheldPlayer(inner, votes="removed"))
    for asked, played in zip(inner.turns_of("decision"), episode.game.history[3:], strict=True):
        assert (asked.seed, asked.seat, asked.index) == (played.turn.seed, played.turn.seat, played.turn.index)
        assert asked.blank
        assert not played.turn.blank


def test_turns_with_and_without_images_never_share_a_batch():
    inner = Looker()
    voting = game(seed=1)
    while voting.pending()[0].stage == "clue":
        voting.submit(voting.pending()[0], "\\boxed{red}")
    fresh = game(seed=2)
    turns = [*fresh.pending(), *voting.pending()]
    replies = WithheldPlayer(inner, votes="removed").reply(turns[::-1])
    assert [reply.text for reply in replies] == [Looker().one(turn) for turn in turns[::-1]]
    assert sorted(len(batch) for batch in inner.asked) == [1, 2]


def test_a_match_counts_the_votes_that_were_cast_without_seeing(photo):
    class Finder(Looker):
        """Knows the spy by its clue, but only while it sees an image that is not white."""

        name = "finder"

        def one(self, turn):
            if turn.stage == "clue":
                return f"\\boxed{{{'real' if turn.role == 'civilian' else 'made up'}}}"
            if not turn.images or turn.images[0].getpixel((0, 0)) == (255, 255, 255):
                return "\\boxed{n/a}"
            return f"\\boxed{{{next(clue.player for clue in turn.clues if clue.text == 'made up')}}}"

    boards = [ImagePair(photo, name=str(i)) for i in range(3)]
    seeing = play_match(Finder(), Finder(), boards, RULES, rounds=8)
    blind = play_match(WithheldPlayer(Finder(), votes="blank"), Finder(), boards, RULES, rounds=8)
    assert seeing.figures["right_vote_rate"] == 1.0
    assert (blind.figures["right_vote_rate"], blind.figures["na_rate"]) == (0.0, 1.0)
    assert (seeing.wins_as_civilians, blind.wins_as_civilians) == (4, 0)
    assert blind.player == "finder votes=blank"
    clues = [[e.game.clues for e in result.episodes] for result in (seeing, blind)]
    assert clues[0] == clues[1]


def test_a_model_votes_blind_and_text_only(tiny_vlm, photo, small_rules):
    from visionzero.players.model import ModelPlayer

    model, processor = tiny_vlm
    boards = [ImagePair(photo, name=str(i)) for i in range(2)]
    options = {"max_new_tokens": 4, "batch_size": 8}
    start = ModelPlayer(model, processor, seed=2, **options)
    prompts = {}
    for way in ("blank", "removed"):
        voter = WithheldPlayer(ModelPlayer(model, processor, seed=1, **options), votes=way)
        episodes = play_match(voter, start, boards, small_rules, rounds=4).episodes
        prompts[way] = [
            episode.replies[played.turn].prompt_ids
            for episode in episodes
            for played in episode.game.history
            if played.turn.stage == "decision" and episode.players[played.turn] is voter
        ]
    image_token = model.config.image_token_id
    assert all(image_token in ids for ids in prompts["blank"])
    assert prompts["removed"]
    assert all(image_token not in ids for ids in prompts["removed"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "nothing is withheld"),
        ({"votes": "black"}, "votes must be blank or removed, or None, got 'black'"),
        ({"clues": ""}, "clues must be blank or removed"),
    ],
)
def test_what_is_withheld_must_be_said(options, message):
    with pytest.raises(ValueError, match=message):
        WithheldPlayer(Looker(), **options)


def test_other_games_are_refused():
    turn = Turn(game_seed=0, index=0, seat=0, role="generator", stage="decision")
    with pytest.raises(TypeError, match="only, got a Turn"):
        WithheldPlayer(Looker(), votes="blank").reply([turn])


def run_eval(*arguments, code=0):
    from typer.testing import CliRunner

    from visionzero.cli.app import app

    result = CliRunner().invoke(app, ["eval", *map(str, arguments)], env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        (["votes"], "--withhold must be"),
        (["votes=black"], "--withhold must be"),
        (["images=blank"], "--withhold must be"),
        (["votes=blank", "votes=removed"], "given twice"),
        (["votes=blank"], "needs a model"),
    ],
)
def test_the_command_line_says_what_is_wrong_with_an_option(specs, message):
    options = [part for spec in specs for part in ("--withhold", spec)]
    assert message in run_eval("scripted", "random", *options, code=2)


def test_eval_plays_a_blind_voter(tiny_vlm_path, tmp_path, photo):
    import json

    (tmp_path / "images").mkdir()
    photo.save(tmp_path / "images" / "board.png")
    output = tmp_path / "result.json"
    rules = ["--num-civilians", 2, "--clue-rounds", 1, "--prompts", "compact", "--no-own-reasoning-memory"]
    run_eval(
        tiny_vlm_path, "random", "--images", tmp_path / "images", "--withhold", "votes=blank", "--rounds", 2,
        "--max-new-tokens", 2, "--output", output, *rules,
    )  # fmt: skip
    result = json.loads(output.read_text())
    assert result["player"].endswith("votes=blank")
    assert 0 <= result["right_vote_rate"] <= 1
