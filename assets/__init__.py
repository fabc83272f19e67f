"""Sample images and models that ship with the package."""
