"""Awkward rows, and expressions over them that both engines must take for the same."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa

NAN, INF = float("nan"), float("inf")


def _utc(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=dt.UTC)  # type: ignore[misc, arg-type]


SCHEMA = pa.schema(
    [
        ("flag", pa.bool_()),
        ("tiny", pa.int8()),
        ("small", pa.int16()),
        ("num", pa.int32()),
        ("big", pa.int64()),
        ("real", pa.float32()),
        ("x", pa.float64()),
        ("y", pa.float64()),
        ("price", pa.decimal128(10, 2)),
        ("s", pa.string()),
        ("word", pa.string()),
        ("digits", pa.string()),
        ("at", pa.string()),
        ("day", pa.date32()),
        ("ts", pa.timestamp("us", "UTC")),
        ("wall", pa.timestamp("us")),
        ("zero", pa.int32()),
        ("Mixed Case", pa.int64()),
        (
            "inner",
            pa.struct([("a", pa.int32()), ("T", pa.string()), ("deep", pa.struct([("z", pa.int64())]))]),
        ),
        ("near", pa.float64()),
        ("odd", pa.int32()),
        ("far", pa.int64()),
        ("wide", pa.decimal128(38, 4)),
        ("spelled", pa.string()),
    ]
)
#: halves and what is next to them; whole numbers that are no floats, no doubles, no seconds; 38 digits
_EXACT: dict[str, list[Any]] = {
    "near": [
        *(0.49999999999999994, -0.49999999999999994, None, 0.5, -0.5),
        *(2**52 - 0.5, -(2**51) - 0.5, 5e-324, 0.5000000000000001, -1.7976931348623157e308),
    ],
    "odd": [2**24 + 1, -(2**24) - 1, None, 2**31 - 1, -(2**31), 2**25 + 3, 1, 0, 100_663_297, -5],
    "far": [
        *(2**53 + 1, -(2**31) - 1, None, 2**63 - 1, -(2**63)),
        *(2**40 + 1, 9_223_372_036_854, 9_223_372_036_855, -9_223_372_036_855, 3),
    ],
    "wide": [
        *(Decimal("1234567890123456789012345678901234.5678"), Decimal("-0.0001"), None, Decimal("2.5")),
        *(
            Decimal("-1234567890123456789012345678901234.5678"),
            Decimal("-999999999999999999999999999999.9999"),
        ),
        *(Decimal("9999999999999999999999999999999999.9999"), Decimal("0")),
        *(
            Decimal("-10000000000000000000000000000000.0005"),
            Decimal("10000000000000000000000000000000.0005"),
        ),
    ],
    "spelled": ["+NaN", "-NaN", None, "nan", "Infinity", "-inf", "1e400", "1D", " 2.5f\t", ".5e-3"],
}
_ROWS: list[tuple[Any, ...]] = [
    (True, 1, 2, 3, 4, 1.5, 2.5, 0.5, Decimal("1.25"), "abc", "north", "12", "2024-05-01 12:34:56"),
    (False, -1, -2, -3, -4, -1.5, -2.5, -0.5, Decimal("-1.25"), "", "South", " -7 ", "2024-05-01T12:34:56Z"),
    (None, None, None, None, None, None, None, None, None, None, None, None, None),
    (
        True,
        127,
        32767,
        2**31 - 1,
        2**62,
        NAN,
        NAN,
        1.0,
        Decimal("99999999.99"),
        "straße",
        "%",
        "+0042",
        "1969-12-31",
    ),
    (
        False,
        -127,
        -32767,
        -(2**31) + 1,
        -(2**62),
        INF,
        INF,
        -INF,
        Decimal("0.00"),
        "ΑΣ İ",
        "a_b",
        "0",
        "0001-01-01",
    ),
    (
        True,
        0,
        0,
        0,
        0,
        -0.0,
        -0.0,
        0.0,
        Decimal("0.01"),
        " \t pad\n ",
        "a%b",
        "-0",
        "9999-12-31 23:59:59.999999",
    ),
    (True, 5, 7, 11, 13, 0.1, 0.1, 0.3, Decimal("12.50"), "日本語😀é", "a\nb", "007", "2024-02-29 23:59"),
    (
        False,
        9,
        8,
        10,
        2**53 + 1,
        16777216.0,
        1e300,
        -1e-300,
        Decimal("2.00"),
        "it's",
        "\\",
        "99",
        "1582-10-10",
    ),
    (
        None,
        3,
        None,
        3,
        None,
        None,
        3.5,
        None,
        None,
        "a\\b",
        "NORTH",
        None,
        "2024-05-01 12:34:56.123456789+02:00",
    ),
    (
        False,
        2,
        4,
        -7,
        3,
        0.5,
        -3.5,
        2.0,
        Decimal("-0.50"),
        "ŉ ǆ ﬁ",
        "100%",
        "5",
        " 2024-05-01 00:00:00.5-07:30 ",
    ),
]
_TIMES: list[tuple[Any, ...]] = [
    (dt.date(2024, 5, 1), _utc(2024, 5, 1, 12, 34, 56, 789123), dt.datetime(2024, 5, 1, 12, 34, 56, 789123)),
    (dt.date(1969, 12, 31), _utc(1969, 12, 31, 23, 59, 59, 500000), dt.datetime(1969, 12, 31, 23, 59, 59, 1)),
    (None, None, None),
    (dt.date(1970, 1, 1), _utc(1970, 1, 1), dt.datetime(1970, 1, 1)),
    (dt.date(1, 1, 1), _utc(1, 1, 1), dt.datetime(1, 1, 1)),
    (dt.date(9999, 12, 31), _utc(9999, 12, 31, 23, 59, 59, 999999), dt.datetime(9999, 12, 31, 23, 59, 59)),
    (dt.date(2024, 2, 29), _utc(2024, 2, 29, 0, 0, 0, 1), dt.datetime(2024, 2, 29, 6)),
    (dt.date(1582, 10, 10), _utc(1582, 10, 10, 1, 2, 3), dt.datetime(1582, 10, 10, 1, 2, 3)),
    (dt.date(2023, 1, 1), None, dt.datetime(2023, 1, 1)),
    (dt.date(2024, 3, 31), _utc(2024, 3, 31, 2, 30), dt.datetime(2024, 3, 31, 2, 30)),
]
_INNER: list[Any] = [{"a": 1, "T": "x", "deep": {"z": 9}}, {"a": None, "T": "", "deep": None}, None]
_INNER += [{"a": k, "T": str(k), "deep": {"z": None if k % 2 else k}} for k in range(7)]


def awkward_rows() -> pa.Table:
    rows = [
        (*values, *times, 0, 10 * number, inner, *(column[number] for column in _EXACT.values()))
        for number, (values, times, inner) in enumerate(zip(_ROWS, _TIMES, _INNER, strict=True))
    ]
    columns = [[row[k] for row in rows] for k in range(len(SCHEMA))]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


#: both engines give the same, of the same type
EQUAL = """
flag
num
`mixed case`
INNER.a
inner.t
inner.deep.z
inner.deep is null
inner is null
1
-2147483648
9223372036854775807
-9223372036854775808
1.50
1.5D
1e3
2.5F
7Y
7S
7L
'it''s'
"it's"
'a\\\\b'
true
date '2024-05-01'
timestamp '2024-05-01 12:00:00'
timestamp '2024-05-01T12:00:00+02:00'
timestamp_ntz '2024-05-01 12:00:00.25'
flag and num > 0
flag or num > 0
not flag
! flag and flag
flag and null
flag or null
not flag or flag is null
num > 0 and 10 / num > 1
num = 0 or 20 / num < 1
num is null
num is not null
flag is true
flag is not true
flag is false
(num > 3) is unknown
flag is not unknown
num is distinct from 3
num is not distinct from small
num = 3
num == 3
num <> 3
num != 3
num < big
tiny <= small
num >= 3.5
num > 2.99
num = 3.0
x > 1.5
x = y
x <> y
x < y
x <= y
x > y
x >= y
x <=> y
real = x
real < x
real >= real
x = x
x <=> x
real <=> 1.5
num <=> null
null <=> null
null = 1
x < num
big > x
price > 1
price = 1.25
price < x
price <= big
price > 1.25D
s = 'abc'
s < word
s >= ''
s <> 'it\\'s'
flag = true
flag < true
flag >= flag
day = '2024-05-01'
day < ts
ts >= '2024-05-01'
ts >= '2024-05-01T12:34:56.789123Z'
ts < timestamp '2024-05-01 12:34:57'
wall < '2024-05-01 00:00:00'
wall <= ts
wall = day
ts between '1969-01-01' and '2024-05-01'
ts > date '2024-01-01'
num = 3 = true
num in (3, 11, -7)
num in (3, null)
num not in (3, null)
num in (3.0, 11.5)
x in (2.5, 0.1)
x in (2.5D, null)
s in ('abc', '')
s not in ('abc', '')
day in ('2024-05-01', '1970-01-01')
num between -3 and 3
num not between -3 and 3
x between 0 and 1e10
s between 'a' and 'b'
s like 'a%'
s like '%b%'
s not like '%b%'
s like '_bc'
s like '____😀_'
word like 'a_b'
word like 'a\\_b'
word like 'a\\%b'
word like 'a!%b' escape '!'
word like '%\\%'
word like '\\\\\\\\'
word like ''
word like '%'
word like '.*'
s like 'a\\\\\\\\b'
tiny + 1
tiny + 0Y
small * 1S
num + 1L
num - small / 2
big - 1
big * 1
- num
-tiny
+num
- - small
num + x
real + real
real * num
real - 1.5
x + y
x - y
x * y
x * 1.1
-x
- price
price + 1
price * 2
price * 1.5
price - num
price + tiny
1 + 1.5
num * 1.5
big + 0.25
price + price
price * price
x + price
x / 2
num / 4
num / 7
big / 3
real / 3
price / 3D
num / null
null / num
num % 3
num % -3
-7 % 3
x % 2
real % 0.75F
tiny % 5Y
num div 2
big div -3
tiny div 2Y
abs(num)
abs(x)
abs(tiny)
abs(price)
abs(real)
floor(case when abs(real) < 1e30 then real end)
floor(double('nan'))
ceil(price * 1D)
floor(num)
ceil(tiny)
ceiling(num)
floor(0.5D)
ceil(-0.5D)
ceil(y * if(y > -1e308, 1, null))
round(y)
round(real)
round(x)
round(num)
round(2.5D)
round(-2.5D)
round(0.49999999999999994D)
round(-0.49999999999999994D)
round(near)
floor(-9223372036854775809D)
round(cast(near as float))
cast(cast(odd as float) as double)
cast(cast(far as float) as double)
cast(odd as float) = odd
cast(odd as float) * 1D
floor(cast(odd as float))
cast(+ cast(odd as float) as double)
cast(cast(16777217 as float) as double)
case cast(odd as float) when 16777217D then 1 else 0 end
lower(upper(s))
upper(lower(word))
lower(upper(lower(s)))
lower(upper('ß'))
lower(concat(upper(s)))
lower(replace(upper(s), '', 'x'))
- cast(wide / 1D as double)
- cast(price as decimal(38,4))
- case when abs(cast(wide as double)) < 1e33 then wide end
abs(case when abs(cast(wide as double)) < 1e33 then wide end)
-(12345678901234567890123456789012345678BD)
-12345678901234567890123456789012345678BD
- 12345678901234567890123456789012345678BD
1234567890123456789012345678.5
0.00000000000000000000000000000000000001
12345678901234567890123456789012345678
9223372036854775808
wide > 1234567890123456789012345678901234.5677
num < 99999999999999999999.5
num > 99999999999999999999.5
9223372036854775807.5 >= big
-9223372036854775808.5 < big
num between -99999999999999999999.5 and 3
num <> 99999999999999999999.5
1e-400
1.00000005960464480000001F
3.4028234e38F
cast(far as timestamp)
cast(-9223372036855 as timestamp)
cast(cast(far as timestamp) as bigint)
cast(spelled as double)
cast(' -NaN ' as double)
isnan(cast(spelled as double))
if(null, 1, 2)
not null
null is true
null between 1 and 2
case null when 1 then 2 end
num not between small and tiny
case case num when 3 then 'a' when 11 then 'b' else s end when 'a' then word when 'b' then s end
nullif(nullif(num, 3), 11)
num % 5 + 1 between num % 5 and num % 5 + 2
cast(num as bigint)
cast(tiny as double)
cast(big as double)
cast(big as float)
cast(x as float)
cast(real as double)
cast(flag as int)
cast(flag as double)
cast(num as boolean)
cast(x as boolean)
cast(num as string)
cast(big as string)
cast(flag as string)
cast(digits as int)
cast(digits as bigint)
cast(digits as double)
cast(digits as tinyint)
cast(num % 100 as tinyint)
cast(nullif(y, cast('-inf' as double)) as int)
cast(-1.9D as int)
cast(2147483647.9D as int)
cast(9223372036854775808D as bigint)
cast(price as double)
cast(num as decimal(12,1))
cast(price as decimal(14,3))
cast('1e3' as double)
cast(' 1.5d ' as double)
cast('.5' as double)
cast('-Infinity' as double)
cast('NaN' as double)
cast('1e400' as double)
cast(' Yes ' as boolean)
cast('0' as boolean)
cast(at as timestamp)
to_timestamp(at)
cast(case when at like '____-__-__' then at end as date)
to_date('2024-02-29')
cast('2024-05-01 10:00:00' as timestamp_ntz)
cast(ts as date)
cast(wall as date)
cast(day as timestamp)
cast(day as timestamp_ntz)
cast(ts as timestamp_ntz)
cast(wall as timestamp)
cast(ts as bigint)
cast(num as timestamp)
cast(null as int)
int(digits)
double(num)
date(ts)
timestamp(day)
string(num)
coalesce(num, 0)
coalesce(num, 0L)
coalesce(num, 0.5)
coalesce(null, x, 1)
coalesce(s, word, 'none')
coalesce(day, ts)
coalesce(ts, '2024-05-01')
coalesce(price, 0)
nvl(num, -1)
ifnull(s, 'none')
nullif(num, 3)
nullif(x, 2.5)
if(num > 0, 'up', 'down')
if(flag, tiny, big)
case when num > 0 then 'up' when num < 0 then 'down' end
case when num > 0 then 1 when num < 0 then -1.5 else 0 end
case num when 3 then 'three' when 11 then 'eleven' else word end
case when num <> 0 then 100 / num else 0 end
case when digits is not null then cast(digits as int) end
case when flag then null else num end
big + case when x > 0 then 1 end
(null + 1) is null
cast(null as int) + 1 / zero
isnull(num)
isnotnull(num)
isnan(x)
isnan(real)
isnan(num)
upper(s)
lower(s)
ucase(word)
lcase(word)
len(word)
length(s)
char_length(word)
trim(s)
ltrim(s)
rtrim(s)
concat(s, '-', word)
s || '-' || word
concat(s)
substring(s, 2, 2)
substring(s, 0, 2)
substring(s, -2)
substring(s, -4, 2)
substring(s, 2)
substring(s, 2, -1)
substr(s, 1, 1)
contains(s, 'b')
contains(s, '')
startswith(s, 'a')
endswith(s, 'é')
replace(s, 'b', 'XX')
replace(s, '', 'x')
replace(s, 'b')
date_trunc('hour', ts)
date_trunc('YEAR', ts)
date_trunc('quarter', ts)
date_trunc('mon', ts)
date_trunc('day', ts)
date_trunc('week', ts)
date_trunc('week', wall)
date_trunc('minute', ts)
date_trunc('second', ts)
date_trunc('millisecond', ts)
date_trunc('microsecond', ts)
date_trunc('hour', wall)
date_trunc('month', day)
year(ts)
year(timestamp_seconds(-70000000000 + zero))
date_trunc('month', timestamp_seconds(-62135596801 + zero)) is null
year(day)
quarter(ts)
month(wall)
day(ts)
dayofmonth(day)
dayofyear(day)
dayofweek(ts)
weekday(day)
hour(ts)
minute(wall)
second(ts)
hour(day)
unix_seconds(ts)
unix_millis(ts)
unix_micros(ts)
timestamp_seconds(num)
timestamp_millis(big % 1000000000000)
timestamp_micros(big % 1000)
""".strip().splitlines()

#: both engines stop at a value
FAILING = """
1 / zero
x / zero
num / (num - 3)
num % zero
x % zero
num div zero
tiny + 100Y
small * 1000S
num + 2147483647
big * 4
-(tiny - 127Y - 2Y)
- cast('-9223372036854775808' as bigint)
abs(cast('-128' as tinyint))
-9223372036854775808 div -1
cast(num as tinyint)
cast(big as int)
cast(x as int)
cast(real as bigint)
cast(1e19 as bigint)
cast(s as int)
cast('1.5' as int)
cast('' as int)
cast('+' as int)
cast('128' as tinyint)
cast('9223372036854775808' as bigint)
cast('x' as double)
cast('1e' as double)
cast('maybe' as boolean)
cast(s as timestamp)
cast('2024-02-30' as date)
cast('2024-05-01 25:00:00' as timestamp)
cast(num as decimal(3,1))
floor(x)
ceil(1e19)
timestamp_millis(big)
timestamp_seconds(9223372036854775807)
case when flag is null then 1 else num / zero end
flag or num / zero > 1
coalesce(num, 1 / zero) / zero
- wide
abs(- wide)
floor(9223372036854775808D)
ceil(cast(far as double))
cast('+nan' as double)
cast('NaNd' as double)
""".strip().splitlines()

#: neither engine reads these
WRONG = """
1e400
-1e400
1e400D
1.7976931348623158e308
3.4028235e38F
1e-99999999999
9223372036854775808L
128Y
1.5L
1e3S
123456789012345678901234567890123456789
0.000000000000000000000000000000000000001
case when null then 1 end
case when null then 1 else 2 end
case when num > 3 then 1 when null then 2 end
""".strip().splitlines()
