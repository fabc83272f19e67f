"""Lessons are true, and a model can be taught with them."""

import numpy as np
import pytest
from PIL import Image

from visionzero.games.answers import read_clue, read_vote
from visionzero.images import ImagePair
from visionzero.images.clevr_scene import sample_scene
from visionzero.images.source import ImageSource
from visionzero.warmup.lessons import describe_lesson, game_lessons, holds, phrase, presence_lesson, question_lesson

THINGS = [
    {"size": "small", "color": "red", "material": "metal", "shape": "cube", "pixel_coords": [50, 20, 9]},
    {"size": "large", "color": "blue", "material": "rubber", "shape": "sphere", "pixel_coords": [10, 20, 9]},
]
SCENE = {"objects": THINGS}


class Scenes(ImageSource):
    """Scene graphs with a picture that depends on the number only."""

    def __init__(self, count: int) -> None:
        self.name, self.kind, self.skipped = "scenes", "clevr", []
        self._scenes = [sample_scene(np.random.default_rng(i), size=(64, 48)) for i in range(count)]

    def __len__(self) -> int:
        return len(self._scenes)

    def pair(self, index: int) -> ImagePair:
        return ImagePair(Image.new("RGB", (64, 48), (index, 0, 0)), kind="clevr", scene=self._scenes[index])


@pytest.fixture(scope="module")
def scenes() -> Scenes:
    return Scenes(4)


@pytest.mark.parametrize(
    ("words", "true"),
    [
        ("There is a red cube", True),
        ("There is a red sphere", False),
        ("small red metal cube", True),
        ("blue object.", True),
        ("green", False),
    ],
)
def test_a_phrase_holds_when_one_object_has_all_of_it(words, true):
    assert holds(words, SCENE) is true


def test_objects_are_named_colour_by_colour(photo):
    assert describe_lesson(photo, SCENE).target == "red cube metal small, blue sphere rubber large"


@pytest.mark.parametrize("attributes", [("color",), ("color", "shape"), ("size", "color", "material", "shape")])
def test_questions_about_presence_are_answered_truly(scenes, attributes):
    rng = np.random.default_rng(0)
    for pair in scenes:
        for present in (True, False):
            lesson = presence_lesson(pair.civilian, pair.scene, attributes, present, rng)
            asked = lesson.messages[0]["content"][1]["text"].removeprefix("Is there a ").removesuffix("?")
            assert holds(asked, pair.scene) is present
            assert lesson.target == ("yes" if present else "no")


def test_yes_and_no_are_asked_equally_often(scenes):
    rng = np.random.default_rng(0)
    answers = [question_lesson(scenes[0].civilian, scenes[0].scene, rng).target for _ in range(400)]
    assert 150 < answers.count("yes") < 250


def test_the_teacher_plays_readably_and_its_civilians_tell_the_truth(scenes):
    for seed in range(20):
        pair = scenes[seed % len(scenes)]
        lessons = list(game_lessons(pair, seed))
        clues = [lesson for lesson in lessons if lesson.task == "clue"]
        votes = [lesson for lesson in lessons if lesson.task == "vote"]
        assert (len(clues), len(votes)) == (10, 4)
        for lesson in clues:
            clue = read_clue(lesson.target)
            assert clue is not None
            if "civilian" in lesson.messages[0]["content"][1]["text"].splitlines()[0]:
                assert holds(clue, pair.scene)
        assert all(read_vote(lesson.target, 5).kind in ("player", "n/a") for lesson in votes)


def test_the_teachers_voter_names_the_player_whose_clue_is_false(scenes):
    pair = scenes[0]
    for seed in range(30):
        lessons = list(game_lessons(pair, seed))
        false = set()
        for place, lesson in enumerate(lessons[:10]):
            if not holds(read_clue(lesson.target) or "", pair.scene):
                false.add(place % 5 + 1)
        votes = {read_vote(lesson.target, 5).player for lesson in lessons[10:]}
        assert votes == (false or {None})


def test_a_phrase_without_shape_speaks_of_an_object():
    assert phrase(THINGS[0], ("color",)) == "red object"


def test_a_batch_has_its_loss_on_answers_and_end_of_turn_only(tiny_vlm, scenes):
    torch = pytest.importorskip("torch")
    from visionzero.warmup.train import Collator, make_lesson

    _, processor = tiny_vlm
    rng = np.random.default_rng(0)
    lessons = [make_lesson(scenes[i % 4], task, rng) for i, task in enumerate(["describe", "ask", "game", "game"])]
    batch = Collator(processor)(lessons)
    for lesson, ids, labels, mask in zip(
        lessons, batch["input_ids"], batch["labels"], batch["attention_mask"], strict=True
    ):
        taught = labels[labels != -100]
        assert processor.tokenizer.decode(taught) == lesson.target + processor.tokenizer.eos_token
        assert torch.equal(ids[labels != -100], taught)
        assert int(mask.sum()) == int((labels != -100).nonzero().max()) + 1


def test_lessons_are_the_same_wherever_they_are_made(scenes):
    pytest.importorskip("torch")
    from visionzero.warmup.train import BATCH_SIZE, Lessons

    first, second, other = Lessons(scenes, 200, seed=3), Lessons(scenes, 200, seed=3), Lessons(scenes, 200, seed=4)
    targets = [first[i].target for i in range(0, 200, 10)]
    assert targets == [second[i].target for i in range(0, 200, 10)]
    assert targets != [other[i].target for i in range(0, 200, 10)]
    assert len({first[i].task for i in range(BATCH_SIZE)} - {"clue", "vote"}) <= 1


def test_a_course_trains_saves_resumes_and_is_examined(scenes, tmp_path):
    torch = pytest.importorskip("torch")
    from transformers import AutoModelForImageTextToText, AutoProcessor

    from visionzero.tiny_vlm import TinyVLMShape
    from visionzero.warmup.train import examine, warm_up

    shape = TinyVLMShape(
        hidden_size=48, num_layers=1, vision_hidden_size=32, vision_heads=1, vision_depth=1, image_pixels=64 * 48
    )
    model, processor = warm_up(scenes, tmp_path, steps=3, sight_steps=2, shape=shape)
    loaded = AutoModelForImageTextToText.from_pretrained(tmp_path)
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, loaded.state_dict()[name]), name
    AutoProcessor.from_pretrained(tmp_path)
    again, _ = warm_up(scenes, tmp_path, steps=3, sight_steps=2, shape=shape, resume=True)
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name]), name
    scores = examine(model, processor, scenes)
    assert set(scores) == {"color", "color and shape", "described", "readable"}
    assert all(0 <= score <= 1 for score in scores.values())
