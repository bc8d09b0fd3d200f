package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/nlnwa/whatwg-url/url"

	"bareclaw/core/tools"
	"bareclaw/internal/schema/value"
)

// maxWait is the longest wait_ms, in milliseconds.
const maxWait = 30_000

func utilityTools() []tools.Tool {
	wait := define("wait_ms", "Wait for at most 30000 milliseconds.", waitArgs{Milliseconds: 1000}, waitFor)
	wait.Timeout = maxWait*time.Millisecond + 5*time.Second // for a late start
	return []tools.Tool{
		define("hello_world", "Greet somebody. A call of this tool shows that tools work.", helloArgs{Name: "World"}, hello),
		random(define("timestamp_now", "The present time: iso and unix are UTC; human is in the time zone of the gateway.", timestampArgs{Format: "all"}, timestampNow)),
		define("url_parse", "Parse an absolute URL into its components, by the URL standard that browsers follow.", urlArgs{}, parseURL),
		define("math_stats", "Compute statistics of numbers: exact sums, median, modes, variance and percentiles, which interpolate linearly.", statsArgs{Percentiles: []json.Number{"25", "50", "75", "90", "95", "99"}}, computeStats),
		random(define("env_info", "Describe the program and the machine that run the tools.", struct{}{}, describeEnvironment)),
		define("http_status_info", "Explain an HTTP status code.", statusArgs{}, explainStatus),
		random(define("date_utils", "Work on dates in UTC: now, parse, format, diff (date2 - date), add, subtract, startOf and endOf. A month later than January 31 is the last day of February. Weeks begin on Monday.", dateArgs{}, operateDate)),
		wait,
		random(define("random_choice", "Choose items of a list at random. With unique, no position is chosen twice.", choiceArgs{Count: 1, Unique: true}, choose)),
	}
}

type helloArgs struct {
	Name    string `json:"name,omitempty"`
	Excited bool   `json:"excited,omitempty"`
}

type helloResult struct {
	Greeting string `json:"greeting"`
}

func hello(_ context.Context, in helloArgs) (helloResult, error) {
	end := "!"
	if in.Excited {
		end = "!!!"
	}
	return helloResult{"Hello, " + in.Name + end}, nil
}

type timestampArgs struct {
	Format string `json:"format,omitempty" enum:"iso,unix,human,all"`
}

type timestamp struct {
	ISO      string `json:"iso,omitempty"`
	Unix     int64  `json:"unix,omitempty" jsonschema:"seconds since 1970"`
	UnixMS   int64  `json:"unixMs,omitempty" jsonschema:"milliseconds since 1970"`
	Human    string `json:"human,omitempty"`
	TimeZone string `json:"timezone,omitempty"`
}

// zoneLayout is the layout of a time zone, such as CET (UTC+01:00).
const zoneLayout = "MST (UTC-07:00)"

func timestampNow(_ context.Context, in timestampArgs) (timestamp, error) {
	return timestampOf(time.Now(), in.Format), nil
}

func timestampOf(now time.Time, format string) timestamp {
	all := timestamp{
		ISO:      now.UTC().Format(isoLayout),
		Unix:     now.Unix(),
		UnixMS:   now.UnixMilli(),
		Human:    now.Format("Monday, 2 January 2006, 15:04:05 MST"),
		TimeZone: now.Format(zoneLayout),
	}
	switch format {
	case "iso":
		return timestamp{ISO: all.ISO}
	case "unix":
		return timestamp{Unix: all.Unix, UnixMS: all.UnixMS}
	case "human":
		return timestamp{Human: all.Human, TimeZone: all.TimeZone}
	default:
		return all
	}
}

type urlArgs struct {
	URL string `json:"url"`
}

type urlParts struct {
	Href     string              `json:"href" jsonschema:"the whole URL in its normal form"`
	Origin   string              `json:"origin" jsonschema:"\"null\" if URLs of the protocol have none"`
	Protocol string              `json:"protocol" jsonschema:"with its colon"`
	Username string              `json:"username"`
	Password string              `json:"password"`
	Host     string              `json:"host" jsonschema:"with the port"`
	Hostname string              `json:"hostname"`
	Port     string              `json:"port" jsonschema:"empty if it is the port of the protocol"`
	Pathname string              `json:"pathname"`
	Search   string              `json:"search"`
	Hash     string              `json:"hash"`
	Params   map[string][]string `json:"params" jsonschema:"the values of each query parameter"`
}

