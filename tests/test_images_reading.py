"""Any picture comes out as the RGB that a person would see, and a bad one as a named, explained error."""

from __future__ import annotations

import contextlib
import io
import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms, ImageFile

from visionzero.images.reading import UnreadableImage, image_name, probe_image, read_image

RED, WHITE, BLACK = (255, 0, 0), (255, 255, 255), (0, 0, 0)
ORIENTATION = 0x0112


def encode(image: Image.Image, form: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def noise(size: tuple[int, int] = (40, 30), mode: str = "RGB") -> Image.Image:
    pixels = np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    return Image.fromarray(pixels).convert(mode)


def near(image: Image.Image, at: tuple[int, int], colour: tuple[int, int, int], tolerance: int = 3) -> bool:
    pixel = image.getpixel(at)
    assert isinstance(pixel, tuple)
    return all(abs(a - b) <= tolerance for a, b in zip(pixel, colour, strict=True))


def greys_of(image: Image.Image) -> list[int]:
    return np.asarray(image)[0, :, 0].tolist()


def png_of_declared_size(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    body = zlib.compress(b"\0" * 1000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


class TestSources:
    def test_a_path_bytes_a_file_a_dict_an_image_and_an_array_give_the_same_picture(self, tmp_path: Path) -> None:
        original = noise()
        path = tmp_path / "noise.png"
        path.write_bytes(encode(original))
        with path.open("rb") as stream:
            from_file = read_image(stream)
        pictures = [
            read_image(path),
            read_image(str(path)),
            read_image(path.read_bytes()),
            from_file,
            read_image({"bytes": path.read_bytes(), "path": None}),
            read_image({"bytes": None, "path": str(path)}),
            read_image(original),
            read_image(np.asarray(original)),
        ]
        assert all(picture.mode == "RGB" and picture.tobytes() == original.tobytes() for picture in pictures)

    def test_the_result_is_a_new_image_without_metadata(self) -> None:
        original = noise()
        original.info["note"] = "mine"
        picture = read_image(original)
        assert picture is not original
        assert picture.info == {}
        assert original.info == {"note": "mine"}

    def test_names_come_from_paths(self, tmp_path: Path) -> None:
        assert image_name(tmp_path / "a.png") == str(tmp_path / "a.png")
        assert image_name({"bytes": b"", "path": "row.png"}) == "row.png"
        assert image_name(b"...", "image 3") == "image 3"

    @pytest.mark.parametrize("thing", [None, 5, ["a.png"], {"url": "a.png"}, object()])
    def test_something_that_cannot_hold_an_image_is_a_type_error(self, thing: object) -> None:
        with pytest.raises(TypeError, match="a path, the bytes of a file"):
            read_image(thing)

    def test_a_text_file_object_is_a_type_error(self) -> None:
        with pytest.raises(TypeError, match="binary"):
            read_image(io.StringIO("P6"))


class TestModes:
    @pytest.mark.parametrize(
        "mode",
        [
            "1",
            "L",
            "LA",
            "La",
            "P",
            "PA",
            "RGB",
            "RGBA",
            "RGBX",
            "RGBa",
            "CMYK",
            "YCbCr",
            "LAB",
            "HSV",
            "I",
            "F",
            "I;16",
            "I;16L",
            "I;16B",
            "I;16N",
        ],
    )
    def test_every_pillow_mode_comes_out_as_rgb_of_the_same_size(self, mode: str) -> None:
        picture = read_image(Image.new(mode, (7, 5)))
        assert (picture.mode, picture.size) == ("RGB", (7, 5))

    @pytest.mark.parametrize("mode", ["YCbCr", "HSV", "CMYK", "RGBA", "RGBX", "LAB"])
    def test_colours_survive_the_modes_that_can_hold_them(self, mode: str) -> None:
        if mode == "LAB":
            transform = ImageCms.buildTransform(
                ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), "RGB", "LAB"
            )
            image = ImageCms.applyTransform(Image.new("RGB", (4, 4), (200, 60, 30)), transform)
        else:
            image = Image.new("RGB", (4, 4), (200, 60, 30)).convert(mode)
        assert near(read_image(image), (1, 1), (200, 60, 30))

    @pytest.mark.parametrize("mode", ["RGBA", "LA", "PA"])
    def test_transparent_parts_lie_on_white(self, mode: str) -> None:
        image = Image.new("RGBA", (2, 1), (0, 0, 0, 255))
        image.putpixel((1, 0), (0, 0, 0, 0))
        picture = read_image(image.convert(mode))
        assert [picture.getpixel((x, 0)) for x in (0, 1)] == [BLACK, WHITE]

    def test_half_transparent_black_is_grey(self) -> None:
        assert near(read_image(Image.new("RGBA", (1, 1), (0, 0, 0, 128))), (0, 0), (127, 127, 127))

    def test_a_transparent_palette_entry_is_white(self) -> None:
        image = Image.new("P", (2, 1))
        image.putpalette([0, 0, 0, 255, 0, 0])
        image.putpixel((1, 0), 1)
        picture = read_image(encode(image, transparency=0))
        assert [picture.getpixel((x, 0)) for x in (0, 1)] == [WHITE, RED]

    @pytest.mark.parametrize(("mode", "key"), [("RGB", (0, 0, 0)), ("L", 0), ("1", 0), ("I;16", 0)])
    def test_a_transparent_colour_key_is_white(self, mode: str, key: object) -> None:
        assert read_image(encode(Image.new(mode, (2, 2)), transparency=key)).getpixel((0, 0)) == WHITE

    @pytest.mark.parametrize("form", ["PNG", "TIFF"])
    @pytest.mark.parametrize(("sample", "grey"), [(0, 0), (257, 1), (32896, 128), (65535, 255)])
    def test_sixteen_bits_are_scaled_by_their_full_range(self, form: str, sample: int, grey: int) -> None:
        picture = read_image(encode(Image.new("I;16", (3, 3), sample), form))
        assert picture.getpixel((1, 1)) == (grey,) * 3

    @pytest.mark.parametrize(
        ("samples", "greys"),
        [([0, 255], [0, 255]), ([0, 65535], [0, 255]), ([-100, 100], [0, 255]), ([0, 2_000_000], [0, 255])],
    )
    def test_wide_integers_use_the_smallest_range_that_holds_them(self, samples: list[int], greys: list[int]) -> None:
        picture = read_image(Image.fromarray(np.array([samples], dtype=np.int32)))
        assert greys_of(picture) == greys

    @pytest.mark.parametrize(
        ("samples", "greys"),
        [([0.0, 1.0], [0, 255]), ([0.0, 255.0], [0, 255]), ([-3e38, 3e38], [0, 255]), ([float("nan"), 1.0], [0, 255])],
    )
    def test_floats_use_the_smallest_range_that_holds_them(self, samples: list[float], greys: list[int]) -> None:
        picture = read_image(Image.fromarray(np.array([samples], dtype=np.float32)))
        assert greys_of(picture) == greys

    def test_a_cmyk_jpeg_of_adobe_style_keeps_its_colours(self) -> None:
        data = encode(Image.new("RGB", (16, 16), RED).convert("CMYK"), "JPEG", quality=95)
        assert b"Adobe" in data
        assert near(read_image(data), (8, 8), RED, 6)

    def test_a_colour_profile_is_applied_and_a_broken_one_ignored(self) -> None:
        swapped = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
        # Exchanging the tags of the red and the blue primary makes a profile in which red means blue.
        red, blue = swapped.index(b"rXYZ"), swapped.index(b"bXYZ")
        swapped[red : red + 4], swapped[blue : blue + 4] = b"bXYZ", b"rXYZ"
        named = bytes(swapped).replace("sRGB built-in".encode("utf-16-be"), "BGRs built-in".encode("utf-16-be"))
        image = Image.new("RGB", (2, 2), RED)
        assert near(read_image(encode(image, icc_profile=named)), (0, 0), (0, 0, 255), 8)
        assert read_image(encode(image, icc_profile=b"nonsense")).getpixel((0, 0)) == RED

    @settings(max_examples=40, deadline=None)
    @given(
        st.sampled_from(["1", "L", "P", "RGB", "LA", "RGBA", "I;16", "CMYK"]),
        st.integers(1, 9),
        st.integers(1, 9),
        st.sampled_from(["PNG", "TIFF"]),
    )
    def test_a_saved_image_reads_as_the_image_itself(self, mode: str, width: int, height: int, form: str) -> None:
        image = noise((width, height), "L" if mode == "I;16" else mode)
        if mode == "I;16":
            image = Image.fromarray(np.asarray(image).astype(np.uint16) * 257)
        if mode == "CMYK" and form == "PNG":
            form = "TIFF"
        assert read_image(encode(image, form)).tobytes() == read_image(image).tobytes()


class TestShapesAndFrames:
    @pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "TIFF"])
    def test_an_exif_rotation_is_applied(self, form: str) -> None:
        image = Image.new("RGB", (40, 20), WHITE)
        image.paste(RED, (0, 0, 20, 20))
        exif = Image.Exif()
        exif[ORIENTATION] = 6
        picture = read_image(encode(image, form, exif=exif))
        assert picture.size == (20, 40)
        assert near(picture, (10, 3), RED, 12)
        assert near(picture, (10, 36), WHITE, 12)

    @pytest.mark.filterwarnings("ignore:Corrupt EXIF")
    def test_damaged_exif_leaves_the_image_as_stored(self) -> None:
        data = encode(noise(), "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff")
        assert read_image(data).size == (40, 30)

    @pytest.mark.parametrize("form", ["GIF", "PNG", "WEBP", "TIFF"])
    def test_an_animation_gives_its_first_frame(self, form: str) -> None:
        frames = [Image.new("RGB", (8, 8), colour) for colour in (RED, BLACK)]
        data = encode(
            frames[0], form, save_all=True, append_images=frames[1:], **({"lossless": True} if form == "WEBP" else {})
        )
        assert near(read_image(data), (4, 4), RED)

    @pytest.mark.parametrize("size", [(1, 1), (20_000, 30), (30, 20_000)])
    def test_extreme_shapes_are_fine(self, size: tuple[int, int]) -> None:
        assert read_image(encode(Image.new("L", size, 90))).size == size

    @pytest.mark.parametrize(
        "form", ["PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP", "PPM", "TGA", "ICO", "JPEG2000", "AVIF"]
    )
    def test_every_usual_format_is_read(self, form: str) -> None:
        size = (32, 32)
        data = encode(noise(size), form)
        assert read_image(data).size == size
        assert probe_image(data) == size


