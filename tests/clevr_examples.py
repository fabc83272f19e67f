"""Scenes and folders that the tests of the CLEVR images share."""

import numpy as np
from hypothesis import strategies as st

from visionzero.images.clevr import render_scene, sample_scene

SMALL = (48, 36)
seeds = st.integers(0, 2**32 - 1)


def scene_of(seed=0, **options):
    return sample_scene(np.random.default_rng(seed), **options)


def thing(**changes):
    return {
        "shape": "sphere",
        "size": "large",
        "material": "rubber",
        "color": "red",
        "rotation": 0.0,
        "3d_coords": [0.0, 0.0, 0.7],
        "pixel_coords": [160, 120, 11.0],
        **changes,
    }


def red_in(scene):
    pixels = np.asarray(render_scene(scene, (320, 240), 16)).astype(int)
    return pixels[..., 0] > 1.6 * pixels[..., 1]


def make_folder(path):
    path.mkdir(parents=True)
    return path
