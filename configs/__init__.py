"""Recipes: one YAML file each, for `visionzero train --config NAME`."""