class TestArrays:
    @pytest.mark.parametrize("shape", [(3, 4), (3, 4, 1), (3, 4, 3), (3, 4, 4)])
    @pytest.mark.parametrize(
        ("dtype", "top"),
        [
            (np.uint8, 255),
            (np.uint16, 65535),
            (np.bool_, True),
            (np.float32, 1.0),
            (np.float64, 1.0),
            (np.float16, 1.0),
        ],
    )
    def test_white_is_white_and_black_is_black(self, shape: tuple[int, ...], dtype: type, top: float) -> None:
        array: np.ndarray = np.full(shape, top, dtype=dtype)
        assert read_image(array).getpixel((3, 2)) == WHITE
        array = np.zeros(shape, dtype=dtype)
        if shape[-1] == 4 and len(shape) == 3:
            array[..., 3] = top
        assert read_image(array).getpixel((3, 2)) == BLACK

    def test_a_view_with_strides_is_fine(self) -> None:
        array = np.asarray(noise())
        assert read_image(array[:, ::-1]).tobytes() == array[:, ::-1].tobytes()

    @pytest.mark.parametrize(
        ("array", "message"),
        [
            (np.zeros((3, 20, 20), np.uint8), "channels first"),
            (np.zeros((2, 20, 20, 3), np.uint8), "batch"),
            (np.zeros(9, np.uint8), r"shape \(9,\)"),
            (np.zeros((0, 4, 3), np.uint8), "no pixels"),
            (np.zeros((4, 4), np.int64), "int64"),
            (np.full((4, 4), 200.0), "divide by 255"),
            (np.full((4, 4), np.nan), r"\[0, 1\]"),
            (np.array([["a"]]), "must be bool, uint8"),
        ],
    )
    def test_other_arrays_are_refused_with_a_hint(self, array: np.ndarray, message: str) -> None:
        with pytest.raises(UnreadableImage, match=message):
            read_image(array)


