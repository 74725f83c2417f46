"""``windrow verify``: what a job wrote, held against what its source gives in batch."""
