"""Games as JSON lines: everything is in them, and what is wrong with a line is said."""

from __future__ import annotations

import base64
import copy
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from visionzero.games import SpyConfig, SpyGame
from visionzero.images import EditedView, ImagePair
from visionzero.players import Player, Reply, ScriptedPlayer
from visionzero.replay import ReplayError, read_replays, record_episode, write_replays
from visionzero.replay.schema import problem_of
from visionzero.rollout import Episode, rollout


class Says(Player):
    """Says prepared texts, over and over, with some token ids."""

    name = "prepared"

    def __init__(self, *texts: str) -> None:
        self.texts = texts

    def reply(self, turns: Any) -> list[Reply]:
        return [
            Reply(self.texts[turn.index % len(self.texts)], (1, 2, 3), (4, 5), truncated=turn.index == 0)
            for turn in turns
        ]


def photo(colour: str = "teal", size: tuple[int, int] = (40, 30)) -> Image.Image:
    return Image.new("RGB", size, colour)


def played(player: Player | None = None, *, image: Any = None, seed: int = 3, **rules: Any) -> Episode[SpyGame]:
    game = SpyGame(photo() if image is None else image, SpyConfig(**rules), seed=seed)
    (episode,) = rollout([game], player or ScriptedPlayer(name="Ada"))
    return episode


def picture(entry: dict[str, Any]) -> Image.Image:
    with Image.open(BytesIO(base64.b64decode(entry["data"]))) as image:
        image.load()
        return image


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    return record_episode(played())


def test_a_record_holds_the_whole_game() -> None:
    episode = played(Says("red \\boxed{a red thing}", "\\boxed{2}", "no box"), num_civilians=3, clue_rounds=1)
    game, outcome = episode.game, episode.game.outcome
    record = record_episode(episode)
    assert record["board"] == {"name": "image", "kind": "photos"}
    assert (record["seed"], record["config"]["num_civilians"], record["error"]) == (3, 3, None)
    assert record["spy"] == {"player": outcome.spy, "card": "blank"}
    assert [turn["text"] for turn in record["turns"]] == [entry.text for entry in game.history]
    assert [turn["answer"] for turn in record["turns"][:4]] == ["a red thing", "2", None, "a red thing"]
    for turn, entry in zip(record["turns"], game.history, strict=True):
        assert turn["reward"] == outcome.rewards[entry.turn]
        assert (turn["player"], turn["role"], turn["stage"]) == (entry.turn.player, entry.turn.role, entry.turn.stage)
        assert (turn["name"], turn["prompt_tokens"], turn["completion_tokens"]) == ("prepared", 3, 2)
        assert turn["truncated"] == (entry.turn.index == 0)
    for turn, entry in zip(record["turns"][4:], game.history[4:], strict=True):
        assert turn["answer"] == {"kind": entry.answer.kind, "player": entry.answer.player}
    assert record["outcome"]["winner"] == outcome.winner
    assert record["outcome"]["vote_counts"] == list(outcome.vote_counts)
    assert record["outcome"]["seat_rewards"] == list(outcome.seat_rewards)
    assert len(record["outcome"]["votes"]) == 3


def test_images_can_be_decoded_again() -> None:
    pair = ImagePair(photo(), edit=lambda: EditedView(photo("maroon")))
    images = record_episode(played(image=pair, spy_view="edited"))["images"]
    for entry, colour in ((images["civilian"], (0, 128, 128)), (images["spy"], (128, 0, 0))):
        image = picture(entry)
        assert image.size == (entry["width"], entry["height"]) == (40, 30)
        assert image.getpixel((20, 15)) == pytest.approx(colour, abs=4)


def test_charts_are_kept_without_loss() -> None:
    pair = ImagePair(photo(), kind="charts")
    entry = record_episode(played(image=pair))["images"]["civilian"]
    assert entry["media_type"] == "image/png"
    assert picture(entry).tobytes() == photo().tobytes()


def test_large_images_are_scaled_down() -> None:
    entry = record_episode(played(image=photo(size=(3000, 600))))["images"]["civilian"]
    assert (entry["width"], entry["height"]) == (768, 154)


