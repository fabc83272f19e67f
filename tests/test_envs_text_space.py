from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Text, flatten, flatten_space, unflatten
from gymnasium.vector.utils import (
    batch_differing_spaces,
    batch_space,
    concatenate,
    create_empty_array,
    create_shared_memory,
    iterate,
    read_from_shared_memory,
    write_to_shared_memory,
)
from hypothesis import given
from hypothesis import strategies as st

from visionzero.envs.text_space import NUM_CODE_POINTS, UnicodeText

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)
HARD_TEXTS = ["", "\n", "\0", "मूल पाठ", "🎲👩‍👩‍👧", "a\tb\r\n", "\ud800", "\U0010ffff", "{{ x }}", "x" * 40]


@given(ANY_TEXT)
def test_every_string_up_to_the_length_is_contained(text):
    assert text in UnicodeText(40)


def test_other_lengths_and_other_types_are_not_contained():
    space = UnicodeText(3, min_length=1)
    assert "ab" in space
    for outside in ("", "abcd", None, 3, b"ab", ["a"]):
        assert outside not in space


@pytest.mark.parametrize("lengths", [(-1, 3), (4, 3)])
def test_impossible_lengths_are_refused(lengths):
    with pytest.raises(ValueError, match="min_length"):
        UnicodeText(lengths[1], min_length=lengths[0])


def test_samples_follow_the_spaces_own_seed_and_lie_in_the_space():
    first, second = UnicodeText(200, seed=5), UnicodeText(200, seed=5)
    samples = [first.sample() for _ in range(50)]
    assert samples == [second.sample() for _ in range(50)]
    assert all(sample in first for sample in samples)
    assert len(set(samples)) > 40
    assert any(not sample.isascii() for sample in samples)
    first.seed(6)
    assert samples != [first.sample() for _ in range(50)]


def test_a_mask_gives_the_length_and_the_characters():
    space = UnicodeText(100, seed=1)
    allowed = np.zeros(NUM_CODE_POINTS, np.int8)
    allowed[[ord("é"), ord("🎲")]] = 1
    assert len(space.sample(mask=(7, None))) == 7
    assert set(space.sample(mask=(80, allowed))) == {"é", "🎲"}
    assert set(space.sample(probability=(9, allowed / 2))) <= {"é", "🎲"}


@pytest.mark.parametrize(
    "arguments",
    [
        {"mask": (101, None)},
        {"mask": (5, np.ones(3, np.int8))},
        {"mask": (5, np.zeros(NUM_CODE_POINTS, np.int8))},
        {"probability": (5, np.ones(NUM_CODE_POINTS))},
        {"mask": (5, None), "probability": (5, None)},
    ],
)
def test_masks_that_do_not_fit_are_refused(arguments):
    with pytest.raises(ValueError, match=r"length|weights|sum|both"):
        UnicodeText(100).sample(**arguments)


def test_spaces_are_equal_when_their_lengths_are():
    assert UnicodeText(5) == UnicodeText(5)
    assert UnicodeText(5) != UnicodeText(6)
    assert UnicodeText(5) != Text(5, min_length=0)
    assert Text(5, min_length=0) != UnicodeText(5)
    assert copy.deepcopy(UnicodeText(5, seed=3)) == pickle.loads(pickle.dumps(UnicodeText(5)))


def test_a_pickled_space_stays_small_and_goes_on_sampling_the_same():
    space = UnicodeText(100_000, seed=3)
    assert len(pickle.dumps(space)) < 2000
    assert pickle.loads(pickle.dumps(space)).sample() == space.sample()


@pytest.mark.parametrize("text", HARD_TEXTS)
def test_flattening_keeps_every_text(text):
    space = UnicodeText(40)
    flat = flatten(space, text)
    assert flat in flatten_space(space)
    assert flat.tolist() == [ord(char) for char in text] + [NUM_CODE_POINTS] * (40 - len(text))
    assert unflatten(space, flat) == text


def test_flattening_works_inside_a_dict():
    space = Dict({"n": Box(0, 1, (2,)), "text": UnicodeText(4)})
    value = {"n": np.array([0.0, 1.0], np.float32), "text": "né🎲"}
    assert unflatten(space, flatten(space, value))["text"] == "né🎲"


def test_the_character_set_is_all_of_unicode():
    space = UnicodeText(4)
    assert len(space.character_set) == len(space.character_list) == NUM_CODE_POINTS
    assert "🎲" in space.character_set
    assert space.character_list[space.character_index("🎲")] == "🎲"


def test_batches_hold_one_text_an_environment():
    space = UnicodeText(40, seed=2)
    batch = batch_space(space, 3)
    assert ("", "a", "é") in batch
    assert ("a", "é") not in batch
    assert batch.sample() in batch
    assert list(iterate(batch, ("a", "", "é"))) == ["a", "", "é"]
    assert concatenate(space, ["a", "", "é"], create_empty_array(space, 3)) == ("a", "", "é")
    assert create_empty_array(space, 3) in batch
    assert ("a", "bb") in batch_differing_spaces([UnicodeText(1), UnicodeText(2)])


def test_shared_memory_is_read_when_it_is_looked_at_not_when_it_is_made():
    space = Dict({"text": UnicodeText(40)})
    memory = create_shared_memory(space, n=2)
    live = read_from_shared_memory(space, memory, n=2)
    assert tuple(live["text"]) == ("", "")
    for text in [*HARD_TEXTS, "short"]:
        write_to_shared_memory(space, 1, {"text": text}, memory)
        assert live["text"] == ("", text)
        assert live["text"][-1] == text
        assert live["text"][:] == ("", text)
    snapshot = copy.deepcopy(live)
    write_to_shared_memory(space, 0, {"text": "later"}, memory)
    assert snapshot["text"] == ("", "short")
    assert type(snapshot["text"]) is tuple
    assert repr(live["text"]) == "('later', 'short')"