class TestBadFiles:
    def test_the_error_names_the_file_and_the_reason(self, tmp_path: Path) -> None:
        path = tmp_path / "notes.png"
        path.write_text("shopping list")
        with pytest.raises(UnreadableImage, match=r"notes\.png: not an image") as caught:
            read_image(path)
        assert caught.value.name == str(path)
        assert "not an image" in caught.value.reason

    def test_missing_files_folders_and_empty_files_are_unreadable(self, tmp_path: Path) -> None:
        for source, message in [
            (tmp_path / "none.png", "No such file"),
            (tmp_path, "directory"),
            (b"", "empty"),
            ("a\0b.png", "null"),
            ({"bytes": None, "path": None}, "neither"),
        ]:
            with pytest.raises(UnreadableImage, match=message):
                read_image(source)

    @pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP"])
    def test_a_truncated_file_is_never_half_a_picture(self, form: str) -> None:
        data = encode(noise((200, 200)), form)
        with pytest.raises(UnreadableImage):
            read_image(data[: len(data) // 2])

    def test_a_bomb_is_refused_before_it_is_decoded(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(UnreadableImage, match="more than max_pixels"):
                read_image(png_of_declared_size(12_000, 12_000))
            with pytest.raises(UnreadableImage, match="MAX_IMAGE_PIXELS"):
                read_image(png_of_declared_size(60_000, 60_000))

    def test_the_limit_is_ours_and_not_pillows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
        with pytest.raises(UnreadableImage, match="60000 x 60000"):
            read_image(png_of_declared_size(60_000, 60_000))
        with pytest.raises(UnreadableImage, match="max_pixels = 10"):
            read_image(Image.new("RGB", (4, 4)), max_pixels=10)
        with pytest.raises(UnreadableImage, match="max_pixels = 10"):
            read_image(np.zeros((4, 4), np.uint8), max_pixels=10)

    def test_postscript_is_not_handed_to_another_program(self) -> None:
        with pytest.raises(UnreadableImage, match="PostScript"):
            read_image(encode(noise(), "EPS"))

    def test_reading_leaves_pillows_switches_alone(self) -> None:
        before = (Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES)
        read_image(encode(noise()))
        assert before == (Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES)

    @settings(max_examples=150, deadline=None)
    @given(st.binary(max_size=400))
    def test_arbitrary_bytes_only_ever_raise_unreadable_image(self, data: bytes) -> None:
        with contextlib.suppress(UnreadableImage):
            assert read_image(data, max_pixels=10**6).mode == "RGB"

    @pytest.mark.filterwarnings("ignore")
    @settings(max_examples=200, deadline=None)
    @given(
        st.sampled_from(
            ["PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP", "TGA", "ICO", "PPM", "PCX", "SGI", "DDS", "JPEG2000"]
        ),
        st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=8),
    )
    def test_a_damaged_file_is_a_picture_or_unreadable(self, form: str, damage: list[tuple[int, int]]) -> None:
        data = bytearray(encode(noise((16, 16)), form))
        for position, value in damage:
            data[position % len(data)] = value
        with contextlib.suppress(UnreadableImage):
            assert read_image(bytes(data), max_pixels=10**6).mode == "RGB"
