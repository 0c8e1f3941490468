"""Independent verification of plans: `check` is all that others ask of it."""

from .plan import check as check
