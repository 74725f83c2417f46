"""Transcripts: behaviour as data, run on anything that offers what an operator does."""

from windrow.testing.transcripts.run import list_transcripts, run_on_oracle, run_transcript

__all__ = ["list_transcripts", "run_on_oracle", "run_transcript"]
