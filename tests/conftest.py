from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from visionzero.games import SpyConfig, SpyGame
from visionzero.images import EditedView, ImagePair


@pytest.fixture(scope="session")
def photo() -> Image.Image:
    """A small picture in which no two rows are alike."""
    image = Image.new("RGB", (32, 24))
    image.putdata([(8 * x, 10 * y, 128) for y in range(24) for x in range(32)])
    return image


@pytest.fixture(scope="session")
def scene() -> dict[str, Any]:
    """Four objects in the layout of a CLEVR scene JSON."""
    looks = [
        ("cube", "red", "metal", "large"),
        ("sphere", "blue", "rubber", "small"),
        ("cylinder", "green", "metal", "small"),
        ("cube", "yellow", "rubber", "large"),
    ]
    return {
        "objects": [
            {
                "shape": shape,
                "color": color,
                "material": material,
                "size": size,
                "rotation": 30.0 * place,
                "3d_coords": [float(place) - 1.5, 0.5 * place, 0.35],
                "pixel_coords": [4 + 8 * place, 12, 10.0],
            }
            for place, (shape, color, material, size) in enumerate(looks)
        ]
    }


@pytest.fixture(scope="session")
def board(photo: Image.Image, scene: dict[str, Any]) -> ImagePair:
    """A CLEVR board with an edited view: the same picture upside down, its first object another colour."""
    first, *others = scene["objects"]
    edited = EditedView(photo.transpose(Image.Transpose.ROTATE_180), {"objects": [{**first, "color": "cyan"}, *others]})
    return ImagePair(photo, kind="clevr", name="test scene", scene=scene, edit=lambda: edited)


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, Any]]:
    """A list that gets every CLEVR scene which the disk cache renders in the test."""
    from visionzero.images import clevr_render

    scenes: list[Mapping[str, Any]] = []
    original = clevr_render.render_scene

    def counting(scene: Mapping[str, Any], *arguments: Any) -> Image.Image:
        scenes.append(scene)
        return original(scene, *arguments)

    monkeypatch.setattr(clevr_render, "render_scene", counting)
    return scenes


@pytest.fixture(scope="session")
def small_rules() -> SpyConfig:
    """The shortest game, with short prompts."""
    return SpyConfig(num_civilians=2, clue_rounds=1, prompts="compact", own_reasoning_memory=False)


@pytest.fixture(scope="session")
def tiny_vlm_path(tmp_path_factory: pytest.TempPathFactory, small_rules: SpyConfig) -> Path:
    """A folder with a small Qwen2.5-VL of random weights, and its real processor."""
    pytest.importorskip("torch", reason="needs the train extra")
    from visionzero.tiny_vlm import TinyVLMShape, save_tiny_vlm

    game = SpyGame(Image.new("RGB", (8, 8)), small_rules)
    corpus = []
    while not game.done:
        for turn in game.pending():
            answer = f"I see red. \\boxed{{{'a red cube' if turn.stage == 'clue' else 'n/a'}}}"
            corpus += [turn.prompt, answer]
            game.submit(turn, answer)
    shape = TinyVLMShape(
        hidden_size=48, num_layers=2, vision_hidden_size=32, vision_heads=2, vision_depth=2, image_pixels=64 * 64
    )
    return save_tiny_vlm(tmp_path_factory.mktemp("tiny-vlm"), corpus, shape)


@pytest.fixture(scope="session")
def tiny_vlm(tiny_vlm_path: Path) -> tuple[Any, Any]:
    """That model and that processor, loaded."""
    from transformers import AutoModelForImageTextToText, AutoProcessor

    model = AutoModelForImageTextToText.from_pretrained(tiny_vlm_path).eval()
    return model, AutoProcessor.from_pretrained(tiny_vlm_path, padding_side="left")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("needs chromium and chromedriver")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for argument in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path_factory.mktemp('chromium')}",
    ):  # fmt: skip
        options.add_argument(argument)
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield chrome
    chrome.quit()
