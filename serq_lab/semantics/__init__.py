"""Tree to model: what a program means, checked. `checker.check` is the way in, `model.Model` the way out.

`expand` writes sugar out, `resolver.py` turns names into numbers, `constants.py` knows what is a number
before the run and is called again by every slider.
"""
