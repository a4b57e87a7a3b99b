"""Pieces: a batch that runs piece by piece has one answer."""

from __future__ import annotations

from typing import Any

import numpy as np


def joined(answers: list[Any], out: np.ndarray | None) -> Any:
    """The answers of several pieces as one: `out` where they are in it, an array, or a list."""
    if len(answers) == 1:
        return answers[0]
    if answers and all(isinstance(part, np.ndarray) for part in answers):
        is_out = out is not None and np.may_share_memory(answers[0], out)
        if is_out:
            return out
        values = np.concatenate([np.asarray(part) for part in answers])
        if not any(isinstance(part, np.ma.MaskedArray) for part in answers):
            return values
        return np.ma.array(values, mask=np.concatenate([np.ma.getmaskarray(p) for p in answers]))
    return [x for part in answers for x in (part.tolist() if hasattr(part, "tolist") else part)]
