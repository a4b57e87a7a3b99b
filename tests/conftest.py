"""What all tests share: how Hypothesis runs, and that it does not look at the clock."""

from hypothesis import settings

# A busy machine is not a failing test: an example may take as long as it takes.
settings.register_profile("sash", deadline=None)
settings.load_profile("sash")
