"""The error of transcripts."""

__all__ = ["TranscriptError"]


class TranscriptError(ValueError):
    """A transcript that cannot be read."""