func parseURL(_ context.Context, in urlArgs) (urlParts, error) {
	u, err := url.Parse(in.URL)
	if err != nil {
		return urlParts{}, fmt.Errorf("url: %w", err)
	}
	parts := urlParts{
		Href:     u.Href(false),
		Origin:   origin(u),
		Protocol: u.Protocol(),
		Username: u.Username(),
		Password: u.Password(),
		Host:     u.Host(),
		Hostname: u.Hostname(),
		Port:     u.Port(),
		Pathname: u.Pathname(),
		Search:   u.Search(),
		Hash:     u.Hash(),
		Params:   map[string][]string{},
	}
	// This comes last, because it rewrites the query.
	u.SearchParams().Iterate(func(p *url.NameValuePair) { parts.Params[p.Name] = append(parts.Params[p.Name], p.Value) })
	return parts, nil
}

func origin(u *url.Url) string {
	switch u.Scheme() {
	case "http", "https", "ws", "wss", "ftp":
		return u.Protocol() + "//" + u.Host()
	case "blob":
		if inner, err := url.Parse(u.Pathname()); err == nil && strings.HasPrefix(inner.Scheme(), "http") {
			return origin(inner)
		}
	}
	return "null"
}

type environment struct {
	Platform string `json:"platform"`
	Arch     string `json:"arch"`
	Runtime  string `json:"runtime"`
	CPUs     int    `json:"cpus"`
	PID      int    `json:"pid"`
	Hostname string `json:"hostname"`
	TimeZone string `json:"timezone"`
	Memory   uint64 `json:"memoryBytes" jsonschema:"what the program has of the system"`
}

// describeEnvironment says nothing of environment variables and paths, which may be secret.
func describeEnvironment(context.Context, struct{}) (environment, error) {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	host, err := os.Hostname()
	if err != nil {
		return environment{}, err
	}
	return environment{runtime.GOOS, runtime.GOARCH, runtime.Version(), runtime.NumCPU(), os.Getpid(), host, time.Now().Format(zoneLayout), memory.Sys}, nil
}

type waitArgs struct {
	Milliseconds float64 `json:"ms" min:"0" max:"30000"`
}

type waited struct {
	Waited float64 `json:"waited" jsonschema:"milliseconds"`
}

func waitFor(ctx context.Context, in waitArgs) (waited, error) {
	select {
	case <-ctx.Done():
		return waited{}, context.Cause(ctx)
	case <-time.After(time.Duration(in.Milliseconds * float64(time.Millisecond))):
		return waited{in.Milliseconds}, nil
	}
}

type choiceArgs struct {
	Items  []any `json:"items"`
	Count  int   `json:"count,omitempty" min:"0" max:"100000"`
	Unique bool  `json:"unique,omitempty" jsonschema:"choose no position twice"`
}

type choice struct {
	Result []any `json:"result"`
}

func choose(_ context.Context, in choiceArgs) (choice, error) {
	n := len(in.Items)
	switch {
	case n == 0:
		return choice{}, errors.New("items: there is nothing to choose from")
	case in.Unique && in.Count > n:
		return choice{}, fmt.Errorf("count: %d are more than the %d items; set unique to false to choose some again", in.Count, n)
	}
	result, size := make([]any, in.Count), 0
	for i := range result {
		j := rand.IntN(n)
		if in.Unique { // from those not chosen, which are the items from i on
			j = i + rand.IntN(n-i)
			in.Items[i], in.Items[j], j = in.Items[j], in.Items[i], i
		}
		result[i] = in.Items[j]
		if size += len(value.Key(result[i])); size > maxResult {
			return choice{}, fmt.Errorf("count: %w", errTooLarge)
		}
	}
	return choice{result}, nil
}
