"""Write the test cases of math_stats and date_utils."""
import calendar
import json
import math
import pathlib
import random
import statistics
from datetime import datetime, timedelta, timezone
from decimal import Decimal, getcontext
from email.utils import format_datetime
from fractions import Fraction
from zoneinfo import ZoneInfo

getcontext().prec = 100


def write(tool, cases):
    rows = ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases)
    pathlib.Path(__file__).with_name(tool + ".json").write_text(f"[\n{rows}\n]\n", encoding="utf-8")


def number(f):
    """An integer with all digits, or the nearest floating-point number."""
    return f.numerator if f.denominator == 1 else f.numerator / f.denominator


def root(f):
    return float((Decimal(f.numerator) / Decimal(f.denominator)).sqrt())


def percentile(values, percent):
    at = Fraction(str(percent)) / 100 * (len(values) - 1)
    low = values[math.floor(at)]
    high = values[min(math.floor(at) + 1, len(values) - 1)]
    return number(low + (at - math.floor(at)) * (high - low))


def stats(name, data, percentiles=None):
    values = sorted(Fraction(str(x)) for x in data)
    modes = statistics.multimode(values)
    variance = statistics.pvariance(values)
    want = {
        "count": len(values), "sum": number(sum(values)), "mean": number(statistics.mean(values)),
        "median": number(statistics.median(values)),
        "mode": [number(m) for m in modes] if values.count(modes[0]) > 1 else [],
        "min": number(values[0]), "max": number(values[-1]), "range": number(values[-1] - values[0]),
        "variance": number(variance), "stdDev": root(variance),
        "percentiles": {f"p{p:g}": percentile(values, p) for p in percentiles or [25, 50, 75, 90, 95, 99]},
    }
    if len(values) > 1:
        sample = statistics.variance(values)
        want |= {"sampleVariance": number(sample), "sampleStdDev": root(sample)}
    args = {"data": data} if percentiles is None else {"data": data, "percentiles": percentiles}
    return {"name": name, "args": args, "want": want}


def refused(name, args, error):
    return {"name": name, "args": args, "error": error}


chance = random.Random(1)
write("math_stats", [
    stats("integers", [2, 4, 4, 4, 5, 5, 7, 9]),
    stats("one number", [42]),
    stats("two numbers", [1, 2]),
    stats("equal numbers", [3, 3, 3]),
    stats("sorted as numbers", [10, 9, 100, 1]),
    stats("negative numbers", [-5, 3, -2.5, 0]),
    stats("fractions", [0.1, 0.2, 0.3]),
    stats("no catastrophic cancellation", [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16.5]),
    stats("tenths cancel out", [0.1] * 10 + [-1]),
    stats("small beside large", [10**17, 1, -10**17]),
    stats("big integers", [9007199254740993, 9007199254740995, 9007199254740993]),
    stats("bigger integers", [10**30 + 1, 10**30 + 3]),
    stats("tiny numbers", [5e-324, 1e-300, 2.5e-310]),
    stats("large numbers", [1e150, -1e150, 2e150]),
    stats("several modes", [3, 1, 2, 1, 3]),
    stats("percentiles", [15, 20, 35, 40, 50], [0, 5, 30, 40, 50, 99.9, 100]),
    stats("percentile between", [1, 2, 3, 4], [12.5, 33]),
    stats("huge", [round(chance.gauss(100, 15), 3) for _ in range(5000)]),
    refused("no numbers", {"data": []}, "data: "),
    refused("the text NaN", {"data": [1, "NaN"]}, "/data"),
    refused("the text Infinity", {"data": ["Infinity"]}, "/data"),
    refused("null", {"data": [1, None]}, "/data"),
    refused("a number as text", {"data": ["1"]}, "/data"),
    refused("nested", {"data": [[1, 2]]}, "/data"),
    refused("too large for the variance", {"data": [1e308, -1e308, 0.5]}, "data: the numbers are too large"),
    refused("percentile out of range", {"data": [1], "percentiles": [50, 101]}, "percentiles[1]: 101"),
    refused("negative percentile", {"data": [1], "percentiles": [-1]}, "percentiles[0]: -1"),
    refused("missing", {}, '"data"'),
])

