"""The page of a game: everything is on it, it needs nothing else, and what players said is only text."""

from __future__ import annotations

import copy
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browser_pages import CONTRASTS, visit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from visionzero.games import SpyConfig, SpyGame
from visionzero.images import EditedView, ImagePair
from visionzero.players import Player, Reply, ScriptedPlayer
from visionzero.replay import record_episode, write_page
from visionzero.rollout import Episode, rollout

HOSTILE = "</p></details><script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&amp;{{ 7*7 }}{% raw %}"


class Says(Player):
    """Says prepared texts, over and over."""

    def __init__(self, *texts: str, name: str = "prepared") -> None:
        self.texts, self.name = texts, name

    def reply(self, turns: Any) -> list[Reply]:
        return [Reply(self.texts[turn.index % len(self.texts)], completion_ids=(1,) * 7) for turn in turns]


def record(player: Player | None = None, *, name: str = "some/folder/teal.png", seed: int = 3, **rules: Any) -> Any:
    pair = ImagePair(
        Image.new("RGB", (160, 120), "teal"), name=name, edit=lambda: EditedView(Image.new("RGB", (160, 120), "maroon"))
    )
    game = SpyGame(pair, SpyConfig(**rules), seed=seed)
    return record_episode(rollout([game], player or ScriptedPlayer(name="Ada"))[0])


