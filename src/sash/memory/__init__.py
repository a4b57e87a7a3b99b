"""Where partials and numbers lie, for plain Python and for compiled code alike.

columns    cells of partials: a ring, a queue in chunks, a table
growing    an array that grows in place
queue      the memory of a first-in-first-out window
rings      the same with several columns, and a tree in levels
arena      the memory of a tree whose nodes are linked by row number
segments   the two ends of each level of a tree, and a few nodes between
"""