@pytest.mark.parametrize(("view", "card", "shown"), [("blank", "blank", False), ("edited", "edited", True)])
def test_the_spys_card_is_named(view: str, card: str, shown: bool) -> None:
    record = record_episode(played(spy_view=view))
    assert record["spy"]["card"] == card
    assert (record["images"]["spy"] is not None) == shown


def test_a_spy_with_the_civilians_image_has_the_identical_card() -> None:
    seed = next(seed for seed in range(100) if played(seed=seed, spy_view="mixed").game._spy_card == "identical")
    record = record_episode(played(seed=seed, spy_view="mixed"))
    assert (record["spy"]["card"], record["images"]["spy"]) == ("identical", None)


def test_a_game_that_was_stopped_is_recorded_as_far_as_it_went() -> None:
    game = SpyGame(photo(), SpyConfig(), seed=3, spy_seat=4)
    turn = game.pending()[0]
    game.submit(turn, "\\boxed{teal}")
    record = record_episode(Episode(game, error=OSError("the server is gone")))
    assert (record["outcome"], record["error"]) == (None, "OSError: the server is gone")
    assert [entry["text"] for entry in record["turns"]] == ["\\boxed{teal}"]
    assert (record["turns"][0]["name"], record["turns"][0]["reward"], record["spy"]["card"]) == (None, None, None)


def test_what_was_not_asked_for_is_not_drawn() -> None:
    def edit() -> EditedView:
        raise AssertionError("nobody asked for the edited view")

    game = SpyGame(ImagePair(photo(), edit=edit), SpyConfig(spy_view="edited"), seed=3, spy_seat=4)
    record_episode(Episode(game))


def test_other_games_are_refused() -> None:
    with pytest.raises(TypeError, match="only spy games can be recorded, got a str"):
        record_episode(Episode("chess"))  # type: ignore[type-var, arg-type]


