"""Optimizers, schedules of learning rates, and clipping of gradients. All update in place.

An update is one pass over parameter, gradient and states. A step allocates no array, except a copy
of a gradient that lies in memory otherwise than its parameter or has another dtype.
"""

from .algorithms import SGD, Adagrad, Adam, AdamW, RMSProp
from .clipping import clip_grad_norm, clip_grad_value
from .optimizer import Optimizer
from .schedules import Schedule, cosine_decay, step_decay, warm_up

__all__ = [
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "Optimizer",
    "RMSProp",
    "Schedule",
    "clip_grad_norm",
    "clip_grad_value",
    "cosine_decay",
    "step_decay",
    "warm_up",
]
