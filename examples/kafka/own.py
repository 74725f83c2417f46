"""An aggregate of one's own, which raises over calls of no length."""

import windrow as wr

parts = wr.monoid(
    name="parts", lift=lambda length: 3600 // length, combine=lambda a, b: a + b, identity=0, commutative=True
)