@given(
    texts=st.lists(st.text(st.characters(), max_size=80), min_size=1, max_size=5),
    seed=st.integers(0, 2**63 - 1),
    rules=st.fixed_dictionaries({}, optional={"clue_rounds": st.integers(1, 3), "num_civilians": st.integers(2, 5)}),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_again(tmp_path: Path, texts: list[str], seed: int, rules: dict[str, Any]) -> None:
    boxed = Says(*texts, *(f"{text}\\boxed{{{text}}}" for text in texts))
    records = [record_episode(played(boxed, seed=seed, **rules)), record_episode(played(seed=seed))]
    write_replays(tmp_path / "games.jsonl", records)
    # JSON joins two halves of a surrogate pair; nothing else may change.
    assert read_replays(tmp_path / "games.jsonl") == json.loads(json.dumps(records))


def test_episodes_are_written_as_their_records(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "games.jsonl"
    episodes = [played(seed=1), played(seed=2)]
    write_replays(path, episodes)
    assert read_replays(path) == [record_episode(episode) for episode in episodes]
    assert list(path.parent.iterdir()) == [path]


def test_files_are_replaced_or_continued(tmp_path: Path, record: dict[str, Any]) -> None:
    path = tmp_path / "games.jsonl"
    write_replays(path, [record])
    write_replays(path, [record])
    assert len(read_replays(path)) == 1
    write_replays(path, [record, record], append=True)
    assert len(read_replays(path)) == 3


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, record: dict[str, Any]) -> None:
    path = tmp_path / "games.jsonl"
    write_replays(path, [record])
    with pytest.raises(ValueError, match="this is no record of a game: format is missing"):
        write_replays(path, [record, record, {}])
    assert len(read_replays(path)) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_lines_that_cannot_be_read_are_counted_and_named(tmp_path: Path, record: dict[str, Any]) -> None:
    path = tmp_path / "games.jsonl"
    write_replays(path, [record])
    good = path.read_bytes()
    path.write_bytes(good + b"{oops\n\n" + good + b"\xff\xfe{}\n[1, 2]\n" + good[: len(good) // 2])
    with pytest.raises(ReplayError) as caught:
        read_replays(path)
    error = caught.value
    assert sorted(error.problems) == [2, 5, 6, 7]
    assert error.records == [record, record]
    assert str(error).startswith(f"{path}: 4 of 6 lines cannot be read: line 2: no JSON (")
    assert "line 6: a game is an object, got [1, 2]" in str(error)


def test_of_many_bad_lines_only_the_first_are_named(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text("no\n" * 50)
    with pytest.raises(ReplayError, match=r"50 of 50 lines .* and 45 more$"):
        read_replays(path)


def test_an_empty_file_holds_no_games(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    write_replays(path, [])
    assert read_replays(path) == []


@pytest.mark.parametrize(
    ("where", "value", "problem"),
    [
        (("format",), "chess", "format must be visionzero-spy-game, got 'chess'"),
        (("version",), 99, "version must be at most 1, got 99: it was written by a newer release"),
        (("seed",), "7", "seed must be a whole number, got '7'"),
        (("seed",), True, "seed must be a whole number, got True"),
        (("board", "kind"), "maps", "board.kind must be clevr or charts or photos, got 'maps'"),
        (("images", "civilian"), None, "images.civilian must be an object, got None"),
        (("images", "civilian", "data"), 'x" onload="', "images.civilian.data must be base64, got 'x\" onload=\"'"),
        (("images", "civilian", "media_type"), "text/html", "images.civilian.media_type must be image/jpeg or image/png"),
        (("turns",), {}, "turns must be a list, got {}"),
        (("turns", 0, "text"), 5, "turns[0].text must be a text, got 5"),
        (("turns", 2, "player"), 0, "turns[2].player must be a player number, got 0"),
        (("turns", 1, "answer"), {"kind": "player"}, "turns[1].answer must be a text"),
        (("turns", -1, "answer"), "3", "turns[13].answer must be an object, got '3'"),
        (("turns", 0, "reward"), float("nan"), "turns[0].reward must be a number, got nan"),
        (("outcome", "winner"), "nobody", "outcome.winner must be civilians or spy, got 'nobody'"),
        (("outcome", "vote_counts"), [1.0], "outcome.vote_counts must have 5 entries"),
        (("spy", "player"), 6, "spy.player must be at most 5, got 6"),
        (("error",), 0, "error must be a text, got 0"),
    ],
)  # fmt: skip
def test_a_record_with_a_wrong_field_says_which(
    tmp_path: Path, record: dict[str, Any], where: tuple[Any, ...], value: Any, problem: str
) -> None:
    broken = copy.deepcopy(record)
    inner = broken
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    path = tmp_path / "games.jsonl"
    path.write_text(json.dumps(broken))
    with pytest.raises(ReplayError) as caught:
        read_replays(path)
    assert caught.value.problems[1].startswith(problem)


@pytest.mark.parametrize("field", ["version", "turns", "outcome", "images"])
def test_a_record_without_a_field_says_which(tmp_path: Path, record: dict[str, Any], field: str) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text(json.dumps({name: value for name, value in record.items() if name != field}))
    with pytest.raises(ReplayError, match=f"line 1: {field} is missing"):
        read_replays(path)


def test_fields_of_later_releases_are_kept(tmp_path: Path, record: dict[str, Any]) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text(json.dumps({**record, "mood": "tense"}))
    assert read_replays(path) == [{**record, "mood": "tense"}]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_json_is_a_record_or_a_named_problem(tmp_path: Path, record: dict[str, Any], data: st.DataObject) -> None:
    path = tmp_path / "games.jsonl"
    mixed = {name: data.draw(st.just(value) | json_values) for name, value in record.items()}
    for content in (mixed, data.draw(json_values)):
        path.write_text(json.dumps(content))
        problem = problem_of(json.loads(json.dumps(content)))
        if problem is None:
            assert len(read_replays(path)) == 1
        else:
            with pytest.raises(ReplayError) as caught:
                read_replays(path)
            assert caught.value.problems == {1: problem}
