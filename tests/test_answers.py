"""What the reader makes of answers: usual ones, odd ones, and hostile ones."""
# Look-alike characters are among what is tested; long lists are easier to read in groups.
# ruff: noqa: RUF001, RUF005

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from visionzero.games.answers import (
    ABSTENTION,
    INVALID,
    Vote,
    plain_text,
    read_boxed,
    read_clue,
    read_vote,
    without_reasoning,
)

ANY_CHARACTER = st.characters()  # lone surrogates and NUL included
ANY_TEXT = st.text(ANY_CHARACTER)
# Pieces that the reader looks for, so that random joins reach its corners.
PIECES = st.sampled_from(
    ["\\boxed{", "\\boxed {", "\x08oxed{", "{", "}", "\\{", "\\}", "\\", "\n", " ", "<think>", "</think>", "<thinking>"]
    + ["</THINK>", "\\text{", "\\mathrm {", "~", "\\,", "n/a", "n", "/", "a", "not", "one", "player ", "3", "٣", "③"]
    + ["-", ".", ",", "1" * 50, "\0", "\ud800", "\udfff", "\u2028", "ﷺ", "İ", "’", "#"]
)
HOSTILE_TEXT = st.lists(PIECES | ANY_CHARACTER, max_size=40).map("".join)


class TestTheLastBoxCounts:
    @pytest.mark.parametrize(
        ("text", "content"),
        [
            (r"\boxed{3}", "3"),
            (r"I think so. $\boxed{ 3 }$.", "3"),
            (r"First \boxed{1}, no: \boxed{2}", "2"),
            (r"\boxed{}", ""),
            (r"\boxed {3}", "3"),
            (r"\\boxed{3}", "3"),
            ("\boxed{3}", "3"),  # not a raw string: "\b" is a backspace, the usual mistake
            # Braces nest; of nested boxes the outer one counts.
            (r"\boxed{a {b {c}} d}", "a {b {c}} d"),
            (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
            (r"\boxed{\boxed{3}}", r"\boxed{3}"),
            (r"\boxed{a set \{1, 2\} of two}", r"a set \{1, 2\} of two"),
            (r"\boxed{left brace \{}", r"left brace \{"),
            # Stray braces elsewhere disturb nothing.
            (r"} {{ \boxed{3}", "3"),
            (r"{\boxed{3}} }", "3"),
            # A missing closing brace: the line is the content, unless a complete box comes later.
            (r"\boxed{3", "3"),
            ("\\boxed{a red cube\nThat is all.", "a red cube"),
            (r"\boxed{1} then \boxed{2", "2"),
            (r"\boxed{1 then \boxed{2}", "2"),
            (r"\boxed{a {b} c", "a {b} c"),
        ],
    )
    def test_content(self, text: str, content: str) -> None:
        assert read_boxed(text) == content

    @pytest.mark.parametrize("text", ["", "3", "boxed{3}", r"\box{3}", r"\boxed 3", r"\boxed", r"\boxed\{3\}", "{3}"])
    def test_no_box(self, text: str) -> None:
        assert read_boxed(text) is None

    @given(ANY_TEXT, st.text(st.characters(exclude_characters="{}\\<>")))
    def test_a_complete_box_at_the_end_wins_over_anything_before_it(self, before: str, content: str) -> None:
        assert read_boxed(before + "\n</think>\\boxed{" + content + "}") == content.strip()


class TestThinkTags:
    @pytest.mark.parametrize(
        ("text", "outside"),
        [
            ("<think>x</think>y", "\ny"),
            ("a<think>x</think>b<think>y</think>c", "a\nb\nc"),
            ("<thinking>x</thinking>y", "\ny"),
            ("<THINK>x</Think>y", "\ny"),
            ("x</think>y", "y"),
            ("x</think>y</think>z", "z"),
            ("a<think>x</think>b</think>c", "c"),
            ("<think>x", ""),
            ("a<think>x", "a"),
            ("<think>x<think>y</think>z", "\nz"),
            ("x", "x"),
            ("", ""),
        ],
    )
    def test_what_stands_outside(self, text: str, outside: str) -> None:
        assert without_reasoning(text) == outside

    @pytest.mark.parametrize(
        ("text", "content"),
        [
            (r"<think>maybe \boxed{1}</think> \boxed{2}", "2"),
            (r"\boxed{2} <think>or \boxed{1}?</think>", "2"),
            (r"opened in the prompt, \boxed{1} </think> \boxed{2}", "2"),
            (r"<think>cut off at \boxed{1}", None),
            (r"\boxed{1}</think>", None),
        ],
    )
    def test_boxes_inside_do_not_count(self, text: str, content: str | None) -> None:
        assert read_boxed(text) == content


class TestClues:
    @pytest.mark.parametrize(
        ("content", "clue"),
        [
            ("A red cube.", "A red cube."),
            (r"\text{A red cube.}", "A red cube."),
            (r"\textbf{A \textit{red} cube}", "A red cube"),
            (r"\text{50\% of it costs \$3 \& more}", "50% of it costs $3 & more"),
            (r"a~red\ cube\\and more", "a red cube and more"),
            ("a set {1, 2}", "a set {1, 2}"),
            (r"a set \{1, 2\}", "a set {1, 2}"),
            ("two\nlines\r\n\tand\u2028three\x00four\x85five", "two lines and three four five"),
            ("ein rötlicher Würfel, 赤い立方体, 👩‍👩‍👧", "ein rötlicher Würfel, 赤い立方体, 👩‍👩‍👧"),
            ("half a \ud83d pair", "half a \ufffd pair"),
        ],
    )
    def test_come_out_as_one_plain_line(self, content: str, clue: str) -> None:
        assert read_clue(f"\\boxed{{{content}}}") == clue

    @pytest.mark.parametrize("content", ["", " ", "\n", "\u200b", "\u2060\ufeff", r"\text{}", "\0\0"])
    def test_with_nothing_visible_are_no_clues(self, content: str) -> None:
        assert read_clue(f"\\boxed{{{content}}}") is None

    def test_are_cut_at_the_limit(self) -> None:
        assert read_clue("\\boxed{" + "ab " * 1000 + "}", max_chars=7) == "ab ab a"

    @given(HOSTILE_TEXT, st.integers(1, 50))
    def test_are_one_short_line_whatever_was_said(self, text: str, max_chars: int) -> None:
        clue = read_clue("\\boxed{" + text, max_chars)
        if clue is not None:
            assert 0 < len(clue) <= max_chars
            assert clue == clue.strip()
            assert clue.splitlines() == [clue]
            clue.encode()  # no lone surrogates


class TestVotes:
    @pytest.mark.parametrize(
        "content",
        ["3", " 3 ", "3.", "(3)", "#3", r"\#3", "Player 3", "player3", "PLAYER #3", "Player-3", "P3", "No. 3", "003"]
        + [
            r"\text{Player 3}",
            r"\text{Player }3",
            r"\mathbf{3}",
            r"\boxed{3}",
            r"{3}",
            "Player~3",
            r"Player\ 3",
            "**3**",
        ]
        + ["３", "٣", "३", "③", "³", "3\ufe0f\u20e3", "三3", "Spieler 3", "玩家3", "3号玩家", "игрок 3"]
        + ["three", "Three", "player three", "THE SPY IS PLAYER THREE", "I vote for player three."]
        + ["I vote for player 3.", "Player 3 is the spy", "player 3 (yes, player 3)", "3, because the clue is vague"],
    )
    def test_for_player_3(self, content: str) -> None:
        assert read_vote(f"Let me think about 1 and 2.\n\\boxed{{{content}}}", 5) == Vote("player", 3)

    @pytest.mark.parametrize(
        "content",
        [
            "n/a",
            "N/A",
            "N/a",
            "n.a.",
            "N.A.",
            "n.a",
            r"n\a",
            "n-a",
            "n / a",
            "na",
            "NA",
            "(n/a)",
            "n/a.",
            '"n/a"',
            "n∕a",
        ]
        + ["Ｎ／Ａ", r"\text{n/a}", r"\text{N}/\text{A}", r"\mathrm{N/A}", r"N\/A"]
        + ["not sure", "Not sure.", "not certain", "not clear", "not applicable", "not available", "I am not sure"]
        + ["unsure", "uncertain", "unclear", "unknown", "undecided", "undetermined", "inconclusive", "null"]
        + ["none", "nobody", "no one", "no-one", "noone", "no idea", "no vote", "no answer", "no opinion", "no player"]
        + ["abstain", "I abstain", "abstained", "abstention", "pass", "skip", "idk", "dunno"]
        + ["I don't know", "I don’t know", "dont know", "do not know", "can't tell", "cannot say", "can not decide"]
        + ["cannot determine", "could not identify", "unable to tell"],
    )
    def test_for_nobody(self, content: str) -> None:
        assert read_vote(f"\\boxed{{{content}}}", 5) == ABSTENTION

    @pytest.mark.parametrize(
        "content",
        ["", " ", "?", "-", "yes", "number", "spy", "player", "the red cube", "x", "III", "三", "\u200b"]
        # Out of range.
        + ["0", "6", "99", "1000", "9" * 150, "zero", "six", "0003"]
        # No whole number.
        + ["3.0", "3,0", "3.5", ".5", "-3", "−3", "- -3", "+3", "1/2", r"\frac{3}{1}", "½", "1e3", "3:2"]
        # Two different numbers, or a number and an abstention.
        + ["2 or 3", "2, 3", "2,3", "1-3", "two or three", "3 or n/a", "n/a (maybe 3)", "3, but not sure", "3 three 4"]
        # A number that is denied.
        + ["not 3", "Not player 3", "anyone but 3", "player 3 is not the spy", "it isn't 3", "never 3", "not three"]
        # Number words in prose.
        + ["two red cubes", "one of the players", "the third one", "someone", "twofold"]
        # Longer than any vote.
        + ["3" + " " * 200 + "3", "the spy is obviously 3 " * 20],
    )
    def test_that_are_none(self, content: str) -> None:
        assert read_vote(f"\\boxed{{{content}}}", 5) == INVALID

    @pytest.mark.parametrize("text", ["", "3", "I vote for player 3.", "n/a", r"<think>\boxed{3}</think> 3"])
    def test_outside_a_box_do_not_count(self, text: str) -> None:
        assert read_vote(text, 5) == INVALID

    def test_for_oneself_are_invalid_but_an_observer_is_nobody(self) -> None:
        assert read_vote(r"\boxed{3}", 5, voter=3) == INVALID
        assert read_vote(r"\boxed{2}", 5, voter=3) == Vote("player", 2)
        assert read_vote(r"\boxed{3}", 5, voter=None) == Vote("player", 3)

    @pytest.mark.parametrize("player", range(1, 10))
    def test_for_each_of_nine_players(self, player: int) -> None:
        assert read_vote(f"\\boxed{{{player}}}", 9) == Vote("player", player)

    def test_print_as_they_are_written(self) -> None:
        assert [str(vote) for vote in (Vote("player", 3), ABSTENTION, INVALID)] == ["3", "n/a", "invalid"]


class TestNothingBreaksTheReader:
    @given(ANY_TEXT | HOSTILE_TEXT, st.integers(1, 12), st.none() | st.integers(1, 12))
    @example("\\boxed{" + "٣" * 199, 5, None)
    @example("\\boxed{ﷺ" * 50, 5, 1)
    def test_any_text_gives_a_vote_in_range(self, text: str, num_players: int, voter: int | None) -> None:
        for answer in (text, "\\boxed{" + text + "}"):
            vote = read_vote(answer, num_players, voter)
            if vote.kind == "player":
                assert vote.player is not None
                assert 1 <= vote.player <= num_players
                assert vote.player != voter
            else:
                assert vote in (ABSTENTION, INVALID)

    @given(ANY_TEXT | HOSTILE_TEXT)
    def test_any_text_gives_a_clue_or_none(self, text: str) -> None:
        read_clue(text)
        plain_text(text)
        without_reasoning(text)

    # Anything quadratic needs hours for these: 300 kB squared is 10^11 steps.
    @pytest.mark.timeout(60)
    @pytest.mark.parametrize(
        "piece",
        ["\\boxed{", "\\boxed{}", "\\boxed{{}", "\\boxed ", "\\boxed{1} \\boxed{", "{", "}", "{}", "\\{", "\\", "\\\\"]
        + ["<think>", "</think>", "<think></think>", "<thin", "\\text{", "\\text ", "\\text{}", "\\text", "~", "a~"]
        + ["n/", "n ", "n", "not ", "can not ", "no", "1", "1.", "1,", "-", "+.", "٣", " ", "\n", "\r", "\u2028", "\0"]
        + ["\ud800", "\u200b", "ﷺ", "a", "player one ", "n't"],
    )
    def test_300_kilobytes_of_junk_take_linear_time(self, piece: str) -> None:
        junk = piece * (300_000 // len(piece))
        for text in (junk, "\\boxed{" + junk + "}", "\\boxed{" + junk, junk + "\\boxed{3}"):
            read_vote(text, 5)
            read_clue(text, max_chars=100_000)
            plain_text(text)
