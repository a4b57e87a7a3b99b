"""Windows over a store: O(log n) of them in memory, the rest in pages.

window      what such a window does besides its algorithm: commit, undo, recover
state       its memory here, its ledger there, and how it is opened
paged       the memory: the ends of each level are here, the middle is in pages
ledger      what is in the store, and what is on its way there
read_ahead  pages that a thread reads before they are asked for
threads     the two threads of a store that waits
windows     many windows in one store, one per key
"""
