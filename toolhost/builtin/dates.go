package builtin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

type dateArgs struct {
	Operation string   `json:"operation" enum:"now,parse,format,diff,add,subtract,startOf,endOf"`
	Date      string   `json:"date,omitempty" jsonschema:"ISO 8601, RFC 1123, or Unix seconds or milliseconds; UTC if it has no zone; the present time if absent"`
	Date2     string   `json:"date2,omitempty" jsonschema:"the later date of diff"`
	Amount    *float64 `json:"amount,omitempty" jsonschema:"how many units add and subtract move; whole months and years only"`
	Unit      string   `json:"unit,omitempty" enum:"milliseconds,seconds,minutes,hours,days,weeks,months,years"`
	Format    string   `json:"format,omitempty" enum:"iso,date,time,datetime,unix"`
}

type dateResult struct {
	Result any        `json:"result" jsonschema:"a date in the format asked for, a number for unix, or the difference in units: whole months and years"`
	Unit   string     `json:"unit,omitempty" jsonschema:"of a difference"`
	Parts  *dateParts `json:"parts,omitempty" jsonschema:"of a parsed date"`
}

type dateParts struct {
	Year        int    `json:"year"`
	Month       int    `json:"month"`
	Day         int    `json:"day"`
	Hour        int    `json:"hour"`
	Minute      int    `json:"minute"`
	Second      int    `json:"second"`
	Millisecond int    `json:"millisecond"`
	Weekday     string `json:"weekday"`
	DayOfYear   int    `json:"dayOfYear"`
	ISOWeek     string `json:"isoWeek" jsonschema:"such as 2026-W05"`
	LeapYear    bool   `json:"leapYear"`
	UnixMS      int64  `json:"unixMs"`
}

func operateDate(_ context.Context, in dateArgs) (dateResult, error) {
	date, err := in.date()
	if err != nil {
		return dateResult{}, err
	}
	switch in.Operation {
	case "parse":
		return in.result(date, partsOf(date))
	case "diff":
		return in.diff(date)
	case "add", "subtract":
		date, err = in.move(date)
	case "startOf":
		date, err = startOf(date, in.Unit)
	case "endOf":
		date, err = startOf(date, in.Unit)
		if err == nil {
			date = addUnits(date, 1, in.Unit).Add(-time.Millisecond)
		}
	}
	if err != nil {
		return dateResult{}, err
	}
	return in.result(date, nil)
}

// date returns the date of the arguments.
func (in dateArgs) date() (time.Time, error) {
	switch {
	case in.Operation == "now", in.Date == "" && in.Operation != "parse" && in.Operation != "diff":
		return time.Now().UTC(), nil
	case in.Date == "":
		return time.Time{}, fmt.Errorf("date: %s needs a date", in.Operation)
	}
	return parseDate("date", in.Date)
}

func (in dateArgs) result(date time.Time, parts *dateParts) (dateResult, error) {
	if date.Year() < 0 || date.Year() > 9999 {
		return dateResult{}, fmt.Errorf("amount: the result, in the year %d, is not in the years 0 to 9999", date.Year())
	}
	return dateResult{Result: formatDate(date, in.Format), Parts: parts}, nil
}

func (in dateArgs) diff(date time.Time) (dateResult, error) {
	if in.Date2 == "" {
		return dateResult{}, errors.New("date2: diff needs a second date")
	}
	date2, err := parseDate("date2", in.Date2)
	if err != nil {
		return dateResult{}, err
	}
	unit := in.Unit
	if unit == "" {
		unit = "days"
	}
	if length, ok := unitLengths[unit]; ok {
		return dateResult{Result: float64(date2.UnixMilli()-date.UnixMilli()) / length, Unit: unit}, nil
	}
	months := monthsBetween(date, date2)
	if unit == "years" {
		months /= 12
	}
	return dateResult{Result: months, Unit: unit}, nil
}

func (in dateArgs) move(date time.Time) (time.Time, error) {
	if in.Amount == nil {
		return date, fmt.Errorf("amount: %s needs an amount", in.Operation)
	}
	amount := *in.Amount
	if in.Operation == "subtract" {
		amount = -amount
	}
	length, fixed := unitLengths[in.Unit]
	switch {
	case in.Unit == "":
		return date, fmt.Errorf("unit: %s needs a unit", in.Operation)
	case !fixed && amount != math.Trunc(amount):
		return date, fmt.Errorf("amount: %v is not a whole number of %s", *in.Amount, in.Unit)
	case !fixed && math.Abs(amount) > 12*9999, fixed && math.Abs(amount*length) > 9999*366*24*3600e3:
		return date, fmt.Errorf("amount: %v %s are more than 9999 years", *in.Amount, in.Unit)
	}
	return addUnits(date, amount, in.Unit), nil
}

