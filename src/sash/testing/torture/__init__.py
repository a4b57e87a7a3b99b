"""Random operations, definitions, damage and kills, against recalculation, for as long as you like.

    python -m sash.testing.torture --minutes 60

Every case is made of a seed, the name of its part and its number alone, so that one line
repeats it. A part is a function: a `Case` in, what it did out; `Difference` if an answer is wrong.
"""
