"""Random change streams with a seed, and what must become of them, by a plain dictionary.

`values` makes rows, `stream` makes events and applies them to its dictionary, `combination` says
which pipeline they go through, `trial` brings them there and compares.
"""
