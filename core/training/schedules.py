"""The schedules of the lecture (`core.lecture.schedules`), under the name that training knows them by."""

from core.lecture.schedules import cosine, exponential, warmup_cosine

__all__ = ["cosine", "exponential", "warmup_cosine"]