UTC = timezone.utc
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LENGTHS = {"milliseconds": 1, "seconds": 1000, "minutes": 60_000, "hours": 3_600_000, "days": 86_400_000, "weeks": 604_800_000}


def iso(d):
    return d.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.").rjust(20, "0") + f"{d.microsecond // 1000:03}Z"


def unix_ms(d):
    return (d - EPOCH) // timedelta(milliseconds=1)


def read(text):
    d = datetime.fromisoformat(text)
    return d if d.tzinfo else d.replace(tzinfo=UTC)


def add_months(d, n):
    month = d.year * 12 + d.month - 1 + n
    year, month = month // 12, month % 12 + 1
    return d.replace(year=year, month=month, day=min(d.day, calendar.monthrange(year, month)[1]))


def moved(d, amount, unit):
    if unit in LENGTHS:
        return d + timedelta(milliseconds=amount * LENGTHS[unit])
    return add_months(d, amount * (12 if unit == "years" else 1))


def add(date, amount, unit):
    return {"name": f"{date} and {amount} {unit}", "args": {"operation": "add", "date": date, "amount": amount, "unit": unit},
            "want": {"result": iso(moved(read(date), amount, unit))}}


def subtract(date, amount, unit):
    return {"name": f"{date} less {amount} {unit}", "args": {"operation": "subtract", "date": date, "amount": amount, "unit": unit},
            "want": {"result": iso(moved(read(date), -amount, unit))}}


def bounds(date, unit):
    d = read(date).astimezone(UTC)
    day = d.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "years":
        start = day.replace(month=1, day=1)
    elif unit == "months":
        start = day.replace(day=1)
    elif unit == "weeks":
        start = day - timedelta(days=day.weekday())
    else:
        start = d - timedelta(milliseconds=unix_ms(d) % LENGTHS[unit])
    end = moved(start, 1, unit) - timedelta(milliseconds=1)
    return [{"name": f"{op} {unit} of {date}", "args": {"operation": op, "date": date, "unit": unit}, "want": {"result": iso(v)}}
            for op, v in (("startOf", start), ("endOf", end))]


def diff(date, date2, unit, want=None):
    a, b = read(date), read(date2)
    if want is None:
        f = Fraction(unix_ms(b) - unix_ms(a), LENGTHS[unit])
        want = number(f)
    return {"name": f"{unit} from {date} to {date2}", "args": {"operation": "diff", "date": date, "date2": date2, "unit": unit},
            "want": {"result": want, "unit": unit}}


def parts(d):
    d = d.astimezone(UTC)
    year, week, _ = d.isocalendar()
    return {"year": d.year, "month": d.month, "day": d.day, "hour": d.hour, "minute": d.minute, "second": d.second,
            "millisecond": d.microsecond // 1000, "weekday": calendar.day_name[d.weekday()], "dayOfYear": d.timetuple().tm_yday,
            "isoWeek": f"{year:04}-W{week:02}", "leapYear": calendar.isleap(d.year), "unixMs": unix_ms(d)}


def parsed(text, d=None):
    d = d or read(text)
    return {"name": "parse " + text, "args": {"operation": "parse", "date": text}, "want": {"result": iso(d), "parts": parts(d)}}


def unparsed(text):
    return refused("refuse " + text, {"operation": "parse", "date": text}, "date: ")


def formatted(date, form, want):
    return {"name": f"{date} as {form}", "args": {"operation": "format", "date": date, "format": form}, "want": {"result": want}}


BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
stamp = datetime(2026, 2, 3, 4, 5, 6, 789000, UTC)
whole = stamp.replace(microsecond=0)
write("date_utils", [
    add("2024-01-31", 1, "months"), add("2023-01-31", 1, "months"), add("2024-02-29", 1, "years"), add("2024-02-29", 4, "years"),
    add("2000-02-29", 100, "years"), add("2024-12-31T23:59:59.999Z", 2, "months"), add("2024-03-31", -1, "months"),
    add("2024-02-28", 1, "days"), add("2023-02-28", 1, "days"), add("1900-02-28", 1, "days"), add("2024-01-01", 1.5, "days"),
    add("2024-01-01", 0, "months"), add("2024-01-31", 13, "months"), add("2024-01-31", 1200, "months"), add("1969-12-31T23:59:59.500Z", 499, "milliseconds"),
    add("2024-06-30T23:59:59Z", 1, "seconds"), add("2024-01-01", 90, "minutes"), add("2024-01-01", -0.5, "hours"), add("2024-12-30", 1, "weeks"),
    add("2026-03-28T12:00:00+01:00", 1, "days"), add("2026-03-29T01:30:00+01:00", 1, "hours"), add("9999-12-31", 23, "hours"), add("0001-01-01", 12, "months"),
    subtract("2024-03-31", 1, "months"), subtract("2024-02-29", 1, "years"), subtract("2024-03-01", 1, "days"), subtract("2024-01-01", 1, "milliseconds"),
    subtract("2024-05-31", 3, "months"), subtract("2024-01-31", -1, "months"), subtract("2024-01-01", 2, "weeks"),
    *(c for unit in [*LENGTHS, "months", "years"] for c in bounds("2024-02-29T12:34:56.789Z", unit)),
    *bounds("2024-12-31", "weeks"), *bounds("2024-03-03T23:00:00-05:00", "weeks"), *bounds("1969-12-31T23:59:59.999Z", "hours"),
    *bounds("1960-02-10T01:02:03.004Z", "minutes"), *bounds("2023-02-15", "months"), *bounds("2024-03-04", "weeks"),
    *(diff("2024-02-28T12:00:00Z", "2024-03-01T00:00:00.250Z", unit) for unit in LENGTHS),
    diff("2024-03-01", "2024-02-01", "days"), diff("2023-12-31", "2024-12-31", "days"), diff("0001-01-01", "9999-12-31", "milliseconds"),
    # The clocks change at night on March 29: from noon to noon it is 23 hours.
    diff(datetime(2026, 3, 28, 12, tzinfo=BERLIN).isoformat(), datetime(2026, 3, 29, 12, tzinfo=BERLIN).isoformat(), "hours", 23),
    diff(datetime(2026, 10, 31, 12, tzinfo=NEW_YORK).isoformat(), datetime(2026, 11, 1, 12, tzinfo=NEW_YORK).isoformat(), "hours", 25),
    # The same hour on the clock, before and after it is turned back.
    diff(datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN).isoformat(), datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1).isoformat(), "minutes", 60),
    diff("2024-01-31", "2024-02-29", "months", 1), diff("2024-01-31", "2024-02-28", "months", 0), diff("2024-01-15", "2024-03-14", "months", 1),
    diff("2024-03-15", "2024-01-16", "months", -1), diff("2024-02-29", "2025-02-28", "years", 1), diff("2024-02-29", "2025-02-27", "years", 0),
    diff("2000-01-01", "1990-01-02", "years", -9), diff("2024-01-01", "2024-01-01", "months", 0),
    {"name": "days by default", "args": {"operation": "diff", "date": "2024-02-28", "date2": "2024-03-01"}, "want": {"result": 2, "unit": "days"}},
    parsed("2024-02-29"), parsed("2024-12-30"), parsed("2021-01-03T00:00:00Z"), parsed("2100-02-28T23:59:59.999+14:00"),
    parsed("2024-02-29T23:30:00-01:00"), parsed("2024-02-29 12:00:00"), parsed("2024-02-29T12:00"), parsed("2026-02-03T04:05:06.7899Z"),
    parsed("0001-01-01"), parsed("9999-12-31T23:59:59.999Z"), parsed("2024-02", read("2024-02-01")), parsed("2024", read("2024-01-01")), parsed(" 2024-02-29\n", read("2024-02-29")),
    parsed(format_datetime(whole, usegmt=True), whole), parsed(format_datetime(whole.astimezone(BERLIN)), whole),
    parsed(str(unix_ms(stamp) // 1000), whole), parsed(str(unix_ms(stamp)), stamp), parsed("-1000000000", EPOCH - timedelta(seconds=1e9)), parsed("0", EPOCH), parsed("60", EPOCH + timedelta(seconds=60)), parsed("-86400", EPOCH - timedelta(days=1)),
    *(unparsed(t) for t in ["2023-02-29", "1900-02-29", "2024-02-30", "2024-13-01", "2024-00-01", "2024-01-01T24:01:00Z", "2024-01-01T12:60:00Z",
                            "tomorrow", "NaN", "Infinity", "02/03/2024", "2024-1-1", "２０２４-01-01", "Tue, 03 Feb 2026 04:05:06 EST", "12345", "2024-01-01T00:00:00+1", "9" * 30]),
    formatted("2026-02-03T04:05:06.789Z", "iso", iso(stamp)), formatted("2026-02-03T04:05:06.789Z", "date", "2026-02-03"),
    formatted("2026-02-03T04:05:06.789Z", "time", "04:05:06"), formatted("2026-02-03T04:05:06.789Z", "datetime", "2026-02-03 04:05:06"),
    formatted("2026-02-03T04:05:06.789Z", "unix", unix_ms(stamp) // 1000), formatted("1969-12-31T23:59:59.5Z", "unix", -1),
    formatted("2026-02-03T23:05:06-05:00", "date", "2026-02-04"), formatted("1970-01-01", "unix", 0),
    {"name": "add with a format", "args": {"operation": "add", "date": "2024-01-31", "amount": 1, "unit": "months", "format": "date"}, "want": {"result": "2024-02-29"}},
    *({"name": "now as " + form, "args": {"operation": "now", "format": form}, "has": {}} for form in ("iso", "date", "time", "datetime", "unix")),
    {"name": "the month that is now", "args": {"operation": "startOf", "unit": "months"}, "has": {}},
    refused("parse nothing", {"operation": "parse"}, "date: "), refused("diff from nothing", {"operation": "diff", "date2": "2024-01-01"}, "date: "),
    refused("diff to nothing", {"operation": "diff", "date": "2024-01-01"}, "date2: "), refused("diff to no date", {"operation": "diff", "date": "2024-01-01", "date2": "x"}, "date2: "),
    refused("no amount", {"operation": "add", "date": "2024-01-01", "unit": "days"}, "amount: "), refused("no unit", {"operation": "add", "date": "2024-01-01", "amount": 1}, "unit: "),
    refused("start of nothing", {"operation": "startOf", "date": "2024-01-01"}, "unit: "), refused("end of nothing", {"operation": "endOf", "date": "2024-01-01"}, "unit: "),
    refused("half a month", {"operation": "add", "date": "2024-01-01", "amount": 0.5, "unit": "months"}, "amount: "),
    refused("too late", {"operation": "add", "date": "9999-12-31", "amount": 1, "unit": "days"}, "amount: "),
    refused("too early", {"operation": "subtract", "date": "0001-01-01", "amount": 2, "unit": "years"}, "amount: "),
    refused("much too late", {"operation": "add", "date": "2024-01-01", "amount": 1e300, "unit": "years"}, "amount: "),
    refused("much too early", {"operation": "add", "date": "2024-01-01", "amount": -1e300, "unit": "milliseconds"}, "amount: "),
    refused("unknown unit", {"operation": "add", "date": "2024-01-01", "amount": 1, "unit": "fortnights"}, "/unit"),
    refused("unknown format", {"operation": "now", "format": "YYYY"}, "/format"),
    refused("unknown operation", {"operation": "guess"}, "/operation"), refused("no operation", {}, '"operation"'),
])