// unitLengths are the lengths of units in milliseconds; those of months and years differ.
var unitLengths = map[string]float64{
	"milliseconds": 1,
	"seconds":      1000,
	"minutes":      60 * 1000,
	"hours":        3600 * 1000,
	"days":         24 * 3600 * 1000,
	"weeks":        7 * 24 * 3600 * 1000,
}

func addUnits(date time.Time, amount float64, unit string) time.Time {
	switch unit {
	case "years":
		return addMonths(date, 12*int(amount))
	case "months":
		return addMonths(date, int(amount))
	}
	return time.UnixMilli(date.UnixMilli() + int64(math.Round(amount*unitLengths[unit]))).UTC()
}

// addMonths keeps the day, or takes the last one if the month is too short for it.
func addMonths(date time.Time, n int) time.Time {
	first := time.Date(date.Year(), date.Month()+time.Month(n), 1, date.Hour(), date.Minute(), date.Second(), date.Nanosecond(), time.UTC)
	lastDay := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(date.Day(), lastDay)-1)
}

// monthsBetween returns how many whole months lie between two dates; fewer than 0 if b is before a.
func monthsBetween(a, b time.Time) int {
	if b.Before(a) {
		return -monthsBetween(b, a)
	}
	n := 12*(b.Year()-a.Year()) + int(b.Month()-a.Month())
	if addMonths(a, n).After(b) {
		n--
	}
	return n
}

func startOf(date time.Time, unit string) (time.Time, error) {
	y, m, d := date.Date()
	switch unit {
	case "years":
		return time.Date(y, time.January, 1, 0, 0, 0, 0, time.UTC), nil
	case "months":
		return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC), nil
	case "weeks":
		sinceMonday := (int(date.Weekday()) + 6) % 7
		return time.Date(y, m, d-sinceMonday, 0, 0, 0, 0, time.UTC), nil
	}
	length, ok := unitLengths[unit]
	if !ok {
		return date, errors.New("unit: startOf and endOf need a unit")
	}
	ms := int64(length)
	past := (date.UnixMilli()%ms + ms) % ms
	return time.UnixMilli(date.UnixMilli() - past).UTC(), nil
}

const isoLayout = "2006-01-02T15:04:05.000Z07:00"

func formatDate(date time.Time, format string) any {
	switch format {
	case "date":
		return date.Format(time.DateOnly)
	case "time":
		return date.Format(time.TimeOnly)
	case "datetime":
		return date.Format(time.DateTime)
	case "unix":
		return date.Unix()
	default:
		return date.Format(isoLayout)
	}
}

func partsOf(date time.Time) *dateParts {
	year, week := date.ISOWeek()
	lastDay := time.Date(date.Year(), time.December, 31, 0, 0, 0, 0, time.UTC).YearDay()
	return &dateParts{
		date.Year(), int(date.Month()), date.Day(), date.Hour(), date.Minute(), date.Second(), date.Nanosecond() / 1e6,
		date.Weekday().String(), date.YearDay(), fmt.Sprintf("%04d-W%02d", year, week), lastDay == 366, date.UnixMilli(),
	}
}

// parseDate returns a date in UTC, in milliseconds. Names of zones other than GMT are refused,
// because they are not unique.
func parseDate(field, text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	if date, ok := parseUnix(text); ok {
		return date, nil
	}
	for _, layout := range []string{
		"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04",
		"2006-01-02 15:04:05Z07:00", time.DateTime, "2006-01-02 15:04",
		time.DateOnly, "2006-01", "2006", time.RFC1123Z, "Mon, 02 Jan 2006 15:04:05 GMT",
	} {
		if date, err := time.Parse(layout, text); err == nil {
			return time.UnixMilli(date.UnixMilli()).UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%s: %q is not a date; write it as 2006-01-02 or 2006-01-02T15:04:05Z", field, text)
}

// parseUnix returns a Unix time in seconds, or with 12 digits or more in milliseconds. Numbers of four to eight
// digits may be years or dates, as in 20060102.
func parseUnix(text string) (time.Time, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	digits := len(strings.TrimLeft(text, "+-"))
	switch isNegative := strings.HasPrefix(text, "-"); {
	case err != nil, digits > 14, !isNegative && digits >= 4 && digits <= 8:
		return time.Time{}, false
	case digits <= 11:
		n *= 1000
	}
	return time.UnixMilli(n).UTC(), true
}