class Page(HTMLParser):
    """What a browser makes of the page, as far as these tests need it."""

    VOID = frozenset(["meta", "link", "img", "br"])

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.html = path.read_text(encoding="utf-8")
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[tuple[str, str]] = []
        self.feed(self.html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self._open.append((tag, dict(attrs).get("class") or ""))
            for name in self._open[-1][1].split():
                self.texts.setdefault(name, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        for _, classes in self._open:
            for name in classes.split():
                self.texts[name][-1] += data

    def values(self, attribute: str) -> list[str]:
        return [value for _, name, value in self.attributes if name == attribute]


def page_of(records: Any, tmp_path: Path, **options: Any) -> Page:
    write_page(records, tmp_path / "page.html", **options)
    return Page(tmp_path / "page.html")


def test_everything_about_a_game_is_on_its_page(tmp_path: Path) -> None:
    game = record(spy_view="edited")
    page = page_of(game, tmp_path)
    clues = [turn for turn in game["turns"] if turn["stage"] == "clue"]
    assert [text.strip() for text in page.texts["clue"]] == [turn["answer"] for turn in clues]
    assert [text.strip() for text in page.texts["thought"]] == [turn["text"].strip() for turn in game["turns"]]
    assert len(page.texts["vote"]) == 4
    assert len(page.texts["reward"]) == len(game["turns"])
    assert page.tags.count("img") == 2
    winner = "The civilians found the spy" if game["outcome"]["winner"] == "civilians" else "The spy got away"
    assert winner in page.html
    assert f"Player {game['spy']['player']} was the spy and saw an altered image." in page.html
    assert "teal.png" in page.html
    assert "Ada" in page.html


def test_votes_say_who_named_whom(tmp_path: Path) -> None:
    votes = {0: "\\boxed{clue}", 1: "\\boxed{n/a}", 2: "no box", 3: "\\boxed{1}"}
    game = record(Says(*votes.values()), num_civilians=3, clue_rounds=1, seed=1)
    page = page_of(game, tmp_path)
    shown = [" ".join(text.split()) for text in page.texts["vote"]]
    for turn, text in zip([turn for turn in game["turns"] if turn["stage"] == "decision"], shown, strict=True):
        target = {"player": f"Player {turn['answer']['player']}", "n/a": "not sure", "invalid": "unreadable"}
        assert f"Player {turn['player']} →votes for {target[turn['answer']['kind']]}" in text.replace("→ ", "→")


def test_rewards_are_added_up_by_seat(tmp_path: Path) -> None:
    game = record(seed=8)
    page = page_of(game, tmp_path)
    rows = page.html.split("<tbody>")[1].split("</tbody>")[0]
    for player in range(1, 6):
        total = sum(t["reward"] for t in game["turns"] if t["player"] == player and t["stage"] == "clue")
        assert f"{total:+.3f}".rstrip("0").rstrip(".").replace("-", "\u2212") in rows


def test_reasoning_is_folded_and_left_out_where_there_is_none(tmp_path: Path) -> None:
    page = page_of(record(Says(*["\\boxed{a clue}"] * 10, *["\\boxed{n/a}"] * 4)), tmp_path)
    assert "thought" not in page.texts
    page = page_of(record(Says("Hm. \\boxed{a clue}")), tmp_path)
    assert "Hm. \\boxed{a clue}" in page.texts["thought"]
    assert "open" not in [name for tag, name, _ in page.attributes if tag == "details"]
    assert "(7 tokens)" in page.html


def test_unreadable_clues_and_cut_off_answers_are_named(tmp_path: Path) -> None:
    game = record(Says("I forgot the box"))
    game["turns"][0]["truncated"] = True
    page = page_of(game, tmp_path)
    assert {text.strip() for text in page.texts["clue"]} == {"no readable clue"}
    assert ", cut off" in page.html


def test_an_unfinished_game_has_a_page(tmp_path: Path) -> None:
    game = SpyGame(Image.new("RGB", (8, 8)), SpyConfig(), seed=3, spy_seat=2)
    game.submit(game.pending()[0], "\\boxed{dark}")
    page = page_of(record_episode(Episode(game, error=OSError("no <server>"))), tmp_path)
    assert "This game was not finished" in page.html
    assert "OSError: no &lt;server&gt;" in page.html
    assert "reward" not in page.texts


def test_an_observers_votes_have_their_place(tmp_path: Path) -> None:
    page = page_of(record(voters="observer", votes_per_game=3), tmp_path)
    assert len(page.texts["vote"]) == 3
    assert "Observer" in page.html


def test_several_games_have_an_index_whose_links_lead_somewhere(tmp_path: Path) -> None:
    page = page_of([record(seed=seed) for seed in range(4)], tmp_path)
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    links = [link for link in page.values("href") if link.startswith("#")]
    assert {f"#game-{number}" for number in range(1, 5)} <= set(links)
    assert all(link[1:] in ids for link in links)
    assert page.tags.count("article") == 4


def test_one_game_has_no_index(tmp_path: Path) -> None:
    assert "index" not in page_of([record()], tmp_path).values("id")


def test_titles_can_be_given(tmp_path: Path) -> None:
    assert "<title>Who Is the Spy? teal.png</title>" in page_of(record(), tmp_path).html
    assert "<title>A &lt;b&gt; day</title>" in page_of(record(), tmp_path, title="A <b> day").html


def test_a_page_needs_nothing_but_itself(tmp_path: Path) -> None:
    page = page_of([record(spy_view="edited"), record()], tmp_path)
    assert not {"script", "iframe", "object", "embed", "base", "form"} & set(page.tags)
    assert all(re.match(r"data:image/(png|jpeg);base64,[A-Za-z0-9+/=]+$", source) for source in page.values("src"))
    assert all(link.startswith("#") or link == "data:," for link in page.values("href"))
    assert "url(" not in page.html
    assert "@import" not in page.html


def test_nothing_that_anybody_said_becomes_markup(tmp_path: Path) -> None:
    plain = page_of([record(Says("Hm. \\boxed{a clue}", "no box"))] * 2, tmp_path)
    player = Says(f"{HOSTILE} \\boxed{{{HOSTILE}}}", HOSTILE, name=HOSTILE)
    game = record(player, name=HOSTILE)
    game["config"]["prompts"], game["error"] = HOSTILE, HOSTILE
    game["config"][HOSTILE] = HOSTILE
    hostile = page_of([game, game], tmp_path)
    assert set(hostile.tags) <= set(plain.tags)
    assert {name for _, name, _ in hostile.attributes} <= {name for _, name, _ in plain.attributes}
    assert "<script" not in hostile.html
    assert any(HOSTILE in text for text in hostile.texts["thought"])


@given(text=st.text(st.characters(), max_size=200))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_shown_as_it_is(tmp_path: Path, text: str) -> None:
    game = copy.deepcopy(RECORD)
    game["turns"][0].update(text=text, answer=text, name=text)
    game["board"]["name"] = text
    page = page_of([game, game], tmp_path)
    expected = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]", "\ufffd", text)
    assert page.texts["clue"][0] == expected
    if text:
        assert page.texts["thought"][0] == expected


RECORD = record()


@pytest.mark.parametrize(("records", "problem"), [([], "at least one"), ([RECORD, {}], "game 2 is no record")])
def test_what_is_no_record_is_refused(records: Any, problem: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=problem):
        write_page(records, tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


# In a real browser.


@pytest.fixture(scope="module")
def page_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "page.html"
    long_word = "incomprehensib" * 30
    talker = Says(f"{HOSTILE} {long_word}\n\n\\boxed{{{long_word} {HOSTILE}}}", "\\boxed{2}", "x", name=long_word)
    games = [
        record(spy_view="edited"),
        record(talker, name=f"{long_word}.png"),
        record(num_civilians=8, voters="observer"),
        record(seed=5, votes_per_civilian=2),
    ]
    write_page(games, path)
    return path


@pytest.mark.parametrize("width", [320, 390, 820, 1280])
def test_no_text_sticks_out_at_any_width(browser: Any, page_path: Path, width: int) -> None:
    visit(browser, page_path, width=width)
    browser.execute_script("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    outside = browser.execute_script(
        "return [...document.querySelectorAll('main *:not(.unseen)')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1)"
        ".map((e) => e.className || e.tagName)"
    )
    assert outside == []


def test_a_browser_has_nothing_to_complain_about(browser: Any, page_path: Path) -> None:
    browser.get_log("browser")
    visit(browser, page_path, width=1280)
    assert browser.get_log("browser") == []
    assert browser.title == "Who Is the Spy? 4 games"
    loaded = browser.execute_script("return [...document.images].map((image) => image.complete && image.naturalWidth)")
    assert loaded == [160] * len(loaded)
    assert len(loaded) == 4 + 4 + 1


def test_folded_reasoning_opens_by_click_and_by_keyboard(browser: Any, page_path: Path) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    visit(browser, page_path, width=390)
    first, second = browser.find_elements(By.CSS_SELECTOR, ".turn details")[:2]
    thought = first.find_element(By.CLASS_NAME, "thought")
    assert not thought.is_displayed()
    first.find_element(By.TAG_NAME, "summary").click()
    assert thought.is_displayed()
    assert "\\boxed{" in thought.text
    thought = second.find_element(By.CLASS_NAME, "thought")
    second.find_element(By.TAG_NAME, "summary").send_keys(Keys.ENTER)
    assert thought.is_displayed()


def test_the_keyboard_reaches_everything(browser: Any, page_path: Path) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    visit(browser, page_path, width=1280)
    reached = []
    for _ in range(8):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        reached.append(browser.execute_script("return document.activeElement.getAttribute('href') || 'fold'"))
    assert reached[:5] == ["#games", "#game-1", "#game-2", "#game-3", "#game-4"]
    assert browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_the_index_leads_to_the_games(browser: Any, page_path: Path) -> None:
    from selenium.webdriver.common.by import By

    visit(browser, page_path, width=1280)
    browser.find_element(By.CSS_SELECTOR, ".index a[href='#game-3']").click()
    top = browser.execute_script("return document.getElementById('game-3').getBoundingClientRect().top")
    assert abs(top) < 60


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(browser: Any, page_path: Path, scheme: str) -> None:
    visit(browser, page_path, width=1280, scheme=scheme)
    browser.execute_script("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert browser.execute_script(CONTRASTS) == []
    background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (int(re.findall(r"\d+", background)[0]) < 60) == (scheme == "dark")
